"""The figures that truncations and compactions carry: of the history they change, measured then (E4 to E6)."""

import asyncio
from pathlib import Path

import pytest

from co_tui.events import CompactionComplete, CompactionStart, Truncation
from co_tui.session.lens.request_rows import Fate
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from tests.support.compacting import TOO_MUCH
from tests.support.environments import facts
from tests.support.lens import lens_of
from tests.support.provider import Provider, Reply
from tests.support.talks import GOOD, compactions, fill, talking
from tests.support.waiting import HANGING_S, until

pytestmark = pytest.mark.usefixtures("long_answers")


def starts(session: Session) -> list[CompactionStart]:
    return facts(list(session.state.timeline), CompactionStart)


def told(start: CompactionStart) -> int:
    return start.system_tokens + start.conversation_tokens + start.tool_definition_tokens


def left_as_it_was(done: CompactionComplete) -> bool:
    return (done.pre_tokens, done.pre_messages) == (done.post_tokens, done.post_messages) and not done.tokens_removed


async def test_a_start_reports_the_history_it_is_about_to_change(home: Path, provider: Provider) -> None:
    provider.window = 12_000
    early = {"background_compaction_threshold": 0.5, "buffer_exhaustion_threshold": 0.5}
    async with talking(home, provider, **early) as session:
        await fill(session, 16)
        assert session.state.usage is not None
        before = session.state.usage.current_tokens
        await session.submit("a long one " + "more words " * 1_000)
        (start,), (done,) = starts(session), compactions(session.state)
        assert start.trigger == "blocking" and done.success and done.error == ""
        assert told(start) == done.pre_tokens > before + 1_500


async def test_a_cancelled_one_and_a_failed_one_carry_their_figures(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        assert session.state.usage is not None
        tokens = session.state.usage.current_tokens
        provider.summaries = [Reply(text=GOOD.text, wait_s=HANGING_S)]
        running = asyncio.create_task(session.compact())
        await until(lambda: provider.summary_requests)
        session.interrupt()
        cancelled = await running
        assert cancelled.cancelled and cancelled == compactions(session.state)[-1]
        assert left_as_it_was(cancelled) and cancelled.pre_messages == 6
        assert cancelled.pre_tokens == pytest.approx(tokens, rel=0.1)
        assert cancelled.duration_ms > 0
    refusing = {"hooks": {"preCompact": (HookEntry("exit 2"),)}}
    async with talking(home / "refused", provider, **refusing) as session:
        await fill(session, 3)
        failed = await session.compact()
        assert not failed.success and failed.error and left_as_it_was(failed)
        assert failed.pre_tokens == told(starts(session)[0]) > 0 and failed.duration_ms > 0


async def test_an_emergency_shows_what_it_changes_and_how_long_it_took(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 8, words=60)
        await session.submit("long: " + "words and more words " * 1_500)
        provider.script = [TOO_MUCH] * 5
        assert await session.submit("can you hear me?") is Outcome.DONE
        emergency = compactions(session.state)[-1]
        assert emergency.trigger == "context_limit" and emergency.error == ""
        assert emergency.note == "Emergency: kept all turns: nothing was there to clip."
        assert told(starts(session)[-1]) == emergency.pre_tokens >= emergency.post_tokens > 0
        assert emergency.tokens_removed == emergency.pre_tokens - emergency.post_tokens


async def test_nothing_is_reported_as_truncated_when_nothing_went(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    async with talking(home, provider) as session:
        assert await session.submit("word " * 4_000) is Outcome.FAILED
        assert facts(list(session.state.timeline), Truncation) == [] and provider.requests == []


async def test_an_edited_summary_has_its_own_figures(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        first = await session.compact()
        await session.edits.edit_summary(session.state.compactions[-1].seq or 0, "What really happened, " * 60)
        edited = compactions(session.state)[-1]
        assert edited.edited and abs(edited.pre_tokens - first.post_tokens) <= 2
        assert session.state.usage is not None
        assert edited.post_tokens == session.state.usage.current_tokens > edited.pre_tokens + 100
        assert edited.tokens_removed == edited.pre_tokens - edited.post_tokens


def dump_all() -> str:
    return "a line of the report\n" * 900


async def test_a_clipped_result_is_named_as_often_as_the_lens_marks_it(home: Path, provider: Provider) -> None:
    provider.window = 4_000
    async with talking(home, provider, tools=[dump_all]) as session:
        provider.script = [Reply(text="Let me", tool=("dump_all", "{}"))]
        assert await session.submit("dump it, please") is Outcome.DONE
        (cut,) = facts(list(session.state.timeline), Truncation)
        clipped = [row for row in lens_of(session).messages if row.judgement.fate is Fate.TRIMMED]
        assert cut.messages_removed == 0 and cut.messages_clipped == len(clipped) == 1
        assert cut.timeline_text().endswith(" · 1 message clipped")
        assert cut.but(messages_removed=3).timeline_text().endswith(" · 3 messages, 1 clipped")
        assert cut.but(messages_clipped=0).timeline_text().endswith(" · results clipped"), "an older log"
