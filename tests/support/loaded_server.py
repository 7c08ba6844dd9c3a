"""The process with everything loaded that others are forked from. `LoadedProcesses` starts it and asks it."""

import atexit
import fcntl
import gc
import importlib
import json
import os
import signal
import socket
import sys
import termios
import threading
from typing import Any, NoReturn

from tests.support.patience import LIMITS, set_constants

NUMBER_BYTES = 4
LARGEST_REQUEST = 200_000
LOADED = (
    "aiohttp",
    "anyio._backends._asyncio",
    "co_tui.agent.models.open_model",
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
    "co_tui.store.sqlite.migrations",
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


def serve(requests: socket.socket) -> dict[str, Any]:
    """Returns in each process that is asked for, with what it shall be; ends once no one can ask any more."""
    while True:
        request, streams, *_ = socket.recv_fds(requests, LARGEST_REQUEST, 5)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            return begin(json.loads(request), streams)
        for stream in streams:
            os.close(stream)
        _reap()


def begin(how: dict[str, Any], streams: list[int]) -> dict[str, Any]:
    """Distinguishes a process from the one that waits for its end and reports it."""
    reports = streams.pop()
    pid = os.fork()
    if pid:
        _report_end(pid, reports)
    os.close(reports)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return how


def _report_end(pid: int, reports: int) -> NoReturn:
    os.write(reports, pid.to_bytes(NUMBER_BYTES, "big", signed=True))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(reports, code.to_bytes(NUMBER_BYTES, "big", signed=True))
    os._exit(0)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


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


def serve_and_run(requests: socket.socket) -> NoReturn:
    """Serve; each process that is asked for returns from that, and ends here."""
    how = serve(requests)
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
    number, *tests = sys.argv[1:]
    if tests:
        from tests.support.collected import collect

        collect(*tests)
    gc.freeze()
    gc.enable()
    serve_and_run(socket.socket(fileno=int(number)))
