"""The child process that serves a file of weights, as the app sees it."""

import asyncio
import contextlib
import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.record import Record

START_TIMEOUT_S: Final = 60.0
KEY_VARIABLE: Final = "CO_TUI_SERVER_KEY"
"""How the child learns what to ask of whoever talks to it."""


class Weights(Record):
    """What is served, and how it is called."""

    file: Path
    alias: str
    """The model's name on the wire."""
    called: str
    """In sentences."""
    window_tokens: int = 0
    """At most; 0 leaves it to the file, and to what the memory holds."""
    runtime: Path
    """Where the program that serves it was fetched to, unless it is installed."""


class WeightsServer:
    """Runs a model in a child process, on demand; restarts it once if it dies. Only its parent has the key to it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """`environ` is the child's; keys of providers have no place in it."""
        self.key = secrets.token_urlsafe(24)
        self._environ = {**environ, KEY_VARIABLE: self.key}
        self._process: asyncio.subprocess.Process | None = None
        self._address = ""
        self._starts = 0
        self._starting = asyncio.Lock()

    async def address(self, weights: Weights) -> str:
        """Where the server listens now, starting it if it is not running. Raises `ModelUnusable`."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                if self._starts > 1:
                    raise ModelUnusable(
                        f"{weights.called}: its process died twice; choose another model, or start co-tui again."
                    )
                await self._start(weights)
            return self._address

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _start(self, weights: Weights) -> None:
        self._starts += 1
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            # Without the present folder among the places that modules come from: it may hold anything.
            "-P",
            "-m",
            "co_tui.agent.local.embedded_server",
            str(weights.file),
            str(weights.window_tokens),
            weights.alias,
            str(weights.runtime),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Threads that wait without spinning: the model shares the cores with the terminal it answers in.
            env={"OMP_WAIT_POLICY": "passive", **self._environ},
            # Ctrl+C in the terminal is for the turn, not for the model's process.
            start_new_session=True,
        )
        assert self._process.stdout is not None
        try:
            line = await asyncio.wait_for(self._process.stdout.readline(), START_TIMEOUT_S)
            self._address = json.loads(line)["address"]
        except (TimeoutError, ValueError, KeyError):
            await self.close()
            raise ModelUnusable(
                f"{weights.called} did not start from {weights.file}: the file may be damaged, too large for this "
                "machine's memory, or of a kind that is not supported. Choose another model with --model."
            ) from None
        except BaseException:
            await self.close()
            raise
