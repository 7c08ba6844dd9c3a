"""What the session browser does with a session, and what it asks first."""

from typing import ClassVar, Final, NamedTuple, Protocol, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from co_tui.inert import one_line
from co_tui.store.housekeeping import TRASH_DAYS
from co_tui.store.stored_values import SessionRow
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, Row
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.formatting import KEY_STYLE, counted, folder
from co_tui.ui.sessions.session_finder import SessionFinder
from co_tui.ui.widgets.key_hints import KeyHints

T = TypeVar("T")
TITLE_CHARS: Final = 200
FORMS: Final = {"m": "Markdown, to read", "h": "HTML, one page to share", "j": "JSONL, to import again"}


class SessionEditor(Protocol):
    """Changes stored sessions. All raise `StoreError`."""

    async def refresh(self, session_id: str = "") -> str:
        """Pull what is new of one session or of all; returns why that was not possible."""

    async def rename(self, session_id: str, title: str) -> None: ...

    async def keep_first(self, session_id: str, pinned: bool) -> None: ...

    async def trash(self, session_id: str) -> None: ...

    async def restore(self, session_id: str) -> None: ...

    async def delete(self, session_id: str) -> None:
        """Delete it permanently."""

    async def export(self, session_id: str, form: str) -> str:
        """Write it to the present folder; returns the file."""


class ChosenSession(NamedTuple):
    """The session to resume, or to fork."""

    session_id: str
    at: int = 0
    """The seq of the message to show; 0 for the end."""
    forks: bool = False
    upto: int | None = None
    """The last seq of the fork; None for all of it."""
    prompt: str = ""
    """The prompt after it, to be edited in the fork."""


class Ask(Protocol):
    """Opens a screen and waits for its answer."""

    async def __call__(self, screen: Screen[T]) -> T | None: ...


class SessionActions:
    """Asks, then changes the session. All raise `StoreError` and `OSError`."""

    def __init__(self, editor: SessionEditor, finder: SessionFinder, ask: Ask) -> None:
        self._editor, self._finder, self._ask = editor, finder, ask

    async def choose_fork(self, row: SessionRow) -> ChosenSession | None:
        """Ask where to fork: at the end, or before a prompt, which is then edited in the fork."""
        prompts = {each.seq: each for each in await self._finder.prompts(row.id)}
        end = (row.last_seq + 1, 0)
        rows = [Row((each.seq, 0), each.turn, "you", one_line(each.text, TITLE_CHARS)) for each in prompts.values()]
        rows.append(Row(end, 0, "the end", "all of it"))
        chosen = await self._ask(ChooseMessageScreen("Fork from before…", rows, "fork from there"))
        if chosen is None or chosen == end:
            return ChosenSession(row.id, forks=True) if chosen else None
        seq, _ = chosen
        return ChosenSession(row.id, forks=True, upto=seq - 1, prompt=prompts[seq].text)

    async def rename(self, row: SessionRow) -> None:
        from co_tui.ui.dialogs.simple_dialogs import AskScreen

        title = await self._ask(AskScreen("Rename", row.title))
        if title and title.strip():
            await self._editor.rename(row.id, one_line(title, TITLE_CHARS))

    async def delete(self, row: SessionRow) -> None:
        """Move it to the trash; delete it permanently if it is there already."""
        from co_tui.ui.dialogs.simple_dialogs import ConfirmScreen

        if await self._ask(ConfirmScreen(deletion_question(row))):
            delete = self._editor.delete if row.trashed else self._editor.trash
            await delete(row.id)

    async def export(self, row: SessionRow) -> str:
        """Names the written file in a sentence; empty if nothing was written."""
        if form := await self._ask(ExportScreen()):
            file = await self._editor.export(row.id, form)
            return f"Exported to {one_line(folder(file, 200), 200)}"
        return ""


def deletion_question(row: SessionRow) -> str:
    """Names what is lost, and how to undo it."""
    name = f"“{one_line(row.title, 50)}”" if row.title else "this session"
    if row.trashed:
        return f"Delete {name} with its {counted(row.messages, 'message')} forever?"
    how_to_undo = f"Restorable for {TRASH_DAYS} days (Ctrl+T)."
    if row.pinned:
        return f"{name[0].upper()}{name[1:]} is pinned. Move it to the trash anyway? {how_to_undo}"
    return f"Move {name} to the trash? {how_to_undo}"


class ExportScreen(Dialog[str]):
    """Asks for the export format; Esc answers None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "say('markdown')"),
        Binding("h", "say('html')"),
        Binding("j", "say('jsonl')"),
        Binding("escape", "close"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Export into this folder"
            rows = (Content.assemble((key, KEY_STYLE), f"  {label}") for key, label in FORMS.items())
            yield Static(Content("\n").join(rows))
            yield KeyHints(("esc", "back"))

    def action_say(self, form: str) -> None:
        self.answer(form)
