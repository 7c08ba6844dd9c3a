"""The state of a meter as one immutable value: each step returns a new one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.measure.calibration import VARIATION, Calibration, Line, Point
from co_tui.context.measure.count import Reading, Scaffold, Window

FORGETTING: Final = 0.7
"""Decay per report of earlier errors."""
WHOLE_NUMBERS: Final = 4
"""Differences up to this many tokens are rounding."""
MUCH_UNCOUNTED, LEAST_COUNTED = 500, 0.3
"""In tokens, and of our estimate of a reply: a provider that leaves out more than the first, and counts less than the
second, is not believed."""
FEW_MESSAGES: Final = 8
"""This many are counted sooner than another list is compared."""
MOST_REPORTS: Final = 200
"""The latest that are kept. A rewind to before them is estimated, as after a resume, which knows only the last."""
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


class Level(NamedTuple):
    """A fill level: estimated tokens, exactly counted tokens, our estimate of the system parts in both, and our
    estimate of everything, which does not depend on exact counts."""

    estimate: int = 0
    exact: int = 0
    system: int = 0
    whole: int = 0

    def plus(self, other: "Level") -> "Level":
        return Level(
            self.estimate + other.estimate,
            self.exact + other.exact,
            self.system + other.system,
            self.whole + other.whole,
        )

    def minus(self, other: "Level") -> "Level":
        return Level(
            self.estimate - other.estimate,
            self.exact - other.exact,
            self.system - other.system,
            self.whole - other.whole,
        )


Estimate = Callable[[ModelMessage], Level]
"""Our estimate of one message."""


class Report(NamedTuple):
    """A provider's count of one request, identified by our estimate of the whole request."""

    whole: int
    input_tokens: int
    output_tokens: int


class RunningTotal(NamedTuple):
    """The running total at one message of a measured list."""

    message: ModelMessage
    level: Level
    """Of the list up to and including this message."""
    newest_report: int
    """Index of the newest reply with a report so far; -1 if there is none."""


class Growth(NamedTuple):
    """A list of messages as a reported request, its reply, and what was added after it."""

    report: Report
    reply: Level
    added: Level
    is_reply: bool
    """Whether nothing was added after the reply."""


class Sent(NamedTuple):
    """The last request."""

    messages: Sequence[ModelMessage] = ()
    totals: tuple[RunningTotal, ...] = ()
    unanswered: Level | None = None
    """Level of the whole request with its scaffold, until it is answered."""
    fixed: int = 0
    growth: Growth | None = None
    scaffold: Scaffold = Scaffold()


