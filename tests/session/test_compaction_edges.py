"""Compaction where things meet: stopping at odd moments, pins, rules over many compactions, and no loops."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import CompactionStart, CompactionWait, SessionError, StreamDelta, Truncation
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.questions import CompactionQuestion
from co_tui.session.session import Session
from co_tui.session.state.history_edits import NothingToUndo
from co_tui.session.turn import Outcome
from co_tui.settings import Settings
from co_tui.store.checkpoints import Checkpoints
from tests.session.test_compaction import TOO_MUCH, Person, texts
from tests.support.environments import facts
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import GOOD, MODEL, compactions, served_environment, talk, talking, use_window
from tests.support.waiting import next_fact, until

pytestmark = pytest.mark.usefixtures("long_answers")

RULE = "From now on always answer in French."


def successes(session: Session) -> list[Any]:
    return [done for done in compactions(session.state) if done.success]


def look(n: int = 0) -> str:
    """Look at something."""
    return "a result about the function in src/module.py " * 30


def looking(times: int) -> list[Reply]:
    return [Reply(text="", tool=("look", json.dumps({"n": n}))) for n in range(times)]


async def about_to_block(session: Session, provider: Provider) -> None:
    """Fill the context so far that the next request has to wait for a compaction."""

    async def nothing(_: Any) -> None:
        return None

    session._compactor.after_turn = nothing
    while session.state.usage is None or session.state.usage.current_tokens < 1_400:
        await talk(session, 1)


BLOCKS_EARLY = {"background_compaction_threshold": 0.5, "buffer_exhaustion_threshold": 0.5}


class Writing:
    """A checkpoint that is being written until told otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        real: Callable[..., Any] = Checkpoints.write

        def held(*arguments: Any, **more: Any) -> Any:
            self.begun.set()
            assert self.may_end.wait(30)
            return real(*arguments, **more)

        monkeypatch.setattr(Checkpoints, "write", held)


# Stopping


@pytest.mark.parametrize("how", ["close", "clear", "stop"])
async def test_what_ends_a_session_or_its_context_stops_the_turn_behind_a_compaction(
    home: Path, provider: Provider, how: str
) -> None:
    provider.window = 3_000
    async with talking(home, provider, **BLOCKS_EARLY) as session:
        await about_to_block(session, provider)
        provider.summary = Reply(text=GOOD.text, wait_s=20)
        asked = len(provider.requests)
        turn = asyncio.create_task(session.submit("the next one " + "more words " * 30))
        await until(lambda: provider.summary_requests)
        if how == "stop":
            session.stop()
        else:
            await {"close": session.close, "clear": session.clear}[how]()
        assert await turn is Outcome.INTERRUPTED and len(provider.requests) == asked


async def test_escape_behind_a_compaction_lets_the_turn_go_on(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, **BLOCKS_EARLY) as session:
        await about_to_block(session, provider)
        provider.summaries = [Reply(text=GOOD.text, wait_s=20)]
        turn = asyncio.create_task(session.submit("the next one " + "more words " * 30))
        await until(lambda: provider.summary_requests)
        assert session.interrupt()
        assert await turn is Outcome.DONE
        assert compactions(session.state)[-1].cancelled


