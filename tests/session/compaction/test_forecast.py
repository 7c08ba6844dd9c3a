"""What F5 promises: how much a compaction would free, before any model is asked."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.events import CompactionComplete
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from tests.session.compaction.test_account import TURNS, Turn, talked
from tests.support.long_run import drawn
from tests.support.provider import Provider, Reply
from tests.support.talks import talking

RULE = "Never touch the migrations."
CLOSE = 0.1
"""Of the context: how far what is freed may be from what was promised."""


async def check(session: Session, deep: bool) -> None:
    state = session.state
    try:
        promised = await session.forecast(deep=deep)
    except CompactionRefused:
        return
    assert session.state is state, "a promise changes nothing"
    assert state.usage is not None and promised.freed_tokens > 0
    newest = [entry.ref for entry in state.history][-1:]
    rules = [entry for entry in state.transcript if RULE in str(entry.message)]
    done = await session.compact(deep=deep)
    assert done.success and abs(done.tokens_removed - promised.freed_tokens) <= CLOSE * promised.tokens
    if deep:
        pinned = {entry.ref for entry in session.state.history if entry.ref in state.pins}
        kept = [entry.ref for entry in session.state.history if entry.seq != session.state.compactions[-1].seq]
        assert kept[-1:] == newest and (pinned or kept == newest), "the newest step, and what is pinned"
        assert not rules or RULE in str([entry.message for entry in session.state.history])


@given(TURNS, st.booleans())
@settings(max_examples=drawn(2))
async def test_what_is_freed_is_close_to_what_was_promised(turns: list[Turn], deep: bool) -> None:
    async with talked(turns) as (session, model):
        model.begin(Turn("", 1, 0, 600, ""))  # a summary that repeats itself is not used: the offline summariser serves
        await check(session, deep)


async def test_a_deep_compaction_frees_more_than_an_ordinary_one(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="It is a long reply about a module. " * 40, prompt_tokens=-1)
    async with talking(home, provider) as session:
        for n in range(6):
            await session.submit(f"Question {n} about the module: " + "what is it for? " * 20)
        ordinary, deep = await session.forecast(), await session.forecast(deep=True)
        assert ordinary.tokens == deep.tokens and deep.freed_tokens > ordinary.freed_tokens
        assert not provider.summary_requests, "a promise asks no model"
        done: CompactionComplete = await session.compact("the fixtures", deep=True)
        assert done.success and done.kept_messages == 1 and done.focus == "the fixtures"
        assert len(provider.summary_requests) == 1


async def test_nothing_is_promised_where_nothing_can_be_gained(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="Hello", prompt_tokens=-1)
    async with talking(home, provider) as session:
        with pytest.raises(CompactionRefused, match="fewer than two messages"):
            await session.forecast()
        await session.submit("hi")
        for deep in (False, True):
            with pytest.raises(CompactionRefused, match="Nothing to compact"):
                await session.forecast(deep=deep)
        assert not provider.summary_requests


async def test_what_is_summarised_already_is_not_called_pinned(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="It is a long reply about a module. " * 40, prompt_tokens=-1)
    async with talking(home, provider) as session:
        for n in range(3):
            await session.submit(f"Question {n} about the module: " + "what is it for? " * 20)
        assert (await session.compact(deep=True)).success
        with pytest.raises(CompactionRefused, match=r"^Nothing to compact: everything is summarised already\.$"):
            await session.forecast(deep=True)
        newest = session.state.history[-1].ref
        await session.edits.pin([newest])
        with pytest.raises(CompactionRefused, match=r"^Nothing to compact: the rest is pinned or not answered yet\.$"):
            await session.forecast(deep=True)
