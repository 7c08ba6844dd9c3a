"""What else starts a compaction: another model, little memory, the model's own request."""

import json
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from co_tui.events import (
    SessionError,
)
from co_tui.session.compaction import telemetry
from co_tui.session.runtime.runtime_switcher import WindowTooSmall
from co_tui.session.session import Session
from co_tui.session.state.released import PackedMessage
from tests.support.environments import facts
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import MODEL, compactions, fill, served_environment, talk, talking, use_window

pytestmark = pytest.mark.usefixtures("long_answers")


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
        await fill(session, 12)
        with pytest.raises(WindowTooSmall, match="Compact first") as asked:
            await session.switcher.switch_model("openai-chat:small")
        assert session.state.model == MODEL and session.state.usage is not None
        assert f"The context has {session.state.usage.current_tokens:,} tokens" in str(asked.value), "as on the gauge"
        await session.switcher.switch_model("openai-chat:small", compact=True)
        done = compactions(session.state)[-1]
        assert done.trigger == "model_switch" and done.summarised_by == MODEL
        assert session.state.model == "openai-chat:small"
        await session.close()


async def test_memory_pressure_compacts(home: Path, provider: Provider) -> None:
    async with talking(home, provider, memory_limit_mb=1) as session:
        await talk(session, 2)
        assert compactions(session.state)[-1].trigger == "memory_pressure"


@only_in_a_long_run
async def test_memory_pressure_lets_go_of_what_left_the_context_and_undo_brings_it_back(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 3, words=2_000)
        said, history = list(session.state.transcript), list(session.state.history)
        await session.switcher.apply_settings(session.settings.but(memory_limit_mb=1))
        await talk(session, 8)
        packed = [entry for entry in session.state.transcript if isinstance(entry.message, PackedMessage)]
        assert packed and list(session.state.transcript)[: len(said)] == said, "nothing of it is another now"
        assert replayed(home, session.id) == session.state
        while session.state.rewrites:
            await session.edits.undo()
        assert list(session.state.history)[: len(history)] == history
        await session.submit("and now?")
        assert "Question 1: what about function_1?" in json.dumps(provider.requests[-1]["messages"])


async def test_the_model_may_ask_for_it(home: Path, provider: Provider) -> None:
    def look() -> str:
        return "seen"

    async with talking(home, provider, tools=[look]) as session:
        await fill(session, 4)
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
        await fill(session, 12)
        await session.settle(5)
        assert any(each.summarised_by == "openai-chat:other" for each in compactions(session.state))
        assert (await session.compact()).summarised_by == MODEL, "on demand the primary model writes"


async def test_telemetry_sends_numbers_and_no_words(home: Path, provider: Provider) -> None:
    exporter = InMemorySpanExporter()
    spans = TracerProvider()
    spans.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.use(spans)
    try:
        async with talking(home, provider) as session:
            await fill(session, 3)
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
        await fill(session, 6)
        await session.edits.pin([entry.ref for entry in session.state.history])
        usage = session.state.usage
        assert usage is not None
        await use_window(session, int(usage.current_tokens * 1.04))
        await session.submit("and now?")
        told = [error for error in facts(list(session.state.timeline), SessionError) if error.kind == "fixed_part"]
        assert len(told) == 1 and "pinned messages almost fill the context" in told[0].what
        assert not compactions(session.state)