@pytest.mark.parametrize("late", [False, True])
async def test_escape_at_an_odd_moment_never_hits_the_next_prompt(
    monkeypatch: pytest.MonkeyPatch, home: Path, provider: Provider, late: bool
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        writing = Writing(monkeypatch)
        running = asyncio.create_task(session.compact())
        await until(writing.begun.is_set if late else lambda: session.busy)
        session.interrupt()
        writing.may_end.set()
        done = await running
        assert done.cancelled or (late and done.success)
        assert await session.submit("a prompt later on") is Outcome.DONE


async def test_once_it_is_being_applied_it_is_whoever_waits(
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


async def test_a_wait_that_ends_without_a_compaction_is_told_as_over(home: Path, provider: Provider) -> None:
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
        await talk(session, 12, words=400)
        await use_window(session, 2_500)
        provider.summaries = [GOOD, Reply(text=GOOD.text, wait_s=20)]
        running = asyncio.create_task(session.compact())
        await until(lambda: len(provider.summary_requests) == 2)
        session.interrupt()
        done = await running
        assert done.cancelled and (done.usage["requests"], done.usage["input_tokens"]) == (1, 900)


# Pins


@pytest.mark.parametrize("beside", [True, False])
async def test_what_is_pinned_while_a_summary_is_written_stays(home: Path, provider: Provider, beside: bool) -> None:
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    if beside:
        provider.window = 3_000
    async with talking(home, provider, buffer_exhaustion_threshold=1.0) as session:
        await talk(session, 4)
        running = None if beside else asyncio.create_task(session.compact())
        while beside and session.state.compacting is None:
            await talk(session, 1)
        await until(lambda: provider.summary_requests)
        ref = session.state.history[2].ref
        await session.pin([ref])
        written.set()
        if running is not None:
            await running
        await session.settle(5)
        assert successes(session) and ref in {entry.ref for entry in session.state.history}


@pytest.mark.parametrize("half", [0, 1])
async def test_half_of_a_pair_pinned_while_a_summary_is_written_keeps_the_other_half(
    home: Path, provider: Provider, half: int
) -> None:
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    async with talking(home, provider, tools=[look]) as session:
        provider.script = looking(1)
        await talk(session, 4)
        pair = [entry.ref for entry in session.state.history][1:3]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        await session.pin([pair[half]])
        written.set()
        assert (await running).success
        assert set(pair) <= {entry.ref for entry in session.state.history}


async def test_an_emergency_keeps_pins_and_rules(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await session.submit(RULE)
        await talk(session, 2)
        await session.compact()
        await talk(session, 8, words=100)
        pinned = session.state.history[2]
        await session.pin([pinned.ref])
        provider.script = [TOO_MUCH] * 4
        assert await session.submit("can you hear me?") is Outcome.DONE
        steps = [error.outcome for error in facts(list(session.state.timeline), SessionError)]
        assert any("turns, clipped" in step for step in steps)
        standing = [entry.ref for entry in session.state.history if entry.message == pinned.message]
        assert standing and set(standing) <= session.state.pins
        assert any(RULE in text for text in texts(session.state))
        assert replayed(home, session.id) == session.state


async def test_a_pinned_prompt_is_not_joined_with_a_summary(home: Path, provider: Provider) -> None:
    settings = {"compaction": "turns", "summary_form": "prompt", "agent_max_context_turns": 4}
    async with talking(home, provider, **settings) as session:
        await talk(session, 4)
        ref = session.state.history[4].ref  # the first prompt that will be kept
        await session.pin([ref])
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
        await session.pin([result.ref])
        await session.undo()
        assert list(session.state.history) == whole
        await session.submit("go on")
        assert [message["role"] for message in provider.requests[-1]["messages"]].count("tool") == 1


# What is carried on


async def test_an_offline_summary_takes_over_all_that_a_model_wrote(home: Path, provider: Provider) -> None:
    full = (
        "Title: T\n## Decisions and outcomes\n- The question about function was answered.\n"
        "## Files, commands and tools\n- run pytest -k module\n"
        "## Errors and how they were solved\n- KeyError in module solved by a default\n"
        "## Open tasks\n- rename function_2 everywhere"
    )
    async with talking(home, provider) as session:
        await session.submit("Run pytest module. The KeyError was solved by a default. Rename function_2 everywhere.")
        await talk(session, 4)
        provider.summaries = [Reply(text=full)]
        assert (await session.compact()).summarised_by == MODEL
        await talk(session, 3)
        provider.summaries = [Reply(status=400, body="{}")]
        done = await session.compact()
        assert done.summarised_by == "offline"
        assert all(kept in done.summary for kept in ("pytest -k module", "KeyError in module", "rename function_2"))


async def test_two_summaries_are_both_brought_up_to_date(home: Path, provider: Provider) -> None:
    async with talking(home, provider, tools=[look], keep_recent_share=0.0) as session:
        await talk(session, 4, words=3)
        provider.summaries = [Reply(text="Title: A\n- FIRST: question about function in src/module.py was answered")]
        await session.compact()
        provider.script = [*looking(5), TOO_MUCH]
        provider.summaries = [Reply(text="Title: B\n- SECOND: look was called for the function in src/module.py")]
        assert await session.submit("look five times at the function please") is Outcome.DONE
        await talk(session, 2)
        await session.compact()
        asked = json.dumps(provider.summary_requests[-1])
        assert "FIRST" in asked and "SECOND" in asked


async def test_a_summary_alone_is_not_compacted_again(home: Path, provider: Provider) -> None:
    async with talking(home, provider, tools=[look], keep_recent_share=0.0) as session:
        await talk(session, 6, words=200)
        await session.compact()
        provider.script = [*looking(6), TOO_MUCH]
        await session.submit("look six times at the function please")
        forced = [done for done in successes(session) if done.trigger == "context_limit"]
        assert forced and len(forced[-1].replaced) > 1, "the steps of the turn go, not the summary by itself"


async def test_rules_survive_a_change_to_a_policy_of_another_form(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await session.submit(RULE)
        await talk(session, 3)
        await session.compact()
        await session.switch_policy(
            Settings(policy="co-cli", compaction="window", summary_form="marker", keep_recent_share=0.0)
        )
        await talk(session, 3)
        await session.compact()
        assert RULE in json.dumps(provider.summary_requests[-1])


# No loops, and nothing that helps nobody


async def test_plain_texts_over_the_budget_are_left_alone(home: Path, provider: Provider) -> None:
    settings = {"compaction": "turns", "summary_form": "prompt", "agent_max_context_tokens": 500}
    async with talking(home, provider, agent_max_context_turns=20, **settings) as session:
        for prompt in ("plain text words " * 200, "again", "and again"):
            assert await session.submit(prompt) is Outcome.DONE
        assert session.state.compacting is None and not compactions(session.state)


async def test_memory_pressure_is_relieved_once_not_after_every_turn(home: Path, provider: Provider) -> None:
    async with talking(home, provider, memory_limit_mb=1) as session:
        await talk(session, 6)
        assert len([done for done in compactions(session.state) if done.trigger == "memory_pressure"]) == 1


async def test_a_long_first_run_does_not_make_the_window_slide_for_every_message(
    home: Path, provider: Provider
) -> None:
    settings = {"compaction": "window", "summary_form": "marker", "max_history_messages": 10}
    async with talking(home, provider, tools=[look], **settings) as session:
        provider.script = looking(8)
        await session.submit("look around first")
        before = len(compactions(session.state))
        await talk(session, 6)
        assert len(compactions(session.state)) - before < 4


async def test_what_was_undone_is_not_compacted_again_at_once(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider) as session:
        while not successes(session):
            await talk(session, 1)
            await session.settle(5)
        await session.undo()
        await session.submit("hm")
        await session.settle(5)
        assert len(successes(session)) == 1


async def test_a_compaction_that_would_make_it_larger_is_refused(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="Hello", prompt_tokens=-1)
    async with talking(home, provider) as session:
        await session.submit("hi there")
        await session.submit("please always use src/module.py")
        history = list(session.state.history)
        done = await session.compact()
        assert not done.success and "smaller" in done.error and list(session.state.history) == history


async def test_compaction_is_held_only_as_long_as_the_request_fits(home: Path, provider: Provider) -> None:
    provider.window = 6_000
    async with talking(home, provider, tools=[look], compaction_waits="turn") as session:
        await talk(session, 6)
        provider.script = [Reply(text="", prompt_tokens=-1, tool=reply.tool) for reply in looking(20)]
        await session.submit("look twenty times")
        await session.settle(5)
        assert successes(session)
        assert len(facts(list(session.state.timeline), Truncation)) <= 1


async def test_a_summariser_that_cannot_be_opened_gives_way_and_no_secret_is_told(
    home: Path, provider: Provider
) -> None:
    provider.window = 3_000
    environment = served_environment(home, provider, summarization_model="openai-chat:other")
    reachable = environment.open_model

    async def open_model(name: str) -> Any:
        if name == "openai-chat:other":
            raise OSError("no such server, key sk-secret-123456")
        return await reachable(name)

    environment.open_model = open_model
    async with talking(home, provider, environment=environment) as session:
        await talk(session, 16)
        await session.settle(5)
        done = compactions(session.state)[-1]
        assert done.success and done.summarised_by == "offline"
        assert "sk-secret" not in json.dumps([fact.error for fact in compactions(session.state)])


async def test_a_model_can_be_switched_with_compaction_while_a_turn_runs(home: Path, provider: Provider) -> None:
    small = Provider()
    small.window, small.model_id = 1_500, "small"
    with small.serving():
        environment = served_environment(home, provider, tools=[look])
        other = served_environment(home / "other", small)
        opens = {MODEL: environment.open_model, "openai-chat:small": other.open_model}
        environment.open_model = lambda name: opens[name](name)
        session = await Session.start(environment, MODEL)
        await talk(session, 12)
        provider.script = [Reply(text="wait " * 20, delay_s=0.05, tool=("look", "{}"))]
        listener = session.events()
        turn = asyncio.create_task(session.submit("look at the function"))
        await next_fact(listener, StreamDelta)
        await session.switch_model("openai-chat:small", compact=True)
        assert await turn is Outcome.DONE and session.state.model == "openai-chat:small"
        assert successes(session)[-1].trigger == "model_switch"
        assert not facts(list(session.state.timeline), Truncation)
        await session.close()


async def test_editing_what_is_not_there_does_not_stop_the_turn(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 2)
        provider.default = Reply(text="word " * 20, delay_s=0.05)
        listener = session.events()
        turn = asyncio.create_task(session.submit("a long one"))
        await next_fact(listener, StreamDelta)
        with pytest.raises(NothingToUndo):
            await session.edit_summary(999, "x")
        assert await turn is Outcome.DONE


async def test_a_compaction_asked_for_during_a_turn_comes_after_it(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        provider.script = [Reply(text="a long one", wait_s=20)]
        turn = asyncio.create_task(session.submit("a long one"))
        await until(lambda: session.state.turn == 4)
        wish = asyncio.create_task(session.compact())
        await until(lambda: session._queue._items)
        await session.clear()
        assert await turn is Outcome.INTERRUPTED
        with pytest.raises(CompactionRefused, match="given up"):
            await wish
