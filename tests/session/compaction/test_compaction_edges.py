"""Compaction where things meet: stopping at odd moments, and pins."""

import asyncio
import threading
from pathlib import Path

import pytest

from co_tui.events import CompactionStart, CompactionWait, SessionError
from co_tui.session.approvals.questions import CompactionQuestion
from co_tui.session.turns.turn import Outcome
from tests.support.compacting import (
    BLOCKS_EARLY,
    RULE,
    TOO_MUCH,
    Person,
    Writing,
    about_to_block,
    look,
    looking,
    successes,
    texts,
)
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import GOOD, compactions, fill, talk, talking, use_window
from tests.support.waiting import HANGING_S, PATIENCE_S, next_fact, until

pytestmark = pytest.mark.usefixtures("long_answers")


# Stopping


@pytest.mark.parametrize("how", also_in_a_long_run(["close", "clear"], ["stop"]))
async def test_what_ends_a_session_or_its_context_stops_the_turn_behind_a_compaction(
    home: Path, provider: Provider, how: str
) -> None:
    provider.window = 3_000
    async with talking(home, provider, **BLOCKS_EARLY) as session:
        await about_to_block(session, provider)
        provider.summary = Reply(text=GOOD.text, wait_s=HANGING_S)
        asked = len(provider.requests)
        turn = asyncio.create_task(session.submit("the next one " + "more words " * 30))
        await until(lambda: provider.summary_requests)
        if how == "stop":
            session.stop()
        else:
            await {"close": session.close, "clear": session.edits.clear}[how]()
        assert await turn is Outcome.INTERRUPTED and len(provider.requests) == asked


async def test_escape_behind_a_compaction_lets_the_turn_go_on(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, **BLOCKS_EARLY) as session:
        await about_to_block(session, provider)
        provider.summaries = [Reply(text=GOOD.text, wait_s=HANGING_S)]
        turn = asyncio.create_task(session.submit("the next one " + "more words " * 30))
        await until(lambda: provider.summary_requests)
        assert session.interrupt()
        assert await turn is Outcome.DONE
        assert compactions(session.state)[-1].cancelled


@pytest.mark.parametrize("late", also_in_a_long_run([True], [False]))
async def test_escape_at_an_odd_moment_never_hits_the_next_prompt(
    monkeypatch: pytest.MonkeyPatch, home: Path, provider: Provider, late: bool
) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        writing = Writing(monkeypatch)
        running = asyncio.create_task(session.compact())
        await until(writing.begun.is_set if late else lambda: session.queue.busy)
        session.interrupt()
        writing.may_end.set()
        done = await running
        assert done.cancelled or (late and done.success)
        assert await session.submit("a prompt later on") is Outcome.DONE


async def test_once_it_is_being_applied_it_is_even_if_the_caller_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, home: Path, provider: Provider
) -> None:
    provider.window = 3_000
    async with talking(home, provider, **BLOCKS_EARLY) as session:
        await about_to_block(session, provider)
        writing = Writing(monkeypatch)
        turn = asyncio.create_task(session.submit("the next one " + "more words " * 30))
        await until(writing.begun.is_set)
        session.interrupt()
        writing.may_end.set()
        await turn
        assert session.state.compacting is None and len(successes(session)) == 1
        assert replayed(home, session.id) == session.state


@only_in_a_long_run
async def test_a_wait_that_ends_without_a_compaction_is_reported_as_over(home: Path, provider: Provider) -> None:
    class SaysNoLater(Person):
        async def may_compact(self, question: CompactionQuestion) -> bool:
            self.asked.append(question)
            await waited.wait()
            return False

    waited = asyncio.Event()
    provider.window = 3_000
    person = SaysNoLater()
    async with talking(home, provider, compaction_asks="on", questions=person) as session:
        listener = session.events()
        while not person.asked:
            await talk(session, 1)
        turn = asyncio.create_task(session.submit("more words " * 450))
        assert not (await next_fact(listener, CompactionWait)).over
        waited.set()
        await turn
        await session.close()
        waits = facts([event async for event in listener], CompactionWait)
        assert [wait.over for wait in waits] == [True]
        assert not facts(list(session.state.timeline), CompactionStart)


async def test_what_a_cancelled_summary_took_is_counted(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 12, words=400)
        await use_window(session, 2_500)
        provider.summaries = [GOOD, Reply(text=GOOD.text, wait_s=HANGING_S)]
        running = asyncio.create_task(session.compact())
        await until(lambda: len(provider.summary_requests) == 2)
        session.interrupt()
        done = await running
        assert done.cancelled and done.usage["requests"] == 2 and done.usage["input_tokens"] > 900 + 500


# Pins


