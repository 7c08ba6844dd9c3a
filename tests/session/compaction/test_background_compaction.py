"""Compaction in the background, and the questions it asks."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from co_tui.events import (
    CompactionStart,
    CompactionWait,
    HookRun,
    MemoryWritten,
    SessionError,
)
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from tests.support.compacting import TOO_MUCH, Person, texts
from tests.support.environments import facts
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import GOOD, MODEL, compactions, fill, talk, talking
from tests.support.waiting import HANGING_S, next_fact

pytestmark = pytest.mark.usefixtures("long_answers")


async def begun(session: Session) -> None:
    """Talk until a compaction runs in the background, under a window of 3,000 tokens."""
    await fill(session, 4, words=120)
    while session.state.compacting is None:
        await talk(session, 1, words=120)


async def test_it_runs_during_the_turn_and_no_one_waits(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    provider.summary = Reply(text=GOOD.text, wait_s=0.15)
    async with talking(home, provider) as session:
        await fill(session, 5, words=120)
        await talk(session, 4, words=120)
        done = [each for each in compactions(session.state) if each.success]
        assert done and all(each.trigger == "background" for each in done)
        starts = facts(list(session.state.timeline), CompactionStart)
        assert all(not start.blocks and start.messages for start in starts)
        assert len(session.state.transcript) == 18
        assert replayed(home, session.id) == session.state


async def test_what_was_said_meanwhile_follows_word_for_word(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, buffer_exhaustion_threshold=1.0, truncation="off") as session:
        written = threading.Event()
        provider.summary = Reply(text=GOOD.text, until=written)
        await begun(session)
        provider.default = Reply(text="short", prompt_tokens=2_600, completion_tokens=2)
        await session.submit("said while it was being summarised")
        written.set()
        await session.settle(5)
        assert compactions(session.state)[-1].success
        assert texts(session.state)[-2:] == ["said while it was being summarised", "short "]


async def test_between_two_turns_it_is_applied_as_soon_as_it_is_written(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    async with talking(home, provider) as session:
        await begun(session)
        before = len(session.state.history)
        written.set()
        await session._compactor.finish()
        (done,) = compactions(session.state)
        assert done.success and done.trigger == "background", "without another turn, and no one waits for it"
        assert len(session.state.history) < before and "summarised" in texts(session.state)[0]


async def test_the_window_of_messages_slides_before_a_request_and_not_after_a_turn(
    home: Path, provider: Provider
) -> None:
    settings = {"compaction": "window", "summary_form": "marker", "max_history_messages": 9}
    async with talking(home, provider, **settings) as session:
        await fill(session, 5)
        await session.settle(5)
        assert len(session.state.history) == 10 and not session.state.timeline[-1].type.startswith("session.compaction")
        await talk(session, 1)
        (done,) = compactions(session.state)
        assert done.success and done.trigger == "window" and len(session.state.history) < 12


@only_in_a_long_run
async def test_one_that_is_just_being_applied_still_counts_as_under_way(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, daily_memory="compactions") as session:
        written = threading.Event()
        provider.summary = Reply(text=GOOD.text, until=written)
        await begun(session)
        listener = session.events()
        written.set()
        await next_fact(listener, MemoryWritten)  # the first step of applying it
        assert not compactions(session.state)
        with pytest.raises(CompactionRefused, match="already running"):
            await session.compact()
        await session.settle(5)
        assert compactions(session.state)[-1].success


async def test_at_the_second_mark_the_request_waits_for_what_runs_in_the_background(
    home: Path, provider: Provider
) -> None:
    provider.window = 3_000
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    async with talking(home, provider) as session:
        await begun(session)
        listener = session.events()
        turn = asyncio.create_task(session.submit("a long one " + "more words " * 250))
        await next_fact(listener, CompactionWait)
        written.set()
        await turn
        (done,) = [each for each in compactions(session.state) if each.success]
        assert done.trigger == "background" and done.waited_ms > 0
        assert "[Earlier conversation, summarised]" in provider.requests[-1]["messages"][1]["content"]
        assert replayed(home, session.id) == session.state


async def test_a_request_that_is_refused_waits_for_what_runs_in_the_background(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    async with talking(home, provider, buffer_exhaustion_threshold=1.0, truncation="off") as session:
        await begun(session)
        listener = session.events()
        provider.script = [TOO_MUCH]
        turn = asyncio.create_task(session.submit("And this?"))
        await next_fact(listener, CompactionWait)
        written.set()
        assert await turn is Outcome.DONE
        (done,) = compactions(session.state)
        assert done.success and done.trigger == "background", "no other one is begun"
        assert facts(list(session.state.timeline), SessionError)[-1].outcome == "compacted"
        assert "[Earlier conversation, summarised]" in provider.requests[-1]["messages"][1]["content"]


async def test_clearing_switching_and_rewinding_discard_what_runs(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    for change in ("clear", "model", "rewind"):
        provider.summary = Reply(text=GOOD.text, wait_s=HANGING_S)
        async with talking(home / change, provider, buffer_exhaustion_threshold=1.0) as session:
            await begun(session)
            if change == "clear":
                await session.edits.clear()
                assert not session.state.history
            elif change == "model":
                await session.switcher.switch_model(MODEL)
            else:
                await session.edits.rewind(2)
                assert len(session.state.history) == 2
            last = compactions(session.state)[-1]
            assert last.cancelled and last.error.startswith("discarded: "), change
            assert session.state.compacting is None and replayed(home / change, session.id) == session.state


async def test_a_message_brought_back_meanwhile_discards_what_was_written_without_it(
    home: Path, provider: Provider
) -> None:
    provider.window = 3_000
    async with talking(home, provider) as session:
        await fill(session, 4)
        gone = session.state.history[2]
        assert (await session.compact()).success
        written = threading.Event()
        provider.summary = Reply(text=GOOD.text, until=written)
        while session.state.compacting is None:
            await talk(session, 1, words=120)
        await session.edits.pin([gone.ref])
        written.set()
        await session._compactor.finish()
        last = compactions(session.state)[-1]
        assert last.cancelled and last.error == "discarded: the history changed" and session.state.compacting is None
        assert gone in list(session.state.history)
        assert (await session.compact()).success, "nothing runs any more"
        assert gone in list(session.state.history) and replayed(home, session.id) == session.state


async def test_a_background_failure_is_an_event_and_not_tried_again_at_once(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, hooks={"preCompact": (HookEntry("echo 'not now' >&2; exit 2"),)}) as session:
        await fill(session, 12)
        failed = [each for each in compactions(session.state) if not each.success]
        assert failed and "not now" in failed[0].error
        assert len(failed) < 8
        assert await session.submit("still here?") is Outcome.DONE


# Hooks and questions


async def test_hooks_see_the_trigger_and_may_add_focus(home: Path, provider: Provider, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    hooks = {"preCompact": (HookEntry(f'tee {seen} > /dev/null; echo \'{{"focus": "the tests"}}\''),)}
    async with talking(home, provider, hooks=hooks) as session:
        await fill(session, 3)
        assert (await session.compact("names")).success
        told = json.loads(seen.read_text())
        assert (told["trigger"], told["session_id"], told["focus"]) == ("manual", session.id, "names")
        assert "names\nthe tests" in provider.summary_requests[-1]["messages"][-1]["content"]
        assert facts(list(session.state.timeline), HookRun)


async def test_the_user_may_be_asked_first(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    person = Person(may=False)
    async with talking(home, provider, compaction_asks="on", questions=person) as session:
        await fill(session, 16)
        assert person.asked and person.asked[0].trigger in ("background", "blocking")
        assert not [each for each in compactions(session.state) if each.success]


async def test_a_summary_can_be_edited_before_it_is_applied(home: Path, provider: Provider) -> None:
    async with talking(home, provider, compaction_review="on", questions=Person(wished="My own words.")) as session:
        await fill(session, 3)
        done = await session.compact()
        assert done.success and done.edited and done.summary == "My own words."
        assert "My own words." in texts(session.state)[0]
    async with talking(home, provider, compaction_review="on", questions=Person(wished=None)) as session:
        await fill(session, 3)
        done = await session.compact()
        assert done.cancelled and not done.success and "rejected" in done.error
        assert compactions(session.state)[-1].cancelled and len(session.state.history) == 6


async def test_compaction_can_be_held_to_the_end_of_the_turn(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, compaction_waits="turn") as session:
        await fill(session, 12)
        await session.settle(5)
        order = [event.type for event in session.state.timeline]
        for place, kind in enumerate(order):
            if kind == "session.compaction_start":
                assert order[place + 1] in ("session.compaction_complete", "message")
        assert any(each.success for each in compactions(session.state))
