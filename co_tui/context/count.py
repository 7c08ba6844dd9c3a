"""How many tokens a text, a message or a whole request takes.

A provider's own figure, reported with its last reply, is the anchor; only what came after it is estimated.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from co_tui.events import UsageInfo

FALLBACK_WINDOW_TOKENS = 128_000
"""Assumed when neither the settings, the model nor its server tell the window."""

MESSAGE_OVERHEAD_TOKENS = 4
"""What roles and separators cost, a message."""

FILE_TOKENS = 1_000
"""An image or document, by rule of thumb."""

_LONG_RUNS = re.compile(r"[A-Za-z]{7,}")
_WORDS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"[0-9]+")
_MARKS = re.compile(r"[^\w\s]|_")
_INDENTS = re.compile(r"\n[ \t]*|[ \t]{2,}")
_WIDE = re.compile(r"[^\x00-\u04ff]")
_OTHER_LETTERS = re.compile(r"[\u0080-\u04ff]+")


def estimate_text(text: str) -> int:
    """Tokens of a text without asking anyone: words, digits, marks and scripts each at their own rate."""
    if not text:
        return 0
    long_words = sum((len(run) - 1) // 6 for run in _LONG_RUNS.findall(text))
    digits = sum((len(run) + 2) // 3 for run in _DIGITS.findall(text))
    other = sum((len(run) + 2) // 3 for run in _OTHER_LETTERS.findall(text))
    wide = len(_WIDE.findall(text))
    tokens = (
        len(_WORDS.findall(text))
        + 0.8 * long_words
        + digits
        + 0.75 * len(_MARKS.findall(text))
        + 0.6 * len(_INDENTS.findall(text))
        + other
        + 0.95 * wide
    )
    return max(1, round(tokens))


def estimate_content(content: Any) -> int:
    """Tokens of a part's content: text, data (as JSON), or a list with files in it."""
    if content is None:
        return 0
    if isinstance(content, str):
        return estimate_text(content)
    if isinstance(content, BinaryContent):
        return FILE_TOKENS
    if isinstance(content, Sequence):
        return sum(estimate_content(item) for item in content)
    if hasattr(content, "url"):
        return FILE_TOKENS
    return estimate_text(to_json(content, fallback=str, bytes_mode="base64").decode(errors="replace"))


def estimate_message(message: ModelMessage) -> int:
    """Tokens of one message without its system parts, which are counted apart."""
    total = MESSAGE_OVERHEAD_TOKENS
    for part in message.parts:
        match part:
            case SystemPromptPart():
                pass
            case UserPromptPart() | TextPart() | ThinkingPart():
                total += estimate_content(part.content)
            case ToolCallPart():
                total += estimate_text(part.tool_name) + estimate_content(part.args) + MESSAGE_OVERHEAD_TOKENS
            case ToolReturnPart():
                total += estimate_content(part.content) + MESSAGE_OVERHEAD_TOKENS
            case _:
                total += estimate_content(getattr(part, "content", None))
    return total


def estimate_tools(tools: Sequence[ToolDefinition]) -> int:
    """Tokens of the tool definitions that go with every request."""
    return sum(
        estimate_text(tool.name)
        + estimate_text(tool.description or "")
        + estimate_text(to_json(tool.parameters_json_schema).decode())
        + 2 * MESSAGE_OVERHEAD_TOKENS
        for tool in tools
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How many tokens a model takes, and whether anyone said so."""

    tokens: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold:
    """What goes with every request beside the conversation."""

    instructions: str = ""
    tools: Sequence[ToolDefinition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The one measurement of the context that gauge, commands and stages share."""

    system_tokens: int
    conversation_tokens: int
    tool_definition_tokens: int
    messages_count: int
    window: Window
    measured: str
    """`provider` when the whole figure is the provider's, `estimate` when any of it is ours."""

    @property
    def current_tokens(self) -> int:
        return self.system_tokens + self.conversation_tokens + self.tool_definition_tokens

    def as_fact(self, *, is_initial: bool, model: str, **reported: Any) -> UsageInfo:
        return UsageInfo(
            token_limit=self.window.tokens,
            current_tokens=self.current_tokens,
            messages_count=self.messages_count,
            system_tokens=self.system_tokens,
            conversation_tokens=self.conversation_tokens,
            tool_definition_tokens=self.tool_definition_tokens,
            is_initial=is_initial,
            limit_known=self.window.known,
            measured=self.measured,
            model=model,
            **reported,
        )


def system_tokens(message: ModelMessage) -> int:
    if not isinstance(message, ModelRequest):
        return 0
    return sum(estimate_text(part.content) for part in message.parts if isinstance(part, SystemPromptPart))
