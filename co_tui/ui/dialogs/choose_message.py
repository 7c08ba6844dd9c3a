"""Choose a message: to pin it, or to go back to a turn."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from co_tui.events import Json, Ref
from co_tui.events.file_diff import diff_in, read_diff
from co_tui.events.stored_messages import REPLACES, pieces, typed_in
from co_tui.events.tool_wording import piece_line, piece_text
from co_tui.inert import one_line
from co_tui.session.state.session_state import Entry
from co_tui.ui.dialogs.filter_dialog import ChoosingDialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.line_list import LineList

LINE_CHARS = 200
FILES_NAMED, FILES_CHARS = 3, 60
LEAST_TEXT_CELLS = 30
CHANGED = "±"
SUMMARY_ROLE = "summary"
_LABELS = {
    "user": "you",
    "assistant": "co-tui",
    "thinking": "thought",
    "tool_call": "call",
    "tool_result": "result",
    "system": "system",
    "attached": "file",
    "command": "you ran",
    "note": "note",
}


class Row(NamedTuple):
    """A message in one line."""

    ref: Ref
    turn: int
    role: str
    text: str
    mark: str = ""
    files: str = ""
    """The files that its turn changed."""


def row_of(entry: Entry, mark: str = "") -> Row:
    """An entry as a row, with the start of its text."""
    role, text = first_piece(entry.message)
    return Row(entry.ref, entry.turn, role, text, mark)


def prompt_row(entry: Entry, changed: Sequence[str] = ()) -> Row:
    """A prompt as a row: only what the user wrote, whatever else is in its message; `changed` are the files of its
    turn."""
    more = f" +{len(changed) - FILES_NAMED}" if len(changed) > FILES_NAMED else ""
    files = f"{CHANGED} {', '.join(changed[:FILES_NAMED])}{more}" if changed else ""
    text = one_line(typed_in(entry.message), LINE_CHARS)
    return Row(entry.ref, entry.turn, _LABELS["user"], text, files=one_line(files, FILES_CHARS))


def changed_files(entries: Iterable[Entry]) -> dict[int, list[str]]:
    """The files that the edits of each turn changed, each once."""
    found: dict[int, list[str]] = {}
    for entry in entries:
        diffs = (diff_in(part) for part in entry.message.get("parts", ()) if isinstance(part, Mapping))
        for change in filter(None, (read_diff(diff) for diff in diffs if diff)):
            files = found.setdefault(entry.turn, [])
            if (name := change.path.rpartition("/")[2]) not in files:
                files.append(name)
    return found


def first_piece(message: Json) -> tuple[str, str]:
    """Role and text of the first piece; the kind of the message if it has none."""
    if REPLACES in (message.get("metadata") or {}):
        return SUMMARY_ROLE, one_line(text_of_all(message), LINE_CHARS)
    for role, text, part in pieces(message):
        return _LABELS[role], one_line(piece_line(role, text, part), LINE_CHARS)
    return str(message.get("kind", "")), ""


def text_of_all(message: Json) -> str:
    """Everything readable in a message."""
    return "\n\n".join(piece_text(*piece) for piece in pieces(message))


def line_of(row: Row, width: int = 0) -> Text:
    """Role and text; where there is room, the files at the end."""
    line = Text(no_wrap=True, overflow="ellipsis")
    turn = f"{row.turn}" if row.turn else "–"
    line.append(f"{turn:>4} ", "dim")
    line.append(f"{row.role:<8}", "bold")
    if row.mark:
        line.append(f"{row.mark} ")
    line.append(row.text)
    if row.files and (room := width - cell_len(row.files) - 2) >= LEAST_TEXT_CELLS:
        line.truncate(room, overflow="ellipsis", pad=True)
        line.append(f"  {row.files}", "dim")
    return line


def show_messages(lines: LineList, rows: Sequence[Row], nothing: str, chosen: int) -> None:
    """Show one line each, rendered when visible: a session may have very many."""
    lines.show(len(rows), lambda place, width: line_of(rows[place], width), lambda place: rows[place].ref, nothing)
    lines.chosen = chosen


class ChooseMessageScreen(ChoosingDialog[Ref]):
    """Type to filter; Enter chooses."""

    def __init__(self, title: str, rows: Sequence[Row], verb: str) -> None:
        super().__init__()
        self._title, self._verb = title, verb
        self._rows = [(row, f"{row.text} {row.files}".lower()) for row in rows]
        """With the lower-case text that each keystroke searches."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            yield Field(placeholder="Filter")
            yield LineList(classes="-filling", opens_at_first_click=True)
            yield KeyHints(("enter", self._verb), ("esc", "back"))

    def on_mount(self) -> None:
        self._fill("")

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def _fill(self, typed: str) -> None:
        words, lines = typed.lower().split(), self.query_one(LineList)
        found = [row for row, lower in self._rows if all(word in lower for word in words)]
        self._choices = [row.ref for row in found]
        show_messages(lines, found, "No message matches.", chosen=len(found) - 1)  # the newest
