"""Small windows, and models that count far more than we estimate: no thrash, no wasted summaries (C15)."""

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.compact.decide import WELL_BELOW
from co_tui.context.compact.thresholds import LATEST_SHARE, thresholds_of
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.events import CompactionComplete, Event, ModelChange, SessionError, UsageInfo
from co_tui.lab.engine import ReplayEngine
from co_tui.session.compaction.compaction_notices import FIXED_PART
from co_tui.session.compaction.decisions import decide, is_thrashing
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState
from co_tui.settings.rules import in_window
from tests.context.request.test_pipeline import LOADED, asked
from tests.context.request.test_pipeline import wordy as wordy_turns
from tests.support.long_run import LONG_RUN
from tests.support.provider import Provider, Reply
from tests.support.small_windows import SmallWindowTalk, read_part, small_window_talk
from tests.support.talks import compactions, fill, talking

TURNS = 16 if LONG_RUN else 11


async def test_in_a_window_of_which_tools_would_take_most(tmp_path: Path) -> None:
    """8,000 tokens, of which the tools would take 70 % as their model counts."""
    crowded = await small_window_talk(tmp_path, 8_000, 2.5, TURNS)
    every_compaction_ends_well_below_its_mark(crowded)
    no_summary_is_paid_for_and_thrown_away(crowded)
    tools_that_it_has_no_room_for_are_no_longer_offered(crowded)
    the_cache_lost_is_what_the_provider_reads_less(crowded)


def every_compaction_ends_well_below_its_mark(crowded: SmallWindowTalk) -> None:
    assert len(crowded.successes) > (3 if LONG_RUN else 1) and not any(crowded.above)
    assert len(crowded.successes) < TURNS / 2


def no_summary_is_paid_for_and_thrown_away(crowded: SmallWindowTalk) -> None:
    assert not crowded.thrown_away
    assert not crowded.failed_turns and max(crowded.provider.counted) <= 8_000


def tools_that_it_has_no_room_for_are_no_longer_offered(crowded: SmallWindowTalk) -> None:
    first, last = ([tool["function"]["name"] for tool in asked["tools"]] for asked in _ends(crowded.provider))
    assert "read_file" in first and "read_part" in last and "read_file" not in last
    (notice,) = crowded.notices
    assert notice.kind == "tools_left_out" and "files, commands" in notice.what and "2.5 times" in notice.what


def the_cache_lost_is_what_the_provider_reads_less(crowded: SmallWindowTalk) -> None:
    said = lost = read = 0
    for event in crowded.events:
        if isinstance(event.fact, CompactionComplete) and event.fact.success:
            said = event.fact.cache_lost_tokens
        elif isinstance(event.fact, UsageInfo) and event.fact.input_tokens:
            before, read = read, event.fact.cached_tokens or 0
            if said:
                assert said == pytest.approx(before - read, rel=0.05)
                lost, said = lost + said, 0
    assert lost


def wordy(n: int = 0) -> str:
    """A tool."""
    return "done"


wordy.__doc__ = "A tool that takes much to explain. " + "It reads one part of one file and says what is in it. " * 250


async def test_where_no_compaction_can_end_well_none_begins_and_what_would_help_is_said_once(tmp_path: Path) -> None:
    done = await small_window_talk(tmp_path, 8_000, 1.0, 5, tools=[read_part, wordy])
    assert not done.compactions and not done.provider.summary_requests
    assert done.truncations and not done.failed_turns and max(done.provider.counted) <= 8_000
    (notice,) = [each for each in done.notices if each.kind == "no_room"]
    helps = ("Tools take", "offer fewer tools", "a larger window", "another policy")
    assert all(words in notice.what for words in helps)


async def test_a_summary_that_could_not_free_a_tenth_is_not_asked_for(home: Path, provider: Provider) -> None:
    provider.window, provider.default = 6_000, Reply(text="Yes.", prompt_tokens=-1)
    async with talking(home, provider) as session:
        await fill(session, 5, words=60)
        await session.submit("a long one " + "more words " * 2_400)
        await session.settle(5)
        assert session.state.usage is not None and session.state.usage.share > 0.8
        assert not provider.summary_requests and not compactions(session.state)


