"""Commands about memory across sessions: the daily memory and the context board."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from co_tui.inert import inert, one_line
from co_tui.session.slash.command_host import CommandFailed, CommandHost, WrongArguments, command

if TYPE_CHECKING:
    from co_tui.store.notes.board_text import Board, BoardChange, BoardEntry
    from co_tui.store.notes.context_board import ContextBoard
    from co_tui.store.notes.memory_text import MemoryEntry

BOARD = "board"
MOST_SHOWN = 300
NO_CHANGE = "No context board change to undo."
NO_NOTES = "The context board is empty."
NO_ENTRY = "No entry matches."


@command("memory")
async def memory(host: CommandHost, words: str) -> None:
    """The newest entries that contain all words, or the notes of the board."""
    if words == BOARD:
        from co_tui.store.notes.context_board import BoardFailed

        try:
            board = await BoardEditor(host).read()
        except BoardFailed as failed:
            raise CommandFailed(str(failed)) from None
        notes = "\n".join(f"- {one_line(entry.text, 500)}" for entry in board.entries)
        host.answer(notes) if notes else host.say(NO_NOTES)
        return
    entries = await asyncio.to_thread(lambda: list(islice(_matching(host, words), MOST_SHOWN)))
    text = "\n\n".join(f"{each.day} {each.time} · {one_line(each.heading, 60)}\n{each.text}" for each in entries)
    host.answer(inert(text)) if text else host.say(NO_ENTRY)


def _matching(host: CommandHost, words: str) -> "Iterator[MemoryEntry]":
    needed = words.lower().split()
    return (each for each in host.launch.files.memory.entries() if all(word in each.searched for word in needed))


@command("subconscious")
async def subconscious(host: CommandHost, arguments: str) -> None:
    host.require_writable()
    match arguments:
        case "run" | "":
            await _run(host)
        case "undo":
            await _undo(host)
        case _:
            raise WrongArguments(f"/subconscious takes `run` or `undo`, not {one_line(arguments, 40)!r}.")


async def _run(host: CommandHost) -> None:
    session = host.opened()
    from co_tui.session.board.board_update import BoardRefused

    if session.queue.busy:
        host.say("The context board is updated after this turn.")
    running = asyncio.create_task(session.update_board())
    await asyncio.sleep(0)
    host.show_busy()
    try:
        updated = await running
    except BoardRefused as refused:
        raise CommandFailed(str(refused)) from None
    finally:
        host.show_busy()
    host.say(_change_text(updated.change) if updated is not None else "Stopped. The context board is unchanged.")


async def _undo(host: CommandHost) -> None:
    from co_tui.store.notes.context_board import ContextBoard

    editor = BoardEditor(host)
    if trouble := await editor.attempt(ContextBoard.undo):
        raise CommandFailed(trouble)
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


class BoardEditor:
    """Edits the board of the present repository and branch; an open session logs the changes."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host
        launch = host.launch
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

        session_id = self._host.session_id
        return await self.attempt(lambda board: board.change([new_entry(text, session_id) for text in texts], pruned))

    async def attempt(self, make: "Callable[[ContextBoard], BoardChange]") -> str:
        """Make a change; returns what went wrong, in a sentence."""
        from co_tui.session.board.board_update import BoardRefused
        from co_tui.session.board.session_board import PRIVATE
        from co_tui.store.notes.context_board import BoardFailed

        if self._host.launch.private:
            return PRIVATE
        try:
            if (session := self._host.session) is not None:
                self.latest = await session.board.change(make)
            else:
                self.latest = await asyncio.to_thread(make, self._board)
        except (BoardFailed, BoardRefused) as failed:
            return str(failed)
        return ""
