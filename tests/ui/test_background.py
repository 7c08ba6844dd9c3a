"""Failures in the background: reported in one sentence, nothing waits forever, the app keeps running."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.screen import Screen

from co_tui.store.store_errors import StoreError
from co_tui.ui.app import CoTui
from co_tui.ui.background import failure_sentence, guarded_callback, run_in_background, run_thread, start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.chat.transcript_feed import STARTING
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.controller import SessionController
from co_tui.ui.control.live_settings import LiveSettings
from co_tui.ui.control.prompt_sender import PromptSender
from co_tui.ui.models.models_screen import ModelScreen
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, until


def fails(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("by zero")


async def fails_later(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("by zero")


class Bare(App[None]):
    """What background work needs of an app."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[str] = []

    def background_failed(self, sentence: str, error: Exception, *, once: bool = False) -> None:
        self.failures.append(sentence)


KINDS: dict[str, Callable[[Bare], object]] = {
    "work": lambda app: run_in_background(app, "Looking", fails_later, group="looks"),
    "the latest of its group": lambda app: run_in_background(app, "Looking", fails_later, group="looks", latest=True),
    "a thread": lambda app: run_thread(app, "Looking", fails, group="looks"),
    "a callback": lambda app: app.call_later(guarded_callback(app, "Looking", fails)),
    "a coroutine that is called later": lambda app: app.call_later(guarded_callback(app, "Looking", fails_later)),
    "a timer": lambda app: app.set_timer(0.001, guarded_callback(app, "Looking", fails)),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_work_reports_its_failure_and_ends_nothing(kind: str) -> None:
    app = Bare()
    async with app.run_test() as pilot:
        KINDS[kind](app)
        await until(pilot, lambda: app.failures)
        assert app.failures == ["Looking failed: ZeroDivisionError: by zero."]
        assert app.is_running and app.return_code is None


async def test_what_waits_for_failed_work_is_reset_even_if_that_fails_too() -> None:
    app = Bare()
    async with app.run_test() as pilot:
        run_in_background(app, "Looking", fails_later, group="looks", failed=fails)
        await until(pilot, lambda: len(app.failures) == 2)
        assert app.failures[1] == "Recovered from: Looking failed: ZeroDivisionError: by zero."


async def test_work_of_a_screen_that_closes_under_it_reports_nothing() -> None:
    app = Bare()
    async with app.run_test() as pilot:
        screen: Screen[None] = Screen()
        await app.push_screen(screen)
        looking = guarded_callback(screen, "Looking", fails)
        gone = app._prune(screen)  # from here on its widgets leave one by one, while the screen is still attached
        assert screen.is_attached
        await looking()
        await gone
        await pilot.pause()
        assert not app.failures


async def test_a_task_raises_where_it_is_awaited_if_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        await start_awaited(fails_later())
    task = start_awaited(fails_later())
    await asyncio.wait([task])  # its failure would be an unraisable warning otherwise, which is an error here


def test_errors_of_the_store_are_sentences_already() -> None:
    assert failure_sentence("Saving", StoreError("The disk is full.")) == "Saving failed: The disk is full."


async def test_servers_that_fail_to_start_keep_no_prompt_waiting(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Backend, "start_servers", fails)
    async with running(launch_for(home, provider), ready=False, failing=True) as (app, pilot):
        app.send("hi")
        await until(pilot, lambda: "Hello from the provider." in transcript_text(app) and app.controller.idle)
        assert "Starting MCP servers failed: ZeroDivisionError: by zero." in transcript_text(app)
        assert STARTING not in screen_text(app)


async def test_a_start_that_fails_gives_prompts_back_and_the_next_one_is_tried(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, provider), ready=False, failing=True) as (app, pilot):
        with monkeypatch.context() as patched:
            patched.setattr(LiveSettings, "show", fails)
            app.send("hi")
            assert STARTING in screen_text(app) or await painted(app, pilot)
            await until(pilot, lambda: app.failures)
        assert app.failures == ["Starting failed: ZeroDivisionError: by zero."]
        assert app.chat.prompt.text == "hi" and STARTING not in screen_text(app)
        assert "Starting failed" in transcript_text(app)
        app.chat.prompt.text = ""
        await ask(app, pilot, "again")


async def painted(app: CoTui, pilot: Any) -> bool:
    await until(pilot, lambda: STARTING in screen_text(app) or app.failures)
    return True


@pytest.mark.parametrize(
    ("part", "name", "doing"),
    [
        (SessionController, "open_for_prompt", "Opening the session"),
        (PromptSender, "_turn", "Sending the prompt"),
    ],
)
async def test_a_prompt_that_cannot_be_sent_comes_back(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, part: type, name: str, doing: str
) -> None:
    async with running(launch_for(home, provider), failing=True) as (app, pilot):
        with monkeypatch.context() as patched:
            patched.setattr(part, name, fails_later)
            app.send("hi")
            await until(pilot, lambda: app.failures)
        assert app.failures == [f"{doing} failed: ZeroDivisionError: by zero."]
        await until(pilot, lambda: app.chat.prompt.text == "hi")
        assert STARTING not in screen_text(app)
        app.chat.prompt.text = ""
        await ask(app, pilot, "again")


async def test_a_command_that_fails_says_so(home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(launch_for(home, provider), failing=True) as (app, pilot):
        monkeypatch.setattr("co_tui.ui.commands.host.function_of", lambda _: fails_later)
        app.run_command("help", "")
        await until(pilot, lambda: "/help failed: ZeroDivisionError: by zero." in transcript_text(app))


async def test_a_draft_that_cannot_be_saved_is_said(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, provider), failing=True) as (app, pilot):
        with monkeypatch.context() as patched:
            patched.setattr(app.launch.store.prompt_drafts, "write", fails)
            app.chat.prompt.insert("half a prompt")
            await until(pilot, lambda: "Saving the draft failed" in transcript_text(app))


async def test_a_screen_in_front_shows_what_fails_in_it(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelScreen, "_load_catalogue", fails_later)
    async with running(launch_for(home, provider), failing=True) as (app, pilot):
        notified: list[str] = []
        monkeypatch.setattr(app, "notify", lambda message, **_: notified.append(message))
        app.run_command("model", "")
        await until(pilot, lambda: app.failures)
        assert isinstance(app.screen, ModelScreen)
        assert notified == ["Loading models failed: ZeroDivisionError: by zero."]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert "Loading models failed" in transcript_text(app)


async def test_an_event_that_cannot_be_shown_does_not_hide_the_rest_and_is_said_once(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, provider), failing=True) as (app, pilot):
        await ask(app, pilot, "first")
        with monkeypatch.context() as patched:
            patched.setattr(ChatScreen, "apply_event", fails)
            app.send("second")
            await until(pilot, lambda: app.controller.state.turn == 2 and app.controller.idle)
            await until(pilot, lambda: app.failures)
        assert app.failures == ["Showing the conversation failed: ZeroDivisionError: by zero."]
        await ask(app, pilot, "third")
        assert "third" in transcript_text(app)


async def test_failing_upkeep_is_reported(home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.ui.control.engine_start.run_upkeep", fails_later)
    async with running(launch_for(home, provider), failing=True) as (app, pilot):
        await until(pilot, lambda: "Cleaning up failed: ZeroDivisionError: by zero." in transcript_text(app))
        await ask(app, pilot, "hi")
