"""The screen handed over and returned, in a real terminal: to an editor of one's own, and to the shell."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.terminal import Terminal, needs_tmux
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.terminal, needs_tmux]

SHELL = "shell>"
"""What the shell says when it waits for a command."""
EDITOR = """#!/bin/sh
trap '' INT QUIT
echo "THE EDITOR HAS THE SCREEN"
while [ ! -e go ]; do sleep 0.1; done
printf 'written elsewhere' > "$1"
"""


@pytest.fixture
def terminal(served: CliCommand, provider: Provider, tmp_path: Path) -> Iterator[Terminal]:
    provider.default = Reply(text="slow words " * 60 + "at last", delay_s=0.02)
    editor = tmp_path / "an editor"
    editor.write_text("no program")
    editor.chmod(0o700)
    served.environ["EDITOR"] = f"'{editor}'"
    opened = Terminal(served, 80, 24)
    yield opened
    opened.close()


def test_an_editor_has_the_screen_to_itself_and_gives_it_back(
    terminal: Terminal, served: CliCommand, provider: Provider, tmp_path: Path
) -> None:
    terminal.type(f"PS1='{SHELL} '")
    terminal.press("Enter")
    terminal.start()
    terminal.wait("Write a message")
    terminal.press("C-g")
    terminal.wait("Cannot open the editor")  # and the screen is ours again
    (tmp_path / "an editor").write_text(EDITOR)
    terminal.type("talk")
    terminal.press("Enter")
    terminal.wait("slow words")
    terminal.type("a draft")
    terminal.wait("a draft")
    terminal.press("C-g", "C-g")
    seen = terminal.wait("THE EDITOR HAS THE SCREEN")
    assert "slow words" not in seen and "Chat" not in seen
    terminal.press("C-c", "C-\\")  # for the editor, not for whoever waits for it
    wait_until(lambda: provider.answered)  # more was drawn meanwhile than fits into what waits to be written
    (served.cwd / "go").touch()
    seen = terminal.wait("written elsewhere", "at last", gone="THE EDITOR")
    assert "a draft" not in seen and seen.count("╭─ Chat") == 1
    terminal.press("Tab")
    terminal.wait("c Copy")
    terminal.press("C-z")
    terminal.wait("Stopped", SHELL, gone="╭─ Chat")
    terminal.type("fg")
    terminal.press("Enter")
    terminal.wait("╭─ Chat", "written elsewhere", gone="Stopped")
    terminal.type("; read here")
    seen = terminal.wait("written elsewhere; read here")
    assert seen.count("╭─ Chat") == 1
    terminal.leave()
    terminal.wait("continues “")
