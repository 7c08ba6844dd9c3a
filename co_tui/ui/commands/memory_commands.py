"""Commands about memory across sessions: the daily memory and the context board."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from co_tui.inert import one_line
from co_tui.ui.background import start_awaited
from co_tui.ui.commands.host import CommandHost, why_not_open
from co_tui.ui.commands.registry import command
from co_tui.ui.commands.sessions_commands import resume

if TYPE_CHECKING:
    from co_tui.store.notes.board_text import Board, BoardChange, BoardEntry
    from co_tui.store.notes.context_board import ContextBoard
    from co_tui.store.notes.daily_memory import DailyMemory
    from co_tui.store.notes.memory_text import MemoryEntry

BOARD = "board"
MOST_CHARS = 5_000_000
MEMORY_CHANGED = "That entry changed or is gone. See /memory."
NO_CHANGE = "No context board change to undo."


@command("memory")
async def memory(host: CommandHost, words: str) -> None:
    if words == BOARD:
        await _show_board(host)
        return
    from co_tui.store.notes.daily_memory import MemoryFailed
    from co_tui.ui.memory.memory_screen import MemoryScreen

    files = host.settings.launch.files.memory
    entries = await asyncio.to_thread(_newest, files)

    async def attempt(change: "Callable[[MemoryEntry], bool | None]", entry: "MemoryEntry") -> str:
        try:
            done = await asyncio.to_thread(change, entry)
        except MemoryFailed as failed:
            return str(failed)
        return MEMORY_CHANGED if done is False else ""

    chosen = await host.ask(
        lambda: MemoryScreen(
            entries,
            words,
            delete=lambda entry: attempt(files.delete, entry),
            restore=lambda entry: attempt(files.restore, entry),
        )
    )
    if chosen:
        await resume(host, chosen)


def _newest(files: "DailyMemory") -> "list[MemoryEntry]":
    """As many entries as can be filtered on every keystroke: years of them."""
    newest, chars = [], 0
    for entry in files.entries():
        chars += len(entry.text)
        if chars > MOST_CHARS:
            break
        newest.append(entry)
    return newest


async def _show_board(host: CommandHost) -> None:
    from co_tui.store.notes.context_board import BoardFailed
    from co_tui.ui.memory.board_screen import BoardScreen

    editor = _Editor(host)
    try:
        board = await editor.read()
    except BoardFailed as failed:
        host.fail(str(failed))
        return
    await host.ask(lambda: BoardScreen(editor, board))


@command("subconscious")
async def subconscious(host: CommandHost, arguments: str) -> None:
    match arguments:
        case "run" | "":
            await _run(host)
        case "undo":
            await _undo(host)
        case _:
            host.fail(f"/subconscious takes `run` or `undo`, not {one_line(arguments, 40)!r}.")


async def _run(host: CommandHost) -> None:
    session = host.session
    if session is None:
        host.fail(why_not_open(host))
        return
    from co_tui.session.board.board_update import BoardRefused

    if session.queue.busy:
        host.say("The context board is updated after this turn.")
    running = start_awaited(session.update_board())
    await asyncio.sleep(0)
    host.show_busy()
    try:
        updated = await running
    except BoardRefused as refused:
        host.fail(str(refused))
    else:
        host.say(_change_text(updated.change) if updated is not None else "Stopped. The context board is unchanged.")
    finally:
        host.show_busy()


async def _undo(host: CommandHost) -> None:
    from co_tui.store.notes.context_board import ContextBoard

    editor = _Editor(host)
    trouble = await editor.attempt(ContextBoard.undo)
    if trouble:
        host.fail(trouble)
    else:
        host.say(_change_text(editor.latest, undone=True) if editor.latest else NO_CHANGE)


def _change_text(change: "BoardChange", *, undone: bool = False) -> str:
    """Added and removed notes, a line each, and how to undo it."""
    if not change:
        return "The context board is unchanged: nothing new to add."
    lines = [f"+ {one_line(entry.text, 200)}" for entry in change.added]
    lines += [f"− {one_line(entry.text, 200)}" for entry in change.pruned]
    head = "Undid the last change to the context board:" if undone else "Context board updated:"
    how_to_undo = "redoes it" if undone else "reverts it"
    return "\n".join((head, *lines, f"`/subconscious undo` {how_to_undo}; `/memory board` shows the whole board."))


class _Editor:
    """Edits the board of the present repository and branch; an open session logs the changes."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host
        launch = host.settings.launch
        self._board = launch.files.board(launch.cwd)
        self.latest: BoardChange | None = None

    @property
    def origin(self) -> str:
        return " · ".join(filter(None, (self._board.repository, self._board.branch)))

    async def read(self) -> "Board":
        return await asyncio.to_thread(self._board.read)

    async def add(self, text: str) -> str:
        return await self._change([text], [])

    async def edit(self, entry: "BoardEntry", text: str) -> str:
        return await self._change([text], [entry.id])

    async def delete(self, entry: "BoardEntry") -> str:
        return await self._change([], [entry.id])

    async def undo(self) -> str:
        from co_tui.store.notes.context_board import ContextBoard

        return await self.attempt(ContextBoard.undo)

    async def _change(self, texts: list[str], pruned: list[str]) -> str:
        from co_tui.store.notes.context_board import new_entry

        session_id = self._host.sessions.session_id
        return await self.attempt(lambda board: board.change([new_entry(text, session_id) for text in texts], pruned))

    async def attempt(self, make: "Callable[[ContextBoard], BoardChange]") -> str:
        """Make a change; returns what went wrong, in a sentence."""
        from co_tui.session.board.board_update import BoardRefused
        from co_tui.session.board.session_board import PRIVATE
        from co_tui.store.notes.context_board import BoardFailed

        if self._host.settings.launch.private:
            return PRIVATE
        try:
            if (session := self._host.session) is not None:
                self.latest = await session.board.change(make)
            else:
                self.latest = await asyncio.to_thread(make, self._board)
        except (BoardFailed, BoardRefused) as failed:
            return str(failed)
        return ""
