"""What goes with every request beside the conversation, as it was sent last, or will be next: kept for whoever looks
later."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any, Final

from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from co_tui.context.measure.count import Scaffold
from co_tui.paths import read_small_text, write_atomically

MOST_BYTES: Final = 16_000_000


class ScaffoldFile:
    """One file of a session, written whenever its instructions or tools have changed."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` is the session's own; None for one that leaves nothing behind."""
        self._file = folder / "sent-beside.json" if folder is not None else None
        self._kept = ""

    async def keep(self, scaffold: Scaffold) -> None:
        """Nothing of which only the figures are known. A file that cannot be written is no reason to disturb a turn."""
        if self._file is None or not scaffold.is_whole or (text := _as_text(scaffold)) == self._kept:
            return
        with contextlib.suppress(OSError, UnicodeEncodeError):
            await asyncio.to_thread(write_atomically, self._file, text)
            self._kept = text

    async def carry(self, folder: Path) -> None:
        """Give it to a fork, whose own folder that is: its next request has the same beside it."""
        if (kept := await asyncio.to_thread(self.read)) is not None:
            await ScaffoldFile(folder).keep(kept)

    def read(self) -> Scaffold | None:
        """None when nothing was sent yet, or what is there cannot be read."""
        if self._file is None:
            return None
        try:
            found = json.loads(read_small_text(self._file, MOST_BYTES))
            tools = [_tool(each) for each in found["tools"]]
            return Scaffold(instructions=str(found["instructions"]), tools=tools, was_sent=True)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None


def _as_text(scaffold: Scaffold) -> str:
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
        for tool in scaffold.tools
    ]
    return to_json({"instructions": scaffold.instructions, "tools": tools}, fallback=str).decode(errors="replace")


def _tool(stored: Any) -> ToolDefinition:
    described = stored["description"]
    return ToolDefinition(
        name=str(stored["name"]),
        description=str(described) if described is not None else None,
        parameters_json_schema=dict(stored["parameters"]),
    )
