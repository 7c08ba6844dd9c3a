"""A reply of thinking alone stays in the log and out of requests, which providers would refuse for it."""

import asyncio
import json
from pathlib import Path

import pytest

from co_tui.events import StreamDelta
from co_tui.session.lens.request_rows import Kind
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.lens import agrees, lens_of
from tests.support.long_run import LONG_RUN
from tests.support.provider import Provider
from tests.support.provider_sessions import ALL, session_with
from tests.support.waiting import PATIENCE_S, next_fact
from tests.support.wires import Spoken

pytestmark = pytest.mark.filterwarnings("ignore")
THOUGHT = "A thought that ends nowhere."
AFTER_A_THOUGHT = {"chat": 1, "responses": 4, "anthropic": 3, "google": 1, "bedrock": 2}
"""How many events of a reply bring its thought, but not the thought's end."""
SIGNED = "signed and stopped"
"""Only on a wire that signs thoughts is it another way."""
WAYS = ("stopped", SIGNED, "cut off", "output limit", "ended")
ALL_PAIRS = [(wire, way) for wire in ALL for way in WAYS if wire == "anthropic" or way != SIGNED]
PAIRS = ALL_PAIRS if LONG_RUN else [*ALL_PAIRS[::6], ("anthropic", SIGNED)]


async def think(session: Session, provider: Provider, wire: str, way: str) -> None:
    """A turn whose reply has nothing but a thought."""
    alone = Spoken(thoughts=[THOUGHT], too_long=way == "output limit")
    thinking = AFTER_A_THOUGHT[wire] + (2 if way == SIGNED else 0)
    match way:
        case "stopped" | "signed and stopped":
            provider.script = [alone.on(wire, upto=thinking, stays_open=True)]
            listener = session.events()
            running = asyncio.create_task(session.submit("think"))
            while not (await next_fact(listener, StreamDelta)).text:
                pass  # only says that it thinks
            session.interrupt()
            assert await asyncio.wait_for(running, PATIENCE_S) is Outcome.INTERRUPTED
        case "cut off":
            provider.script = [alone.on(wire, upto=thinking)]
            assert await session.submit("think") is Outcome.FAILED
        case _:
            provider.script = [alone.on(wire)] * 3
            await session.submit("think")


@pytest.mark.parametrize(("wire", "way"), sorted(set(PAIRS)))
async def test_the_conversation_continues_after_thinking_alone(
    home: Path, provider: Provider, wire: str, way: str
) -> None:
    async with session_with(home, provider, wire, max_retries=0) as session:
        provider.script = [Spoken("Hello.").on(wire)]
        await session.submit("hello")
        await think(session, provider, wire, way)
        assert THOUGHT in json.dumps([entry.message for entry in session.state.transcript]), "the log keeps it"
        agrees(session, lens := lens_of(session))
        assert THOUGHT not in json.dumps([each.text for each in lens.messages])
        assert {each.why for each in lens.left} == {"never sent"} and THOUGHT in lens.left[0].readable
        assert (
            lens.reading.messages_count
            == len(session.state.history) - session.state.not_sent
            < len(session.state.history)
        )
        provider.script = [Spoken("Here it is.").on(wire)]
        assert await session.submit("and now?") is Outcome.DONE
        sent = json.dumps(provider.requests[-1])
        assert THOUGHT not in sent and "think" in sent and "Hello." in sent and "and now?" in sent


async def test_a_compaction_removes_it_with_what_it_follows(home: Path, provider: Provider) -> None:
    async with session_with(home, provider, "anthropic", max_retries=0) as session:
        provider.script = [Spoken("Hello. " * 40).on("anthropic")]
        await session.submit("hello")
        await think(session, provider, "anthropic", "stopped")
        thought = session.state.history[-1].ref
        for _ in range(3):
            provider.script = [Spoken("Here it is. " * 40).on("anthropic")]
            await session.submit("and now?")
        provider.script = [Spoken("Title: Talk\n## Decisions and outcomes\n- Hello.").on("anthropic")]
        done = await session.compact()
        assert done.success and thought in done.replaced
        (summary,) = (each for each in lens_of(session).messages if each.kind is Kind.SUMMARY)
        assert summary.judgement.why == f"Replaces {len(done.replaced):,} earlier messages."
        assert len(session.state.history) == done.post_messages and not session.state.not_sent
        agrees(session, lens_of(session))
