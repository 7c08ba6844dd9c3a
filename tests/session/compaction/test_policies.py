"""What each policy does in a live session, against a provider."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from co_tui.events import CompactionStart, HookRun
from co_tui.session.compaction import telemetry
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from tests.context.request.test_pipeline import LOADED
from tests.support.compacting import texts
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import GOOD, compactions, fill, talk, talking
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.usefixtures("long_answers")

BROKEN = Reply(status=400, body='{"error": {"message": "no"}}')


def under(policy: str, **changes: Any) -> dict[str, Any]:
    """A policy's own settings, with some of them changed; which tools there are is said apart."""
    settings = LOADED[policy].but(**changes)
    return {name: getattr(settings, name) for name in type(settings).FIELDS if name != "tools"}


def successes(session: Session) -> list[Any]:
    return [done for done in compactions(session.state) if done.success]


async def test_co_cli_on_demand_leaves_its_two_messages_and_nothing_else(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("co-cli")) as session:
        await session.submit("From now on always answer in French.")
        await fill(session, 4)
        done = await session.compact()
        assert done.success and texts(session.state) == [
            f"[Compacted conversation summary]\n{done.summary}\n\n"
            "## Standing rules of the user\n- From now on always answer in French.",
            "Understood. I have the conversation context.",
        ]
        await session.submit("and now?")
        roles = [message["role"] for message in provider.requests[-1]["messages"]]
        assert roles == ["system", "user", "assistant", "user"]


async def test_co_cli_c14_on_demand_nothing_changes_without_a_summary(home: Path, provider: Provider) -> None:
    provider.summary = BROKEN
    async with talking(home, provider, **under("co-cli")) as session:
        await fill(session, 6)
        before = list(session.state.history)
        done = await session.compact()
        assert not done.success and not done.cancelled and list(session.state.history) == before
        assert done.error.startswith("no summary could be written") and "rejected" in done.error
        assert (done.pre_tokens, done.pre_messages) == (done.post_tokens, done.post_messages)
        assert "summarised" not in done.outcome_sentence() and "nothing changed" in done.outcome_sentence()
        assert replayed(home, session.id) == session.state


async def test_cowagent_a_summary_is_applied_between_turns_not_within_a_tool_loop(
    home: Path, provider: Provider
) -> None:
    looked, written = threading.Event(), threading.Event()

    def look() -> str:
        """Wait until the summary is there."""
        looked.set()
        assert written.wait(PATIENCE_S)
        return "seen"

    async with talking(home, provider, tools=[look], **under("cowagent", agent_max_context_turns=4)) as session:
        await talk(session, 4)
        provider.summary = Reply(text=GOOD.text, until=looked)
        provider.script = [Reply(text="Let me", tool=("look", "{}"))]
        turn = asyncio.create_task(session.submit("the fifth, with a tool"))
        await until(lambda: session._compactor._background.stage.value == "ready")
        written.set()
        assert await turn is Outcome.DONE
        within = json.dumps(provider.requests[-1]["messages"])
        assert "summarised" not in within and "Question 1:" not in within, "it left at once, and no summary joined it"
        (dropped,) = successes(session)[:-1]
        assert dropped.trigger == "turns"
        await session.submit("the sixth")
        assert "[Earlier conversation, summarised]" in json.dumps(provider.requests[-1]["messages"])


async def test_hooks_see_every_trigger_also_when_only_texts_are_kept(
    home: Path, provider: Provider, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    settings = under("cowagent", agent_max_context_tokens=900, hooks={"preCompact": (HookEntry(f"cat >> {seen}"),)})

    def look() -> str:
        return "a long result " * 100

    async with talking(home, provider, tools=[look], **settings) as session:
        provider.script = [Reply(text="Let me", tool=("look", "{}"))]
        await talk(session, 4)
        assert successes(session)[0].trigger == "budget" and successes(session)[0].summary == ""
        assert "summarised" not in successes(session)[0].outcome_sentence()
        assert facts(list(session.state.timeline), HookRun) and '"trigger": "budget"' in seen.read_text()


async def test_copilot_the_start_shows_what_the_context_is_made_of(home: Path, provider: Provider) -> None:
    exporter, spans = InMemorySpanExporter(), TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.use(spans)
    try:
        async with talking(home, provider, **under("copilot")) as session:
            await fill(session, 3)
            await session.compact()
            start = facts(list(session.state.timeline), CompactionStart)[-1]
    finally:
        telemetry.use(None)
    (span,) = exporter.get_finished_spans()
    told = dict(span.events[0].attributes or {})
    assert span.events[0].name == "session_compaction_start"
    for name in ("system_tokens", "conversation_tokens", "tool_definition_tokens"):
        assert told[f"co_tui.{name}"] == getattr(start, name)
    assert start.conversation_tokens > 300


@pytest.mark.parametrize(("limit", "turns"), also_in_a_long_run([(24, 4)], [(20, 3)]))
async def test_cowagent_s4_resuming_restores_the_texts_of_the_last_turns(
    home: Path, provider: Provider, limit: int, turns: int
) -> None:
    def look() -> str:
        return "seen"

    settings = under("cowagent", agent_max_context_turns=limit)
    async with talking(home, provider, tools=[look], **settings) as session:
        await fill(session, 5)
        provider.script = [Reply(text="Let me", tool=("look", "{}"))]
        await talk(session, 1)
        before = list(session.state.history)
        environment, name = session._environment, session.id
        await session.close()
        again = await Session.resume(environment, name)
        kept = list(again.state.history)
        assert kept == [*before[2 * (6 - turns) : 10], before[10], before[13]], "without the call and its result"
        assert len(again.state.transcript) == len(before) and replayed(home, again.id) == again.state
        assert await again.submit("and now?") is Outcome.DONE
        await again.edits.undo()
        assert list(again.state.history)[: len(before)] == before, "and it can be taken back"
        await again.close()


@pytest.mark.parametrize("policy", also_in_a_long_run(["balanced", "inkeep"], ["co-cli", "copilot", "off"]))
async def test_other_policies_restore_the_exact_history(home: Path, provider: Provider, policy: str) -> None:
    async with talking(home, provider, **under(policy)) as session:
        await fill(session, 6)
        environment, name, before = session._environment, session.id, list(session.state.history)
        await session.close()
        again = await Session.resume(environment, name)
        assert list(again.state.history) == before
        await again.close()
