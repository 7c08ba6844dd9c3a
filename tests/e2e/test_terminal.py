"""The app in a real terminal, with the real embedded model, keyboard only."""

import importlib.util
import time
from collections.abc import Iterator

import pytest

from tests.support.command import CliCommand
from tests.support.long_run import only_in_a_long_run
from tests.support.terminal import Terminal, needs_tmux
from tests.support.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.terminal,
    needs_tmux,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the embedded model is not installed"),
]


PARIS = "Is Paris a capital? One word only: yes or no."
STORIES = ("Tell me a very long story about the sea.", "List two hundred animals.", "Count to five hundred in words.")


def stop_a_long_answer(terminal: Terminal) -> None:
    """So small a model may answer in a line, and be done before anybody can stop it: then it is asked for more."""
    for story in STORIES:
        terminal.type(story)
        terminal.press("Enter")
        terminal.wait(story)
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE_S and (
            "Esc stop" in terminal.screen or "interrupted" not in terminal.screen
        ):
            if " tokens" in terminal.screen:
                terminal.press("Escape")
                terminal.wait(gone="Esc stop")
                break
            if "Esc stop" not in terminal.screen and time.monotonic() > began + 10:
                break  # it is done already
            time.sleep(0.05)
        if "Stopped" in terminal.screen:
            return
    raise AssertionError("no answer was long enough to be stopped")


@pytest.fixture
def terminal(co_tui: CliCommand) -> Iterator[Terminal]:
    terminal = Terminal(co_tui)
    yield terminal
    terminal.close()


@only_in_a_long_run
def test_a_first_day_with_co_tui(terminal: Terminal, co_tui: CliCommand) -> None:
    terminal.start_loaded()
    terminal.wait("Embedded model SmolLM2", "Write a message", "F1 Help")
    terminal.type(PARIS)
    terminal.press("Enter")
    terminal.wait(PARIS, "co-tui ", " of 8.2k", gone="Esc stop")
    stop_a_long_answer(terminal)
    clear_resume_and_search(terminal)
    terminal.leave()
    row = co_tui("sessions", "--json").objects[-1]
    assert row["title"].startswith("Is Paris a capital")
    kinds = [entry["message"]["kind"] for entry in co_tui("show", row["id"], "--json").objects]
    assert kinds == ["request", "response"] * max(1, len(kinds) // 2)


def ask(terminal: Terminal, question: str) -> None:
    terminal.type(question)
    terminal.press("Enter")
    terminal.wait(question, "Esc stop")
    terminal.wait(gone="Esc stop")


def clear_resume_and_search(terminal: Terminal) -> None:
    """All of this is shown with a scripted model, too, which answers at once."""
    terminal.press("F8")
    terminal.wait("above are cleared")
    terminal.leave()
    terminal.start_loaded("--continue")
    terminal.wait("Stopped", "Write a message")
    ask(terminal, "Is water wet? One word only: yes or no.")
    terminal.press("F7")
    terminal.wait("Work with agents")
    ask(terminal, "Is snow cold? One word only: yes or no.")
    terminal.press("F2")
    terminal.wait("Sessions · 2")
    terminal.type("capital")
    terminal.wait("Is Paris a capital", gone="Is snow cold")
    terminal.press("Enter")
    terminal.wait("Is water wet? One word only: yes or no.", "F1 Help")


def test_without_a_terminal_it_points_to_run(co_tui: CliCommand) -> None:
    done = co_tui()
    assert done.code == 2 and "co-tui run -p" in done.err
