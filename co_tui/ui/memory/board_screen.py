"""The context board: the notes new sessions in this repository and branch start with, and how to edit them."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.events.wording import local_text
from co_tui.inert import inert, one_line
from co_tui.session.slash.memory_commands import BoardEditor
from co_tui.store.notes.board_text import Board, BoardEntry
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import Dialog, show_rows
from co_tui.ui.dialogs.simple_dialogs import AskScreen
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

KEYS = (("a", "add"), ("e", "edit"), ("d", "delete"), ("u", "undo"), ("esc", "back"))
EMPTY_KEYS = (("a", "add"), ("u", "undo"), ("esc", "back"))
EMPTY = "No notes yet. `/subconscious run` lets the model write notes for later sessions; a adds your own."


class BoardScreen(Dialog[None]):
    """Every change is saved at once, and can be undone."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("a", "add", "Add"),
        Binding("e", "edit", "Edit"),
        Binding("d,delete", "delete", "Delete"),
        Binding("u", "undo", "Undo"),
    ]

    def __init__(self, editor: BoardEditor, board: Board) -> None:
        super().__init__(wide=True)
        self._editor, self._board = editor, board

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(f"Context board · {one_line(self._editor.origin, 80)}")
            yield SafeList(classes="-filling -wrapping")
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._fill()
        self.query_one(OptionList).focus()

    def _fill(self, at: int = 0) -> None:
        options, entries = self.query_one(OptionList), self._board.entries
        new = {entry.id for entry in self._board.latest.added}
        show_rows(options, [Option(_row(entry, new=entry.id in new)) for entry in entries], EMPTY, at)
        self.query_one(KeyHints).show(*(KEYS if entries else EMPTY_KEYS))

    @property
    def _chosen(self) -> BoardEntry | None:
        at = self.query_one(OptionList).highlighted
        return self._board.entries[at] if at is not None and at < len(self._board.entries) else None

    def action_add(self) -> None:
        self._ask("Note for later sessions here", "", self._editor.add)

    def action_edit(self) -> None:
        if (entry := self._chosen) is not None:
            self._ask("Edit the note", entry.text, lambda text: self._editor.edit(entry, text))

    def _ask(self, title: str, present: str, change: Callable[[str], Awaitable[str]]) -> None:
        def given(text: str | None) -> None:
            if text and text.strip() and text != present:
                run_in_background(self, "Changing the note", lambda: self._changed(change(text)), group="board")

        self.app.push_screen(AskScreen(title, present), given)

    async def action_delete(self) -> None:
        if (entry := self._chosen) is not None:
            await self._changed(self._editor.delete(entry))

    async def action_undo(self) -> None:
        if self._board.latest:
            await self._changed(self._editor.undo())
        else:
            self.notify("Nothing to undo.", timeout=4)

    async def _changed(self, change: Awaitable[str]) -> None:
        if trouble := await change:
            self.notify(trouble, severity="error", markup=False)
        self._board = await self._editor.read()
        self._fill(self.query_one(OptionList).highlighted or 0)


def _row(entry: BoardEntry, *, new: bool) -> Table:
    """The whole note, over several lines."""
    row = Table.grid(padding=(0, 1))
    row.add_row(Text("+", "bold") if new else Text("·", "dim"), Text(inert(entry.text)))
    day = local_text(entry.added, "%Y-%m-%d")
    origin = " · ".join(filter(None, (day, _session(entry.session_id), "new" if new else "")))
    if origin:
        row.add_row("", Text(origin, "dim"))
    return row


def _session(session_id: str) -> str:
    return f"session {one_line(session_id, 40)}" if session_id else ""
