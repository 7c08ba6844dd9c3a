"""A first session without a mouse, in a small terminal, by somebody who has read the README and nothing else."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.provider import Provider, Reply
from tests.support.terminal import Terminal, needs_tmux
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.terminal, needs_tmux]

README = (Path(__file__).parents[2] / "README.md").read_text()
ANSWER = "The tide follows the moon, and the sun a little: see notes/tides.md for the tables of the harbour. " * 5
SUMMARY = "Title: Tides\n## Decisions and outcomes\n- The tables of the harbour are in notes/tides.md."


def key_for(what: str) -> str:
    """The key that the README names for something, as tmux calls it."""
    found = re.search(rf"`([^`\s]+)`(?: \|)? {what}\b", README)
    assert found, f"the README names no key for {what!r}"
    return found[1].replace("Ctrl+", "C-").replace("Esc", "Escape").lower().replace("c-", "C-").replace("f", "F")


@pytest.fixture
def terminal(served: Command, provider: Provider) -> Iterator[Terminal]:
    provider.window = 16_000
    provider.default = Reply(text=ANSWER, prompt_tokens=-1, completion_tokens=120)
    provider.summary = Reply(text=SUMMARY, prompt_tokens=500, completion_tokens=40)
    opened = Terminal(served, 80, 24)
    yield opened
    opened.close()


def press(terminal: Terminal, *keys: str) -> None:
    """One after the other, as a hand does: an Escape that is followed at once would be Alt."""
    for key in keys:
        terminal.press(key)
        time.sleep(0.3)


def test_the_first_session_and_the_way_back(terminal: Terminal, provider: Provider) -> None:
    terminal.start()
    terminal.wait("Ask anything", "Write a message", "context: nothing sent yet")
    for n, question in enumerate(("Why are there tides?", "And where are the tables?", "Which ones matter?")):
        terminal.type(question)
        terminal.press("Enter")
        terminal.wait(f"▌ {question}", "notes/tides.md", gone="esc stop")
        if n == 0:
            terminal.wait("F4 shows how full the context is")

    terminal.press(key_for("side column"))
    terminal.wait("╭─ Context", "╭─ Timeline", "of 16k", "turn 3")
    terminal.press(key_for("side column"))
    terminal.wait(gone="╭─ Timeline")

    terminal.press(key_for("compact"))
    terminal.wait("/undo takes it back")
    terminal.press(key_for("timeline"))
    terminal.wait("Conversation", "Compacted")
    press(terminal, "End", "Enter")
    terminal.wait("Summary", "Replaced", "Kept", "Cost", "notes/tides.md")
    terminal.press("u")
    terminal.wait("The compaction is undone")
    press(terminal, "Escape")
    terminal.wait(gone="╭─ Timeline")

    terminal.press(key_for("lens"))
    terminal.wait("Why are there tides?", "kept")
    press(terminal, "Escape")
    terminal.wait("Write a message")

    terminal.type("/settings")
    terminal.press("Enter")
    terminal.wait("answering", "From the environment")
    terminal.press("/")
    terminal.wait("Filter by words")
    terminal.type("policy")
    terminal.wait("balanced", gone="base_url")
    press(terminal, "Escape", "Escape")
    terminal.wait("Write a message")

    terminal.press(key_for("sessions"))
    terminal.wait("Sessions", "Why are there tides?")
    press(terminal, "Escape")
    terminal.wait("Write a message")
    asked = len(provider.requests)
    terminal.leave()

    way_back = re.search(r"co-tui (--resume \S+)", terminal.wait("--resume"))
    assert way_back is not None
    terminal.start(way_back[1])
    terminal.wait("Which ones matter?", "Write a message")
    terminal.type("Thanks!")
    terminal.press("Enter")
    wait_until(lambda: len(provider.requests) > asked)
    terminal.wait("▌ Thanks!", "notes/tides.md", gone="esc stop")
    assert "Why are there tides?" in str(provider.requests[asked:]), "the undone compaction left the whole talk"
    terminal.leave()
