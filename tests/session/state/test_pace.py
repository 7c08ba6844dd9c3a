"""How many turns are left before compaction: computed from simulated sessions, even, uneven, changing, compacted."""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median

import pytest

from co_tui.context.compact.thresholds import Thresholds
from co_tui.events import UsageInfo
from co_tui.session.state.pace import REMEMBERED_TURNS, Fill, Pace
from co_tui.ui.gauge.gauge_reading import GaugeReading

FIXED, MARK, AFTER = 6_000, 100_000, 25_000
"""Tokens of system and tools, where it is compacted, and what that leaves."""


def even(rng: random.Random) -> Iterator[int]:
    while True:
        yield int(rng.uniform(1_600, 2_400))


def uneven(rng: random.Random) -> Iterator[int]:
    while True:
        yield int(rng.lognormvariate(7.2, 1.0))


def bursts(rng: random.Random) -> Iterator[int]:
    while True:
        yield 600 if rng.random() < 0.8 else int(rng.uniform(8_000, 20_000))


class Talk:
    """A session by its measurements: before each request, and after each reply."""

    def __init__(self) -> None:
        self.pace, self.turn, self.tokens = Pace(), 0, FIXED

    def say(self, grown: int) -> bool:
        """One turn; whether it ended in a compaction."""
        self.turn += 1
        self._measure(grown // 4)
        self._measure(grown - grown // 4, is_reply=True)
        if self.tokens < MARK:
            return False
        self.pace, self.tokens = self.pace.rewritten(is_compaction=True), AFTER
        self._measure(0)
        return True

    def _measure(self, more: int, *, is_reply: bool = False) -> None:
        self.tokens += more
        messages = 2 * self.turn - (not is_reply)
        self.pace = self.pace.measured(self.turn, self.tokens, messages, FIXED, is_reply=is_reply)

    @property
    def turns_left(self) -> float:
        return (MARK - self.tokens) / self.pace.tokens_per_turn


@pytest.mark.parametrize(
    ("growth", "usual_error", "largest_jump"), [(even, 0.1, 0.3), (uneven, 0.4, 1.1), (bursts, 0.6, 1.1)]
)
def test_the_forecast_comes_true_and_does_not_jump(
    growth: Callable[[random.Random], Iterator[int]], usual_error: float, largest_jump: float
) -> None:
    errors: list[float] = []
    for seed in range(20):
        talk, told = Talk(), list[tuple[int, float]]()
        for grown in islice(growth(random.Random(seed)), 120):
            if talk.say(grown):
                errors += [abs(left - (talk.turn - turn)) / max(3, talk.turn - turn) for turn, left in told]
                told = []
            left = talk.turns_left
            assert left > 0
            if told:
                expected = told[-1][1] - 1
                assert abs(left - expected) / max(3, expected) < largest_jump, (seed, talk.turn)
            if talk.turn > 3:
                told.append((talk.turn, left))
    assert median(errors) < usual_error


def test_a_compaction_changes_the_room_and_not_the_pace() -> None:
    talk = Talk()
    while not talk.say(2_000):
        before = talk.pace.tokens_per_turn
    assert talk.pace.tokens_per_turn == pytest.approx(before) == pytest.approx(2_000)
    assert talk.turns_left == pytest.approx((MARK - AFTER) / 2_000)
    for _ in range(3):
        talk.say(2_000)
    assert talk.pace.tokens_per_turn == pytest.approx(2_000), "what a compaction took is no turn's doing"


def test_nothing_is_forecast_before_the_first_reply_nor_while_it_shrinks() -> None:
    asked = Pace().measured(1, 6_100, 1, FIXED, is_reply=False)
    assert asked.tokens_per_turn == 0
    answered = asked.measured(1, 7_000, 2, FIXED, is_reply=True)
    assert answered.tokens_per_turn == 1_000 and answered.messages_per_turn == 2
    shrunk = Pace()
    for turn, tokens in enumerate((9_000, 8_000, 7_000, 6_500), 1):
        shrunk = shrunk.measured(turn, tokens, 2, 9_000, is_reply=True)
    assert shrunk.tokens_per_turn == 0


def test_the_last_turns_are_remembered_with_their_compactions_and_no_more() -> None:
    talk = Talk()
    compacted = [talk.turn for _ in range(300) if talk.say(2_000)]
    fills = talk.pace.fills
    assert len(fills) == REMEMBERED_TURNS
    assert [fill.turn for fill in fills if fill.compacted] == [turn for turn in compacted if turn > fills[0].turn]
    at = next(n for n, fill in enumerate(fills) if fill.compacted)
    assert fills[at - 1].turn == fills[at].turn and fills[at - 1].tokens >= MARK and fills[at].tokens == AFTER
    assert Pace().rewritten().measured(1, 10, 1, 0, is_reply=True).fills == (Fill(1, 10),)


def test_instructions_and_tools_that_come_along_are_no_growth() -> None:
    """A command of the user's own is measured before any request, and so before tools are known."""
    pace = Pace().measured(0, 150, 1, 0, is_reply=False)
    for turn in (1, 2):
        pace = pace.measured(turn, 6_000 + 400 * turn, 2 * turn + 1, 6_000, is_reply=True)
    assert 0 < pace.tokens_per_turn <= 400


@pytest.mark.parametrize("growth", [even, uneven, bursts])
def test_the_next_turn_is_named_only_if_it_is_the_one(growth: Callable[[random.Random], Iterator[int]]) -> None:
    """Of all that are named, nearly all are right, and none is wrong three times running."""
    named = right = 0
    for seed in range(20):
        talk, wrong = Talk(), 0
        for grown in islice(growth(random.Random(seed)), 120):
            usage = UsageInfo(
                token_limit=MARK, current_tokens=talk.tokens, messages_count=2 * talk.turn, system_tokens=FIXED,
                conversation_tokens=talk.tokens - FIXED, tool_definition_tokens=0,
            )  # fmt: skip
            pace = talk.pace
            reading = GaugeReading(
                usage, tokens_per_turn=pace.tokens_per_turn, recent=pace.recent, marks=Thresholds(share=0.9999)
            )
            is_named, compacted = reading.outlook.endswith("next turn"), talk.say(grown)
            named, right = named + is_named, right + (is_named and compacted)
            wrong = wrong + 1 if is_named and not compacted else 0
            assert wrong < 3, (seed, talk.turn)
    assert right >= 0.75 * named
