"""The file with a session's scaffold: the instructions and tools of its last or next request, for later viewing."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any, Final

from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from co_tui.context.measure.count import Scaffold
from co_tui.paths import read_small_text, write_atomically
from co_tui.store.sync.files.synced_file import OnChange, not_synced

MOST_BYTES: Final = 16_000_000


class ScaffoldFile:
    """Written whenever the session's instructions or tools change."""

    def __init__(self, folder: Path | None, on_change: OnChange = not_synced) -> None:
        """`folder` is the session's own; None for a private session."""
        self._on_change = on_change
        self._file = folder / "sent-beside.json" if folder is not None else None
        self._kept = ""

    async def keep(self, scaffold: Scaffold) -> None:
        """Store a scaffold, unless only its figures are known. Write errors are ignored: they must not disturb a
        turn."""
        if self._file is None or not scaffold.is_whole or (text := _as_text(scaffold)) == self._kept:
            return
        with contextlib.suppress(OSError, UnicodeEncodeError):
            await asyncio.to_thread(write_atomically, self._file, text)
            self._kept = text
            self._on_change()

    async def carry(self, fork: "ScaffoldFile") -> None:
        """Copy it for a fork: its next request has the same scaffold."""
        if (kept := await asyncio.to_thread(self.read)) is not None:
            await fork.keep(kept)

    def read(self) -> Scaffold | None:
        """None if nothing was sent yet, or the file is invalid."""
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
