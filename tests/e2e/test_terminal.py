"""The app in a real terminal, with the real embedded model, keyboard only."""

import importlib.util
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.terminal import Terminal, needs_tmux

pytestmark = [
    pytest.mark.terminal,
    needs_tmux,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the embedded model is not installed"),
    pytest.mark.xdist_group("embedded"),
]


REPLY_BEGAN = "│ co-tui"
"""The name above a reply, which comes with its first word."""


def wait_for_first_word(command: Command, seconds: float = 150) -> None:
    """Until the reply being streamed has a draft, which its first word makes."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with sqlite3.connect(command.database) as connection:
            if connection.execute("SELECT count(*) FROM drafts WHERE slot = 'reply'").fetchone()[0]:
                return
        time.sleep(0.05)
    raise AssertionError("no word of a reply came")


def app_of(terminal: Terminal) -> int:
    """The process that runs in it."""
    shell = terminal._tmux("list-panes", "-F", "#{pane_pid}").strip()
    return int(subprocess.check_output(["ps", "-o", "pid=", "--ppid", shell], text=True).split()[0])


def wait_for_end(pid: int, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until, "the app did not end"
        time.sleep(0.02)


@pytest.fixture
def terminal(co_tui: Command) -> Iterator[Terminal]:
    terminal = Terminal(co_tui)
    yield terminal
    terminal.close()


def test_a_first_day_with_co_tui(terminal: Terminal, co_tui: Command) -> None:
    terminal.start()
    terminal.wait("Embedded model SmolLM2", "Write a message", "f1 Help")
    terminal.type("Is Paris a capital? One word only: yes or no.")
    terminal.press("Enter")
    terminal.wait("Is Paris a capital? One word only: yes or no.", "co-tui ", " of 8.2k", gone="esc stop")

    terminal.type("Tell me a very long story about the sea.")
    terminal.press("Enter")
    terminal.wait("answering")
    wait_for_first_word(co_tui)
    terminal.press("Escape")
    terminal.wait("interrupted by the user", gone="esc stop")

    terminal.press("F8")
    terminal.wait("Context cleared")
    terminal.press("C-q")
    terminal.wait(gone="Context cleared")

    terminal.start("--continue")
    terminal.wait("interrupted by the user", "Write a message")
    terminal.type("Is water wet? One word only: yes or no.")
    terminal.press("Enter")
    terminal.wait("Is water wet? One word only: yes or no.", "esc stop")
    terminal.wait(gone="esc stop")
    first = co_tui("sessions", "--json").objects[0]["id"]

    terminal.press("F7")
    terminal.wait("Ask anything")
    terminal.type("Is snow cold? One word only: yes or no.")
    terminal.press("Enter")
    terminal.wait("esc stop")
    terminal.wait(gone="esc stop")
    terminal.press("F2")
    terminal.wait("Sessions · 2")
    terminal.type("capital")
    terminal.wait("Is Paris a capital", gone="Is snow cold")
    terminal.press("Enter")
    terminal.wait("Is water wet? One word only: yes or no.", "f1 Help")
    terminal.press("C-q")
    terminal.wait(gone="f1 Help")

    listed = co_tui("sessions", "--json").objects
    assert {row["title"].partition("?")[0] for row in listed} == {"Is Paris a capital", "Is snow cold"}
    kinds = [entry["message"]["kind"] for entry in co_tui("show", first, "--json").objects]
    assert kinds == ["request", "response"] * 3


def test_hanging_up_keeps_what_came(terminal: Terminal, co_tui: Command) -> None:
    terminal.start()
    terminal.wait("Write a message")
    terminal.type("Tell me a very long story about the mountains.")
    terminal.press("Enter")
    terminal.wait("answering", REPLY_BEGAN)
    wait_for_first_word(co_tui)
    app = app_of(terminal)
    subprocess.run(["tmux", "-L", terminal._socket, "kill-session"], check=True)
    wait_for_end(app)
    terminal._tmux("-f", "/dev/null", "new-session", "-d", "sh")
    (row,) = co_tui("sessions", "--json").objects
    last = co_tui("show", row["id"], "--json").objects[-1]["message"]
    assert last["kind"] == "response" and last["state"] == "interrupted"


def test_without_a_terminal_it_points_to_run(co_tui: Command, tmp_path: Path) -> None:
    done = co_tui()
    assert done.code == 2 and "co-tui run -p" in done.err
