"""The app in a pseudo terminal, asked to end: the terminal is restored, the log ends in order, children are gone."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import CliCommand
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import listed, stored_events
from tests.support.waiting import PATIENCE_S, wait_until

RESTORED = ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l", "\x1b[?1003l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[?1004l")
"""The ordinary screen, the cursor, no mouse reports, no paste marks, no focus reports."""
IN_A_HURRY = {"co_tui.ui.signals.GRACE_S": 2.0, "co_tui.ui.signals.BLOCKED_S": 0.3}
"""Less time for leaving in order."""
TAKEN = {off: off[:-1] + ("h" if off.endswith("l") else "l") for off in RESTORED}


class PseudoTerminal:
    """`co-tui` on a terminal of its own."""

    def __init__(self, command: CliCommand, *, loaded: bool = False, **how: Any) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        command.environ["TERM"] = "xterm-256color"
        self.process = command.fork((slave,) * 3, terminal=True, **how) if loaded else self._from_nothing(command)
        self.seen = ""

    def _from_nothing(self, command: CliCommand) -> "subprocess.Popen[str]":
        return command.start(
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def wait(self, text: str, seconds: float = PATIENCE_S) -> None:
        until = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < until, f"{text!r} was not shown: …{self.seen[-500:]!r}"
            self._read(0.1)

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self.master, 65536)
        except OSError:  # nobody is at the other end any more
            return False
        self.seen += read.decode(errors="replace")
        return bool(read)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def fill(self) -> None:
        """Read nothing until its buffer is full, and writing to it stops."""
        seen = 0
        while not seen or seen != self._unread():
            seen = self._unread()
            time.sleep(0.5)

    def _unread(self) -> int:
        return int(struct.unpack("i", fcntl.ioctl(self.master, termios.FIONREAD, b"\0" * 4))[0])

    def end(self, seconds: float = PATIENCE_S) -> int:
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < until, "it did not end"
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        """The terminal goes away."""
        if self.master >= 0:
            os.close(self.slave)
            os.close(self.master)
        self.master = self.slave = -1

    def close(self) -> None:
        self.hang_up()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def app(served: CliCommand, provider: Provider, request: pytest.FixtureRequest) -> Iterator[PseudoTerminal]:
    """In the middle of an answer."""
    provider.default = Reply(text="words without end " * 500, delay_s=0.02, open_end=True)
    terminal = PseudoTerminal(served, loaded=True, constants=getattr(request, "param", {}))
    terminal.wait("message")
    terminal.type("talk\r")
    terminal.wait("without")
    yield terminal
    terminal.close()


def log_of(command: CliCommand) -> list[str]:
    return [event.type for event in stored_events(command.home, listed(command.home)[0].id)]


def assert_restored(terminal: PseudoTerminal) -> None:
    for off in RESTORED:
        assert terminal.seen.rfind(off) > terminal.seen.rfind(TAKEN[off]), f"{off!r} does not come last"
    assert termios.tcgetattr(terminal.slave)[:4] == terminal.before[:4]


@pytest.mark.parametrize("number", also_in_a_long_run([signal.SIGTERM], [signal.SIGINT, signal.SIGHUP]))
def test_a_signal_ends_the_app_in_order(app: PseudoTerminal, served: CliCommand, number: signal.Signals) -> None:
    app.process.send_signal(number)
    assert app.end() == 130
    assert_restored(app)
    assert "Traceback" not in app.seen and "--resume" in app.seen
    assert log_of(served)[-2:] == ["session.interrupted", "session.end"]


@pytest.mark.parametrize("number", also_in_a_long_run([signal.SIGABRT], [signal.SIGUSR1]))
def test_a_signal_that_is_not_meant_for_the_app_ends_it_in_order_and_by_that_signal(
    app: PseudoTerminal, served: CliCommand, number: signal.Signals
) -> None:
    app.process.send_signal(number)
    assert app.end() == -number
    assert_restored(app)
    assert "Traceback" not in app.seen and "--resume" in app.seen
    assert log_of(served)[-2:] == ["session.interrupted", "session.end"]


@pytest.mark.parametrize("app", [{"co_tui.ui.signals.GRACE_S": 0.0}], ids=["no time"], indirect=True)
def test_who_has_no_time_to_leave_in_order_still_restores_the_terminal(app: PseudoTerminal) -> None:
    app.process.send_signal(signal.SIGUSR1)
    assert app.end() in (128 + signal.SIGUSR1, -signal.SIGUSR1), "the second when it was quick enough"
    assert_restored(app)


def test_a_terminal_that_goes_away_ends_the_app_in_order_and_what_came_is_kept(
    app: PseudoTerminal, served: CliCommand
) -> None:
    app.hang_up()
    app.process.wait(PATIENCE_S)
    assert log_of(served)[-2:] == ["session.interrupted", "session.end"]
    last = served("show", listed(served.home)[0].id, "--json").objects[-1]["message"]
    assert (last["kind"], last["state"]) == ("response", "interrupted") and "without end" in str(last)


@pytest.mark.parametrize("app", [IN_A_HURRY], ids=["in a hurry"], indirect=True)
def test_a_terminal_that_no_one_reads_from_cannot_hold_it_up(app: PseudoTerminal, served: CliCommand) -> None:
    app.fill()
    app.process.send_signal(signal.SIGTERM)
    app.process.wait(PATIENCE_S)
    assert log_of(served)[-2:] == ["session.interrupted", "session.end"]


@pytest.mark.parametrize("after_s", also_in_a_long_run([0.3], [0.15, 0.45, 0.6]))
def test_a_signal_at_the_very_beginning_leaves_the_terminal_as_it_was(served: CliCommand, after_s: float) -> None:
    terminal = PseudoTerminal(served)
    try:
        time.sleep(after_s)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() in (130, -signal.SIGTERM), terminal.seen[-1500:]
        assert termios.tcgetattr(terminal.slave)[:4] == terminal.before[:4] and "Traceback" not in terminal.seen
        assert terminal.seen.rfind("\x1b[?1049l") >= terminal.seen.rfind("\x1b[?1049h")
    finally:
        terminal.close()


INTERRUPTED_IMPORT = """
import signal, sys, types
import co_tui.cli
class Interrupted:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGTERM)
def run(arguments):
    type("Imported", (), {{"attribute": Interrupted()}})
{replaced}
from co_tui.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "replaced", ['sys.modules["co_tui.cli"] = types.SimpleNamespace(run=run)', "co_tui.cli._run = run"]
)
def test_a_signal_inside_of_a_class_body_is_no_traceback(replaced: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT.format(replaced=replaced)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (130, "co-tui: Interrupted.\n")


def test_who_looks_elsewhere_is_called_back_when_a_long_turn_ends(served: CliCommand, provider: Provider) -> None:
    served.environ["TERM_PROGRAM"] = "iTerm.app"
    provider.default = Reply(text="At last.", until=(looked_away := threading.Event()))
    terminal = PseudoTerminal(served, loaded=True, constants={"co_tui.ui.chat.chat_screen.LONG_TURN_S": 0.0})
    try:
        terminal.wait("message")
        os.write(terminal.master, b"\xfftalk\r\x1b[O")  # a byte that means nothing ends nothing
        wait_until(lambda: provider.requests)
        looked_away.set()
        terminal.wait(": the turn ended after")  # the session may have a title by now, which comes before
        assert "\x1b]9;co-tui: " in terminal.seen
        terminal.process.send_signal(signal.SIGSTOP)
        for _ in range(2):  # the second comes to one that runs
            terminal.seen = ""
            terminal.process.send_signal(signal.SIGCONT)
            terminal.wait(TAKEN[RESTORED[0]])
        terminal.process.send_signal(signal.SIGQUIT)  # as a terminal does with Ctrl+\
        assert terminal.end() == 130
        assert_restored(terminal)
    finally:
        terminal.close()


def children_of(process: int) -> list[int]:
    task = Path(f"/proc/{process}/task")
    return [int(child) for each in task.iterdir() for child in (each / "children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc to see child processes")
def test_the_embedded_model_s_process_goes_with_the_app(co_tui: CliCommand) -> None:
    terminal = PseudoTerminal(co_tui, loaded=True)
    try:
        terminal.wait("Embedded")
        until = time.monotonic() + PATIENCE_S
        while not (children := children_of(terminal.process.pid)) and time.monotonic() < until:
            terminal._read(0.05)
        assert children, "the embedded model was not started"
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 130
        assert_restored(terminal)
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    finally:
        terminal.close()


def test_what_is_typed_in_the_first_moment_is_kept(served: CliCommand, provider: Provider) -> None:
    terminal = PseudoTerminal(served)
    try:
        for key in "typed at once\r":
            terminal.type(key)
            time.sleep(0.02)
        until = time.monotonic() + PATIENCE_S
        while not provider.requests and time.monotonic() < until:
            terminal._read(0.1)
        assert re.search("typed at once", str(provider.requests[0]["messages"]))
    finally:
        terminal.close()


HALF_MADE = """
import os, signal
from co_tui.ui.signals import exit_on_signals

class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        self.whole = True

    def __del__(self):
        self.whole

exit_on_signals()
HalfMade()
"""


def test_a_signal_while_something_is_being_made_says_nothing_of_it() -> None:
    done = subprocess.run([sys.executable, "-c", HALF_MADE], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (130, "")


EVERY_SIGNAL = """
import os, signal
from co_tui.ui.signals import exit_on_signals

NOT_ENDING = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
NOT_CAUGHT = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
ASKED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
signal.signal(signal.SIGUSR2, signal.SIG_IGN)
for number in sorted(signal.valid_signals() - NOT_ENDING - NOT_CAUGHT - FAULTS - ASKED):
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        exit_on_signals()
        try:
            os.kill(os.getpid(), number)
        finally:
            os.write(write, b"in order")
        raise SystemExit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(write)
    ignored = number in (signal.SIGUSR2, signal.SIGPIPE, signal.SIGXFSZ)
    assert os.read(read, 100) == b"in order" and code == (0 if ignored else -number), (number, code)
print("all of them")
"""


def test_every_signal_that_ends_a_process_lets_it_put_things_back(tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)){EVERY_SIGNAL}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("all of them\n", "")
