"""Start and stop the child process that serves a weights file."""

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
"""Passes the key that requests need to the child."""


class Weights(Record):
    """A weights file and how to serve it."""

    file: Path
    alias: str
    """The model's name on the wire."""
    called: str
    """Its name in sentences."""
    window_tokens: int = 0
    """At most; 0 leaves it to the file and the available memory."""
    runtime: Path
    """Folder of the downloaded runtime, used unless it is installed."""


class WeightsServer:
    """Runs a model in a child process on demand and restarts it once if it dies. Only this process has its key."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """`environ` is the child's environment, without providers' keys."""
        self.key = secrets.token_urlsafe(24)
        self._environ = {**environ, KEY_VARIABLE: self.key}
        self._process: asyncio.subprocess.Process | None = None
        self._address = ""
        self._starts = 0
        self._starting = asyncio.Lock()

    async def address(self, weights: Weights) -> str:
        """The server's address, starting it if necessary. Raises `ModelUnusable`."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                if self._starts > 1:
                    raise ModelUnusable(f"{weights.called} crashed twice. Choose another model, or restart co-tui.")
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
            # Do not import modules from the current folder, which is untrusted.
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
            # Waiting threads must not spin: the model shares the cores with the terminal.
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
                f"{weights.called} did not start from {weights.file}: "
                "the file may be damaged, too large for this machine's memory, or unsupported. "
                "Choose another model with --model."
            ) from None
        except BaseException:
            await self.close()
            raise
