"""Counting a growing conversation: each message once, corrected by what its provider reports."""

from collections.abc import Mapping, Sequence
from copy import copy
from operator import is_
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.calibration import LEARNT_MARGIN, SOUND_SPAN_TOKENS, UNEVEN, UNLEARNT_MARGIN, Calibration, Point
from co_tui.context.count import (
    Reading,
    Scaffold,
    Window,
    estimate_message,
    system_tokens,
)

FORGETTING = 0.7
"""How much of what was missed before still counts, with each report."""
WHOLE_NUMBERS = 4
"""By so many tokens nobody is wrong."""


class Level(NamedTuple):
    """How full: tokens that we estimated, tokens that were counted, our estimate of the system parts in both, and
    our estimate of everything, which is the same whoever counted."""

    estimate: int = 0
    exact: int = 0
    system: int = 0
    whole: int = 0

    def plus(self, other: "Level") -> "Level":
        return Level(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "Level") -> "Level":
        return Level(*(a - b for a, b in zip(self, other, strict=True)))


class Report(NamedTuple):
    """What a provider said about one request, known by our estimate of all that was in it."""

    whole: int
    input_tokens: int
    output_tokens: int


class _Growth(NamedTuple):
    """A list of messages as one that was reported on, the reply to that, and what came after."""

    report: Report
    reply: Level
    added: Level
    is_reply: bool
    """Whether the reply is all that came."""


