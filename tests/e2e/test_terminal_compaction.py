"""Compaction in a real terminal, keyboard only: the indicator, the entry, and the entry opened."""

import time
from collections.abc import Iterator

import pytest

from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.terminal import Terminal, needs_tmux
from tests.support.waiting import HANGING_S, PATIENCE_S, wait_until

pytestmark = [pytest.mark.terminal, needs_tmux]

SUMMARY = "Title: Login\n## Decisions and outcomes\n- The fixture patches SESSION_DIR in tests/test_login.py first."


@pytest.fixture
def terminal(served: CliCommand, provider: Provider) -> Iterator[Terminal]:
    provider.window = 100_000
    reply = "The fixture opens the store before SESSION_DIR is patched; see tests/test_login.py. " * 6
    provider.default = Reply(text=reply, prompt_tokens=-1, completion_tokens=120)
    provider.summary = Reply(text=SUMMARY, prompt_tokens=500, completion_tokens=40)
    opened = Terminal(served, 110, 34)
    yield opened
    opened.close()


def test_compact_cancel_compact_look_inside_and_undo(terminal: Terminal, provider: Provider) -> None:
    terminal.start_loaded()
    terminal.wait("Write a message")
    for n in (1, 2, 3):
        terminal.type(f"question {n} about the fixture")
        terminal.press("Enter")
        terminal.wait(f"● turn {n}", gone="Esc stop")
    provider.summaries = [Reply(text=SUMMARY, wait_s=HANGING_S)]
    terminal.press("F5")
    terminal.wait("Frees about", "Enter compacts")
    terminal.press("Enter")
    terminal.wait("Compacting conversation history", "requested by you", "Esc Cancel")
    wait_until(lambda: provider.summary_requests)  # cancelled before, it would have nobody to hang up on
    terminal.press("Escape")
    terminal.wait("Compaction cancelled", "compaction cancelled", gone="Esc Cancel")
    assert provider.closed_early.wait(PATIENCE_S), "the provider saw the connection go"
    terminal.press("F5")
    terminal.wait("Frees about")
    time.sleep(0.3)  # a key that comes again sooner is held down
    terminal.press("F5")
    terminal.wait("◆ Conversation Compacted", "are summarised", "checkpoint 1")
    for key in ("Tab", "Tab", "End", "Enter"):
        terminal.press(key)
        time.sleep(0.3)  # as a hand does
    terminal.wait("Summary", "Replaced 4", "Kept", "Cost", "[Earlier conversation, summarised]")
    terminal.press("4")
    terminal.wait("500 tokens in, 40 out, 1 request", "checkpoint")
    terminal.press("u")
    terminal.wait("Compaction undone. The model sees all 6 messages again.", "compaction undone")
    terminal.press("C-q")