class MeterState(NamedTuple):
    """Everything learned from providers, and the last measurement. Immutable."""

    calibration: Calibration
    line: Line
    known: Mapping[int, tuple[ModelMessage, Level]] = _NOTHING
    """Exact counts, by the message's identity."""
    totals: tuple[RunningTotal, ...] = ()
    """Running totals of the list measured last: extending it costs only what was added."""
    read_last: Sequence[ModelMessage] = ()
    sent: Sent = Sent()
    reports: Mapping[tuple[int, int], Report] = _NOTHING
    """By the request's estimate and its reported length, which identify the request."""
    last: Report | None = None
    missed: tuple[int, int] = (0, 0)
    """Errors of the provider's and of our count of replies, once they were sent back."""

    # Provider reports

    def with_calibration(self, calibration: Calibration) -> "MeterState":
        return self._replace(calibration=calibration, line=calibration.line())

    def with_report(self, report: Report) -> "MeterState":
        key, reports = (report.whole, report.input_tokens), dict(self.reports)
        reports.pop(key, None)  # the latest is the last
        reports[key] = report
        if len(reports) > MOST_REPORTS:
            del reports[next(iter(reports))]
        return self._replace(reports=MappingProxyType(reports), last=report)

    def after_sending(
        self, messages: Sequence[ModelMessage], scaffold: Scaffold, fixed: Level, same: int, estimate: Estimate
    ) -> "MeterState":
        """With this request as the last one; `fixed` is the level of its scaffold."""
        state = self.measured(messages, same, estimate)
        growth = state.growth(messages, fixed, estimate)
        whole = state.level.plus(fixed)
        return state._replace(sent=Sent(messages, state.totals, whole, fixed.estimate, growth, scaffold))

    def answered(self) -> "MeterState":
        return self._replace(sent=self.sent._replace(unanswered=None))

    def after_reply(self, response: ModelResponse) -> "MeterState":
        """With the provider's count of the last request; the count of an interrupted reply is not trusted."""
        sent, usage, state = self.sent, response.usage, self.answered()
        if sent.unanswered is None or not usage.input_tokens or response.state == "interrupted":
            return state
        point = Point(sent.unanswered.estimate, usage.input_tokens - sent.unanswered.exact)
        if not self.calibration.is_credible(point, sent.unanswered.exact):
            return state
        slope = self.line.slope if self.calibration.span_tokens else None
        continues = sent.growth is not None
        state = state.with_calibration(self.calibration.with_report(point, sent.fixed, continues=continues))
        if sent.growth is not None:
            missed = self._missed(sent.growth, usage.input_tokens, slope or state.line.slope)
            state = state._replace(missed=missed)
        return state.with_report(Report(sent.unanswered.whole, usage.input_tokens, usage.output_tokens))

    def after_refusal(self, tokens: int) -> "MeterState":
        """With the length reported for the last request, which was refused."""
        sent, state = self.sent, self.answered()
        if sent.unanswered is None:
            return state
        point = Point(sent.unanswered.estimate, tokens - sent.unanswered.exact)
        if not self.calibration.is_credible(point, sent.unanswered.exact):
            return state
        return state.with_calibration(self.calibration.refused(point, sent.fixed))

    def _missed(self, growth: Growth, input_tokens: int, slope: float) -> tuple[int, int]:
        """The updated errors: a reply sent back may be shorter than reported, without hidden thinking for instance."""
        report, reply, added = growth.report, growth.reply, growth.added
        back = input_tokens - report.input_tokens - slope * added.estimate - added.exact
        missed = (abs(back - report.output_tokens), abs(back - slope * reply.estimate - reply.exact))
        # Rounded as in storage, so that a resumed session decides the same.
        return round(FORGETTING * self.missed[0] + missed[0]), round(FORGETTING * self.missed[1] + missed[1])

    # Single messages

    def count_of(self, message: ModelMessage, estimate: Estimate) -> Level:
        """The exact count of one message, otherwise our estimate."""
        found = self.known.get(id(message))
        return found[1] if found is not None and found[0] is message else estimate(message)

    def scaled(self, level: Level) -> float:
        return self.line.ratio * level.estimate + level.exact

    def with_exact(self, message: ModelMessage, tokens: int, estimate: Estimate) -> "MeterState":
        """With an exact count of a message, system parts included, instead of our estimate."""
        before = self.count_of(message, estimate)
        after = before._replace(estimate=0, exact=tokens)
        known = MappingProxyType({**self.known, id(message): (message, after)})
        totals = _corrected(self.totals, message, after.minus(before))
        sent = self.sent._replace(totals=_corrected(self.sent.totals, message, after.minus(before)))
        return self._replace(known=known, totals=totals, sent=sent)

    def released(self, messages: Collection[ModelMessage]) -> "MeterState":
        """Without the counts of other messages; the next measurement counts from the start."""
        sent = self.sent._replace(totals=())
        if sent.unanswered is None:
            sent = sent._replace(messages=())
        live = {id(message) for message in (*messages, *sent.messages)}
        known = MappingProxyType({key: counted for key, counted in self.known.items() if key in live})
        return self._replace(known=known, totals=(), read_last=(), sent=sent)

    # Measuring

    def measured(self, messages: Sequence[ModelMessage], same: int, estimate: Estimate) -> "MeterState":
        """With running totals of these messages. The first `same` are taken from the last measurement if they match;
        counting starts at the first difference from it, or from the last request."""
        totals = self.totals
        same = min(same, len(totals), len(messages))
        if same and totals[same - 1].message is not messages[same - 1]:
            same = 0  # something else was measured in the meantime
        same = _same_until(messages, totals, same)
        if len(messages) - same > FEW_MESSAGES:
            # A request that leaves messages out differs from the history, which is measured before each.
            also = _same_until(messages, self.sent.totals, 0)
            totals, same = (self.sent.totals, also) if also > same else (totals, same)
        level, newest = (totals[same - 1].level, totals[same - 1].newest_report) if same else (Level(), -1)
        added = []
        for index in range(same, len(messages)):
            message = messages[index]
            level = level.plus(self.count_of(message, estimate))
            newest = index if _has_report(message) else newest
            added.append(RunningTotal(message, level, newest))
        return self._replace(totals=totals[:same] + tuple(added))

    @property
    def level(self) -> Level:
        """Of the list measured last."""
        return self.totals[-1].level if self.totals else Level()

    def growth(self, messages: Sequence[ModelMessage], fixed: Level, estimate: Estimate) -> Growth | None:
        """The list measured last, split at its newest reply; None if that answered another request."""
        index = self.totals[-1].newest_report if messages else -1
        reply = messages[index] if index > 0 else None
        if not isinstance(reply, ModelResponse):
            return None
        whole = self.totals[index - 1].level.whole + fixed.whole
        report = self.reports.get((whole, reply.usage.input_tokens))
        if report is None:
            return None
        added = self.level.minus(self.totals[index].level)
        return Growth(report, self.count_of(reply, estimate), added, index == len(messages) - 1)

    def reading(
        self,
        messages: Sequence[ModelMessage],
        fixed: Level,
        window: Window,
        as_reported: bool,
        estimate: Estimate,
    ) -> Reading:
        """The reading of the request measured last; `fixed` is the level of its scaffold."""
        line, level = self.line, self.level
        growth = self.growth(messages, fixed, estimate)
        system, tools = self._fixed_tokens(level.system + fixed.system, fixed.estimate - fixed.system)
        if growth is None:
            whole = level.plus(fixed)
            total = max(system + tools, self.scaled(whole) + line.overhead)
            doubt = (line.slope_at_most - line.slope) * whole.estimate
            by_provider = False
        else:
            by_provider = (as_reported or self._outputs_hold) and self._is_credible(growth)
            total = self._grown(growth, by_provider)
            doubt = VARIATION * total + (line.slope_at_most - line.slope) * growth.added.estimate
        system, tools = _within(total, system, tools)
        rounded = round(total), round(system), round(tools)
        return Reading(
            system_tokens=rounded[1],
            conversation_tokens=max(0, rounded[0] - rounded[1] - rounded[2]) if messages else 0,
            tool_definition_tokens=rounded[2],
            messages_count=len(messages),
            window=window,
            measured="provider" if growth is not None and growth.is_reply and by_provider else "estimate",
            most_tokens=round(total + doubt),
        )

    def _is_credible(self, growth: Growth) -> bool:
        """Whether a provider's count of a reply is not far below what the text of the reply must take."""
        missing = self.scaled(growth.reply) - growth.report.output_tokens
        return missing < MUCH_UNCOUNTED or growth.report.output_tokens >= LEAST_COUNTED * self.scaled(growth.reply)

    @property
    def _outputs_hold(self) -> bool:
        return self.missed[0] <= self.missed[1] + WHOLE_NUMBERS

    def _grown(self, growth: Growth, by_provider: bool) -> float:
        """The reported level plus what was added; the reply as counted by its provider or by us."""
        slope, reply, added = self.line.slope, growth.reply, growth.added
        back = growth.report.output_tokens if by_provider else slope * reply.estimate + reply.exact
        return growth.report.input_tokens + back + slope * added.estimate + added.exact

    def _fixed_tokens(self, system_estimate: int, tools_estimate: int) -> tuple[float, float]:
        """System parts and tools, as learned from the first report. Overhead counts as system prompt; an overestimate
        reduces both."""
        ratio, overhead = self.calibration.fixed_part or (self.line.ratio, self.line.overhead)
        system, tools = ratio * system_estimate, ratio * tools_estimate
        if overhead >= 0:
            return system + overhead, tools
        share = max(0.0, 1 + overhead / max(1.0, system + tools))
        return share * system, share * tools


