"""What the session browser does with a session, and what it asks before."""

from typing import Final, Protocol, TypeVar

from textual.screen import Screen

from co_tui.inert import one_line
from co_tui.store.housekeeping import TRASH_DAYS
from co_tui.store.stored_values import SessionRow
from co_tui.ui.formatting import counted, folder
from co_tui.ui.sessions.session_choice import ChosenSession, SessionEditor
from co_tui.ui.sessions.session_finder import SessionFinder

T = TypeVar("T")
TITLE_CHARS: Final = 200


class Ask(Protocol):
    """Opens a screen and waits for its answer."""

    async def __call__(self, screen: Screen[T]) -> T | None: ...


class SessionActions:
    """All raise `StoreError` and `OSError`."""

    def __init__(self, editor: SessionEditor, finder: SessionFinder, ask: Ask) -> None:
        self._editor, self._finder, self._ask = editor, finder, ask

    async def choose_fork(self, row: SessionRow) -> ChosenSession | None:
        """From its end, or from before any of its prompts, which comes back to be said otherwise."""
        from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, Row

        prompts = {each.seq: each for each in await self._finder.prompts(row.id)}
        end = (row.last_seq + 1, 0)
        rows = [Row((each.seq, 0), each.turn, "you", one_line(each.text, TITLE_CHARS)) for each in prompts.values()]
        rows.append(Row(end, 0, "the end", "all of it"))
        chosen = await self._ask(
            ChooseMessageScreen("Go on in a copy from before…", rows, "go on in a copy from there")
        )
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
        """Into the trash; what is there already, for good."""
        from co_tui.ui.dialogs.simple_dialogs import ConfirmScreen

        if await self._ask(ConfirmScreen(deletion_question(row))):
            delete = self._editor.delete if row.trashed else self._editor.trash
            await delete(row.id)

    async def export(self, row: SessionRow) -> str:
        """What was written, in a sentence; empty when nothing was."""
        from co_tui.ui.sessions.export_dialog import ExportScreen

        if form := await self._ask(ExportScreen()):
            file = await self._editor.export(row.id, form)
            return f"Written to {one_line(folder(file, 200), 200)}"
        return ""


def deletion_question(row: SessionRow) -> str:
    """Names what is lost, and the way back."""
    name = f"“{one_line(row.title, 50)}”" if row.title else "this session"
    if row.trashed:
        return f"Delete {name} with its {counted(row.messages, 'message')} for good?"
    way_back = f"ctrl+t shows it, and for {TRASH_DAYS} days takes it out again."
    if row.pinned:
        return f"{name[0].upper()}{name[1:]} is pinned. Put it into the trash all the same? {way_back}"
    return f"Put {name} into the trash? {way_back}"
