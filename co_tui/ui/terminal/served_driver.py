"""Textual's driver for an app in a browser, whose connection may end at any moment."""

import asyncio
import contextlib
import os
import signal
from typing import Any

from textual.app import App
from textual.drivers import web_driver

from co_tui.ui.terminal.column_keeper import with_fixed_columns
from co_tui.ui.terminal.driver import QuietParser
from co_tui.ui.textual_internals import set_parser, set_web_output


class ServedDriver(web_driver.WebDriver):
    """Reads keys through `QuietParser`; treats the end of the server as a hang-up."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._is_muted = False
        set_web_output(self, self._write_if_connected)

    def start_application_mode(self) -> None:
        # Textual installs its own signal handlers, which exit without closing the session.
        ours = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        super().start_application_mode()
        for number, handler in ours.items():
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, handler)

    def write(self, data: str) -> None:
        super().write(with_fixed_columns(data))

    def run_input_thread(self) -> None:
        set_parser(web_driver, QuietParser)
        super().run_input_thread()
        if not self.exit_event.is_set():
            self.stop_output()
            os.kill(os.getpid(), signal.SIGHUP)

    def stop_output(self) -> None:
        """The server is gone: stop writing."""
        self._is_muted = True

    def _write_if_connected(self, data: bytes) -> int:
        if not self._is_muted:
            with contextlib.suppress(OSError):
                return os.write(self.fileno, data)
        return len(data)
