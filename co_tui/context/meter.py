"""Counting a growing conversation: each message once, corrected by what its provider reports."""

from collections.abc import Sequence

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


class Meter:
    """Measures requests. `ratio` is how many of the model's tokens one of our estimated ones is;
    `unseen` is what the provider counts beside all we know of (wrappers, hidden instructions)."""

    def __init__(self, ratio: float = 1.0) -> None:
        self.ratio = ratio
        self.unseen = 0.0
        self._counts: dict[int, tuple[ModelMessage, int, int]] = {}
        self._sums: list[int] = []
        self._system_sums: list[int] = []
        """Of the list measured last, up to each of its messages: so that a longer one costs what was added."""
        self._sent: Sequence[ModelMessage] = ()
        self._sent_estimate = 0.0
        self._last_reported: tuple[int, int] | None = None
        self._last_level = 0.0
        self._last_reply_estimate = 0

    def tokens(self, message: ModelMessage) -> float:
        """One message, system parts included, in the model's tokens."""
        return self.ratio * self._estimate(message)

    def fixed(self, scaffold: Scaffold) -> tuple[int, int]:
        """Instructions and tool definitions."""
        return (
            round(self.ratio * estimate_text(scaffold.instructions)),
            round(self.ratio * estimate_tools(scaffold.tools)),
        )

    def sent(self, messages: Sequence[ModelMessage], scaffold: Scaffold) -> None:
        """Remember what was sent, which was measured last, so that the report on it can be understood."""
        self._sent = messages
        self._sent_estimate = self._sums[-1] if self._sums else 0
        self._sent_estimate += estimate_text(scaffold.instructions) + estimate_tools(scaffold.tools)

    def reported(self, response: ModelResponse) -> None:
        """Learn from what the provider counted for the request sent last."""
        usage = response.usage
        if not usage.input_tokens or not self._sent:
            return
        if self._last_reported is not None:
            grown = usage.input_tokens - self._last_reported[0] - self._last_reported[1]
            estimated = self._sent_estimate - self._last_level - self._last_reply_estimate
            if grown > 0 and estimated >= SMALLEST_SAMPLE_TOKENS:
                low, high = RATIO_RANGE
                sample = min(high, max(low, grown / estimated))
                self.ratio += LEARNING_RATE * (sample - self.ratio)
        self.unseen = max(0.0, usage.input_tokens - self.ratio * self._sent_estimate)
        self._last_reported = (usage.input_tokens, usage.output_tokens)
        self._last_level = self._sent_estimate
        self._last_reply_estimate = self._estimate(response)

    def read_reply(self, response: ModelResponse, scaffold: Scaffold, window: Window) -> Reading:
        """The context right after a reply to the request sent last."""
        return self.read([*self._sent, response], scaffold, window, same=len(self._sent))

    def read(self, messages: Sequence[ModelMessage], scaffold: Scaffold, window: Window, *, same: int = 0) -> Reading:
        """The one measurement of a request. Its first `same` messages are those of the list measured last."""
        estimate, system_estimate = self._level(messages, same)
        instructions, tools = self.fixed(scaffold)
        system = instructions + round(self.unseen + self.ratio * system_estimate)
        anchored = self._anchored(messages, same)
        if anchored is not None:
            total, exact = anchored
        else:
            total = self.unseen + instructions + tools + self.ratio * estimate
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

    def _level(self, messages: Sequence[ModelMessage], same: int) -> tuple[int, int]:
        """All our estimates added up, and those of system parts; only what follows `same` is looked at."""
        same = min(same, len(self._sums))
        del self._sums[same:], self._system_sums[same:]
        total = self._sums[-1] if self._sums else 0
        system = self._system_sums[-1] if self._system_sums else 0
        for index in range(same, len(messages)):
            whole, of_system = self._count(messages[index])
            total, system = total + whole, system + of_system
            self._sums.append(total)
            self._system_sums.append(system)
        return total, system

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
        after = self.ratio * (self._sums[len(messages) - 1] - self._sums[known])
        return sum(self._last_reported) + after, len(messages) == known + 1

    def _estimate(self, message: ModelMessage) -> int:
        return self._count(message)[0]

    def _count(self, message: ModelMessage) -> tuple[int, int]:
        """One message's estimate, and how much of it are system parts; worked out once."""
        found = self._counts.get(id(message))
        if found is None or found[0] is not message:
            system = system_tokens(message)
            found = (message, estimate_message(message) + system, system)
            self._counts[id(message)] = found
        return found[1], found[2]


def _within(total: int, system: int, tools: int) -> tuple[int, int]:
    fixed = system + tools
    if fixed <= total:
        return system, tools
    return system * total // fixed, tools * total // fixed
