"""Commands that are given while a session is being opened: carried out in order with the prompts, once it is open."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events import Clear, CompactionComplete, Event, Message, SessionRename
from co_tui.events.stored_messages import prompt_of
from co_tui.ui.app import CoTui
from co_tui.ui.control.backend import Backend
from co_tui.ui.control.prompt_sender import NOT_CARRIED_OUT
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.stores import stored_events
from tests.ui.sessions.test_resuming import say

OLD = "the old question"


@asynccontextmanager
async def held_back(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, what: str = "session"
) -> AsyncIterator[tuple[CoTui, Pilot[None], Callable[[], None]]]:
    """The app, resuming a session whose opening waits until the function given is called."""
    opening, loading = asyncio.Event(), threading.Event()
    load, resume = Backend.load, Backend.resume

    def loads(backend: Backend, model: str) -> None:
        loading.wait()
        load(backend, model)

    async def resumes(backend: Backend, *arguments: Any, **options: Any) -> Any:
        await opening.wait()
        return await resume(backend, *arguments, **options)

    def release() -> None:
        loading.set()
        opening.set()

    monkeypatch.setattr(Backend, *(("load", loads) if what == "engine" else ("resume", resumes)))
    launch = launch_for(home, provider, session_id="s-1")
    say(home, "s-1", OLD, cwd=str(launch.cwd))
    try:
        async with running(launch, ready=False) as (app, pilot):
            if what == "session":
                await until(pilot, lambda: app.controller.backend.ready and app.controller.opening)
            yield app, pilot, release
    finally:
        release()


def kept(home: Path) -> list[Event]:
    return stored_events(home, "s-1")


def asked(provider: Provider) -> list[str]:
    """What was sent to the model, request by request."""
    return [json.dumps(request["messages"]) for request in (*provider.requests, *provider.summary_requests)]


@pytest.mark.parametrize("what", also_in_a_long_run(["engine"], ["session"]))
async def test_commands_and_prompts_are_carried_out_in_the_order_given(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    provider.script = [Reply("a fresh answer " * 40, completion_tokens=400)]
    async with held_back(home, provider, monkeypatch, what) as (app, pilot, release):
        await type_text(pilot, "/clear\n")
        await type_text(pilot, "a fresh question\n")
        await pilot.press("f5")
        await type_text(pilot, "/context\n")
        await until(pilot, lambda: "4 queued" in screen_text(app))
        shown = screen_text(app)
        assert "starting…" in shown and "/compact" in shown and "Esc drops the last" in shown
        assert not provider.requests and len(kept(home)) == 5
        release()
        await until(pilot, lambda: "conversation  " in transcript_text(app))
        told = transcript_text(app)
        assert "queued" not in screen_text(app) and " 0 of 4,096 tokens" not in told and "messages      0" not in told
    facts = [event.fact for event in kept(home)]
    done = [
        type(fact).__name__
        for fact in facts[5:]
        if isinstance(fact, Clear | CompactionComplete) or (isinstance(fact, Message) and prompt_of(fact.message))
    ]
    assert done == ["Clear", "Message", "CompactionComplete"]
    assert "a fresh question" in asked(provider)[0]
    assert not any(OLD in each for each in asked(provider)), "the model got what /clear had emptied"
    compaction = next(fact for fact in facts[5:] if isinstance(fact, CompactionComplete))
    assert (compaction.trigger, compaction.pre_messages) == ("manual", 2), "after the turn, and before the report"


@only_in_a_long_run
async def test_a_command_does_not_stop_the_turn_of_a_prompt_given_before_it(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering = threading.Event()
    provider.script = [Reply("a whole answer", until=answering), Reply("another")]
    async with held_back(home, provider, monkeypatch) as (app, pilot, release):
        await type_text(pilot, "first\n")
        await type_text(pilot, "/clear\n")
        release()
        await until(pilot, lambda: provider.requests)
        await type_text(pilot, "second\n")
        await until(pilot, lambda: "2 queued" in screen_text(app))
        answering.set()
        await until(pilot, lambda: app.controller.state.turn == 3 and app.controller.idle)
        assert "a whole answer" in transcript_text(app)
    assert OLD in asked(provider)[0] and "first" in asked(provider)[0]
    assert "second" in asked(provider)[1] and "first" not in asked(provider)[1]


@pytest.mark.parametrize("key", also_in_a_long_run(["escape"], ["ctrl+c"]))
async def test_what_waits_can_be_withdrawn(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    async with held_back(home, provider, monkeypatch) as (app, pilot, release):
        await type_text(pilot, "/rename kept\n")
        await type_text(pilot, "not yet\n")
        await pilot.press("f8")
        await until(pilot, lambda: "3 queued" in screen_text(app))
        await pilot.press(key)
        await until(pilot, lambda: "2 queued" in screen_text(app))
        assert "Dropped /clear." in {each.message for each in app._notifications}
        await pilot.press(key)
        await until(pilot, lambda: app.chat.prompt.text == "not yet")
        assert "1 queued" in screen_text(app)
        release()
        await until(pilot, lambda: app.controller.state.title == "kept")
        assert "queued" not in screen_text(app) and "starting…" not in screen_text(app)
        assert app.chat.prompt.text == "not yet"
    assert not provider.requests
    assert not any(isinstance(event.fact, Clear) for event in kept(home))


async def test_a_report_given_early_is_that_of_the_whole_session(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_back(home, provider, monkeypatch, "engine") as (app, pilot, release):
        await type_text(pilot, "/history\n")
        await pilot.press("up")
        await until(pilot, lambda: "Esc drops the last" in transcript_text(app))
        release()
        await until(pilot, lambda: "The model sees 2 of 2 messages" in transcript_text(app))


@only_in_a_long_run
async def test_what_follows_a_fork_is_said_in_the_copy(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_back(home, provider, monkeypatch) as (app, pilot, release):
        await type_text(pilot, "/fork\n")
        await type_text(pilot, "in the copy\n")
        release()
        await until(pilot, lambda: app.controller.state.turn == 2 and app.controller.idle)
        assert app.controller.session_id != "s-1"
    assert not any(isinstance(event.fact, Message) and event.fact.turn == 2 for event in kept(home))


async def test_commands_for_a_session_that_does_not_open_are_named(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with held_back(home, provider, monkeypatch) as (app, pilot, release):

        async def fails(*_: Any) -> Any:
            raise ModelUnusable("Nobody answers.")

        monkeypatch.setattr("co_tui.session.session.Session.resume", fails)
        await type_text(pilot, "/clear\n")
        await type_text(pilot, "then this\n")
        await type_text(pilot, "/rename other\n")
        release()
        await until(pilot, lambda: NOT_CARRIED_OUT in transcript_text(app))
        assert "/clear, /rename other." in transcript_text(app) and app.chat.prompt.text == "then this"
        assert "queued" not in screen_text(app)
    assert not provider.requests and not any(isinstance(event.fact, SessionRename) for event in kept(home))


async def test_another_model_is_waited_for_before_a_prompt_of_a_new_session(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, load = threading.Event(), Backend.load

    def loads(backend: Backend, model: str) -> None:
        loading.wait()
        load(backend, model)

    monkeypatch.setattr(Backend, "load", loads)
    try:
        async with running(launch_for(home, provider), ready=False) as (app, pilot):
            await type_text(pilot, "/model openai-chat:other\n")
            await type_text(pilot, "/init briefly\n")
            await type_text(pilot, "who are you?\n")
            await until(pilot, lambda: "3 queued" in screen_text(app))
            loading.set()
            await until(pilot, lambda: app.controller.state.turn == 2 and app.controller.idle)
            assert provider.requests[0]["model"] == "other"
            first, second = ([part["content"] for part in each["messages"][-1:]] for each in provider.requests[:2])
            assert "briefly" in str(first) and "who are you?" in str(second), "a command's own prompt has its turn"
    finally:
        loading.set()