@pytest.mark.parametrize("during_a_turn", also_in_a_long_run([True], [False]))
async def test_what_is_pinned_while_a_summary_is_written_stays(
    home: Path, provider: Provider, during_a_turn: bool
) -> None:
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    if during_a_turn:
        provider.window = 3_000
    async with talking(home, provider, buffer_exhaustion_threshold=1.0) as session:
        await fill(session, 4)
        running = None if during_a_turn else asyncio.create_task(session.compact())
        while during_a_turn and session.state.compacting is None:
            await talk(session, 1)
        await until(lambda: provider.summary_requests)
        ref = session.state.history[2].ref
        await session.edits.pin([ref])
        written.set()
        if running is not None:
            await running
        await session.settle(5)
        assert successes(session) and ref in {entry.ref for entry in session.state.history}


@only_in_a_long_run
@pytest.mark.parametrize("half", also_in_a_long_run([0], [1]))
async def test_half_of_a_pair_pinned_while_a_summary_is_written_keeps_the_other_half(
    home: Path, provider: Provider, half: int
) -> None:
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    async with talking(home, provider, tools=[look]) as session:
        provider.script = looking(1)
        await fill(session, 4)
        pair = [entry.ref for entry in session.state.history][1:3]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        await session.edits.pin([pair[half]])
        written.set()
        assert (await running).success
        assert set(pair) <= {entry.ref for entry in session.state.history}


async def test_an_emergency_keeps_pins_and_rules(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await session.submit(RULE)
        await talk(session, 2)
        await session.compact()
        await fill(session, 8, words=100)
        pinned = session.state.history[3]
        await session.edits.pin([pinned.ref])
        provider.script = [TOO_MUCH] * 3  # after them, a guessed window has no room even for the prompt
        assert await session.submit("can you hear me?") is Outcome.DONE
        steps = [error.outcome for error in facts(list(session.state.timeline), SessionError)]
        assert any("kept " in step for step in steps)
        standing = [entry.ref for entry in session.state.history if entry.message == pinned.message]
        assert standing and set(standing) <= session.state.pins
        assert any(RULE in text for text in texts(session.state))
        assert replayed(home, session.id) == session.state


async def test_a_pinned_prompt_is_not_joined_with_a_summary(home: Path, provider: Provider) -> None:
    settings = {"compaction": "turns", "summary_form": "prompt", "agent_max_context_turns": 4}
    async with talking(home, provider, **settings) as session:
        await fill(session, 4)
        ref = session.state.history[4].ref  # the first prompt that will be kept
        await session.edits.pin([ref])
        while not successes(session):
            await talk(session, 1)
            await session.settle(5)
        assert ref in {entry.ref for entry in session.state.history}


async def test_undo_after_a_tool_result_was_brought_back_sends_no_call_twice(home: Path, provider: Provider) -> None:
    async with talking(home, provider, tools=[look]) as session:
        await talk(session, 2)
        provider.script = looking(1)
        await talk(session, 2)
        whole = list(session.state.history)
        result = next(entry for entry in whole if entry.message["parts"][0]["part_kind"] == "tool-return")
        await session.compact()
        await session.edits.pin([result.ref])
        await session.edits.undo()
        assert list(session.state.history) == whole
        await session.submit("go on")
        assert [message["role"] for message in provider.requests[-1]["messages"]].count("tool") == 1


async def test_what_is_pinned_while_a_compaction_is_applied_comes_back(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = Writing(monkeypatch)
    async with talking(home, provider) as session:
        await fill(session, 4)
        ref = session.state.history[2].ref
        running = asyncio.create_task(session.compact())
        await asyncio.to_thread(writing.begun.wait, PATIENCE_S)
        pinning = asyncio.create_task(session.edits.pin([ref]))
        await asyncio.sleep(0)
        writing.may_end.set()
        assert (await running).success
        await pinning
        assert ref in session.state.pins and ref in {entry.ref for entry in session.state.history}
        assert replayed(home, session.id) == session.state


async def test_pinning_a_replaced_message_stops_no_turn(home: Path, provider: Provider) -> None:
    answered = threading.Event()
    async with talking(home, provider) as session:
        await fill(session, 4)
        gone = session.state.history[2]
        await session.compact()
        provider.script = [Reply(text="Late.", until=answered)]
        asked = len(provider.requests)
        running = asyncio.create_task(session.submit("a long turn"))
        await until(lambda: len(provider.requests) > asked)
        await session.edits.pin([gone.ref])
        answered.set()
        assert await running is Outcome.DONE
        said = texts(session.state)
        assert gone in list(session.state.history)
        assert said[-2] == "a long turn" and said[-1].startswith("Late.")
        assert replayed(home, session.id) == session.state
