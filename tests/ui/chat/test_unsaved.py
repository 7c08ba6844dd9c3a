"""A full disk during a conversation: unsaved messages say so, and are saved once there is space."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import Event, Message
from co_tui.events.stored_messages import pieces
from co_tui.session import recorder
from co_tui.store.store_errors import UNSAVED, StoreError
from co_tui.ui.app import CoTui
from co_tui.ui.leaving import Leaving
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, type_text, until
from tests.support.stores import stored_events


class FullDisk:
    """Takes prompts but no replies any more, and then nothing."""

    def __init__(self, append: Any) -> None:
        self._append = append
        self.takes_prompts = True

    def append(self, session_id: str, facts: tuple[Any, ...], **options: Any) -> "Future[tuple[Event, ...]]":
        is_reply = any(isinstance(fact, Message) and fact.message["kind"] == "response" for fact in facts)
        if self.takes_prompts and not is_reply:
            return self._append(session_id, facts, **options)  # type: ignore[no-any-return]  # any store's
        refused: Future[tuple[Event, ...]] = Future()
        refused.set_exception(StoreError("The disk is full."))
        return refused


def told(app: CoTui) -> str:
    """What the toasts say, which break their lines."""
    return " ".join(each.message for each in app._notifications)


class Quitting:
    """A session with messages that are in memory only, no work under way, and an app that can be left."""

    has_unsaved = True
    private = busy = False
    exit_message = resume_hint = ""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.launch = self.work = self.screen = self.prompt = self.sender = self
        self.text = self.selected_text = ""
        self.screen_stack: list[object] = []

    def summary(self) -> str:
        return ""

    def get_selected_text(self) -> str:
        return ""

    def withdraw_latest(self) -> bool:
        return False

    def notify(self, sentence: str, **_: object) -> None:
        self.done.append(sentence)

    async def close(self) -> bool:
        return True

    def exit(self, **_: object) -> None:
        self.done.append("left")


async def test_quitting_again_leaves_and_typing_between_forgets_the_first() -> None:
    seen: Any = Quitting()
    leaving = Leaving(seen, seen, lambda: seen)
    await leaving.quit()
    assert seen.done == [f"{UNSAVED} Quitting again loses them."]
    await leaving.quit()
    assert seen.done[1:] == ["left"], "it is the user's decision"

    seen.has_unsaved, seen.done = False, []
    await leaving.copy_or_leave()
    leaving.stay()
    seen.private = True
    await leaving.copy_or_leave()
    assert seen.done == [
        "Press Ctrl+C again to quit. Everything is saved.",
        "Press Ctrl+C again to quit. Nothing is saved (private session).",
    ]
    await leaving.copy_or_leave()
    assert seen.done[2:] == ["left"]


async def test_a_reply_that_cannot_be_saved_says_so_and_is_saved_when_there_is_room(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script = [Reply(text="First answer."), Reply(text="Second answer.")]
    monkeypatch.setattr(recorder, "SAVE_AGAIN_S", 0.05)
    launch = launch_for(home, provider)
    async with running(launch) as (app, pilot):
        with monkeypatch.context() as patched:
            writing = launch.store.writing()
            disk = FullDisk(writing.append)
            patched.setattr(writing, "append", disk.append)
            await ask(app, pilot, "one")
            await until(pilot, lambda: "The disk is full. The latest messages are only in this" in screen_text(app))
            assert "First answer." in screen_text(app) and "⚠ not saved yet" in screen_text(app)
            await pilot.press("ctrl+c")
            await until(pilot, lambda: "Quitting again loses them" in told(app))
            assert "Everything is saved" not in told(app)
            await pilot.press("f7")
            await until(pilot, lambda: "Stay until there is disk space" in screen_text(app))
            disk.takes_prompts = False
            await type_text(pilot, "two\n")
            await until(pilot, lambda: app.chat.prompt.text == "two")
            assert "⚠ not saved yet" in screen_text(app)
        await until(pilot, lambda: "Everything is saved now." in screen_text(app))
        assert "not saved yet" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Second answer." in screen_text(app) and app.controller.idle)
        assert screen_text(app).count("First answer.") == 1
        session_id = app.controller.session_id
    messages = [event.fact.message for event in stored_events(home, session_id) if isinstance(event.fact, Message)]
    said = [text.strip() for message in messages for _, text, _ in pieces(message)]
    assert said == ["one", "First answer.", "two", "Second answer."]
    assert [message["content"].strip() for message in provider.requests[-1]["messages"]][-3:] == said[:3]
