"""Writes a session for others, without holding the screen up."""

import asyncio
from pathlib import Path

from co_tui.inert import one_line
from co_tui.paths import path_text, write_atomically
from co_tui.store.store_errors import StoreError
from co_tui.ui.launch import Launch


def export_file(folder: Path, session_id: str, form: str) -> Path:
    """The name a session gets when nobody names it."""
    from co_tui.exchange.exporters import SUFFIXES

    return folder / f"co-tui-{session_id}{SUFFIXES[form]}"


async def write_export(launch: Launch, session_id: str, form: str, file: Path) -> None:
    """Raises `StoreError` with a sentence when the session cannot be read, or the file not be written."""

    def write() -> None:
        from co_tui.agent.redact import keys_in
        from co_tui.exchange.exporters import exported

        with launch.store.reading() as reading:
            text = "".join(exported(reading.events(session_id), form, keys_in(launch.environ)))
        write_atomically(file, text)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        told = f"{one_line(path_text(file), 200)} cannot be written: {error.strerror or error}."
        raise StoreError(told) from None