def _same_until(messages: Sequence[ModelMessage], totals: Sequence[RunningTotal], same: int) -> int:
    """How many messages at the start are those of the totals; the first `same` are known to be."""
    most = min(len(messages), len(totals))
    while same < most and messages[same] is totals[same].message:
        same += 1
    return same


def fixed_level(scaffold: Scaffold) -> Level:
    """Instructions and tool definitions."""
    system = scaffold.instructions_tokens
    estimate = system + scaffold.tools_tokens
    return Level(estimate, 0, system, estimate)


def _corrected(totals: tuple[RunningTotal, ...], message: ModelMessage, change: Level) -> tuple[RunningTotal, ...]:
    """The totals corrected from the message on; searched from the end, since exact counts are mostly new."""
    for index in range(len(totals) - 1, -1, -1):
        if totals[index].message is message:
            later = (total._replace(level=total.level.plus(change)) for total in totals[index:])
            return (*totals[:index], *later)
    return totals


def _has_report(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and bool(message.usage.input_tokens) and message.state != "interrupted"


def _within(total: float, system: float, tools: float) -> tuple[float, float]:
    """Scale our estimates of the fixed parts down to the total, which may be the provider's."""
    fixed = system + tools
    return (system, tools) if fixed <= total else (system * total / fixed, tools * total / fixed)
