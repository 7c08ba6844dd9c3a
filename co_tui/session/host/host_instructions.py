"""The instruction files of a folder on another host, in every request."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import RunContext

from co_tui.inert import inert
from co_tui.session.host.remote_host import SessionHost


class HostInstructions(AbstractCapability[Any]):
    """Reads them before each run; while the connection is lost, they are as they were."""

    def __init__(self, host: SessionHost, names: Sequence[str]) -> None:
        self._host = host
        self._names = names
        self._text = ""

    async def before_run(self, ctx: RunContext[Any]) -> None:
        with suppress(OSError, ValueError, TypeError):
            found = await asyncio.to_thread(self._host.instructions, self._names)
            blocks = [f'<context-file path="{path}">\n{inert(text)}\n</context-file>' for path, text in found]
            self._text = "\n\n".join(blocks)

    def get_instructions(self) -> Any:
        return lambda: self._text
