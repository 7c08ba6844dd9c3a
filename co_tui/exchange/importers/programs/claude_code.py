"""Sessions of Claude Code: one row a line, each a message, a part of one, or a note about the conversation.

Also its web export, which is one object with the same rows as `loglines`.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from co_tui.events.facts.agents import DELEGATION_SEPARATOR
from co_tui.exchange.importers import anthropic_blocks
from co_tui.exchange.importers.builder import Place, SessionBuilder
from co_tui.exchange.importers.claude_agents import Agent, agents_of, calls_of_agents
from co_tui.exchange.importers.claude_notes import (
    CAVEATS,
    HOOK_OUTPUT,
    INTERRUPTIONS,
    TypedCommand,
    attached_file,
    command_in,
    is_note,
    left_out_of,
    output_in,
    read_queue,
)
from co_tui.exchange.importers.foreign_files import Document, Record
from co_tui.exchange.importers.foreign_values import (
    ERROR_MESSAGES,
    FILE_SNAPSHOTS,
    NOTICES,
    OTHER_RECORDS,
    SUB_AGENTS,
    Content,
    blocks_of,
    count,
    prompt_content,
    read_time,
    readable,
    text,
    text_of_blocks,
)
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.exchange.importers.trees import ROOT, Node
from co_tui.inert import one_line
from co_tui.store.session_ids import stable_id

NAME: Final = "claude-code"
_SYNTHETIC: Final = "<synthetic>"
"""In place of a model's name, for what the program itself said."""
_TITLES: Final = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))
"""Where titles are, the strongest first."""
_BOOKKEEPING: Final = (
    "summary",
    "custom-title",
    "ai-title",
    "last-prompt",
    "mode",
    "permission-mode",
    "agent-name",
    "agent-color",
    "agent-setting",
    "tag",
    "relocated",
    "worktree-state",
    "bridge-session",
    "atis-latch",
    "started",
    "cost-state",
)
"""Rows about the session that say nothing: titles, modes, places, copies."""
_LEFT_OUT: Final = {
    "file-history-snapshot": FILE_SNAPSHOTS,
    "attribution-snapshot": FILE_SNAPSHOTS,
    "pr-link": "links",
    "frame-link": "links",
    "result": SUB_AGENTS,
}
_SYSTEM_BOOKKEEPING: Final = ("turn_duration", "session_start", "microcompact_boundary")
_SYSTEM_LEFT_OUT: Final = {"api_error": ERROR_MESSAGES, "error": ERROR_MESSAGES, "stop_hook_summary": HOOK_OUTPUT}
_OWN_AGENTS: Final = "agents of the program's own"
_NAME_CHARS: Final = 40
_TITLE_CHARS: Final = 60
_ID_CHARS: Final = 8
_PROGRESS: Final = {"hook_progress": HOOK_OUTPUT, "agent_progress": SUB_AGENTS}


def recognises(document: Document) -> bool:
    rows = _rows(document)
    return any(_is_row(row) for row in rows[:200]) or all(_is_note(row) for row in rows[:200])


def _is_note(row: Record) -> bool:
    """A row that is about a session, but says nothing."""
    return row.get("type") in (*_BOOKKEEPING, *_LEFT_OUT) and bool({"sessionId", "leafUuid", "messageId"} & row.keys())


def load(document: Document) -> list[ImportedSession]:
    rows = _rows(document)
    builder = SessionBuilder(NAME, document.modified)
    builder.skipped = document.skipped
    # A file of its own for an agent has nothing but side chains; elsewhere they belong to agents.
    only_agents = all(row.get("isSidechain") for row in rows if _is_row(row))
    _Reader(builder, rows, with_agents=only_agents).read()
    builder.title = _title(rows)
    if builder.empty and not any(map(_is_row, rows)):
        raise ImportRefused(_only_notes(document, builder.title))
    _attach(builder, rows, [] if only_agents else list(agents_of(document.path)))
    return [] if builder.empty else [builder.build(stable_id(NAME, *_identity(rows, document, only_agents)))]


def _only_notes(document: Document, title: str) -> str:
    what = f"the title “{one_line(title, _TITLE_CHARS)}”" if title else "notes"
    return f"{document.path} has only {what} of a Claude Code session. What was said is in another file, or deleted."


def _attach(builder: SessionBuilder, rows: list[Record], agents: list[Agent]) -> None:
    """Each agent to its call, those that agents asked included; one whose call is not there comes where it began."""
    builder.leave_out(_OWN_AGENTS, sum(agent.is_own for agent in agents))
    left = [agent for agent in agents if not agent.is_own]
    _attach_called(builder, rows, left)
    while left:
        _delegate(builder, "", "", left.pop(0), left)


def _attach_called(builder: SessionBuilder, rows: list[Record], left: list[Agent]) -> None:
    """The agents that these rows call; they are taken from those that are left."""
    calls = calls_of_agents(rows, left)
    for agent in [agent for agent in left if agent.id in calls]:
        if agent in left:  # another one may have asked it
            left.remove(agent)
            _delegate(builder, *calls[agent.id], agent, left)


