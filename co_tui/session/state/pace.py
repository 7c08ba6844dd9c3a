"""How fast the context fills, and how full it was at the end of the last turns. Constant size and cost."""

from typing import NamedTuple

NEWEST_WEIGHT = 0.1
"""Weight of the latest turn once there are many: of the values tried on even, uneven and changing sessions, it
forecasts best and jumps least."""
REMEMBERED_TURNS = 40
RECENT_TURNS = 5
"""They say how short the next turn may be."""


class Fill(NamedTuple):
    """The context's size at the end of a turn, or before a compaction within it."""

    turn: int
    tokens: int
    compacted: bool = False
    """Whether a compaction came directly before."""


class Pace(NamedTuple):
    """A moving average over finished turns; rewrites of the history do not count as growth."""

    fills: tuple[Fill, ...] = ()
    """The last turns, oldest first."""
    turns: int = 0
    """How many turns the averages cover."""
    tokens_per_ended_turn: float = 0.0
    messages_per_ended_turn: float = 0.0
    grown_tokens: int = 0
    """In the turn measured last."""
    grown_messages: int = 0
    is_answered: bool = False
    """Whether that turn has a reply yet: before that, it says little."""
    recent: tuple[tuple[int, int], ...] = ()
    """By how many tokens and messages each of the last ended turns grew, oldest first."""
    held: tuple[int, int] | None = None
    """Conversation tokens and messages at the last measurement; None if the history was rewritten since."""
    is_compacted: bool = False
    """Whether a compaction rewrote it."""

    @property
    def tokens_per_turn(self) -> float:
        """0 while unknown, or while the context does not grow."""
        return self._with_present(self.tokens_per_ended_turn, self.grown_tokens)

    @property
    def messages_per_turn(self) -> float:
        return self._with_present(self.messages_per_ended_turn, self.grown_messages)

    def _with_present(self, average: float, grown: int) -> float:
        """The current turn counts as soon as it is larger than usual: it only grows."""
        if not self.turns:
            return float(max(0, grown)) if self.is_answered else 0.0
        return max(average, _averaged(average, grown, self.turns))

    def measured(self, turn: int, tokens: int, messages: int, fixed_tokens: int, *, is_reply: bool) -> "Pace":
        """After a measurement; `fixed_tokens` are instructions and tools, which do not count as growth."""
        pace = self
        if pace.fills and turn > pace.fills[-1].turn:
            pace = pace._turn_ended()
        said = tokens - fixed_tokens
        before = pace.held or ((said, messages) if pace.fills else (0, 0))
        return pace._replace(
            fills=pace._filled(Fill(turn, tokens, pace.is_compacted)),
            grown_tokens=pace.grown_tokens + said - before[0],
            grown_messages=pace.grown_messages + messages - before[1],
            is_answered=pace.is_answered or is_reply,
            held=(said, messages),
            is_compacted=False,
        )

    def rewritten(self, *, is_compaction: bool = False) -> "Pace":
        """After the history was rewritten, or the model changed: growth is measured from there."""
        return self._replace(held=None, is_compacted=self.is_compacted or is_compaction)

    def _turn_ended(self) -> "Pace":
        return self._replace(
            turns=self.turns + 1,
            recent=(*self.recent, (self.grown_tokens, self.grown_messages))[-RECENT_TURNS:],
            tokens_per_ended_turn=_averaged(self.tokens_per_ended_turn, self.grown_tokens, self.turns),
            messages_per_ended_turn=_averaged(self.messages_per_ended_turn, self.grown_messages, self.turns),
            grown_tokens=0,
            grown_messages=0,
            is_answered=False,
        )

    def _filled(self, fill: Fill) -> tuple[Fill, ...]:
        fills = self.fills
        if fills and fills[-1].turn == fill.turn and not fill.compacted:
            fill, fills = fill._replace(compacted=fills[-1].compacted), fills[:-1]
        return (*fills, fill)[-REMEMBERED_TURNS:]


def _averaged(average: float, grown: int, turns: int) -> float:
    """The average with one more turn; a turn in which the context shrank counts as 0."""
    weight = max(NEWEST_WEIGHT, 1 / (turns + 1))
    return average + (max(0, grown) - average) * weight