class Meter:
    """Measures requests. `ratio` is how many of the model's tokens one of our estimated ones is, as far as known.
    `provider` is whose rules say what a file costs; without one, the most expensive do. `margin` is how many times
    the likely figure it may be until something was reported; 1 where our estimate is all there is to go by."""

    def __init__(self, ratio: float | None = None, provider: str = "", *, margin: float | None = None) -> None:
        known = ratio is not None
        margin = margin or (LEARNT_MARGIN if known else UNLEARNT_MARGIN)
        self._calibration = Calibration(ratio or 1.0, known, margin=margin)
        self._line = self._calibration.line()
        self.provider = provider
        self._counts: dict[int, tuple[ModelMessage, Level]] = {}
        self._measured: list[ModelMessage] = []
        self._levels: list[Level] = []
        """Of the list measured last, up to each of its messages: so that a longer one costs what was added."""
        self._reported_replies: list[int] = []
        """Of the same list, up to each of its messages: the newest reply with a report; -1 when there is none."""
        self._read_last: Sequence[ModelMessage] = ()
        self._sent: Sequence[ModelMessage] = ()
        self._unanswered: Level | None = None
        """What was sent last, with all that goes along, until its reply has come."""
        self._sent_fixed = 0
        self._reports: dict[tuple[int, int], Report] = {}
        """By the request's own estimate and its reported length: a report is of its own request and no other."""
        self._last: Report | None = None
        self._sent_growth: _Growth | None = None
        self._missed = (0, 0)
        """By how much replies came back otherwise than their provider, and than we, had counted them."""
        self._sent_scaffold = Scaffold()

    # What is known of the model

    @property
    def ratio(self) -> float:
        return self._line.ratio

    @property
    def overhead(self) -> float:
        """What the provider counts with every request beside all we know of; below 0 when it counts less."""
        return self._line.overhead

    @property
    def learnt_ratio(self) -> float | None:
        """The ratio when it is worth keeping: reported over some length, and not by one reply alone."""
        return self._line.slope if self._calibration.way_tokens >= SOUND_SPAN_TOKENS else None

    def as_json(self) -> dict[str, Any]:
        """What another process needs to go on counting from here."""
        learnt: dict[str, Any] = dict(self._calibration.as_json())
        if learnt and self._last is not None:
            sent = self._sent_scaffold
            learnt |= {"report": list(self._last), "missed": list(self._missed), "tools": sent.tools_tokens}
            learnt |= {"tool_names": [*sent.tool_names], "instructions": sent.instructions_tokens}
        return learnt

    def restore(self, learnt: Mapping[str, Any]) -> Scaffold:
        """Go on from what `as_json` once gave; returns what is known of the requests it was about."""
        self._use(self._calibration.restored(learnt))
        if report := _numbers(learnt.get("report"), 3):
            self._remember(Report(*report))
        if missed := _numbers(learnt.get("missed"), 2):
            self._missed = (missed[0], missed[1])
        (tools,), (instructions,) = (_numbers([learnt.get(key)], 1) or [0] for key in ("tools", "instructions"))
        names = learnt.get("tool_names")
        known = [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple) else []
        return Scaffold(
            tools_estimate=max(0, tools),
            names=known,
            instructions_estimate=max(0, instructions),
            was_sent="tool_names" in learnt,
        )

    def copied(self) -> "Meter":
        """Another one that knows the same; what is measured with it changes nothing here."""
        other = copy(self)
        other._counts, other._reports = dict(self._counts), dict(self._reports)
        other._measured, other._levels = list(self._measured), list(self._levels)
        other._reported_replies = list(self._reported_replies)
        return other

    def release(self, messages: Sequence[ModelMessage]) -> None:
        """Let go of the counts of messages that are not among these; what was measured last is measured anew."""
        if self._unanswered is None:
            self._sent = ()
        live = {id(message) for message in (*messages, *self._sent)}
        self._counts = {key: counted for key, counted in self._counts.items() if key in live}
        self._measured, self._levels, self._reported_replies, self._read_last = [], [], [], ()

    def _use(self, calibration: Calibration) -> None:
        self._calibration, self._line = calibration, calibration.line()

    def _remember(self, report: Report) -> None:
        self._last = self._reports[report.whole, report.input_tokens] = report

    # What single messages take

    def tokens(self, message: ModelMessage) -> float:
        """One message, system parts included, in the model's tokens."""
        return self._scaled(self._count(message))

    def know(self, message: ModelMessage, tokens: int) -> None:
        """An exact count of a whole message, system parts included, takes the place of our estimate."""
        known = self._counts.get(id(message))
        before = self._count(message)
        after = before._replace(estimate=0, exact=tokens)
        self._counts[id(message)] = (message, after)
        if known is not None:  # it may be part of what was measured last
            self._correct(message, after.minus(before))

    def _correct(self, message: ModelMessage, change: Level) -> None:
        """Newest first: what is counted has mostly just been said."""
        for place in range(len(self._measured) - 1, -1, -1):
            if self._measured[place] is message:
                self._levels[place:] = [level.plus(change) for level in self._levels[place:]]
                return

    # What providers say

    def sent(self, messages: Sequence[ModelMessage], scaffold: Scaffold, *, same: int = 0) -> None:
        """Remember what was sent, so that the report on it can be understood; `same` as in `read`."""
        fixed = _fixed(scaffold)
        self._sent = messages
        self._unanswered = self._level(messages, same).plus(fixed)
        self._sent_fixed = fixed.estimate
        self._sent_growth = self._growth(messages, fixed)
        self._sent_scaffold = scaffold

    def is_known(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether these are what was sent last, or that and its reply: then nothing has to be measured anew."""
        sent = len(self._sent)
        answered = len(messages) == sent + 1 and isinstance(messages[-1], ModelResponse)
        return (answered or len(messages) == sent) and all(map(is_, messages, self._sent))

    def reported(self, response: ModelResponse) -> bool:
        """Learn from what the provider counted for the request sent last, and return whether the count is credible.
        A reply cut short has none to trust."""
        sent, self._unanswered = self._unanswered, None
        usage = response.usage
        if sent is None or not usage.input_tokens or response.state == "interrupted":
            return False
        point = Point(sent.estimate, usage.input_tokens - sent.exact)
        if not self._calibration.believes(point, sent.exact):
            return False
        slope = self._line.slope if self._calibration.span_tokens else None
        continues = self._sent_growth is not None
        self._use(self._calibration.heard(point, self._sent_fixed, continues=continues))
        if self._sent_growth is not None:
            self._judge_outputs(self._sent_growth, usage.input_tokens, slope or self._line.slope)
        self._remember(Report(sent.whole, usage.input_tokens, usage.output_tokens))
        return True

    def refused(self, tokens: int) -> None:
        """The provider would not take the request sent last, and says how long that was."""
        sent, self._unanswered = self._unanswered, None
        if sent is None:
            return
        point = Point(sent.estimate, tokens - sent.exact)
        if self._calibration.believes(point, sent.exact):
            self._use(self._calibration.refused(point, self._sent_fixed))

    def _judge_outputs(self, growth: _Growth, input_tokens: int, slope: float) -> None:
        """Whether replies come back as long as their provider said they were: hidden thoughts, say, do not."""
        report, reply, added = growth.report, growth.reply, growth.added
        back = input_tokens - report.input_tokens - slope * added.estimate - added.exact
        missed = (abs(back - report.output_tokens), abs(back - slope * reply.estimate - reply.exact))
        # In whole numbers, as they are kept: whoever goes on from there judges as before.
        self._missed = (
            round(FORGETTING * self._missed[0] + missed[0]),
            round(FORGETTING * self._missed[1] + missed[1]),
        )

    @property
    def _outputs_hold(self) -> bool:
        return self._missed[0] <= self._missed[1] + WHOLE_NUMBERS

    # Measuring

    def is_measured_last(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether nothing else was measured since this very list."""
        return self._read_last is messages

    def read_reply(self, response: ModelResponse, scaffold: Scaffold, window: Window) -> Reading:
        """The context right after a reply to the request sent last, in its provider's own words."""
        messages = [*self._sent, response]
        return self.read(messages, scaffold, window, same=len(self._sent), as_reported=True)

    def read(
        self,
        messages: Sequence[ModelMessage],
        scaffold: Scaffold,
        window: Window,
        *,
        same: int = 0,
        as_reported: bool = False,
    ) -> Reading:
        """The one measurement of a request. Its first `same` messages are those of the list measured last."""
        level, fixed = self._level(messages, same), _fixed(scaffold)
        self._read_last = messages
        growth = self._growth(messages, fixed)
        system, tools = self._fixed_tokens(level.system + fixed.system, fixed.estimate - fixed.system)
        if growth is None:
            whole = level.plus(fixed)
            least = system + tools if not messages else 0.0
            total = max(least, self._scaled(whole) + self.overhead)
            doubt = (self._line.slope_at_most - self._line.slope) * whole.estimate
            by_provider = False
        else:
            by_provider = as_reported or self._outputs_hold
            total = self._grown(growth, by_provider)
            doubt = UNEVEN * total + (self._line.slope_at_most - self._line.slope) * growth.added.estimate
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

    def _grown(self, growth: _Growth, by_provider: bool) -> float:
        """The reported level plus what came after it, the reply as its provider counted it or as we do."""
        slope, reply, added = self._line.slope, growth.reply, growth.added
        back = growth.report.output_tokens if by_provider else slope * reply.estimate + reply.exact
        return growth.report.input_tokens + back + slope * added.estimate + added.exact

    def _fixed_tokens(self, system_estimate: int, tools_estimate: int) -> tuple[float, float]:
        """System parts and tools. What is hidden is a system prompt to us; what we estimate too high, is so in both."""
        system, tools = self.ratio * system_estimate, self.ratio * tools_estimate
        if self.overhead >= 0:
            return system + self.overhead, tools
        share = max(0.0, 1 + self.overhead / max(1.0, system + tools))
        return share * system, share * tools

    def _level(self, messages: Sequence[ModelMessage], same: int) -> Level:
        """All our counts added up; only what follows `same` is looked at, and counted from the first difference on."""
        same = min(same, len(self._levels))
        while same < min(len(messages), len(self._levels)) and messages[same] is self._measured[same]:
            same += 1
        del self._levels[same:], self._measured[same:], self._reported_replies[same:]
        level = self._levels[-1] if self._levels else Level()
        newest = self._reported_replies[-1] if self._reported_replies else -1
        for index in range(same, len(messages)):
            message = messages[index]
            level = level.plus(self._count(message))
            newest = index if _has_report(message) else newest
            self._levels.append(level)
            self._measured.append(message)
            self._reported_replies.append(newest)
        return level

    def _growth(self, messages: Sequence[ModelMessage], fixed: Level) -> _Growth | None:
        """What was measured last, seen from the newest reply in it; None when that was a reply to another request."""
        index = self._reported_replies[len(messages) - 1] if messages else -1
        reply = messages[index] if index > 0 else None
        if not isinstance(reply, ModelResponse):
            return None
        whole = self._levels[index - 1].whole + fixed.whole
        report = self._reports.get((whole, reply.usage.input_tokens))
        if report is None:
            return None
        added = self._levels[len(messages) - 1].minus(self._levels[index])
        return _Growth(report, self._count(reply), added, index == len(messages) - 1)

    def _scaled(self, level: Level) -> float:
        return self.ratio * level.estimate + level.exact

    def _count(self, message: ModelMessage) -> Level:
        """One message on its own; worked out once."""
        found = self._counts.get(id(message))
        if found is None or found[0] is not message:
            system = system_tokens(message)
            estimate = estimate_message(message, self.provider) + system
            found = (message, Level(estimate, 0, system, estimate))
            self._counts[id(message)] = found
        return found[1]


def _has_report(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and bool(message.usage.input_tokens) and message.state != "interrupted"


def _fixed(scaffold: Scaffold) -> Level:
    """Instructions and tool definitions."""
    system = scaffold.instructions_tokens
    estimate = system + scaffold.tools_tokens
    return Level(estimate, 0, system, estimate)


def _within(total: float, system: float, tools: float) -> tuple[float, float]:
    """Our own figures for the fixed parts may not outgrow the whole, which may be the provider's."""
    fixed = system + tools
    return (system, tools) if fixed <= total else (system * total / fixed, tools * total / fixed)


def _numbers(stored: object, count: int) -> list[int]:
    """So many whole numbers, or none."""
    found = [each for each in stored if type(each) is int] if isinstance(stored, list | tuple) else []
    return found if len(found) == count else []