def _delegate(builder: SessionBuilder, call_id: str, name: str, agent: Agent, left: list[Agent]) -> None:
    other = SessionBuilder(NAME, builder.started)
    other.skipped = agent.skipped
    _Reader(other, agent.rows, with_agents=True).read()
    _attach_called(other, agent.rows, left)
    name = one_line((name or agent.name).replace(DELEGATION_SEPARATOR, "_"), _NAME_CHARS) or "agent"
    builder.delegate(call_id, f"{name} {agent.id[-_ID_CHARS:]}", name, other)


def _rows(document: Document) -> list[Record]:
    if len(document.records) == 1 and isinstance(lines := document.records[0].get("loglines"), list):
        return [row if isinstance(row, dict) else {} for row in lines]
    return document.records


def _is_row(row: Record) -> bool:
    message = row.get("message")
    return row.get("type") in ("user", "assistant") and isinstance(message, dict) and "content" in message


def _identity(rows: list[Record], document: Document, only_agents: bool) -> Iterator[str]:
    """The id of the session that wrote the latest row: a resumed one begins with the rows of another."""
    named = (text(row.get("sessionId")) for row in reversed(rows) if _is_row(row))
    yield next(filter(None, named), "") or readable(document.records)
    if only_agents:
        yield next((text(row["agentId"]) for row in rows if text(row.get("agentId"))), "")


def _title(rows: list[Record]) -> str:
    for kind, key in _TITLES:
        titles = [text(row.get(key)) for row in rows if row.get("type") == kind]
        if any(titles):
            return next(title for title in reversed(titles) if title)
    return ""


class _Ran(NamedTuple):
    """A command that the user ran, until its output comes."""

    command: TypedCommand
    time: datetime | None
    id: str
    place: Place | None