def ended(post_tokens: int, mark_tokens: int = 1_000) -> CompactionComplete:
    return CompactionComplete(success=True, trigger="background", post_tokens=post_tokens, mark_tokens=mark_tokens)


@pytest.mark.parametrize(
    ("facts", "strained"),
    [
        ([ended(900)], False),
        ([ended(900), ended(1 + round(1_000 * WELL_BELOW))], True),
        ([ended(900), ended(round(1_000 * WELL_BELOW))], False),
        ([ended(900), SessionError(what="", kind="x"), ended(900)], True),
        ([ended(900), ended(900), ModelChange(from_="a", to="b", window_before=1, window_after=2)], False),
        ([ended(900), ended(900, mark_tokens=2_000)], False),
    ],
)
def test_two_that_end_too_close_to_their_mark_stop_the_next(facts: list, strained: bool) -> None:
    state = SessionState()
    for seq, fact in enumerate(facts, 1):
        state = apply(state, Event(session_id="s", seq=seq, timestamp="2026-01-01T00:00:00Z", fact=fact))
    assert is_thrashing(state, "", 1_000) == strained


@pytest.mark.parametrize(("lengths", "compacts"), [([500] * 16, True), ([300] * 8 + [6_000], False)])
async def test_after_two_that_ended_too_high_the_next_waits_until_it_can_replace_much(
    lengths: list[int], compacts: bool
) -> None:
    """What they could not replace, because it had just come, is behind after some steps."""
    policy = policy_of(LOADED["balanced"].but(summary_by="code"))
    engine = ReplayEngine(policy, Window(tokens=8_000, known=True))
    mark = round((thresholds_of(policy, 8_000).share or 0) * 8_000)
    for _ in range(2):
        await engine.history.recorder.record(ended(mark, mark))
    await engine.add(ModelRequest(parts=[UserPromptPart("Find the fault in the shop.")]), 1)
    for number, length in enumerate(lengths):
        words = " ".join(f"word{at}" for at in range(length // 2))
        await engine.add(ModelResponse(parts=[ToolCallPart("read_part", {"part": number}, f"c{number}")]), 1)
        await engine.add(ModelRequest(parts=[ToolReturnPart("read_part", words, f"c{number}")]), 1)
    measured = await engine.history.measure()
    assert measured.reading.current_tokens > mark and is_thrashing(engine.history.state, "", mark)
    assert (decide(engine.history, measured, None).plan is not None) == compacts
    assert engine.history.governor.is_stopped != compacts


def test_numbers_by_window_are_shares_of_what_instructions_and_tools_leave() -> None:
    balanced, copilot = (policy_of(LOADED[name].but(summary_by="code")) for name in ("balanced", "copilot"))
    assert thresholds_of(copilot, 8_000, 4_000) == thresholds_of(copilot, 8_000), "its seed says: of the window"
    share = in_window(balanced.background_compaction_threshold, 8_000)
    assert thresholds_of(balanced, 8_000).share == pytest.approx(share)
    assert thresholds_of(balanced, 8_000, 4_000).share == pytest.approx(
        min(max(share, LATEST_SHARE), 0.5 + 0.5 * share)
    )
    latest = max(LATEST_SHARE, in_window(balanced.buffer_exhaustion_threshold, 8_000))
    assert thresholds_of(balanced, 8_000, 7_000).blocking_share == pytest.approx(latest), "the rest is for the reply"


def _ends(provider: Provider) -> tuple[dict, dict]:
    return provider.requests[0], provider.requests[-1]


@pytest.mark.parametrize(("words", "compacts"), [(10, True), (30_000, False)])
async def test_nothing_is_compacted_where_the_instructions_fill_the_window(words: int, compacts: bool) -> None:
    engine = ReplayEngine(policy_of(LOADED["co-cli"]), Window(tokens=30_000, known=True))
    engine.history.in_turn = True
    engine.history.scaffold = Scaffold(instructions="word " * words)
    for message in asked(wordy_turns(30)):
        await engine.add(message, 1)
    decision = decide(engine.history, await engine.history.measure(), None)
    assert (decision.plan is not None, decision.notice) == (compacts, "" if compacts else FIXED_PART)
    assert decision.urgency == ("now" if compacts else "")
