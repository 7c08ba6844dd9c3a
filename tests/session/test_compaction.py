"""Compaction against a provider: what a person gets, and what the log says afterwards."""

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.messages import CompactionPart, ModelResponse, TextPart

from co_tui.context.count import Scaffold
from co_tui.events import (
    CompactionStart,
    CompactionWait,
    HookRun,
    MemoryWritten,
    Message,
    QueueChanged,
    SessionError,
)
from co_tui.events.messages import pieces
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.questions import CompactionQuestion, SummaryQuestion, Unattended
from co_tui.session.runtime_switcher import WindowTooSmall
from co_tui.session.session import Session
from co_tui.session.state.history_edits import NothingToUndo
from co_tui.session.state.released import PackedMessage
from co_tui.session.state.session_state import SessionState
from co_tui.session.turn import Outcome, Turn
from co_tui.store.checkpoints import Checkpoints
from tests.support.environments import facts
from tests.support.provider import REFUSALS, Provider, Reply
from tests.support.stores import replayed, stored_events
from tests.support.talks import GOOD, MODEL, compactions, served_environment, talk, talking, use_window
from tests.support.waiting import next_fact, until

pytestmark = pytest.mark.usefixtures("long_answers")


def texts(state: SessionState) -> list[str]:
    return [text for entry in state.history for _, text, _ in pieces(entry.message)]


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


# On demand


async def test_on_demand_the_model_summarises_and_the_log_says_all_about_it(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 4)
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
        assert "## What the user said\n- Question 1: what about function_1?" in standing[0]
        assert session.state.usage is not None and session.state.usage.current_tokens == done.post_tokens
        assert replayed(home, session.id) == session.state
        assert await session.submit("and now?") is Outcome.DONE
        assert "[Earlier conversation, summarised]" in provider.requests[-1]["messages"][1]["content"]


