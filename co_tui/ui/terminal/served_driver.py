"""Textual's driver for an app in a browser, whose page may go and come back, and whose server may end."""

import asyncio
import contextlib
import os
import signal
from typing import Any, Final

from textual.app import App
from textual.drivers import web_driver

from co_tui.ui.terminal.column_keeper import with_fixed_columns
from co_tui.ui.terminal.driver import QuietParser
from co_tui.ui.textual_internals import set_parser, set_web_output

SET_UP: Final = (
    "\x1b[?1049h"  # alternate screen
    "\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h"  # mouse
    "\x1b[?25l"  # no cursor
    "\x1b[?2026$p"  # asks for synchronised output
    "\x1b[?2004h"  # bracketed paste
)
"""What Textual writes at the start, for the new terminal of a page that was opened later."""


class ServedDriver(web_driver.WebDriver):
    """Reads keys through `QuietParser`; treats the end of the server as a hang-up."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._shown = app
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

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        if packet_type != "attach":
            super().on_meta(packet_type, payload)
            return
        super().on_meta("resize", payload)
        self._shown.call_later(self._attach, payload["number"])

    def _attach(self, number: object) -> None:
        """Another page shows the app: set up its terminal and draw the whole screen."""
        self.write_meta({"type": "attached", "number": number})
        self.write(SET_UP)
        self._shown.refresh(layout=True)

    def report_session(self, session_id: str) -> None:
        """Report the session that is shown to the server, which puts it into the page's address."""
        self.write_meta({"type": "session", "id": session_id})

    def stop_output(self) -> None:
        """The server is gone: stop writing."""
        self._is_muted = True

    def _write_if_connected(self, data: bytes) -> int:
        if not self._is_muted:
            with contextlib.suppress(OSError):
                return os.write(self.fileno, data)
        return len(data)
