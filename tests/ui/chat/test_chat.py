"""Talking, watching, interrupting, clearing: by keyboard, in the app."""

import gc
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from textual.pilot import Pilot

from co_tui.events import Event
from co_tui.events.stored_messages import prompt_of
from co_tui.store.store_errors import StoreError
from co_tui.ui.app import CoTui
from co_tui.ui.chat.transcript_feed import STARTING
from co_tui.ui.gauge.gauge_widget import Gauge
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import (
    ask,
    launch_for,
    look_in_one_app,
    running,
    screen_text,
    transcript_text,
    type_text,
    until,
)


async def a_prompt_is_answered_and_everything_shows_it(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    provider.script = [Reply(text="The capital is **Paris**.", prompt_tokens=2000, completion_tokens=48)]
    assert "Nothing sent yet" in screen_text(app)
    await ask(app, pilot, "Capital of France?")
    seen = screen_text(app)
    assert "Capital of France?" in seen and "The capital is Paris." in seen
    assert "50 %" in seen and "2.0k of 4.1k" in seen
    assert "● turn 1" in seen and "session started" not in seen
    assert seen.splitlines()[0].startswith(" co-tui · Capital of France?")
    assert "openai-chat:scripted · balanced" in seen.splitlines()[0]


@only_in_a_long_run
async def test_prompts_sent_in_one_burst_begin_one_session_in_their_order(home: Path, provider: Provider) -> None:
    provider.script = [Reply(text="First answer."), Reply(text="Second answer.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("one")
        app.send("two")
        await until(pilot, lambda: "Second answer." in screen_text(app) and app.controller.idle)
        gc.collect()  # what was never awaited is told then
        assert [prompt_of(entry.message) for entry in app.controller.state.history][::2] == ["one", "two"]
        with app.launch.store.reading() as reading:
            assert reading.count() == 1


async def test_keys_and_prompts_before_the_engine_is_ready_are_kept(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), ready=False) as (app, pilot):
        await type_text(pilot, "early bird\n")
        if not app.controller.backend.ready:
            assert STARTING in screen_text(app)
        await until(pilot, lambda: len(app.controller.state.transcript) == 2)
        assert STARTING not in screen_text(app)
        assert transcript_text(app).count("early bird") == 1


async def test_a_stopped_turn_reads_the_same_live_resumed_and_forked(home: Path, provider: Provider) -> None:
    says = "Stopped. Partial reply kept. F9 continues, or type a correction."
    provider.script = [Reply(text="word " * 300, delay_s=0.05, open_end=True), Reply(text="Fine.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "talk\n")
        await until(pilot, lambda: "word word" in transcript_text(app))
        await until(pilot, lambda: "Esc stop" in screen_text(app) and "answering" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle and says in transcript_text(app))
        await until(pilot, lambda: "■ Stopped" in screen_text(app))
        stopped = app.controller.session_id
        partial = next(block.seq for block in app.chat.transcript.blocks if block.kind == "reply")
    async with running(launch_for(home, provider, session_id=stopped)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle and says in transcript_text(app))
        app.run_command("fork", str(partial))
        await until(pilot, lambda: app.controller.idle and app.controller.session_id != stopped)
        await until(pilot, lambda: says in transcript_text(app))
        assert "interrupted" not in transcript_text(app)
        await ask(app, pilot, "go on")
        assert "Fine." in screen_text(app)
        assert "Stopped. Partial reply kept." in transcript_text(app), "it is what happened"
        assert "F9 continues" not in transcript_text(app), "another prompt was sent"


@only_in_a_long_run
async def test_a_prompt_sent_meanwhile_waits_and_says_so(home: Path, provider: Provider) -> None:
    shown = threading.Event()
    provider.script = [Reply(text="first answer", until=shown), Reply(text="second answer")]
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "first\n")
        await until(pilot, lambda: provider.requests)
        await type_text(pilot, "second\n")
        await until(pilot, lambda: "queued" in screen_text(app))
        shown.set()
        await until(pilot, lambda: "second answer" in screen_text(app))
        assert "queued" not in screen_text(app)
        texts = [block.text.strip() for block in app.chat.transcript.blocks if block.kind == "user"]
        assert texts == ["first", "second"]


async def clear_empties_the_context_and_keeps_the_conversation(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    await pilot.press("f8")
    await until(pilot, lambda: "already empty" in transcript_text(app))
    await ask(app, pilot, "remember this")
    await pilot.press("f8")
    await until(pilot, lambda: "above are cleared" in transcript_text(app))
    assert "remember this" in screen_text(app) and "⌫ cleared" in screen_text(app)
    assert len(app.controller.state.history) == 0
    await ask(app, pilot, "what was it")
    assert [m["role"] for m in provider.requests[-1]["messages"]] == ["system", "user"]


async def a_retry_is_reported_and_the_half_reply_goes(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    provider.script = [Reply(text="half of this", reset_after=3), Reply(text="whole")]
    await ask(app, pilot, "hello")
    await until(pilot, lambda: "whole" in screen_text(app))
    assert "Retrying" in transcript_text(app)
    assert [block.text.strip() for block in app.chat.transcript.blocks if block.kind == "reply"] == ["whole"]
    assert "↻" in screen_text(app)


async def giving_up_is_a_calm_sentence_and_leaves_no_word_of_a_retry(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    refusal = Reply(status=401, body='{"error": {"message": "bad key sk-abcdefghijkl"}}')
    provider.script = [Reply(text="half of this", reset_after=3), refusal]
    await ask(app, pilot, "hello")
    await until(pilot, lambda: "rejected the key in OPENAI_API_KEY" in screen_text(app))
    assert "Retrying" not in transcript_text(app) and "sk-abcdefghijkl" not in screen_text(app)
    await ask(app, pilot, "again")
    assert "Hello from the provider." in screen_text(app)


async def test_a_model_without_key_says_which_variable_and_gives_the_prompt_back(home: Path) -> None:
    launch = launch_for(home, environ={"CO_TUI_MODEL": "anthropic:claude-sonnet-5"})
    async with running(launch) as (app, pilot):
        await type_text(pilot, "hello there\n")
        await until(pilot, lambda: "ANTHROPIC_API_KEY" in transcript_text(app))
        await until(pilot, lambda: app.chat.prompt.text == "hello there")


async def test_a_lost_database_is_a_calm_sentence(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    launch.paths.database.parent.mkdir(parents=True)
    launch.paths.database.write_bytes(b"this is no database" * 500)
    async with running(launch, ready=False) as (app, pilot):
        await until(pilot, lambda: "is damaged" in transcript_text(app))
    assert launch.paths.database.read_bytes() == b"this is no database" * 500


async def escape_codes_and_markup_are_shown_inert(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    provider.script = [Reply(text="\x1b[31mred\x1b[0m [bold]not markup[/bold] \x07 \u202eolleh 漢字 " + "x" * 300)]
    await ask(app, pilot, "[red]hi[/red]")
    seen = screen_text(app)
    assert "\x1b" not in seen and "\x07" not in seen and "\u202e" not in seen
    assert "[bold]not markup[/bold]" in seen and "[red]hi[/red]" in seen and "漢字" in seen
    assert all(len(line) <= 120 for line in seen.splitlines())


async def test_quitting_and_continuing_shows_the_conversation_again(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="A lasting answer.", prompt_tokens=1000, completion_tokens=24)
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "remember me")
        session_id = app.controller.session_id
        before = app.controller.state
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        seen = screen_text(app)
        assert "remember me" in seen and "A lasting answer." in seen and "25 %" in seen
        assert list(app.controller.state.history) == list(before.history)
        await ask(app, pilot, "and again")
        assert len(provider.requests[-1]["messages"]) == 4


@only_in_a_long_run
async def test_the_gauge_shows_pace_and_changes_level(home: Path, provider: Provider) -> None:
    provider.script = [Reply(prompt_tokens=n, completion_tokens=0) for n in (1000, 1500, 3910)]
    async with running(launch_for(home, provider)) as (app, pilot):
        levels, outlooks = [], []
        for n in range(3):
            await ask(app, pilot, f"turn {n}")
            reading = app.chat.query_one("#gauge", Gauge).reading
            levels.append(reading.level)
            outlooks.append(reading.outlook)
        assert levels == ["normal", "normal", "warning"]
        assert outlooks[1] == "compacts at 95 %, ≈ 10 turns", "the tools have their share of the first count"


@only_in_a_long_run
async def test_every_size_shows_prompt_and_gauge(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(60, 16)) as (app, pilot):
        await ask(app, pilot, "hi")
        for size in ((60, 16), (80, 24), (120, 40), (200, 60)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: len(screen_text(app).splitlines()) == size[1])
            seen = screen_text(app)
            assert "Hello from the provider." in seen and "Write a message" in seen and " %" in seen, size


async def a_tiny_terminal_says_so_and_recovers(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await pilot.resize_terminal(50, 12)
    await until(pilot, lambda: "co-tui needs 43×16" in screen_text(app))
    await pilot.resize_terminal(100, 30)
    await until(pilot, lambda: "Write a message" in screen_text(app))
    assert "needs a terminal" not in screen_text(app)


async def test_what_is_said_is_shown_cleared_and_tried_again(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        a_prompt_is_answered_and_everything_shows_it,
        clear_empties_the_context_and_keeps_the_conversation,
        a_retry_is_reported_and_the_half_reply_goes,
        giving_up_is_a_calm_sentence_and_leaves_no_word_of_a_retry,
        escape_codes_and_markup_are_shown_inert,
        a_tiny_terminal_says_so_and_recovers,
    )


async def test_a_queued_prompt_survives_quitting_as_a_draft(home: Path, provider: Provider) -> None:
    provider.script = [Reply(text="slow " * 100, delay_s=0.1, open_end=True)]
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "first\n")
        await until(pilot, lambda: "slow" in transcript_text(app))
        await type_text(pilot, "second\n")
        await until(pilot, lambda: "queued" in screen_text(app))
        session_id = app.controller.session_id
        # Kept while it waits: a kill would lose it otherwise. It is whole, not being written.
        await until(pilot, lambda: app.launch.store.prompt_drafts.read(session_id) == "second\x1e")
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        assert app.chat.prompt.text == "second"


@pytest.mark.parametrize("draft", ["", "and a draft"])
async def test_queued_prompts_come_back_one_by_one(home: Path, provider: Provider, draft: str) -> None:
    provider.script = [Reply(text="slow " * 100, delay_s=0.1, open_end=True), Reply(text="done")]
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "first\n")
        await until(pilot, lambda: "slow" in transcript_text(app))
        await type_text(pilot, "second\nthird\n")
        await until(pilot, lambda: "2 queued" in screen_text(app))
        await type_text(pilot, draft)
        session_id = app.controller.session_id
    for _ in range(2):  # as they were left, however often
        async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
            prompt = app.chat.prompt
            assert prompt.unsent == ([draft] if draft else []) + ["second", "third"]
            assert prompt.is_being_written == bool(draft)
            await until(pilot, lambda: any("more prompt" in each.message for each in app._notifications))
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: "done" in transcript_text(app))
        assert (draft or "second") in transcript_text(app) and "third" not in transcript_text(app)
        await pilot.press("up", "up")
        assert app.chat.prompt.text == "third"


async def test_a_prompt_the_database_could_not_take_comes_back(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> "Future[tuple[Event, ...]]":
        done: Future[tuple[Event, ...]] = Future()
        done.set_exception(StoreError("The database is read-only."))
        return done

    launch = launch_for(home, provider)
    async with running(launch) as (app, pilot):
        await ask(app, pilot, "first")
        with monkeypatch.context() as patched:
            patched.setattr(launch.store.writing(), "append", refused)
            await type_text(pilot, "second\n")
            await until(pilot, lambda: "read-only" in transcript_text(app))
            await until(pilot, lambda: app.chat.prompt.text == "second")
