"""The gauge's figures and wording."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from co_tui.context.compact.thresholds import Thresholds, thresholds_of
from co_tui.context.policy import policy_of
from co_tui.events import CompactionStart, UsageInfo
from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.event_wording import FREE, cost_text
from co_tui.session.state.pace import Fill
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Settings
from co_tui.ui.formatting import counted, money, tokens

NEXT_TURN = "next turn"
MAX_TURNS = 100
"""Forecasts beyond this many turns are not shown as a number."""
NEARLY, FULLY = 0.8, 0.95
"""Warning levels under policies without thresholds on the window."""


class GaugeReading(NamedTuple):
    """What the gauge shows; all figures come from events."""

    usage: UsageInfo | None = None
    cost: float | None = None
    """Cost of turns and summaries; None when the price is unknown."""
    model: str = ""
    """The session's model."""
    summary_cost: float = 0.0
    assumed_cost: float = 0.0
    """Cost at the prices of the models' makers, where a server publishes none."""
    cached_tokens: int = 0
    """Tokens read from providers' caches."""
    cache_saved: float = 0.0
    """In US dollars; 0 when the price is unknown."""
    tokens_per_turn: float = 0.0
    messages_per_turn: float = 0.0
    recent: tuple[tuple[int, int], ...] = ()
    """By how many tokens and messages each of the last ended turns grew."""
    fills: tuple[Fill, ...] = ()
    """How full the context was after each of the last turns."""
    compactions: int = 0
    """Number of compactions in force."""
    turns: int = 0
    """Number of turns in the context."""
    marks: Thresholds = Thresholds(NEARLY, FULLY)
    summarising: int = 0
    """Number of messages being summarised in the background."""
    messages: int = 0
    """Number of messages in the context, also while it is not measured."""
    most_cost: float = 0.0
    """The session's limit in US dollars; 0 for none."""
    day_cost: float | None = None
    """What all sessions cost today; None when it is not known."""
    most_day_cost: float = 0.0

    def with_reply(self, tokens: int) -> "GaugeReading":
        """With the estimated tokens of a reply that is not counted yet."""
        if self.usage is None or not tokens:
            return self
        current, conversation = self.usage.current_tokens + tokens, self.usage.conversation_tokens + tokens
        grown = self.usage.but(current_tokens=current, conversation_tokens=conversation, measured="estimate")
        return self._replace(usage=grown)

    @property
    def share(self) -> float:
        return self.usage.share if self.usage else 0.0

    @property
    def empty_text(self) -> str:
        """What is known before anything is measured: the marks depend on the window, and are not."""
        if self.messages:
            return f"Not measured yet: {counted(self.messages, 'message')} in context. The next request counts them."
        return "Nothing sent yet."

    @property
    def short_empty_text(self) -> str:
        if self.messages:
            return f"context: {counted(self.messages, 'message')}, not measured yet"
        return "context: nothing sent yet"

    @property
    def percent(self) -> str:
        return f"{'' if self.is_measured else '~'}{self.share * 100:.0f} %"

    @property
    def is_measured(self) -> bool:
        return self.usage is not None and self.usage.measured == "provider"

    @property
    def amount(self) -> str:
        """`~` marks an estimate, `?` an assumed limit."""
        if self.usage is None:
            return ""
        about = "" if self.is_measured else "~"
        assumed = "" if self.usage.limit_known else "?"
        return f"{about}{tokens(self.usage.current_tokens)} of {tokens(self.usage.token_limit)}{assumed}"

    @property
    def level(self) -> str:
        if self.share >= (self.marks.blocking_share or FULLY):
            return "error"
        return "warning" if self.share >= (self.marks.share or NEARLY) else "normal"

    @property
    def outlook(self) -> str:
        """What happens next, and in how many turns at the current pace."""
        return self.outlooks[0]

    def outlook_in(self, width: int) -> str:
        """The longest form that fits; empty when none does."""
        return next((form for form in self.outlooks if len(form) <= width), "")

    @property
    def outlooks(self) -> tuple[str, ...]:
        """The outlook, longest form first."""
        if self.summarising:
            short = f"summarising {self.summarising}"
            return f"{short} messages in the background", f"{short} in the background", "summarising"
        if self.share >= 1.005:
            over = f"{(self.share - 1) * 100:.0f} % over"
            then = ("summarised before sending", "summarised first") if self.marks.share else ()
            return *(f"{over}: {each}" for each in then), over
        if self.share > 1:
            return ("full",)
        if self.level == "error":
            past = f"past {(self.marks.blocking_share or FULLY) * 100:.0f} %"
            return f"{past}: almost full", "almost full"
        if self.level == "warning":
            past = f"past {(self.marks.share or NEARLY) * 100:.0f} %"
            return (f"{past}: compacting soon", "compacting soon", past) if self.marks.share else (past,)
        mark, left = self._next
        if not mark:
            return ("never compacts",)
        turns = _in_turns(left)
        ahead = f"{mark} ({turns} left)" if turns.endswith("+ turns") else f"{mark}, {turns}".rstrip(", ")
        soon = f"compacts {'' if turns == NEXT_TURN else 'in '}{turns}" if turns else ahead
        return f"compacts {ahead}", *([f"{COMPACTED_SYMBOL} {ahead}"] if mark.startswith("over") else []), soon, turns

    @property
    def _next(self) -> tuple[str, "_Turns | None"]:
        """The threshold reached first, and in how many turns; empty where the policy has none."""
        return min(self._ahead(), key=lambda mark: (mark[1] is None, mark[1] or ()), default=("", None))

    def _ahead(self) -> Iterator[tuple[str, "_Turns | None"]]:
        """Each threshold in words, with the turns left until it; None while that is unknown."""
        usage, marks = self.usage, self.marks
        if usage is None:
            return
        if marks.share is not None:
            room = marks.share * usage.token_limit - usage.current_tokens
            yield (
                f"at {marks.share * 100:.0f} %",
                _turns(room, self.tokens_per_turn, [tokens for tokens, _ in self.recent]),
            )
        if marks.messages is not None:
            room = marks.messages + 1 - usage.messages_count
            yield (
                f"over {marks.messages} messages",
                _turns(room, self.messages_per_turn, [messages for _, messages in self.recent]),
            )
        if marks.turns is not None:
            yield f"over {marks.turns} turns", _turns(marks.turns + 1 - self.turns, 1, [1])

    def cost_in(self, width: int) -> str:
        """What was spent and may be spent; the longest form that fits."""
        total = cost_text(self.cost, self.summary_cost, model=self.model)
        plain = {FREE: "local, free"}.get(total, total if self.cost else f"cost {total}")
        if self.assumed_cost and not self.cost:
            plain = f"cost ~{money(self.assumed_cost)}, assumed"
        if not self.most_cost and not self.most_day_cost:
            return plain
        spent = plain if self.cost is None else money(self.cost)
        if self.assumed_cost and self.cost:  # the session's limit counts both
            spent = f"~{money(self.cost + self.assumed_cost)}"
        of = ", limit" if self.cost is None else " of"
        session = f"{spent}{of} {money(self.most_cost)}" if self.most_cost else spent
        day = f"today {money(self.day_cost)}" if self.day_cost is not None else ""
        today = f"{day} of {money(self.most_day_cost)}" if self.most_day_cost and day else day
        forms = (" · ".join(filter(None, parts)) for parts in ((session, today), (spent, today), (spent, day)))
        return next((form for form in forms if len(form) <= width), session)


