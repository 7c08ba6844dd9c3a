"""The process with everything loaded that others are forked from. `LoadedProcesses` starts it and asks it."""

import atexit
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import termios
import threading
from contextlib import suppress
from typing import Any, NoReturn

from tests.support.patience import LIMITS, set_constants

NUMBER_BYTES = 4
LARGEST_REQUEST = 200_000
LOADED = (
    "aiohttp",
    "anyio._backends._asyncio",
    "co_tui.agent.models.open_model",
    "co_tui.agent.models.price_list",
    "co_tui.agent.wire.compatible",
    "co_tui.cli",
    "co_tui.cli.arguments",
    "co_tui.cli.cli_commands",
    "co_tui.cli.commands",
    "co_tui.cli.open_app",
    "co_tui.cli.settled",
    "co_tui.exchange.importers",
    "co_tui.headless.acp.acp_command",
    "co_tui.headless.compact_command",
    "co_tui.headless.run_command",
    "co_tui.headless.sessions.sessions_command",
    "co_tui.headless.web.page_server",
    "co_tui.headless.web.running_apps",
    "co_tui.lab.outlook",
    "co_tui.session.clean_up",
    "co_tui.session.lens.stored_lens",
    "co_tui.session.session",
    "co_tui.session.workplace.here.local_session",
    "co_tui.shielding",
    "co_tui.store.sqlite.migrations",
    "co_tui.store.sqlite.reader",
    "co_tui.store.sqlite.store",
    "co_tui.store.sqlite.writer",
    "co_tui.ui.app",
    "co_tui.ui.chat.deferred_widgets",
    "co_tui.ui.commands.conversation_commands",
    "co_tui.ui.commands.sessions_commands",
    "co_tui.ui.compaction.compaction_screen",
    "co_tui.ui.control.backend",
    "co_tui.ui.control.engine_start",
    "co_tui.ui.control.stored_sessions",
    "co_tui.ui.lens.lens_screen",
    "co_tui.ui.models.model_list",
    "co_tui.ui.sessions.sessions_screen",
    "co_tui.ui.start",
    "co_tui.ui.terminal.driver",
    "co_tui.ui.text.markdown_lines",
    "co_tui.ui.text.markdown_splitter",
    "co_tui.ui.text.prose",
    "co_tui.ui.transcript.image_loader",
    "co_tui.ui.timeline.detail_screen",
    "encodings.ascii",
    "genai_prices.data",
    "openai.resources.chat.chat",
    "openai.resources.chat.completions.completions",
    "openai.resources.responses.responses",
    "pydantic_ai.mcp",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai",
    "rich._emoji_codes",
    "rich._unicode_data.unicode17-0-0",
    "rich.markdown",
    "textual.drivers.linux_driver",
    "textual.drivers.web_driver",
    "textual.layouts.factory",
    "textual.layouts.horizontal",
    "textual.layouts.stream",
    "textual.widgets._tabbed_content",
)


def serve(requests: socket.socket, other: int = 0) -> dict[str, Any]:
    """Returns in each process that is asked for, with what it shall be; ends once no one can ask any more, after the
    `other` process that serves.

    A process in between that waits for each end would be a second copy of everything that is loaded.
    """
    reports: dict[int, int] = {}
    ended, wake_up = socket.socketpair()
    for end in (ended, wake_up):
        end.setblocking(False)
    signal.set_wakeup_fd(wake_up.fileno(), warn_on_full_buffer=False)
    before = signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        readable, _, _ = select.select([requests, ended], [], [])
        if ended in readable:
            ended.recv(LARGEST_REQUEST)
            _report_ends(reports)
        if requests not in readable:
            continue
        request, streams, *_ = socket.recv_fds(requests, LARGEST_REQUEST, 5)
        if not request:
            if other:
                with suppress(ChildProcessError):  # it ended before
                    os.waitpid(other, 0)
            os._exit(0)
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, before)
            for each in (requests, ended, wake_up):
                each.close()
            for number in (*reports.values(), streams.pop()):
                os.close(number)
            _take(streams)
            return json.loads(request)
        reports[pid] = streams.pop()
        _report(reports[pid], pid)
        for stream in streams:
            os.close(stream)


def _take(streams: list[int]) -> None:
    """As standard input, output and so on."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def _report_ends(reports: dict[int, int]) -> None:
    """Of all processes that have ended since the last time."""
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        if (to := reports.pop(pid, None)) is not None:
            _report(to, os.waitstatus_to_exitcode(status))
            os.close(to)


def _report(to: int, number: int) -> None:
    with suppress(BrokenPipeError):  # it was not waited for
        os.write(to, number.to_bytes(NUMBER_BYTES, "big", signed=True))


def become(how: dict[str, Any]) -> None:
    """What a start of Python would have made of it."""
    os.chdir(how["cwd"])
    os.environ.clear()
    os.environ.update(how["environ"])
    sys.argv[1:] = how["arguments"]
    if how.get("terminal"):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if how.get("one_stream"):
        os.dup2(1, 2)
    set_constants(how.get("constants", {}))
    for number in how.get("ignored", ()):
        signal.signal(number, signal.SIG_IGN)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
        if name in how.get("closed", ()):
            os.close(number)
            setattr(sys, name, None)
            setattr(sys, f"__{name}__", None)


def serve_and_run(requests: socket.socket, other: int = 0) -> NoReturn:
    """Serve; each process that is asked for returns from that, and ends here."""
    how = serve(requests, other)
    become(how)
    try:
        if "code" in how:
            exec(how["code"], {"how": how})
            sys.exit()
        from co_tui.__main__ import main

        sys.exit(main())
    except SystemExit as ending:
        _end(ending.code)
        raise


def _end(code: object) -> None:
    """All that others see of the end of a Python process. Freeing the memory that it shares takes ten times as long."""
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    if code is None or isinstance(code, int):
        os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    gc.disable()
    for module in LOADED:
        importlib.import_module(module)
    from co_tui.agent.model_messages import read_messages
    from tests.support.made_once import make_once

    make_once(now=True)
    read_messages([])  # the library's description of messages is made when it is first used
    set_constants(LIMITS)
    (number, *more), tests = json.loads(sys.argv.pop())
    gc.freeze()
    other = 0
    if more and (other := os.fork()) == 0:
        os.close(number)
        number, tests = more[0], []
    elif more:
        os.close(more[0])
    if tests:
        from tests.support.collected import collect

        collect(*tests)
        gc.freeze()
    gc.enable()
    serve_and_run(socket.socket(fileno=number), other)
