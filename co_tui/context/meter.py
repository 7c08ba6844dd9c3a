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
        self._counts: dict[int, tuple[ModelMessage, int]] = {}
        self._sent: list[ModelMessage] = []
        self._sent_estimate = 0.0
        self._last_reported: tuple[int, int] | None = None
        self._last_level = 0.0

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
        """Remember what was sent, so that the report on it can be understood."""
        self._sent = list(messages)
        self._sent_estimate = sum(self._estimate(message) for message in messages)
        self._sent_estimate += estimate_text(scaffold.instructions) + estimate_tools(scaffold.tools)

    def reported(self, response: ModelResponse) -> None:
        """Learn from what the provider counted for the request sent last."""
        usage = response.usage
        if not usage.input_tokens or not self._sent:
            return
        if self._last_reported is not None:
            grown = usage.input_tokens - self._last_reported[0] - self._last_reported[1]
            estimated = self._sent_estimate - self._last_level - self._estimate_of_last_reply
            if grown > 0 and estimated >= SMALLEST_SAMPLE_TOKENS:
                low, high = RATIO_RANGE
                sample = min(high, max(low, grown / estimated))
                self.ratio += LEARNING_RATE * (sample - self.ratio)
        self.unseen = max(0.0, usage.input_tokens - self.ratio * self._sent_estimate)
        self._last_reported = (usage.input_tokens, usage.output_tokens)
        self._last_level = self._sent_estimate
        self._estimate_of_last_reply = self._estimate(response)

    _estimate_of_last_reply = 0

    def read(self, messages: Sequence[ModelMessage], scaffold: Scaffold, window: Window) -> Reading:
        """The one measurement of a request."""
        instructions, tools = self.fixed(scaffold)
        system = instructions + round(self.unseen + self.ratio * sum(system_tokens(message) for message in messages))
        anchored = self._anchored(messages)
        if anchored is not None:
            total, exact = anchored
        else:
            total = self.unseen + instructions + tools + sum(self.tokens(message) for message in messages)
            exact = False
        total = max(total, system + tools)
        return Reading(
            system_tokens=system,
            conversation_tokens=round(total) - system - tools,
            tool_definition_tokens=tools,
            messages_count=len(messages),
            window=window,
            measured="provider" if exact else "estimate",
        )

    def _anchored(self, messages: Sequence[ModelMessage]) -> tuple[float, bool] | None:
        """The reported level plus what came after it, when the request only continues what was sent."""
        known = len(self._sent)
        if self._last_reported is None or not known or len(messages) <= known:
            return None
        if any(messages[index] is not self._sent[index] for index in range(known)):
            return None
        reply = messages[known]
        if not isinstance(reply, ModelResponse) or reply.usage.input_tokens != self._last_reported[0]:
            return None
        after = sum(self.tokens(message) for message in messages[known + 1 :])
        return sum(self._last_reported) + after, len(messages) == known + 1

    def _estimate(self, message: ModelMessage) -> int:
        found = self._counts.get(id(message))
        if found is None or found[0] is not message:
            found = (message, estimate_message(message) + system_tokens(message))
            self._counts[id(message)] = found
        return found[1]