class _Turns(NamedTuple):
    """How many turns are left, at least and at most."""

    least: int
    most: int
    """0 if unknown."""


def _turns(room: float, pace: float, recent: Sequence[int]) -> _Turns | None:
    """Turns until `room` is used up; None while the pace is unknown.

    The average says how many there are. That it is the next one is said only if each recent turn was long enough.
    """
    if pace <= 0:
        return None
    left = max(1, math.ceil(room / pace))
    if left > 1:
        return _Turns(left, left)
    shortest = min(recent, default=0)
    return _Turns(1, max(1, math.ceil(room / shortest)) if shortest > 0 else 0)


def _in_turns(left: _Turns | None) -> str:
    if left is None or not left.most:
        return ""
    if left.least > MAX_TURNS:
        return f"{MAX_TURNS}+ turns"
    if left.least < left.most:
        return f"{left.least}–{min(left.most, MAX_TURNS)} turns"
    return f"≈ {left.least} turns" if left.least > 1 else NEXT_TURN


def reading_of(
    state: SessionState, settings: Settings, compactions: int = 0, day_cost: float | None = None
) -> GaugeReading:
    """A session's figures, how many compactions are in force, its policy's thresholds, and limits on spending."""
    running = state.compacting.fact if state.compacting else None
    usage = state.usage
    acts = (
        thresholds_of(policy_of(settings), usage.token_limit, usage.fixed_tokens)
        if usage
        else thresholds_of(policy_of(settings), 0)
    )
    return GaugeReading(
        usage=state.usage,
        cost=state.total_cost,
        model=state.model,
        summary_cost=state.summary_cost,
        assumed_cost=state.assumed_cost,
        cached_tokens=state.cached_tokens,
        cache_saved=state.cache_saved,
        tokens_per_turn=state.pace.tokens_per_turn,
        messages_per_turn=state.pace.messages_per_turn,
        recent=state.pace.recent,
        fills=state.pace.fills,
        compactions=compactions,
        turns=state.turns_in_context(acts.turns) if acts.turns else 0,
        marks=acts,
        messages=len(state.history),
        summarising=running.messages if isinstance(running, CompactionStart) and not running.blocks else 0,
        most_cost=settings.max_session_cost,
        day_cost=day_cost,
        most_day_cost=settings.max_daily_cost,
    )
