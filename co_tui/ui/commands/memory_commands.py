"""The screens of the daily memory and the context board."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.memory_commands import BOARD, BoardEditor
from co_tui.store.notes.context_board import BoardFailed
from co_tui.store.notes.daily_memory import DailyMemory, MemoryFailed
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.commands.sessions_commands import resume
from co_tui.ui.memory.board_screen import BoardScreen
from co_tui.ui.memory.memory_screen import MemoryScreen

if TYPE_CHECKING:
    from co_tui.store.notes.memory_text import MemoryEntry

MOST_CHARS = 5_000_000
MEMORY_CHANGED = "That entry changed or is gone. See /memory."


@command("memory")
async def memory(host: CommandHost, words: str) -> None:
    if words == BOARD:
        await _show_board(host)
        return
    files = host.launch.files.memory
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
    editor = BoardEditor(host)
    try:
        board = await editor.read()
    except BoardFailed as failed:
        raise CommandFailed(str(failed)) from None
    await host.ask(lambda: BoardScreen(editor, board))
