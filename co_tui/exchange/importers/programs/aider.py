"""The chat history of aider: Markdown, in which each start of it is a session.

What the user typed is a heading, what aider said a quote, and all else the model's. Each of aider's own lines ends in
two spaces; a quote without them is the model's.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelResponsePart

from co_tui.exchange.importers.builder import SessionBuilder
from co_tui.exchange.importers.default_folders import AIDER_HISTORY
from co_tui.exchange.importers.foreign_files import TextDocument
from co_tui.exchange.importers.foreign_parts import said, thought
from co_tui.exchange.importers.imported import ImportedSession, ImportRefused
from co_tui.exchange.importers.importer import TextImporter
from co_tui.exchange.importers.xml_calls import tagged
from co_tui.store.session_ids import stable_id

NAME: Final = "aider"
_START: Final = "# aider chat started at "
_REQUESTS: Final = re.compile(r"TO LLM \d{4}-\d\d-\d\dT")
"""How its log of requests begins."""
_MODEL: Final = re.compile(r"> (?:Main model|Models?): (\S{1,200})")
_THINKING: Final = re.compile(
    r"^-{3,}[ \t]*\n► \*\*THINKING\*\*(.*?)(?:^-{3,}[ \t]*\n► \*\*ANSWER\*\*|\Z)", re.DOTALL | re.MULTILINE
)
_THOUGHT: Final = re.compile(r"<(thinking-content-[0-9a-f]{1,64})>")
"""The tag around thoughts; its name ends in a number that no text holds by chance."""
_ASKING: Final = ("/ask", "/code", "/architect", "/context", "/help")
"""Commands whose words go to the model."""
_BREAK: Final = "  "


class _Run(NamedTuple):
    """Lines that follow each other and are said by one."""

    speaker: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def recognises(beginning: str) -> bool:
    return beginning.startswith(_START) or bool(_REQUESTS.match(beginning))


def load(document: TextDocument) -> list[ImportedSession]:
    """Raises `ImportRefused` for the log of requests, which repeats the conversation with each of them."""
    if not document.text.lstrip().startswith(_START):
        raise ImportRefused(f"{document.path} is aider's log of requests. Import {AIDER_HISTORY} next to it.")
    found: list[ImportedSession] = []
    empty = 0
    for started, lines in _sessions(document.text):
        session = _session(document, started, lines)
        found += [session] if session else []
        empty += session is None
    if found and empty:
        found[0] = found[0].but(left_out={**found[0].left_out, "empty sessions": empty})
    return found


def _sessions(text: str) -> Iterator[tuple[str, list[str]]]:
    started, lines = "", list[str]()
    for line in text.splitlines():
        if line.startswith(_START):
            if started:
                yield started, lines
            started, lines = line.removeprefix(_START).strip(), []
        else:
            lines.append(line)
    if started:
        yield started, lines


def _session(document: TextDocument, started: str, lines: list[str]) -> ImportedSession | None:
    time = _time(started) or document.modified
    builder = SessionBuilder(NAME, time)
    if document.path.name == AIDER_HISTORY:  # aider keeps it in the project
        builder.cwd = str(document.path.absolute().parent)
    model, first = "", ""
    for run in _runs(lines):
        match run.speaker:
            case "user":
                first = first or run.text
                _prompt(builder, run.text)
            case "model":
                builder.reply(_parts(run.text), None, model=model)
            case _:
                names = [found[1] for line in run.lines if (found := _MODEL.match(line))]
                model = names[-1] if names else model
                builder.leave_out("lines of aider's own output", len(run.lines))
    return None if builder.empty else builder.build(stable_id(NAME, started, first))


def _time(started: str) -> datetime | None:
    """As the clock of the machine showed it."""
    try:
        return datetime.fromisoformat(started[:19]).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _runs(lines: list[str]) -> Iterator[_Run]:
    is_broken = any(line.startswith("#### ") and line.endswith(_BREAK) for line in lines)
    ending = _BREAK if is_broken else ""
    run = _Run("aider", [])
    has_begun = False
    for line in lines:
        speaker, words = _speaker(line, ending)
        has_begun = has_begun or speaker == "user"
        if not has_begun or (run.speaker == "aider" and not line.strip()):
            speaker = "aider"  # before the first prompt it introduces itself
        if speaker != run.speaker:
            yield from _said(run)
            run = _Run(speaker, [])
        run.lines.append(words)
    yield from _said(run)


def _speaker(line: str, ending: str) -> tuple[str, str]:
    """Who says a line, and the line without the mark of a prompt."""
    if line.startswith("####") and line[4:5] in ("", " ") and line.endswith(ending):
        return "user", line[5:].removesuffix(_BREAK)
    return ("aider" if line.startswith(">") and line.endswith(ending) else "model"), line


def _said(run: _Run) -> Iterator[_Run]:
    if run.speaker == "aider":
        run = _Run("aider", [line for line in run.lines if line.strip()])
    if run.text:
        yield run


def _prompt(builder: SessionBuilder, words: str) -> None:
    if words.startswith(("/", "!")) and not words.startswith(_ASKING):
        builder.leave_out("commands to aider")
    elif words == "<blank>":
        builder.leave_out("empty messages")
    else:
        builder.prompt(words, None)


def _parts(words: str) -> list[ModelResponsePart]:
    thoughts = [found.strip() for found in _THINKING.findall(words)]
    words = _THINKING.sub("", words)
    for found in reversed(list(tagged(words, _THOUGHT))):
        thoughts.insert(0, found.body.strip())
        words = words[: found.start] + words[found.end :]
    return [*(part for each in thoughts for part in thought(each)), *said(words.strip())]


IMPORTERS: Final = (TextImporter("aider", recognises, load),)