async def test_a_checkpoint_is_written_for_people_to_read(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        first = await session.compact()
        await talk(session, 3)
        second = await session.compact()
        assert (first.checkpoint_number, second.checkpoint_number) == (1, 2)
        folder = session._environment.paths.session(session.id)
        listed = Checkpoints(folder).list()
        assert [(each.number, each.title) for each in listed] == [(1, "Function talk"), (2, "Function talk")]
        written = Path(first.checkpoint_path)
        assert "src/module.py" in read(written) and written.name == "001-function-talk.md"
        assert "summary_count: 2" in (folder / "workspace.yaml").read_text()
        assert "002-function-talk.md" in (folder / "checkpoints" / "index.md").read_text()


async def test_co_cli_puts_its_two_messages(home: Path, provider: Provider) -> None:
    async with talking(home, provider, policy="co-cli", summary_form="pair", keep_recent_share=0.0) as session:
        await talk(session, 3)
        await session.compact()
        first, second = texts(session.state)
        assert first.startswith("[Compacted conversation summary]\n## Decisions")
        assert second == "Understood. I have the conversation context."


async def test_nothing_to_compact_is_a_sentence(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        with pytest.raises(CompactionRefused, match="nothing to compact"):
            await session.compact()
        await talk(session, 1)
        await session.clear()
        with pytest.raises(CompactionRefused, match="fewer than two messages"):
            await session.compact()


async def test_a_second_one_is_refused_while_one_runs(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        written = threading.Event()
        provider.summaries = [Reply(text=GOOD.text, until=written)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        with pytest.raises(CompactionRefused, match="already under way"):
            await session.compact()
        written.set()
        assert (await running).success


async def test_what_is_sent_meanwhile_waits_and_is_then_answered(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
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
        await talk(session, 3)
        await session.compact()
        for _ in range(3):
            await talk(session, 3)
            assert (await session.compact()).success
        asked = provider.summary_requests[-1]["messages"][-1]["content"]
        assert "<notes>" in asked and "was answered" in asked.split("</notes>")[0]
        assert "[Earlier conversation" not in asked
        said = texts(session.state)[0]
        assert "always answer in French" in said and "never touch src/secret.py" in said


# Guards


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(text=""), "empty"),
        (Reply(text="the same thing again " * 80), "repeats one phrase"),
        (Reply(text=" ".join(f"src/m{n * 7919 % 9973:x}.py no {n * 31 % 997}" for n in range(900))), "no smaller"),
        (Reply(text="Penguins live happily among glaciers while dancing waltzes underneath purple moonlight together; "
               "elephants juggle bananas, violins, teapots, umbrellas."), "something else"),
        (Reply(status=400, body='{"error": {"message": "bad request"}}'), "rejected"),
        (Reply(garbage=True), "cannot be read"),
        (Reply(text="", tool=("shell", '{"command": "rm"}')), ""),
    ],
)  # fmt: skip
async def test_a_summary_that_cannot_be_used_gives_way_to_the_offline_one(
    home: Path, provider: Provider, reply: Reply, why: str
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 4)
        provider.summaries = [reply] * 3
        done = await session.compact()
        assert done.success and done.summarised_by == "offline" and why in done.note and done.error == ""
        assert "src/module.py" in done.summary
        assert not [p for e in session.state.history for p in e.message["parts"] if p["part_kind"] == "tool-call"]
        assert await session.submit("go on") is Outcome.DONE
        assert replayed(home, session.id) == session.state


async def test_a_summary_that_takes_too_long_gives_way(home: Path, provider: Provider) -> None:
    async with talking(home, provider, compaction_timeout_s=1.0) as session:
        await talk(session, 3)
        provider.summary = Reply(text=GOOD.text, wait_s=5)
        done = await session.compact()
        assert done.success and done.summarised_by == "offline" and "took longer than 1 s" in done.note


async def test_a_passing_failure_is_tried_again(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        provider.summaries = [Reply(status=503, body="busy"), GOOD]
        assert (await session.compact()).summarised_by == MODEL
        assert len(provider.summary_requests) == 2


async def test_the_summary_request_always_fits_its_model(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 12, words=400)
        provider.real_window = 2_500
        await use_window(session, 2_500)
        done = await session.compact()
        assert done.success and done.summarised_by == MODEL
        assert len(provider.summary_requests) > 1, "in parts"
        assert provider.refused == 0


# Cancelling


async def test_cancelling_closes_the_connection_at_once_and_changes_nothing(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        history = list(session.state.history)
        provider.summaries = [Reply(text=GOOD.text, wait_s=20)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        stopped = time.monotonic()
        assert session.interrupt()
        done = await running
        assert not done.success and done.cancelled
        assert await asyncio.to_thread(provider.closed_early.wait, 5)
        assert provider.closed_at - stopped < 2, "the benchmark tells the figure"
        assert list(session.state.history) == history
        assert compactions(session.state)[-1].cancelled
        assert replayed(home, session.id) == session.state
        provider.summaries = []
        assert (await session.compact()).success, "it can be asked for again"


async def test_cancelling_while_it_waits_to_try_again_stops_at_once(home: Path, provider: Provider) -> None:
    async with talking(home, provider, backoff_s=30) as session:
        await talk(session, 3)
        asked = provider.answered
        provider.summaries = [Reply(status=503, body="busy")]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.answered == asked + 1)
        stopped = time.monotonic()
        session.interrupt()
        done = await running
        assert done.cancelled and time.monotonic() - stopped < 10, "long before it would have tried again"
        assert len(session.state.history) == 6 and done.summarised_by == ""


async def test_leaving_during_a_compaction_leaves_the_state_before_it(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        history = list(session.state.history)
        provider.summaries = [Reply(text=GOOD.text, wait_s=20)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        await session.close()
        assert (await running).cancelled
        environment = session._environment
        again = await Session.resume(environment, session.id)
        assert list(again.state.history) == history and again.state.compacting is None
        await again.close()


# Beside the conversation


async def test_it_runs_beside_the_turn_and_nobody_waits(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    provider.summary = Reply(text=GOOD.text, wait_s=0.15)
    async with talking(home, provider) as session:
        await talk(session, 25)
        done = [each for each in compactions(session.state) if each.success]
        assert done and all(each.trigger == "background" for each in done)
        starts = facts(list(session.state.timeline), CompactionStart)
        assert all(not start.blocks and start.messages for start in starts)
        assert len(session.state.transcript) == 50
        assert replayed(home, session.id) == session.state


async def test_what_was_said_meanwhile_follows_word_for_word(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, buffer_exhaustion_threshold=1.0, truncation="off") as session:
        written = threading.Event()
        provider.summary = Reply(text=GOOD.text, until=written)
        while session.state.compacting is None:
            await talk(session, 1)
        provider.default = Reply(text="short", prompt_tokens=2_600, completion_tokens=2)
        await session.submit("said while it was being summarised")
        written.set()
        await session.settle(5)
        assert compactions(session.state)[-1].success
        assert texts(session.state)[-2:] == ["said while it was being summarised", "short "]


async def test_at_the_second_mark_the_request_waits_for_what_runs_beside_it(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    written = threading.Event()
    provider.summary = Reply(text=GOOD.text, until=written)
    async with talking(home, provider) as session:
        while session.state.compacting is None:
            await talk(session, 1)
        listener = session.events()
        turn = asyncio.create_task(session.submit("a long one " + "more words " * 250))
        await next_fact(listener, CompactionWait)
        written.set()
        await turn
        (done,) = [each for each in compactions(session.state) if each.success]
        assert done.trigger == "background" and done.waited_ms > 0
        assert "[Earlier conversation, summarised]" in provider.requests[-1]["messages"][1]["content"]
        assert replayed(home, session.id) == session.state


async def test_clearing_switching_and_rewinding_discard_what_runs(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    for change in ("clear", "model", "rewind"):
        provider.summary = Reply(text=GOOD.text, wait_s=60)
        async with talking(home / change, provider, buffer_exhaustion_threshold=1.0) as session:
            while session.state.compacting is None:
                await talk(session, 1)
            if change == "clear":
                await session.clear()
                assert not session.state.history
            elif change == "model":
                await session.switch_model(MODEL)
            else:
                await session.rewind(2)
                assert len(session.state.history) == 2
            last = compactions(session.state)[-1]
            assert last.cancelled and last.error.startswith("discarded: "), change
            assert session.state.compacting is None and replayed(home / change, session.id) == session.state


async def test_a_background_failure_is_an_event_and_not_tried_again_at_once(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, hooks={"preCompact": ("echo 'not now' >&2; exit 2",)}) as session:
        await talk(session, 12)
        failed = [each for each in compactions(session.state) if not each.success]
        assert failed and "not now" in failed[0].error
        assert len(failed) < 8
        assert await session.submit("still here?") is Outcome.DONE


async def test_co_cli_slides_its_window_live(home: Path, provider: Provider) -> None:
    settings = {"compaction": "window", "summary_form": "marker", "max_history_messages": 10}
    async with talking(home, provider, policy="co-cli", **settings) as session:
        await talk(session, 6)
        (done,) = [each for each in compactions(session.state) if each.success]
        assert done.trigger == "window"
        assert any(text.startswith("[Summary of ") for text in texts(session.state))


async def test_cowagent_trims_turns_and_writes_the_memory(home: Path, provider: Provider) -> None:
    settings = {"compaction": "turns", "summary_form": "prompt", "agent_max_context_turns": 4}
    async with talking(home, provider, policy="cowagent", **settings) as session:
        await talk(session, 6)
        await session.settle(5)
        done = [each for each in compactions(session.state) if each.success]
        assert done and done[0].trigger == "turns"
        (written, *_) = facts(list(session.state.timeline), MemoryWritten)
        assert "src/module.py" in read(Path(written.where))
        assert any(text.startswith("[Earlier conversation, summarised]") for text in texts(session.state))


# Hooks and questions


async def test_hooks_see_the_trigger_and_may_add_focus(home: Path, provider: Provider, tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    hooks = {"preCompact": (f'tee {seen} > /dev/null; echo \'{{"focus": "the tests"}}\'',)}
    async with talking(home, provider, hooks=hooks) as session:
        await talk(session, 3)
        assert (await session.compact("names")).success
        told = json.loads(seen.read_text())
        assert (told["trigger"], told["session_id"], told["focus"]) == ("manual", session.id, "names")
        assert "names\nthe tests" in provider.summary_requests[-1]["messages"][-1]["content"]
        assert facts(list(session.state.timeline), HookRun)


class Person(Unattended):
    """Somebody who is asked."""

    def __init__(self, may: bool = True, wished: str | None = None) -> None:
        super().__init__()
        self.may, self.wished, self.asked = may, wished, []

    async def may_compact(self, question: CompactionQuestion) -> bool:
        self.asked.append(question)
        return self.may

    async def review(self, question: SummaryQuestion) -> str | None:
        self.asked.append(question)
        return self.wished


async def test_the_user_may_be_asked_first(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    person = Person(may=False)
    async with talking(home, provider, compaction_asks="on", questions=person) as session:
        await talk(session, 16)
        assert person.asked and person.asked[0].trigger in ("background", "blocking")
        assert not [each for each in compactions(session.state) if each.success]


async def test_a_summary_can_be_edited_before_it_is_applied(home: Path, provider: Provider) -> None:
    async with talking(home, provider, compaction_review="on", questions=Person(wished="My own words.")) as session:
        await talk(session, 3)
        done = await session.compact()
        assert done.success and done.edited and done.summary == "My own words."
        assert "My own words." in texts(session.state)[0]
    async with talking(home, provider, compaction_review="on", questions=Person(wished=None)) as session:
        await talk(session, 3)
        done = await session.compact()
        assert not done.success and "not accepted" in done.error and len(session.state.history) == 6


async def test_compaction_can_be_held_to_the_end_of_the_turn(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, compaction_waits="turn") as session:
        await talk(session, 12)
        await session.settle(5)
        order = [event.type for event in session.state.timeline]
        for place, kind in enumerate(order):
            if kind == "session.compaction_start":
                assert order[place + 1] in ("session.compaction_complete", "message")
        assert any(each.success for each in compactions(session.state))


# Undoing


async def test_undo_restores_what_was_there_and_keeps_what_was_said_since(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 4)
        before = [entry.message for entry in session.state.history]
        await session.compact()
        await session.submit("said later")
        later = [entry.message for entry in session.state.history][-2:]
        await session.undo()
        assert [entry.message for entry in session.state.history] == [*before, *later]
        assert replayed(home, session.id) == session.state
        with pytest.raises(NothingToUndo):
            await session.undo()
        assert (await session.compact()).success


async def test_two_compactions_are_undone_one_after_the_other(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 4)
        whole = list(session.state.history)
        await session.compact()
        first = session.state.rewrites[-1].seq
        await talk(session, 2)
        middle = list(session.state.history)
        await session.compact()
        with pytest.raises(NothingToUndo, match="later change"):
            await session.undo(first)
        await session.undo()
        assert list(session.state.history) == middle
        await session.undo(first)
        assert list(session.state.history) == [*whole, *middle[-4:]]


async def test_clearing_and_rewinding_can_be_undone_too(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        whole = list(session.state.history)
        await session.clear()
        await session.undo()
        assert list(session.state.history) == whole
        assert (await session.rewind(2)).startswith("Question 2")
        assert list(session.state.history) == whole[:2]
        await session.undo()
        assert list(session.state.history) == whole
        with pytest.raises(NothingToUndo, match="no turn 9"):
            await session.rewind(9)
        assert replayed(home, session.id) == session.state


async def test_a_summary_that_stands_can_be_rewritten(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3)
        await session.compact()
        await session.edit_summary(session.state.compactions[-1].seq or 0, "What really happened.")
        assert "What really happened." in texts(session.state)[0] and "was answered" not in texts(session.state)[0]
        assert "function_1" in texts(session.state)[0], "the user's words are still there"
        assert replayed(home, session.id) == session.state


async def test_pinned_messages_survive_and_replaced_ones_come_back(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 4)
        kept, gone = session.state.history[1], session.state.history[2]
        await session.pin([kept.ref])
        await session.compact()
        assert kept in list(session.state.history) and gone not in list(session.state.history)
        await session.pin([gone.ref])
        history = list(session.state.history)
        assert history.index(kept) < history.index(gone)
        await talk(session, 2)
        assert (await session.compact()).success
        assert {kept.ref, gone.ref} <= {entry.ref for entry in session.state.history}
        await session.pin([kept.ref], pinned=False)
        assert session.state.pins == {gone.ref}
        assert replayed(home, session.id) == session.state


@pytest.mark.parametrize("pinned", ["call", "result"])
async def test_a_pinned_half_of_a_pair_keeps_the_other_half(home: Path, provider: Provider, pinned: str) -> None:
    def look() -> str:
        return "the very thing"

    async with talking(home, provider, tools=[look]) as session:
        await talk(session, 2)
        provider.script = [Reply(text="Let me", tool=("look", "{}"))]
        await session.submit("look, please")
        call, result = (entry.ref for entry in list(session.state.history)[5:7])
        await session.pin([call if pinned == "call" else result])
        await talk(session, 2)
        assert (await session.compact()).success
        assert {call, result} <= {entry.ref for entry in session.state.history}
        await session.submit("and now?")
        sent = provider.requests[-1]["messages"]
        place = next(n for n, message in enumerate(sent) if message["role"] == "tool")
        assert sent[place]["content"] == "the very thing" and sent[place - 1]["tool_calls"]


# Recovery


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_request_that_is_too_long_is_made_smaller_and_sent_again(
    home: Path, provider: Provider, refusal: str
) -> None:
    provider.refusal = refusal
    async with talking(home, provider) as session:
        await talk(session, 12)
        provider.real_window = 1_800  # far below what the model told, and what is in the context
        assert await session.submit("does this still work?") is Outcome.DONE
        assert provider.refused >= 1
        errors = facts(list(session.state.timeline), SessionError)
        assert errors and all(error.kind == "context_limit" for error in errors)
        assert "does this still work?" in json.dumps(provider.requests[-1]["messages"])
        asked = len(provider.requests)
        assert await session.submit("and the next one?") is Outcome.DONE
        assert replayed(home, session.id) == session.state
        prompts = [fact for fact in facts(stored_events(home, session.id), Message)
                   if "still work" in json.dumps(fact.message)]  # fmt: skip
        assert len(prompts) == 1, "the prompt is logged once, and never lost"
        if refusal != "413":
            assert len(provider.requests) == asked + 1, "the limit was learnt"
    if refusal == "openai":
        again = await Session.resume(served_environment(home, provider), session.id)
        assert await again.submit("and?") is Outcome.DONE and again.state.usage is not None
        assert again.state.usage.token_limit == 1_800, "and kept for that model and endpoint"
        await again.close()


async def test_no_tool_runs_twice_when_the_request_with_its_result_is_refused(home: Path, provider: Provider) -> None:
    runs = []

    def count() -> str:
        runs.append(1)
        return "result " * 300

    async with talking(home, provider, tools=[count]) as session:
        await talk(session, 8)
        provider.script = [Reply(text="Let me", tool=("count", "{}"))]
        provider.real_window = 3_000
        provider.refusal = "llama.cpp"
        assert await session.submit("count, please") is Outcome.DONE
        assert runs == [1]
        assert replayed(home, session.id) == session.state


async def test_a_prompt_that_cannot_fit_at_all_ends_in_a_sentence_and_the_session_goes_on(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 2)
        provider.real_window = 600
        assert await session.submit("word " * 2_000) is Outcome.FAILED
        last = facts(list(session.state.timeline), SessionError)[-1]
        assert "tokens over the window of 600" in last.what
        assert await session.submit("short?") is Outcome.DONE


TOO_MUCH = Reply(status=413, body='{"error": {"message": "Request too large: prompt exceeds the context window"}}')


LAYERS = ("compacted", "trying with at most", "turns, clipped", "cleared the context")


@pytest.mark.parametrize("refusals", [1, 2, 4, 5, 8])
async def test_each_refusal_brings_the_next_layer(home: Path, provider: Provider, refusals: int) -> None:
    async with talking(home, provider) as session:
        await talk(session, 12, words=100)
        said = len(session.state.transcript)
        provider.script = [TOO_MUCH] * refusals  # names no limit: all there is to learn is that it was too much
        outcome = await session.submit("can you hear me?")
        told = [error.outcome for error in facts(list(session.state.timeline), SessionError)]
        steps = [number for outcome in told for number, layer in enumerate(LAYERS) if layer in outcome]
        assert steps == sorted(steps) and steps[0] == 0 and len(steps) == min(refusals, 5)
        if refusals == 8:
            assert outcome is Outcome.FAILED and told[-1].startswith("gave up") and steps[-1] == 3
        else:
            assert outcome is Outcome.DONE
            assert "can you hear me?" in json.dumps(provider.requests[-1]["messages"])
        assert bool(facts(list(session.state.timeline), MemoryWritten)) == (2 in steps)
        assert len(session.state.transcript) == said + 1 + (outcome is Outcome.DONE), "nothing that was said is lost"
        provider.script = []
        assert await session.submit("still there?") is Outcome.DONE
        assert replayed(home, session.id) == session.state


# Other triggers


async def test_switching_to_a_smaller_window_asks_then_compacts_with_the_old_model(
    home: Path, provider: Provider
) -> None:
    small = Provider()
    small.window, small.model_id = 1_500, "small"
    with small.serving():
        environment = served_environment(home, provider)
        other = served_environment(home / "other", small)
        opens = {MODEL: environment.open_model, "openai-chat:small": other.open_model}
        environment.open_model = lambda name: opens[name](name)
        session = await Session.start(environment, MODEL)
        await talk(session, 12)
        with pytest.raises(WindowTooSmall, match="compacted first"):
            await session.switch_model("openai-chat:small")
        assert session.state.model == MODEL
        await session.switch_model("openai-chat:small", compact=True)
        done = compactions(session.state)[-1]
        assert done.trigger == "model_switch" and done.summarised_by == MODEL
        assert session.state.model == "openai-chat:small"
        await session.close()


async def test_memory_pressure_compacts(home: Path, provider: Provider) -> None:
    async with talking(home, provider, memory_limit_mb=1) as session:
        await talk(session, 2)
        assert compactions(session.state)[-1].trigger == "memory_pressure"


async def test_memory_pressure_lets_go_of_what_left_the_context_and_undo_brings_it_back(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3, words=2_000)
        said, history = list(session.state.transcript), list(session.state.history)
        await session.apply_settings(session.settings.but(memory_limit_mb=1))
        await talk(session, 40)
        packed = [entry for entry in session.state.transcript if isinstance(entry.message, PackedMessage)]
        assert packed and list(session.state.transcript)[: len(said)] == said, "nothing of it is another now"
        assert replayed(home, session.id) == session.state
        while session.state.rewrites:
            await session.undo()
        assert list(session.state.history)[: len(history)] == history
        await session.submit("and now?")
        assert "Question 1: what about function_1?" in json.dumps(provider.requests[-1]["messages"])


async def test_the_model_may_ask_for_it(home: Path, provider: Provider) -> None:
    def look() -> str:
        return "seen"

    async with talking(home, provider, tools=[look]) as session:
        await talk(session, 4)
        provider.script = [Reply(text="", tool=("request_compaction", '{"focus": "names"}'))]
        await session.submit("make room")
        await session.settle(5)
        done = compactions(session.state)[-1]
        assert done.success and done.trigger == "model_request"
        assert "names" in json.dumps(provider.summary_requests[-1])
        provider.script = [Reply(text="", tool=("recall", '{"query": "function_1"}'))]
        await session.submit("what was the first function?")
        answer = provider.requests[-1]["messages"][-1]
        assert answer["role"] == "tool" and "Question 1" in answer["content"]


async def test_automatic_summaries_can_have_a_model_of_their_own(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider, summarization_model="openai-chat:other") as session:
        await talk(session, 12)
        await session.settle(5)
        assert any(each.summarised_by == "openai-chat:other" for each in compactions(session.state))
        assert (await session.compact()).summarised_by == MODEL, "on demand the primary model writes"


async def test_a_providers_own_compaction_shows_as_such(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await talk(session, 1)
        history = list(session.state.history)
        turn = Turn(session._runtime, session._compactor, lambda: session._factory.new_recovery(session._runtime), 2)
        part = CompactionPart(content="What was said, as the provider sees it.", provider_name="anthropic")
        await turn.after_response([], Scaffold(), ModelResponse(parts=[part, TextPart("so")]))
        done = compactions(session.state)[-1]
        assert (done.success, done.summarised_by, done.replaced) == (True, "anthropic", ())
        assert list(session.state.history)[:2] == history and not session.state.rewrites, "nothing of ours is gone"
        assert replayed(home, session.id) == session.state


async def test_telemetry_tells_numbers_and_no_words(home: Path, provider: Provider) -> None:
    exporter = InMemorySpanExporter()
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.use(spans)
    try:
        async with talking(home, provider) as session:
            await talk(session, 3)
            done = await session.compact("secret focus")
    finally:
        telemetry.use(None)
    (span,) = exporter.get_finished_spans()
    told = dict(span.attributes or {})
    assert told["co_tui.trigger"] == "manual" and told["co_tui.tokens_removed"] == done.tokens_removed
    assert told["co_tui.checkpoint_number"] == 1 and told["co_tui.model"] == MODEL
    assert "secret focus" not in span.to_json() and "src/module.py" not in span.to_json()


async def test_when_fixed_parts_fill_the_window_it_says_so_instead_of_compacting(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 6)
        await session.pin([entry.ref for entry in session.state.history])
        usage = session.state.usage
        assert usage is not None
        await use_window(session, int(usage.current_tokens * 1.04))
        await session.submit("and now?")
        told = [error for error in facts(list(session.state.timeline), SessionError) if error.kind == "fixed_part"]
        assert len(told) == 1 and "pinned messages nearly fill the context" in told[0].what
        assert not compactions(session.state)
