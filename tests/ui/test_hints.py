"""Hints appear at the right moment, one at a time, and disappear."""

import json
from pathlib import Path
from typing import cast

import pytest

from co_tui.events import ApprovalDecided, CompactionComplete, CompactionUndone, Event, Fact, Message
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.hints import Hints
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.waiting import HANGING_S

PROMPT = Message(turn=1, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]})
REPLY = Message(turn=1, message={"kind": "response", "parts": [{"part_kind": "text", "content": "yes"}]})
COMPACTED = CompactionComplete(success=True)
SIDE = "F4 shows context usage"
FOLDS = "Ctrl+O expands tool output"


class NarrowChat:
    """A narrow screen with notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.feed = self

    def has_class(self, name: str) -> bool:
        return name == "-narrow"

    def note(self, text: str) -> str:
        self.notes.append(text)
        return text

    def drop(self, note: str) -> None:
        self.notes.remove(note)


def test_a_hint_is_shown_once_and_not_after_its_key_was_used_though_nothing_can_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_tui.ui.control.hints.run_thread", lambda *_, **__: None)
    chat = NarrowChat()
    hints = Hints(cast(ChatScreen, chat), tmp_path / "hints.json", dict)

    def shown_after(*facts: Fact) -> list[str]:
        for fact in facts:
            hints.on_event(Event(session_id="s", seq=1, timestamp="", fact=fact))
        return [note.partition(" ")[0] for note in chat.notes]

    assert shown_after(PROMPT, REPLY) == ["F4"]
    assert shown_after(PROMPT) == [], "the next prompt takes it away"
    assert shown_after(REPLY) == [], "once"
    hints.used("mode")
    assert shown_after(ApprovalDecided(call_id="c", approved=True, by="user"), REPLY) == []
    assert shown_after(CompactionComplete(success=False)) == [] and shown_after(COMPACTED) == ["Nothing"]
    hints.used("undo")
    assert shown_after() == [], "its way was found"
    assert shown_after(CompactionUndone(compaction_seq=1, history=())) != [] and shown_after(COMPACTED) == []


async def test_a_hint_goes_with_the_next_prompt_and_for_good_once_it_was_heeded(home: Path, provider: Provider) -> None:
    kept = home / "state" / "hints.json"
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        assert "Work with agents" in screen_text(app)
        await ask(app, pilot, "hello")
        assert transcript_text(app).count(SIDE) == 1 and "Work with agents" not in screen_text(app)
        provider.script = [Reply(tool=("list_directory", '{"path": "."}')), Reply(text="Nothing there.")]
        provider.default = Reply(text="Yes.")
        await ask(app, pilot, "what is here?")
        assert SIDE not in transcript_text(app) and transcript_text(app).endswith(f"{FOLDS}.")
        await until(pilot, lambda: kept.exists() and json.loads(kept.read_text()).get("side") == 1)
        await pilot.press("f4")
        await until(pilot, lambda: json.loads(kept.read_text()).get("side") == 99)
        app.run_command("folds", "")
        await until(pilot, lambda: FOLDS not in transcript_text(app))  # what was heeded has been said
    async with running(launch_for(home, provider), size=(80, 24)) as (app, pilot):
        await ask(app, pilot, "hello again")
        assert SIDE not in transcript_text(app)
        provider.default = Reply(wait_s=HANGING_S)
        await type_text(pilot, "and now?\n")
        await until(pilot, lambda: app.controller.busy)
        await pilot.press("escape")
        await until(pilot, lambda: "F9 continues" in transcript_text(app))
