"""A whole piece of work in a repository, by keyboard in a terminal of 80 columns and 24 rows."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.model_messages import read_messages
from tests.context.request.test_repair import breaches
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.stores import listed, replayed
from tests.support.terminal import Terminal, needs_tmux
from tests.support.working import repository

pytestmark = [pytest.mark.terminal, needs_tmux]

CHECK = f"{sys.executable} check.py"
STEPS = ("read the code", "mend it", "run the check")
WHICH = {"header": "Tag", "question": "Which name?", "options": [{"label": "v1"}, {"label": "v2"}]}


def called(tool: str, **arguments: Any) -> tuple[str, str]:
    return tool, json.dumps(arguments)


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=called(tool, **arguments))


def plan(*states: str) -> Reply:
    return call("write_plan", items=[{"content": t, "status": s} for t, s in zip(STEPS, states, strict=True)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


@pytest.fixture
def terminal(served: CliCommand, provider: Provider) -> Iterator[Terminal]:
    provider.window = 60_000
    provider.default = Reply(text="All is done.")
    opened = Terminal(served, 80, 24)
    yield opened
    opened.close()


def answer(terminal: Terminal, key: str, *wanted: str) -> str:
    """See a question, go to it, and press the key; returns what was seen."""
    seen = terminal.wait(*wanted)
    terminal.press("x")  # no answer: it goes to the prompt, whenever the question appeared
    terminal.wait("Tab answers")
    terminal.press("BSpace")
    terminal.press("Tab")
    while "Tab answers" in terminal.screen:
        time.sleep(0.05)
    terminal.press(key)
    return seen


def test_a_day_of_work(terminal: Terminal, served_here: Here, provider: Provider, folder: Path, home: Path) -> None:
    together = threading.Event()
    look = called("read_file", path="login.py")
    provider.script = [
        plan("in_progress", "pending", "pending"),
        call("read_file", path="login.py"),
        call("edit_file", path="login.py", old_text="helo", new_text="hello"),
        call("run_command", command=CHECK),
        call("run_command", command="git push"),
        Reply(
            text="",
            tools=(
                called("delegate_task", agent_name="self", task="Find the callers"),
                called("delegate_task", agent_name="self", task="Read the manual"),
            ),
        ),
        Reply(text="", tool=look, until=together),
        Reply(text="", tool=look, until=together),
        Reply(text="Nothing there."),
        Reply(text="Nothing there."),
        call("ask_user_question", questions=[WHICH]),
        plan("completed", "completed", "completed"),
    ]
    change = ("Change login.py? +1 −1", "-    return 'helo'", "+    return 'hello'", "y Allow once")

    terminal.start_loaded()
    terminal.wait("Write a message")
    terminal.type("mend the greeting")
    terminal.press("Enter")
    seen = terminal.wait(*change)
    assert "Plan  0 of 3" in seen and "▶ read the code" in seen and "read  login.py" in seen
    terminal.leave()
    terminal.start_loaded("--continue")
    terminal.wait(*change)
    terminal.kill()
    assert "helo" in (folder / "login.py").read_text()
    terminal.start_loaded("--continue")
    answer(terminal, "y", *change)

    answer(terminal, "y", "Run this command?", "check.py", "y  Allow once")
    answer(terminal, "r", "Run this command?", "git push", "Warning: publishes or sends to others", "exit 0")
    terminal.wait("Deny, because")
    terminal.type("nothing leaves this machine")
    terminal.press("Enter")
    terminal.wait("Find the callers", "Read the manual", "denied: nothing leaves")
    together.set()
    answer(terminal, "2", "The model asks", "Which name?", "1  v1", "done · fresh · 1 call")
    terminal.wait("All is done.", "3 of 3", gone="Esc stop")
    terminal.leave()

    assert (folder / "login.py").read_text() == "def greeting():\n    return 'hello'\n"
    (row,) = listed(home)
    history = [entry["message"] for entry in served_here("show", row.id, "--history", "--json").objects]
    assert history == [entry.message for entry in replayed(home, row.id).history]
    assert breaches(read_messages(history)) == []
    told = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "tool"]
    assert told[3].startswith("[stdout]\nok\n") and told[4] == "The user denied it: nothing leaves this machine"
    assert [each.strip() for each in told[5:7]] == ["Nothing there."] * 2 and json.loads(told[7]) == {"Tag": ["v2"]}
    returned = [p["content"] for m in history for p in m["parts"] if p["part_kind"] == "tool-return"]
    assert len(returned) == len(told), "what is kept is what was sent"
