"""Compaction on demand against a provider: what a person gets, and what the log says afterwards."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from co_tui.events import (
    CompactionStart,
    QueueChanged,
    StreamDelta,
)
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.store.notes.checkpoints import Checkpoints
from tests.support.compacting import (
    read,
    texts,
)
from tests.support.environments import facts
from tests.support.long_run import LONG_RUN, also_in_a_long_run, drawn
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import GOOD, MODEL, compactions, fill, talk, talking, use_window
from tests.support.waiting import HANGING_S, PATIENCE_S, next_fact, until

pytestmark = pytest.mark.usefixtures("long_answers")


# On demand


async def test_on_demand_the_model_summarises_and_the_log_says_all_about_it(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 4)
        before = list(session.state.history)
        done = await session.compact("the function names")
        start = facts(list(session.state.timeline), CompactionStart)[-1]
        assert (start.trigger, start.focus, start.blocks) == ("manual", "the function names", True)
        assert done.success and done.summarised_by == MODEL and done.error == ""
        assert done.replaced == tuple(entry.ref for entry in before[:6]), "the last turn stays word for word"
        assert done.tokens_removed == done.pre_tokens - done.post_tokens > 0
        assert (done.usage["input_tokens"], done.usage["output_tokens"], done.usage["requests"]) == (900, 60, 1)
        assert "src/module.py" in done.summary and not done.summary.startswith("Title")
        (asked,) = provider.summary_requests
        assert "the function names" in json.dumps(asked) and "tools" not in asked
        assert "<conversation>" in asked["messages"][-1]["content"]
        standing = texts(session.state)
        assert standing[0].startswith("[Earlier conversation, summarised]") and "src/module.py" in standing[0]
        assert standing[1].startswith("[What is under way]\n")
        assert "## What the user said\n- Question 1: what about function_1?" in standing[1]
        assert session.state.usage is not None and session.state.usage.current_tokens == done.post_tokens
        assert replayed(home, session.id) == session.state
        assert await session.submit("and now?") is Outcome.DONE
        assert "[Earlier conversation, summarised]" in provider.requests[-1]["messages"][1]["content"]


async def test_a_long_newest_turn_stays_until_it_is_asked_for_once_more(home: Path, provider: Provider) -> None:
    long = "word for word, as it was said about src/module.py " * 300
    async with talking(home, provider, context_window=100_000) as session:
        await fill(session, 3)
        provider.script = [Reply(text=long, open_end=True)]
        listener, arrived = session.events(), 0
        turn = asyncio.create_task(session.submit("Tell me all."))
        while arrived < len(long):
            arrived += len((await next_fact(listener, StreamDelta)).text)
        assert session.interrupt() and await turn is Outcome.INTERRUPTED
        newest = [entry.ref for entry in session.state.history[-2:]]
        done = await session.compact()
        assert done.success and len(done.replaced) == 6
        assert [entry.ref for entry in session.state.history[-2:]] == newest, "also the reply that was stopped"
        done = await session.compact()
        assert done.success and set(newest) <= set(done.replaced), "nothing else was left to summarise"


async def test_a_checkpoint_is_written_for_people_to_read(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        first = await session.compact()
        await fill(session, 3)
        second = await session.compact()
        assert (first.checkpoint_number, second.checkpoint_number) == (1, 2)
        folder = session._environment.paths.session(session.id)
        listed = Checkpoints(folder).list()
        assert [(each.number, each.title) for each in listed] == [(1, "Function talk"), (2, "Function talk")]
        written = Path(first.checkpoint_path)
        assert "src/module.py" in read(written) and written.name == "001-function-talk.md"
        assert "summary_count: 2" in (folder / "workspace.yaml").read_text()
        assert "002-function-talk.md" in (folder / "checkpoints" / "index.md").read_text()


async def test_nothing_to_compact_is_a_sentence(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        with pytest.raises(CompactionRefused, match="Nothing to compact"):
            await session.compact()
        await talk(session, 1)
        await session.edits.clear()
        with pytest.raises(CompactionRefused, match="fewer than two messages"):
            await session.compact()


async def test_a_second_one_is_refused_while_one_runs(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        written = threading.Event()
        provider.summaries = [Reply(text=GOOD.text, until=written)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        with pytest.raises(CompactionRefused, match="already running"):
            await session.compact()
        written.set()
        assert (await running).success


async def test_what_is_sent_meanwhile_waits_and_is_then_answered(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        written = threading.Event()
        provider.summaries = [Reply(text=GOOD.text, until=written)]
        listener = session.events()
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        turn = asyncio.create_task(session.submit("sent meanwhile"))
        await next_fact(listener, QueueChanged)
        written.set()
        assert (await running).success and await turn is Outcome.DONE
        assert "summarised" in provider.requests[-1]["messages"][1]["content"]


async def test_a_summary_is_updated_not_summarised_again_and_rules_survive(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await session.submit("From now on always answer in French. And never touch src/secret.py.")
        await fill(session, 3)
        await session.compact()
        for _ in range(2):
            await fill(session, 3)
            assert (await session.compact()).success
        asked = provider.summary_requests[-1]["messages"][-1]["content"]
        assert "<notes>" in asked and "was answered" in asked.split("</notes>")[0]
        assert "[Earlier conversation" not in asked and "[What is under way]" not in asked
        said = texts(session.state)[1]
        assert said.count("## Standing rules of the user") == 1
        assert "always answer in French" in said and "never touch src/secret.py" in said


# Guards


@pytest.mark.parametrize(
    ("reply", "why"),
    also_in_a_long_run([
        (Reply(text="Penguins live happily among glaciers while dancing waltzes underneath purple moonlight together; "
               "elephants juggle bananas, violins, teapots, umbrellas."), "something else"),
        (Reply(status=400, body='{"error": {"message": "bad request"}}'), "rejected"),
        (Reply(text="", tool=("shell", '{"command": "rm"}')), ""),
    ], [
        (Reply(text=""), "empty"),
        (Reply(text="the same thing again " * 80), "repeats one phrase"),
        (Reply(text=" ".join(f"src/m{n * 7919 % 9973:x}.py no {n * 31 % 997}" for n in range(900))), "no smaller"),
        (Reply(garbage=True), "unreadable reply"),
    ]),
)  # fmt: skip
async def test_a_summary_that_cannot_be_used_gives_way_to_the_offline_one(
    home: Path, provider: Provider, reply: Reply, why: str
) -> None:
    async with talking(home, provider) as session:
        await fill(session, 4)
        provider.summaries = [reply] * 3
        done = await session.compact()
        assert done.success and done.summarised_by == "offline" and why in done.note and done.error == ""
        assert "function_1" in done.summary
        assert not [p for e in session.state.history for p in e.message["parts"] if p["part_kind"] == "tool-call"]
        assert await session.submit("go on") is Outcome.DONE
        assert replayed(home, session.id) == session.state


async def test_a_summary_that_takes_too_long_gives_way(home: Path, provider: Provider) -> None:
    async with talking(home, provider, compaction_timeout_s=1.0) as session:
        await fill(session, 3)
        provider.summary = Reply(text=GOOD.text, wait_s=5)
        done = await session.compact()
        assert done.success and done.summarised_by == "offline" and "took longer than 1 s" in done.note


async def test_a_passing_failure_is_tried_again(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        provider.summaries = [Reply(status=503, body="busy"), GOOD]
        assert (await session.compact()).summarised_by == MODEL
        assert len(provider.summary_requests) == 2


async def test_the_summary_request_always_fits_its_model(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 12, words=400)
        provider.real_window = 2_500
        await use_window(session, 2_500)
        done = await session.compact()
        assert done.success and done.summarised_by == MODEL
        assert len(provider.summary_requests) > 1, "in parts"
        assert provider.refused == 0


# Cancelling


async def test_cancelling_closes_the_connection_at_once_and_changes_nothing(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        history = list(session.state.history)
        provider.summaries = [Reply(text=GOOD.text, wait_s=HANGING_S)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        assert session.interrupt()
        done = await asyncio.wait_for(running, PATIENCE_S)
        assert not done.success and done.cancelled
        assert await asyncio.to_thread(provider.closed_early.wait, PATIENCE_S)
        assert list(session.state.history) == history
        assert compactions(session.state)[-1].cancelled
        assert replayed(home, session.id) == session.state
        provider.summaries = []
        assert (await session.compact()).success, "it can be asked for again"


async def test_cancelling_while_it_waits_to_try_again_stops_at_once(home: Path, provider: Provider) -> None:
    async with talking(home, provider, backoff_s=HANGING_S) as session:
        await fill(session, 3)
        asked = provider.answered
        provider.summaries = [Reply(status=503, body="busy")]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.answered == asked + 1)
        session.interrupt()
        done = await asyncio.wait_for(running, PATIENCE_S)
        assert done.cancelled, "long before it would have tried again"
        assert len(session.state.history) == 6 and done.summarised_by == ""


async def test_cancelling_at_any_moment_of_a_refusal_stops_at_once(home: Path, provider: Provider) -> None:
    async with talking(home, provider, backoff_s=HANGING_S) as session:
        await fill(session, 3)
        for steps in range(0, drawn(30), 1 if LONG_RUN else 3):
            asked = provider.answered
            provider.summaries = [Reply(status=503, body="busy")]
            running = asyncio.create_task(session.compact())
            while provider.answered == asked:
                await asyncio.sleep(0)
            for _ in range(steps):  # of the event loop, somewhere in which the refusal comes in
                await asyncio.sleep(0)
            session.interrupt()
            assert (await asyncio.wait_for(running, PATIENCE_S)).cancelled, steps


async def test_leaving_during_a_compaction_leaves_the_state_before_it(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        history = list(session.state.history)
        provider.summaries = [Reply(text=GOOD.text, wait_s=HANGING_S)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        await session.close()
        assert (await running).cancelled
        environment = session._environment
        again = await Session.resume(environment, session.id)
        assert list(again.state.history) == history and again.state.compacting is None
        await again.close()
