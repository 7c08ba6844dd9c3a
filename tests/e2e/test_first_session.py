"""A first session without a mouse, in a small terminal, by someone who has read only the README."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.terminal import Terminal, needs_tmux
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.terminal, needs_tmux]

README = (Path(__file__).parents[2] / "README.md").read_text()
ROWS = re.findall(r"^\| (`.+?`) \| (.+) \|$", README, re.MULTILINE)
"""Keys and what they do, as the README lists them; two keys of one row are in their order."""
ANSWER = "The tide follows the moon, and the sun a little: see notes/tides.md for the tables of the harbour. " * 5
SUMMARY = "Title: Tides\n## Decisions and outcomes\n- The tables of the harbour are in notes/tides.md."


def key_for(what: str) -> str:
    """The key that the README names for something, as tmux calls it."""
    for keys, meanings in ROWS:
        for key, meaning in zip(re.findall(r"`([^`]+)`", keys), meanings.split(" · "), strict=False):
            if re.match(rf"{what}\b", meaning):
                return re.sub(r"Ctrl\+(.)", lambda letter: f"C-{letter[1].lower()}", key)
    raise AssertionError(f"the README names no key for {what!r}")


@pytest.fixture
def terminal(served: CliCommand, provider: Provider) -> Iterator[Terminal]:
    provider.window = 16_000
    provider.default = Reply(text=ANSWER, prompt_tokens=-1, completion_tokens=120)
    provider.summary = Reply(text=SUMMARY, prompt_tokens=500, completion_tokens=40)
    (served.cwd / "harbour.md").write_text("High water at noon.")
    opened = Terminal(served, 80, 24)
    yield opened
    opened.close()


def press(terminal: Terminal, *keys: str) -> None:
    """One after the other, as a hand does: an Escape that is followed at once would be Alt."""
    for key in keys:
        terminal.press(key)
        time.sleep(0.3)


def ask(terminal: Terminal, prompt: str) -> None:
    terminal.type(prompt)
    terminal.press("Enter")


def look_at(terminal: Terminal, key: str, *shown: str) -> None:
    """Open something by its key, and go back."""
    terminal.press(key)
    terminal.wait(*shown)
    press(terminal, "Escape")
    terminal.wait("Write a message", gone=shown[0])


def test_the_first_session_and_the_way_back(terminal: Terminal, provider: Provider) -> None:
    terminal.start_loaded()
    terminal.wait("Work with agents", "Write a message", "context: nothing sent yet")
    for n, question in enumerate(("Why are there tides?", "And where are the tables?", "Which ones matter?")):
        ask(terminal, question)
        terminal.wait(f"▌ {question}", "notes/tides.md", gone="Esc stop")
        if n == 0:
            terminal.wait("F4 shows context usage")
    look_around(terminal)
    compact_and_take_it_back(terminal)
    change_things(terminal)
    asked = len(provider.requests)
    terminal.press(key_for("new session"))
    terminal.wait("Work with agents")
    terminal.leave()

    way_back = re.search(r"(--resume \S+)", terminal.wait("--resume"))
    assert way_back is not None, "nothing was said in the new one: the way back leads to the one before"
    terminal.start_loaded(*way_back[1].split())
    terminal.wait("undone", "Write a message")
    ask(terminal, "Thanks!")
    wait_until(lambda: len(provider.requests) > asked)
    terminal.wait("▌ Thanks!", "notes/tides.md", gone="Esc stop")
    assert "Why are there tides?" in str(provider.requests[asked:]), "what was undone left the whole talk"
    terminal.leave()


def look_around(terminal: Terminal) -> None:
    terminal.press(key_for("context and timeline column"))
    terminal.wait("╭─ Context", "╭─ Timeline", "of 16k", "turn 3")
    terminal.press(key_for("context and timeline column"))
    terminal.wait(gone="╭─ Timeline")
    look_at(terminal, key_for("lens"), "Context lens", "Why are there tides?", "kept")
    look_at(terminal, key_for("help"), "Type to search")
    look_at(terminal, key_for("choose a model"), "PROVIDER:NAME", "scripted")
    look_at(terminal, key_for("search earlier prompts"), "Earlier prompts", "Why are there tides?")
    terminal.press(key_for("all commands"))
    terminal.wait("/sessions")
    press(terminal, "Escape")
    terminal.wait("▌ Which ones matter?", gone="/sessions")


def compact_and_take_it_back(terminal: Terminal) -> None:
    terminal.press(key_for("compact"))
    terminal.wait("Frees about", "Enter compacts")
    terminal.press("Enter")
    terminal.wait("Conversation Compacted:")
    terminal.press(key_for("go to the timeline"))
    terminal.wait("Conversation", "Compacted")
    press(terminal, "End", "Enter")
    terminal.wait("Summary", "Replaced", "Kept", "Cost", "notes/tides.md")
    terminal.press("u")
    terminal.wait("Compaction undone.")
    press(terminal, "Escape")
    terminal.wait(gone="╭─ Timeline")
    terminal.press(key_for("clear the context"))
    terminal.wait("above are cleared")
    ask(terminal, "/undo ")
    terminal.wait("Clearing undone.")


def change_things(terminal: Terminal) -> None:
    ask(terminal, "/settings")
    terminal.wait("answering", "From the environment")
    terminal.press("/")
    terminal.wait("Type to filter")
    terminal.type("policy")
    terminal.wait("balanced", gone="Reasoning effort")
    terminal.press("Escape")
    terminal.wait("Reasoning effort")
    terminal.press("Escape")
    terminal.wait("Write a message")
    terminal.press(key_for("sessions"))
    terminal.wait("Sessions", "Why are there tides?")
    terminal.type("matter")
    terminal.wait("Found in 1 session,")
    terminal.press("Escape")
    terminal.wait("Sessions", gone="Found in 1 session,")
    terminal.press("Escape")
    terminal.wait("Write a message")


def test_files_commands_waiting_stopping_and_drafts(terminal: Terminal, provider: Provider) -> None:
    terminal.start_loaded()
    terminal.wait("Work with agents")
    ask(terminal, "!echo high and dry")
    terminal.wait("you ran", "high and dry", "exit 0")
    terminal.type("Read @harb")
    terminal.wait("Tab completes it")
    press(terminal, "Tab", "Enter")
    terminal.wait("attached  harbour.md", "notes/tides.md", gone="Esc stop")
    assert "High water at noon." in str(provider.requests[0])

    provider.script = [Reply(text="It goes on for ever", until=threading.Event())]
    answered = len(provider.requests)
    ask(terminal, "How long?")
    terminal.wait("▌ How long?", "Esc stop")
    wait_until(lambda: len(provider.requests) > answered)  # stopped before, the next prompt would get this reply
    ask(terminal, "And then?")
    terminal.wait("queued")
    press(terminal, "Escape")
    terminal.wait("Stopped", "on hold, Enter sends", "F9 continues")
    terminal.press("Enter")
    terminal.wait("▌ And then?", "notes/tides.md", gone="on hold")
    terminal.wait("Write a message", gone="Esc stop")

    terminal.type("a draft that goes")
    press(terminal, "C-c")
    terminal.wait("Draft cleared")
    terminal.press("Up")
    terminal.wait("│ a draft that goes")
    press(terminal, "C-c", "Tab", "Up")
    terminal.press("v")
    terminal.wait("Esc Back", gone="Write a message")
    terminal.press("Escape")
    terminal.wait("Write a message", "c Copy")
    terminal.press("Escape")
    terminal.wait("Write a message", gone="c Copy")
    terminal.press(key_for("find in the conversation"))
    terminal.type("moon")  # right behind the key, as a fast hand does
    terminal.wait("Find · ")
    press(terminal, "Escape")
    terminal.wait("Write a message", gone="Find · ")
    terminal.press("C-c")
    terminal.wait("Ctrl+C again to quit")
    terminal.press("C-c")
    terminal.wait("--resume")