class _Reader:
    """Reads the rows in order; a command waits for what it printed, a compaction for its summary."""

    def __init__(self, builder: SessionBuilder, rows: list[Record], *, with_agents: bool) -> None:
        self._builder = builder
        self._rows = rows
        self._with_agents = with_agents
        self._queue = read_queue(rows)
        self._compaction: Record | None = None
        self._command: _Ran | None = None
        self._id = ""
        """Of the row that is read."""

    def read(self) -> None:
        ids = {text(row.get("uuid")) for row in self._rows} - {""}
        has_links = any(text(row.get("parentUuid")) in ids for row in self._rows)  # old files have none
        nodes = [
            Node(text(row.get("uuid")), _parent(row) if has_links else None, (number, row))
            for number, row in enumerate(self._rows)
            if self._with_agents or not row.get("isSidechain")
        ]
        self._builder.leave_out(SUB_AGENTS, len(self._rows) - len(nodes))
        for number, row in self._builder.walk(nodes):
            # What waited in the queue is the same wherever it ends up: it goes by its content.
            self._id = "" if number in self._queue.rows else text(row.get("uuid"))
            self._builder.mark(self._id)
            self._row(row, self._queue.sent.get(number))
            self._place(row)
        if self._command is not None:  # what comes of it is not in the file yet
            self._builder.leave_out("unfinished commands")
            self._command = None
        for content in self._queue.waiting:
            self._prompt(prompt_content(content), None)
        self._compact(self._compaction, "")
        if self._queue.taken_back:
            self._builder.leave_out("queued prompts that were taken back", self._queue.taken_back)

    def _row(self, row: Record, queued: Any) -> None:
        kind, time = text(row.get("type")), read_time(row.get("timestamp"))
        if kind in ("user", "assistant"):
            self._message(row, time)
        elif kind == "system":
            self._system(row, time)
        elif kind == "attachment" and isinstance(about := row.get("attachment"), dict):
            self._attachment(about, read_time(about.get("timestamp")) or time)
        elif kind == "queue-operation":
            if queued is not None:
                self._prompt(prompt_content(queued), time)
        elif kind == "progress":
            about = row.get("data")
            what = text(about.get("type")) if isinstance(about, dict) else ""
            self._builder.leave_out(_PROGRESS.get(what, "progress reports"))
        elif kind not in _BOOKKEEPING:
            self._builder.leave_out(_LEFT_OUT.get(kind, OTHER_RECORDS))

    def _place(self, row: Record) -> None:
        self._builder.cwd = self._builder.cwd or text(row.get("cwd"))
        self._builder.branch = self._builder.branch or text(row.get("gitBranch"))

    def _message(self, row: Record, time: datetime | None) -> None:
        if row.get("isCompactSummary"):
            self._end_command()
            self._compact(self._compaction or row, _text_of(row))
            self._compaction = None
        elif not _is_row(row):
            self._builder.skipped += 1
        elif row["type"] == "assistant":
            self._end_command()
            self._reply(row, time)
        else:
            self._said(row, list(blocks_of(row["message"].get("content"))), time)

    def _system(self, row: Record, time: datetime | None) -> None:
        subtype = text(row.get("subtype"))
        if subtype == "compact_boundary":
            self._compact(self._compaction, "")
            self._compaction = row
        elif subtype == "local_command" and self._ran(text(row.get("content")), time):
            pass
        elif subtype not in _SYSTEM_BOOKKEEPING:
            self._builder.leave_out(_SYSTEM_LEFT_OUT.get(subtype, NOTICES))

    def _compact(self, row: Record | None, summary: str) -> None:
        if row is None:
            return
        about = row.get("compactMetadata")
        details = about if isinstance(about, dict) else {}
        trigger = "manual" if details.get("trigger") == "manual" else "background"
        time = read_time(row.get("timestamp"))
        self._builder.compacted(summary, time, trigger=trigger, pre_tokens=count(details, "preTokens"))

    def _reply(self, row: Record, time: datetime | None) -> None:
        message = row["message"]
        blocks = list(blocks_of(message.get("content")))
        model = text(message.get("model"))
        if row.get("isApiErrorMessage") is True or model == _SYNTHETIC:
            is_error = row.get("isApiErrorMessage") is True or row.get("error") or _text_of(row).startswith("API Error")
            self._builder.leave_out(ERROR_MESSAGES if is_error else NOTICES)
            return
        anthropic_blocks.reply(
            self._builder,
            blocks,
            time,
            model=model,
            usage=anthropic_blocks.usage_of(message.get("usage")),
            interrupted=row.get("isAbortedMidStream") is True,
            reply_id=text(message.get("id")),
        )

    def _said(self, row: Record, blocks: list[Record], time: datetime | None) -> None:
        if any(map(anthropic_blocks.is_result, blocks)):
            anthropic_blocks.results(self._builder, blocks, time)
            blocks = [block for block in blocks if not anthropic_blocks.is_result(block)]
        words = []
        for block in blocks:
            said = text(block.get("text")).strip()
            if said in INTERRUPTIONS:
                self._builder.interrupt()
            elif said.startswith(CAVEATS):
                self._builder.leave_out(NOTICES)
            elif is_note(said):
                self._prompt(prompt_content([block]), time, by_program=True)
            elif not self._ran(said, time):
                words.append(block)
        self._prompt(prompt_content(words), time, by_program=row.get("isMeta") is True)

    def _attachment(self, about: Record, time: datetime | None) -> None:
        if about.get("type") == "queued_command":
            self._prompt(prompt_content(about.get("prompt")), time)
        elif about.get("type") == "hook_additional_context" and text_of_blocks(about.get("content")):
            self._prompt(prompt_content(about.get("content")), time, by_program=True)
        elif left_out := left_out_of(about):
            self._builder.leave_out(left_out)
        else:
            self._prompt(attached_file(about), time, by_program=True)

    def _prompt(self, said: Content, time: datetime | None, *, by_program: bool = False) -> None:
        if not said.text.strip() and not said.images:
            self._builder.counting(said)
            return
        # What the program writes after a slash command is the prompt of that command.
        slash = ""
        if by_program and self._command is not None and not self._command.command.is_shell and not is_note(said.text):
            slash, self._command = self._command.command.line, None
        self._end_command()
        self._builder.counting(said)
        by_program = (by_program or is_note(said.text)) and not slash
        self._builder.prompt(said.text, time, images=said.images, slash=slash, by_program=by_program)

    def _ran(self, said: str, time: datetime | None) -> bool:
        """Whether the text is a command of the user or what it printed."""
        if (command := command_in(said)) is not None:
            self._end_command()
            self._command = _Ran(command, time, self._id, self._builder.place)
            return True
        if (output := output_in(said)) is None:
            return False
        self._command = self._command or _Ran(
            TypedCommand("(a command)", is_shell=False), time, self._id, self._builder.place
        )
        self._end_command(output)
        return True

    def _end_command(self, output: str = "") -> None:
        if self._command is None:
            return
        ran, self._command = self._command, None
        here = self._builder.place
        self._builder.mark(ran.id)
        self._builder.go_back(ran.place)
        self._builder.ran(ran.command.line, output, ran.time, sign=ran.command.sign)
        self._builder.mark(self._id)
        if here is not ran.place:  # what comes next is on another branch
            self._builder.go_back(here)


def _parent(row: Record) -> str | None:
    """A compaction cuts the chain and names what it follows elsewhere; a reply that names nothing has lost its link."""
    if parent := text(row.get("parentUuid")):
        return parent
    if parent := text(row.get("logicalParentUuid")):
        return parent
    if "parentUuid" not in row or row.get("subtype") == "compact_boundary" or row.get("isCompactSummary"):
        return None
    message = row.get("message")
    blocks = blocks_of(message.get("content")) if isinstance(message, dict) else ()
    return None if row.get("type") == "assistant" or any(map(anthropic_blocks.is_result, blocks)) else ROOT


def _text_of(row: Record) -> str:
    message = row.get("message")
    return text_of_blocks(message.get("content")) if isinstance(message, dict) else ""


IMPORTERS: Final = (DocumentImporter("Claude Code", recognises, load),)
