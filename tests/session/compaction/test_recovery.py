"""A request that is too long for its model is shortened, step by step."""

import json
from pathlib import Path

import pytest

from co_tui.events import (
    MemoryWritten,
    Message,
    SessionError,
)
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.compacting import TOO_MUCH, texts
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import REFUSALS, Provider, Reply
from tests.support.stores import replayed, stored_events
from tests.support.talks import fill, served_environment, talk, talking

pytestmark = pytest.mark.usefixtures("long_answers")


@pytest.mark.parametrize(
    "refusal", also_in_a_long_run(["anthropic"], [each for each in REFUSALS if each != "anthropic"])
)
async def test_a_request_that_is_too_long_is_shortened_and_sent_again(
    home: Path, provider: Provider, refusal: str
) -> None:
    provider.refusal = refusal
    async with talking(home, provider) as session:
        provider.real_window = 1_800  # far below what the model reported
        await talk(session, 6, words=110)
        assert await session.submit("does this still work?") is Outcome.DONE
        assert provider.refused >= 1
        errors = facts(list(session.state.timeline), SessionError)
        assert errors and all(error.kind == "context_limit" for error in errors)
        assert "does this still work?" in json.dumps(provider.requests[-1]["messages"])
        asked, refused = len(provider.requests), provider.refused
        assert await session.submit("and the next one?") is Outcome.DONE
        await session.settle(5)  # near the learned limit, a compaction may have begun
        assert replayed(home, session.id) == session.state
        prompts = [fact for fact in facts(stored_events(home, session.id), Message)
                   if "still work" in json.dumps(fact.message)]  # fmt: skip
        assert len(prompts) == 1, "the prompt is logged once, and never lost"
        assert provider.refused == refused and len(provider.requests) == asked + 1, "the limit was learned"
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
        await fill(session, 8)
        provider.script = [Reply(text="Let me", tool=("count", "{}"))]
        provider.real_window = 3_000
        provider.refusal = "llama.cpp"
        assert await session.submit("count, please") is Outcome.DONE
        assert runs == [1]
        assert replayed(home, session.id) == session.state


async def test_a_prompt_that_cannot_fit_at_all_ends_in_a_sentence_and_the_session_continues(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 2)
        provider.real_window = 600
        assert await session.submit("word " * 2_000) is Outcome.FAILED
        last = facts(list(session.state.timeline), SessionError)[-1]
        assert "tokens too long for the window of 600" in last.what
        assert await session.submit("short?") is Outcome.DONE


LAYERS = ("compacted", "retrying with at most", "kept ", "cleared the context")


@pytest.mark.parametrize("refusals", also_in_a_long_run([8], [1, 2, 3, 4]))
async def test_each_refusal_brings_the_next_layer(home: Path, provider: Provider, refusals: int) -> None:
    async with talking(home, provider) as session:
        await fill(session, 12, words=100)
        said = len(session.state.transcript)
        provider.script = [TOO_MUCH] * refusals  # names no limit: all there is to learn is that it was too much
        outcome = await session.submit("can you hear me?")
        told = [error.outcome for error in facts(list(session.state.timeline), SessionError)]
        steps = [number for outcome in told for number, layer in enumerate(LAYERS) if layer in outcome]
        assert steps == sorted(steps) and steps[0] == 0 and len(steps) == min(refusals, 4)
        if refusals == 8:
            assert outcome is Outcome.FAILED and told[-1].startswith("the turn ended") and steps[-1] == 3
        else:
            assert outcome is Outcome.DONE
            assert "can you hear me?" in json.dumps(provider.requests[-1]["messages"])
        assert bool(facts(list(session.state.timeline), MemoryWritten)) == (2 in steps)
        refused = [error for error in facts(list(session.state.timeline), SessionError) if error.retry_in_s is not None]
        assert len(refused) == len(steps), "each refusal has one notice, which says what was done"
        assert len(session.state.transcript) == said + 1 + (outcome is Outcome.DONE), "nothing that was said is lost"
        provider.script = []
        assert await session.submit("still there?") is Outcome.DONE
        assert replayed(home, session.id) == session.state


async def test_a_cleared_context_keeps_its_system_messages(home: Path, provider: Provider) -> None:
    system = {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "You keep the heron."}]}
    both = {
        "kind": "request",
        "parts": [
            {"part_kind": "system-prompt", "content": "It is grey."},
            {"part_kind": "user-prompt", "content": "Where is it?"},
        ],
    }
    async with talking(home, provider) as session:
        await session._recorder.record(Message(turn=0, message=system), Message(turn=0, message=both))
        await fill(session, 6)
        provider.script = [TOO_MUCH] * 6
        await session.submit("can you hear me?")
        outcomes = [error.outcome for error in facts(list(session.state.timeline), SessionError)]
        assert any("cleared the context" in outcome for outcome in outcomes)
        assert texts(session.state)[:2] == ["You keep the heron.", "It is grey."]
        provider.script = []
        assert await session.submit("still there?") is Outcome.DONE
        sent = json.dumps(provider.requests[-1]["messages"])
        assert "You keep the heron." in sent and "It is grey." in sent and "Where is it?" not in sent
        assert "can you hear me?" in sent and "still there?" in sent
        await session.settle(5)
        assert replayed(home, session.id) == session.state
