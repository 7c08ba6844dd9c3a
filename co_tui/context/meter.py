"""Counting a growing conversation: each message once, corrected by what its provider reports."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.count import (
    Reading,
    Scaffold,
    Window,
    estimate_message,
    estimate_text,
    estimate_tools,
    system_tokens,
)

LEARNING_RATE = 0.3
SMALLEST_SAMPLE_TOKENS = 200
"""Smaller growth says little about a model's ratio."""
RATIO_RANGE = (0.6, 2.0)


class Level(NamedTuple):
    """How full: tokens that we estimated, tokens that were counted, and our estimate of the system parts in both."""

    estimate: int = 0
    exact: int = 0
    system: int = 0

    def plus(self, other: "Level") -> "Level":
        return Level(self.estimate + other.estimate, self.exact + other.exact, self.system + other.system)

    def minus(self, other: "Level") -> "Level":
        return Level(self.estimate - other.estimate, self.exact - other.exact, self.system - other.system)


class Meter:
    """Measures requests. `ratio` is how many of the model's tokens one of our estimated ones is;
    `unseen` is what the provider counts beside all we know of (wrappers, hidden instructions).
    `provider` is whose rules say what a file costs; without one, the most expensive do."""

    def __init__(self, ratio: float = 1.0, provider: str = "") -> None:
        self.ratio = ratio
        self.unseen = 0.0
        self._provider = provider
        self._counts: dict[int, tuple[ModelMessage, Level]] = {}
        self._measured: list[ModelMessage] = []
        self._levels: list[Level] = []
        """Of the list measured last, up to each of its messages: so that a longer one costs what was added."""
        self._sent: Sequence[ModelMessage] = ()
        self._sent_level = Level()
        self._last_reported: tuple[int, int] | None = None
        self._last_level = Level()
        """What our estimates and exact counts were for the request reported on last and the reply to it."""

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

    def fixed(self, scaffold: Scaffold) -> tuple[int, int]:
        """Instructions and tool definitions."""
        return (
            round(self.ratio * estimate_text(scaffold.instructions)),
            round(self.ratio * estimate_tools(scaffold.tools)),
        )

    def sent(self, messages: Sequence[ModelMessage], scaffold: Scaffold) -> None:
        """Remember what was sent, which was measured last, so that the report on it can be understood."""
        self._sent = messages
        fixed = estimate_text(scaffold.instructions) + estimate_tools(scaffold.tools)
        self._sent_level = (self._levels[-1] if self._levels else Level()).plus(Level(fixed))

    def reported(self, response: ModelResponse) -> None:
        """Learn from what the provider counted for the request sent last; a reply cut short has no count to trust."""
        usage = response.usage
        if not usage.input_tokens or not self._sent or response.state == "interrupted":
            return
        if self._last_reported is not None:
            added = self._sent_level.minus(self._last_level)
            self._learn(usage.input_tokens - sum(self._last_reported) - added.exact, added.estimate)
        self.unseen = max(0.0, usage.input_tokens - self._scaled(self._sent_level))
        self._last_reported = (usage.input_tokens, usage.output_tokens)
        self._last_level = self._sent_level.plus(self._count(response))

    def _learn(self, grown: int, estimated: int) -> None:
        """What the provider counted for a piece that we had estimated moves the ratio."""
        if grown > 0 and estimated >= SMALLEST_SAMPLE_TOKENS:
            low, high = RATIO_RANGE
            sample = min(high, max(low, grown / estimated))
            self.ratio += LEARNING_RATE * (sample - self.ratio)

    def read_reply(self, response: ModelResponse, scaffold: Scaffold, window: Window) -> Reading:
        """The context right after a reply to the request sent last."""
        return self.read([*self._sent, response], scaffold, window, same=len(self._sent))

    def read(self, messages: Sequence[ModelMessage], scaffold: Scaffold, window: Window, *, same: int = 0) -> Reading:
        """The one measurement of a request. Its first `same` messages are those of the list measured last."""
        level = self._level(messages, same)
        instructions, tools = self.fixed(scaffold)
        system = instructions + round(self.unseen + self.ratio * level.system)
        anchored = self._anchored(messages, same)
        if anchored is not None:
            total, exact = anchored
        else:
            total = self.unseen + instructions + tools + self._scaled(level)
            exact = False
        # Our own figures for the fixed parts may not outgrow the whole, which may be the provider's.
        system, tools = _within(round(total), system, tools)
        return Reading(
            system_tokens=system,
            conversation_tokens=round(total) - system - tools,
            tool_definition_tokens=tools,
            messages_count=len(messages),
            window=window,
            measured="provider" if exact else "estimate",
        )

    def _level(self, messages: Sequence[ModelMessage], same: int) -> Level:
        """All our counts added up; only what follows `same` is looked at, and counted from the first difference on."""
        same = min(same, len(self._levels))
        while same < min(len(messages), len(self._levels)) and messages[same] is self._measured[same]:
            same += 1
        del self._levels[same:], self._measured[same:]
        level = self._levels[-1] if self._levels else Level()
        for index in range(same, len(messages)):
            level = level.plus(self._count(messages[index]))
            self._levels.append(level)
            self._measured.append(messages[index])
        return level

    def _anchored(self, messages: Sequence[ModelMessage], same: int) -> tuple[float, bool] | None:
        """The reported level plus what came after it, when the request only continues what was sent."""
        known = len(self._sent)
        if self._last_reported is None or not known or len(messages) <= known:
            return None
        if any(messages[index] is not self._sent[index] for index in range(min(same, known), known)):
            return None
        reply = messages[known]
        if not isinstance(reply, ModelResponse) or reply.usage.input_tokens != self._last_reported[0]:
            return None
        after = self._scaled(self._levels[len(messages) - 1].minus(self._levels[known]))
        return sum(self._last_reported) + after, len(messages) == known + 1

    def _scaled(self, level: Level) -> float:
        return self.ratio * level.estimate + level.exact

    def _count(self, message: ModelMessage) -> Level:
        """One message on its own; worked out once."""
        found = self._counts.get(id(message))
        if found is None or found[0] is not message:
            system = system_tokens(message)
            found = (message, Level(estimate_message(message, self._provider) + system, 0, system))
            self._counts[id(message)] = found
        return found[1]


def _within(total: int, system: int, tools: int) -> tuple[int, int]:
    fixed = system + tools
    if fixed <= total:
        return system, tools
    return system * total // fixed, tools * total // fixed
