"""Files of Claude Code's agents: in a folder of the session that asked them, in older versions next to its file."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.exchange.importers.foreign_files import Record, first_record, read_document, read_value
from co_tui.exchange.importers.imported import ImportRefused

_FOLDER: Final = "subagents"
_NAME: Final = re.compile(r"agent-[\w-]{1,80}\.jsonl")
_OWN: Final = re.compile(r"a?(?:compact|prompt_suggestion|side_question)-")
"""How the ids of agents begin that the program asks for itself; they get a copy of the whole conversation."""
MAX_AGENTS: Final = 2_000
MAX_AGENTS_BYTES: Final = 500_000_000
"""Per session; what is beyond is counted as damaged."""


class Agent(NamedTuple):
    """An agent and all that was said in its task."""

    id: str
    name: str
    call_id: str
    """Of the call that asked it, if its files say so."""
    rows: list[Record]
    skipped: int
    is_own: bool
    """The program asked it for itself."""

    @property
    def task(self) -> Any:
        first: Record = next((row for row in self.rows if row.get("type") == "user"), {})
        message = first.get("message")
        return message.get("content") if isinstance(message, dict) else None


def agents_of(session: Path) -> Iterator[Agent]:
    """The agents of the session in this file."""
    found = [*_next_to(session), *_in_folder(session.with_suffix(""))]
    files = list({file.name: file for file in found}.values())  # one that is in both places is the same agent
    left_bytes = MAX_AGENTS_BYTES
    for file in files[:MAX_AGENTS]:
        id = file.stem.removeprefix("agent-")
        is_own = bool(_OWN.match(id))
        left_bytes -= 0 if is_own else file.stat().st_size
        rows, skipped = ([], 0) if is_own else _rows_of(file) if left_bytes >= 0 else ([], 1)
        about = read_value(file.with_name(f"{file.stem}.meta.json"))
        described: Record = about if isinstance(about, dict) else {}
        yield Agent(id, _text(described, "agentType"), _text(described, "toolUseId"), rows, skipped, is_own)


def _rows_of(file: Path) -> tuple[list[Record], int]:
    try:
        document = read_document(file)
    except ImportRefused:
        return [], 1
    return document.records, document.skipped


def is_part_of_session(file: Path) -> bool:
    """Whether it is a file of an agent, or about one, whose session is there too."""
    if not file.name.startswith("agent-"):
        return False
    if (folder := next((each for each in file.parents if each.name == _FOLDER), None)) is not None:
        return folder.parent.with_name(f"{folder.parent.name}.jsonl").is_file()
    if not _NAME.fullmatch(file.name):
        return False
    session_id = _session_id(file)
    return bool(session_id) and file.with_name(f"{session_id}.jsonl").is_file()


def _in_folder(session: Path) -> list[Path]:
    found = sorted((session / _FOLDER).rglob("agent-*.jsonl"))
    return [file for file in found if _NAME.fullmatch(file.name) and file.is_file() and not file.is_symlink()]


def _next_to(session: Path) -> tuple[Path, ...]:
    folder = session.absolute().parent
    return _agents_in(folder, folder.stat().st_mtime_ns).get(session.stem, ())


@lru_cache(maxsize=4)
def _agents_in(folder: Path, _changed_ns: int) -> Mapping[str, tuple[Path, ...]]:
    """The agents' files of a folder, by session. Each is opened once for all sessions there."""
    found: dict[str, tuple[Path, ...]] = {}
    for file in sorted(folder.glob("agent-*.jsonl")):
        if _NAME.fullmatch(file.name) and not file.is_symlink():
            session_id = _session_id(file)
            found[session_id] = (*found.get(session_id, ()), file)
    return found


def _session_id(file: Path) -> str:
    session_id = _text(first_record(file), "sessionId")
    return session_id if re.fullmatch(r"[\w-]{1,80}", session_id) else ""


def calls_of_agents(rows: Iterable[Record], agents: Iterable[Agent]) -> dict[str, tuple[str, str]]:
    """The call in these rows that asked each agent, and the kind of agent it asked for; by the agent's id."""
    calls = {block["id"]: block for block in _blocks(rows, "tool_use") if isinstance(block.get("id"), str)}
    said = dict(_said_in_results(rows))
    found: dict[str, tuple[str, str]] = {}
    free = dict(calls)
    for agent in agents:
        call_id = agent.call_id or said.get(agent.id, "") or _same_task(free, agent)
        if call_id in calls:
            free.pop(call_id, None)
            found[agent.id] = (call_id, agent.name or _asked(calls[call_id], "subagent_type"))
    return found


def _same_task(calls: Mapping[str, Record], agent: Agent) -> str:
    task = agent.task
    return next((id for id, call in calls.items() if task and _asked(call, "prompt") == task), "")


def _asked(call: Record, key: str) -> str:
    given = call.get("input")
    return _text(given, key) if isinstance(given, dict) else ""


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _said_in_results(rows: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """The agents that results name, with the calls that they are the results of."""
    for row in rows:
        about = row.get("toolUseResult")
        if isinstance(about, dict) and isinstance(about.get("agentId"), str):
            for block in _blocks([row], "tool_result"):
                yield about["agentId"], str(block.get("tool_use_id"))


def _blocks(rows: Iterable[Record], kind: str) -> Iterator[Record]:
    for row in rows:
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == kind:
                yield block
