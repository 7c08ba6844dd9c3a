"""Tool calls as an editor shows them: title, kind, files, changes and output."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)

from co_tui.events.file_diff import DiffRow, read_diff
from co_tui.events.storable import storable
from co_tui.events.tool_calls import PRESENT_PLAN, WEB_FETCH, WEB_SEARCH, changed_paths, gist_of_call, tool_label
from co_tui.events.tool_wording import arguments_of
from co_tui.inert import inert

MOST_CHARS: Final = 50_000
"""Of a result; the model gets its own part of it."""
_KINDS: Final[Mapping[str, ToolKind]] = {
    "read_file": "read",
    "list_directory": "read",
    "read_artifact": "read",
    "write_file": "edit",
    "edit_file": "edit",
    "edit_files": "edit",
    "create_directory": "edit",
    "search_files": "search",
    "find_files": "search",
    "search_memory": "search",
    "recall": "search",
    "run_command": "execute",
    "start_command": "execute",
    "check_command": "execute",
    "stop_command": "execute",
    "delegate_task": "think",
    "transfer_to_agent": "think",
    PRESENT_PLAN: "switch_mode",
    WEB_FETCH: "fetch",
    WEB_SEARCH: "fetch",
}
_STATUS: Final[Mapping[str, ToolCallStatus]] = {"started": "in_progress", "finished": "completed"}

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


def call_id(id: str, agent: str = "") -> str:
    """The id of a call for an editor: those of delegates do not collide with others."""
    return f"{agent}/{id}" if agent else id


class ToolCall:
    """A call of a tool in a folder."""

    def __init__(self, id: str, tool: str, arguments: str, folder: Path, agent: str = "") -> None:
        """`arguments` is the JSON text of the call; `agent` names the delegate that made it."""
        self.id = call_id(id, agent)
        self._tool = tool
        self._agent = agent
        self._folder = folder
        self._values = storable(arguments_of(arguments))

    @property
    def title(self) -> str:
        line = f"{tool_label(self._tool)} {gist_of_call(self._tool, self._values) if self._values else ''}".rstrip()
        return f"{self._agent}: {line}" if self._agent else line

    @property
    def kind(self) -> ToolKind:
        return _KINDS.get(self._tool, "other")

    @property
    def locations(self) -> list[ToolCallLocation]:
        """The files it is about, so that an editor can follow."""
        if self.kind not in ("read", "edit"):
            return []
        line = self._values.get("offset") if self._tool == "read_file" else None
        place = line if isinstance(line, int) and line > 0 else None
        named = [path for path in changed_paths(self._tool, self._values) if path]
        return [ToolCallLocation(path=self._absolute(path), line=place) for path in named]

    def start(self, status: ToolCallStatus = "pending") -> ToolCallStart:
        return ToolCallStart(session_update="tool_call", status=status, **self._described())

    def progress(self, stage: str, text: str = "", diff: str = "") -> ToolCallProgress:
        """How it goes on, or how it ended."""
        status = _STATUS.get(stage, "failed")
        content = list(self.contents(text, diff)) or None
        more = self._described() if stage == "started" else {"tool_call_id": self.id}
        return ToolCallProgress(session_update="tool_call_update", status=status, content=content, **more)

    def asked(self, what: str, about: str = "") -> ToolCallUpdate:
        """The call as a permission request shows it; `what` is what it would do, or the diff of it, `about` why it is
        asked and what to know of it."""
        diffs = self._diffs(what) if self.kind == "edit" else []
        text = about if diffs else "\n".join(filter(None, (what, about)))
        content: list[Content] = [*([_text(text)] if text else []), *diffs]
        return ToolCallUpdate(status="pending", content=content or None, **self._described())

    def contents(self, text: str, diff: str = "") -> Iterator[Content]:
        """A result, with the change it made."""
        yield from self._diffs(diff)
        if text:
            yield _text(text)

    def _described(self) -> dict[str, Any]:
        return {
            "tool_call_id": self.id,
            "title": self.title,
            "kind": self.kind,
            "locations": self.locations or None,
            "raw_input": self._values or None,
        }

    def _diffs(self, diff: str) -> list[FileEditToolCallContent]:
        """One for each changed place."""
        change = read_diff(diff) if diff else None
        if change is None:
            return []
        return [
            tool_diff_content(self._absolute(path), "\n".join(after), "\n".join(before) if before else None)
            for path, before, after in _places(change.path, change.rows)
        ]

    def _absolute(self, path: str) -> str:
        return str(self._folder / path)


def _places(path: str, rows: Iterable[DiffRow]) -> Iterator[tuple[str, list[str], list[str]]]:
    """The lines before and after each changed place, and its file."""
    before: list[str] = []
    after: list[str] = []
    for row in rows:
        if row.sign in ("file", "gap"):
            if before or after:
                yield path, before, after
            before, after = [], []
            path = row.text if row.sign == "file" else path
        if row.sign in (" ", "-"):
            before.append(row.text)
        if row.sign in (" ", "+"):
            after.append(row.text)
    if before or after:
        yield path, before, after


def _text(text: str) -> ContentToolCallContent:
    shown = inert(text)
    cut = f"{shown[:MOST_CHARS]}\n… {len(shown) - MOST_CHARS:,} more characters" if len(shown) > MOST_CHARS else shown
    return tool_content(text_block(cut))
