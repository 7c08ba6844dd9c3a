"""What is carried on over many compactions, no loops, and no useless compactions."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import StreamDelta, Truncation
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.state.history_edits import NothingToUndo
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Settings
from tests.support.compacting import (
    RULE,
    TOO_MUCH,
    look,
    looking,
    successes,
)
from tests.support.environments import facts
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import MODEL, compactions, fill, served_environment, talk, talking
from tests.support.waiting import HANGING_S, next_fact, until

pytestmark = pytest.mark.usefixtures("long_answers")


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
        await fill(session, 4)
        provider.summaries = [Reply(text=full)]
        assert (await session.compact()).summarised_by == MODEL
        await fill(session, 3)
        provider.summaries = [Reply(status=400, body="{}")]
        done = await session.compact()
        assert done.summarised_by == "offline"
        assert all(kept in done.summary for kept in ("pytest -k module", "KeyError in module", "rename function_2"))


async def test_two_summaries_are_both_brought_up_to_date(home: Path, provider: Provider) -> None:
    async with talking(home, provider, tools=[look], keep_recent_share=0.0) as session:
        await fill(session, 4, words=3)
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
        await fill(session, 6, words=200)
        await session.compact()
        provider.script = [*looking(6), TOO_MUCH]
        await session.submit("look six times at the function please")
        forced = [done for done in successes(session) if done.trigger == "context_limit"]
        assert forced and len(forced[-1].replaced) > 1, "the steps of the turn go, not the summary by itself"


async def test_rules_survive_a_change_to_a_policy_of_another_form(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await session.submit(RULE)
        await fill(session, 3)
        await session.compact()
        await session.switcher.switch_policy(
            Settings(policy="co-cli", compaction="window", summary_form="marker", keep_recent_share=0.0)
        )
        await fill(session, 3)
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
        await fill(session, 6)
        assert len([done for done in compactions(session.state) if done.trigger == "memory_pressure"]) == 1


@only_in_a_long_run
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
            await talk(session, 1, words=90)
            await session.settle(5)
        await session.edits.undo()
        await session.submit("hm")
        await session.settle(5)
        assert len(successes(session)) == 1


async def test_a_compaction_that_would_make_it_larger_is_refused(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="Hello", prompt_tokens=-1)
    async with talking(home, provider) as session:
        await session.submit("hi there")
        await session.submit("please always use src/module.py")
        state = session.state
        with pytest.raises(CompactionRefused, match="would not free any room"):
            await session.compact()
        assert session.state is state and not provider.summary_requests, "no summary was paid for"


@only_in_a_long_run
async def test_compaction_is_held_only_as_long_as_the_request_fits(home: Path, provider: Provider) -> None:
    provider.window = 6_000
    async with talking(home, provider, tools=[look], compaction_waits="turn") as session:
        await fill(session, 6)
        provider.script = [Reply(text="", prompt_tokens=-1, tool=reply.tool) for reply in looking(20)]
        await session.submit("look twenty times")
        await session.settle(5)
        assert successes(session)
        assert len(facts(list(session.state.timeline), Truncation)) <= 1


async def test_a_summariser_that_cannot_be_opened_gives_way_and_no_secret_is_reported(
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
        await fill(session, 16)
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
        await fill(session, 12)
        provider.script = [Reply(text="wait " * 20, delay_s=0.05, tool=("look", "{}"))]
        listener = session.events()
        turn = asyncio.create_task(session.submit("look at the function"))
        await next_fact(listener, StreamDelta)
        await session.switcher.switch_model("openai-chat:small", compact=True)
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
            await session.edits.edit_summary(999, "x")
        assert await turn is Outcome.DONE


async def test_a_compaction_asked_for_during_a_turn_comes_after_it(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        provider.script = [Reply(text="a long one", wait_s=HANGING_S)]
        turn = asyncio.create_task(session.submit("a long one"))
        await until(lambda: session.state.turn == 4)
        wish = asyncio.create_task(session.compact())
        await until(lambda: session.queue._items)
        await session.edits.clear()
        assert await turn is Outcome.INTERRUPTED
        with pytest.raises(CompactionRefused, match="cancelled by a newer action"):
            await wish
