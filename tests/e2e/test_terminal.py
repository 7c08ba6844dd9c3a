"""The app in a real terminal, with the real embedded model, keyboard only."""

import importlib.util
import time
from collections.abc import Iterator

import pytest

from tests.support.command import CliCommand
from tests.support.terminal import Terminal, needs_tmux
from tests.support.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.terminal,
    needs_tmux,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the embedded model is not installed"),
]


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


def test_a_first_day_with_co_tui(terminal: Terminal, co_tui: CliCommand) -> None:
    terminal.start_loaded()
    terminal.wait("Embedded model SmolLM2", "Write a message", "F1 Help")
    terminal.type("Is Paris a capital? One word only: yes or no.")
    terminal.press("Enter")
    terminal.wait("Is Paris a capital? One word only: yes or no.", "co-tui ", " of 8.2k", gone="Esc stop")

    stop_a_long_answer(terminal)

    terminal.press("F8")
    terminal.wait("above are cleared")
    terminal.leave()

    terminal.start_loaded("--continue")
    terminal.wait("Stopped", "Write a message")
    terminal.type("Is water wet? One word only: yes or no.")
    terminal.press("Enter")
    terminal.wait("Is water wet? One word only: yes or no.", "Esc stop")
    terminal.wait(gone="Esc stop")
    first = co_tui("sessions", "--json").objects[0]["id"]

    terminal.press("F7")
    terminal.wait("Work with agents")
    terminal.type("Is snow cold? One word only: yes or no.")
    terminal.press("Enter")
    terminal.wait("Esc stop")
    terminal.wait(gone="Esc stop")
    terminal.press("F2")
    terminal.wait("Sessions · 2")
    terminal.type("capital")
    terminal.wait("Is Paris a capital", gone="Is snow cold")
    terminal.press("Enter")
    terminal.wait("Is water wet? One word only: yes or no.", "F1 Help")
    terminal.leave()

    listed = co_tui("sessions", "--json").objects
    assert {row["title"].partition("?")[0] for row in listed} == {"Is Paris a capital", "Is snow cold"}
    kinds = [entry["message"]["kind"] for entry in co_tui("show", first, "--json").objects]
    assert len(kinds) >= 6 and kinds == ["request", "response"] * (len(kinds) // 2)


def test_without_a_terminal_it_points_to_run(co_tui: CliCommand) -> None:
    done = co_tui()
    assert done.code == 2 and "co-tui run -p" in done.err
