"""A provider's own way of counting tokens: our estimate, times a ratio, plus what it adds to every request."""

import json
from typing import Any, NamedTuple

from co_tui.context.measure.count import MESSAGE_OVERHEAD_TOKENS, estimate_text


class Counts(NamedTuple):
    """Counts what goes over the wire, not what we measured."""

    ratio: float = 1.0
    hidden_tokens: int = 0

    def request(self, asked: dict[str, Any]) -> int:
        messages = sum(map(_message, asked["messages"]))
        return round(self.ratio * (messages + sum(map(_tool, asked.get("tools", ())))) + self.hidden_tokens)

    def reply(self, text: str, tool: tuple[str, str] | None = None) -> int:
        call = _call(*tool) if tool else 0
        return round(self.ratio * (MESSAGE_OVERHEAD_TOKENS + estimate_text(text) + call))


def _message(message: dict[str, Any]) -> int:
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    calls = (_call(**call["function"]) for call in message.get("tool_calls") or ())
    return MESSAGE_OVERHEAD_TOKENS + estimate_text(text) + sum(calls)


def _call(name: str, arguments: str) -> int:
    return estimate_text(name) + estimate_text(arguments) + MESSAGE_OVERHEAD_TOKENS


def _tool(tool: dict[str, Any]) -> int:
    function = tool["function"]
    text = (
        function["name"],
        function.get("description", ""),
        json.dumps(function["parameters"], separators=(",", ":")),
    )
    return sum(map(estimate_text, text)) + 2 * MESSAGE_OVERHEAD_TOKENS
