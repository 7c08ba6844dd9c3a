"""One app behind one open page: a child process that ends with the page."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from co_tui.inert import inert

LEAVING_S = 12.0
"""So long an app may take to close its session in order; it sets itself a shorter limit."""
MAX_ERROR_BYTES = 8_000
_PLAIN_SCREEN = "\x1b[?1049l\x1b[?25l\x1b[2J\x1b[H"


class AppCommand(NamedTuple):
    """What runs behind a page."""

    arguments: Sequence[str]
    environ: Mapping[str, str]


class ServedApp(AppService):
    """Starts without a shell, tells the page the app's last words, and is gone when `stop` returns."""

    def __init__(
        self,
        command: AppCommand,
        write_bytes: Callable[[bytes], Awaitable[None]],
        write_str: Callable[[str], Awaitable[None]],
        close: Callable[[], Awaitable[object]],
    ) -> None:
        async def close_page() -> None:
            await close()

        super().__init__(
            "co-tui",
            write_bytes=write_bytes,
            write_str=write_str,
            close=close_page,
            download_manager=DownloadManager(),
        )
        self._app = command
        self._error_output = b""

    async def _open_app_process(self, width: int = 80, height: int = 24) -> asyncio.subprocess.Process:
        self._process = process = await asyncio.create_subprocess_exec(
            *self._app.arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._build_environment(width, height), **self._app.environ},
            # Ctrl+C in the server's terminal is for the server, which lets every app close its session.
            start_new_session=True,
        )
        self._stdin = process.stdin
        self._errors = asyncio.create_task(self._read_errors(process.stderr))
        # The library would print them raw, on standard output.
        process.stderr = asyncio.StreamReader()
        process.stderr.feed_eof()
        return process

    async def _read_errors(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (piece := await stream.read(4096)):
            self._error_output = (self._error_output + piece)[-MAX_ERROR_BYTES:]

    async def on_meta(self, data: bytes) -> None:
        if b'"exit"' not in data:  # that one is heeded when the process has ended, and said its last words
            await super().on_meta(data)

    async def run(self) -> None:
        await super().run()
        await self._errors
        text = inert(self._error_output.decode(errors="replace")).replace("\n", "\r\n")
        with contextlib.suppress(ConnectionError, RuntimeError):  # the page is closed already
            await self.remote_write_bytes(f"{_PLAIN_SCREEN}{text}".encode())
            await self.remote_close()

    async def stop(self) -> None:
        """End the app as a hang-up does, and kill it if it does not end in time."""
        if self._process is None or self._task is None:
            return
        self.stdin.close()
        try:
            await asyncio.wait_for(self._leave(self._process, self._task), LEAVING_S)
        except TimeoutError:
            return
        finally:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _leave(self, process: asyncio.subprocess.Process, shown: "asyncio.Task[None]") -> None:
        await asyncio.shield(shown)
        # A closed page shows nothing, but its process would wait forever if its output were not read.
        while process.stdout is not None and await process.stdout.read(65_536):
            pass
        await process.wait()
