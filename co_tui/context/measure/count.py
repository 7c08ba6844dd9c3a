"""Estimate the tokens of a text, a message or a whole request.

The provider's last reported count is the anchor; only what came after it is estimated.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    FileUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from co_tui.context.measure import file_costs
from co_tui.events import UsageInfo, share_of

CATALOGUE = "catalogue"
FALLBACK_WINDOW_TOKENS = 128_000
"""Assumed if neither the settings, the model nor its server give the window."""

MESSAGE_OVERHEAD_TOKENS = 4
"""Roles and separators, per message."""

UNBROKEN_CHARS = 64
"""Runs without a space of at least this length (a line of a PEM file) may be encoded data."""
UNBROKEN_CHARS_PER_TOKEN = 1.4

SHORT_CHARS = 256
"""Estimates of texts up to this length are cached."""

_SAMPLE_CHARS = 400
"""How much of a run is sampled to distinguish encoded data from a long path or a ruled line."""
_UNBROKEN = re.compile(rf"(?<![\w+/=-])[A-Za-z0-9+/=_-]{{{UNBROKEN_CHARS},}}")
_PUNCTUATION = re.compile(r"[^\w\s]")
_WIDE = re.compile(r"[^\x00-\u04ff]")
_OTHER_LETTERS = re.compile(r"[\u0080-\u04ff]+")


def _only(pattern: str, kept: bytes) -> bytes:
    """A table for `bytes.translate`: matching characters become `kept`, others a blank."""
    return b"".join(kept if re.match(pattern, chr(code)) and code < 128 else b" " for code in range(256))


# Counting in translated bytes costs a fifth of what regular expressions do.
_TO_LETTERS = _only(r"[A-Za-z]", b"a")
_TO_DIGITS = _only(r"[0-9]", b"0")
_TO_UNBROKEN = _only(r"[A-Za-z0-9+/=_-]", b"u")
_TO_BLANKS = bytes(code if code == 10 else 32 if code in (9, 32) else 120 for code in range(256))
_TO_OTHER = bytes(code if code > 127 else 32 for code in range(256))
_NO_PUNCTUATION = bytes(code for code in range(256) if code > 127 or not re.match(r"[^\w\s]|_", chr(code)))


def estimate_text(text: str) -> int:
    """Estimated tokens of a text: words, digits, punctuation, scripts and data each at their own rate."""
    if not text:
        return 0
    return _estimate_short(text) if len(text) <= SHORT_CHARS else _estimate(text)


def _estimate(text: str) -> int:
    data = _in_bytes(text)
    tokens = 0.0
    if len(text) >= UNBROKEN_CHARS and b"u" * UNBROKEN_CHARS in data.translate(_TO_UNBROKEN):
        text, encoded_chars = _without_encoded(text)
        tokens = encoded_chars / UNBROKEN_CHARS_PER_TOKEN
        data = _in_bytes(text)
    words, long_words = _runs(data.translate(_TO_LETTERS), b"a", 6)
    digits, long_digits = _runs(data.translate(_TO_DIGITS), b"0", 3)
    other, wide, other_punctuation = (0, 0, 0) if text.isascii() else _other_scripts(data)
    punctuation = len(data.translate(None, _NO_PUNCTUATION)) + other_punctuation
    tokens += words + 0.8 * long_words + digits + long_digits + 0.75 * punctuation + 0.6 * _indents(data) + other
    return max(1, round(tokens + 0.95 * wide))


_estimate_short = lru_cache(maxsize=1_024)(_estimate)
"""The lines of a summary are estimated again each time it is updated."""


def _in_bytes(text: str) -> bytes:
    """With a leading separator that costs nothing, so that the first run is counted as one."""
    return b"\r" + text.encode("utf-8", "surrogatepass")


def _runs(data: bytes, letter: bytes, length: int) -> tuple[int, int]:
    """The number of runs of the letter, and of further pieces of `length` in them."""
    start = b" " + letter
    if letter * (length + 1) not in data:
        return data.count(start), 0
    return data.count(start), data.replace(start, b" ").count(letter * length)


def _indents(data: bytes) -> int:
    """Line breaks with their indentation, and other runs of blanks."""
    blanks = data.translate(_TO_BLANKS)
    return blanks.count(b"\n") + blanks.count(b"x  ")


def _other_scripts(data: bytes) -> tuple[int, int, int]:
    """Beyond ASCII: pieces of letters, characters that take a token each, and punctuation."""
    rest = b" ".join(data.translate(_TO_OTHER).split()).decode("utf-8", "surrogatepass")
    other = sum((len(run) + 2) // 3 for run in _OTHER_LETTERS.findall(rest))
    return other, len(_WIDE.findall(rest)), len(_PUNCTUATION.findall(rest))


def _without_encoded(text: str) -> tuple[str, int]:
    """The text with each run of encoded data blanked, and their total length."""
    encoded_chars = 0

    def blank(found: re.Match[str]) -> str:
        nonlocal encoded_chars
        if not _is_encoded(found[0]):
            return found[0]
        encoded_chars += len(found[0])
        return " "

    return _UNBROKEN.sub(blank, text), encoded_chars


def _is_encoded(run: str) -> bool:
    """Base64, hexadecimal and the like: many distinct characters, few of them lower-case."""
    sample = run[:_SAMPLE_CHARS]
    return len(set(sample)) >= 12 and sum(map(str.islower, sample)) <= 0.6 * len(sample)


def estimate_content(content: Any, provider: str = "") -> int:
    """Tokens of a part's content: text, data (as JSON), or a list with files in it.

    Files cost what the provider's rule says; without a provider, the most expensive rule applies.
    """
    if content is None:
        return 0
    if isinstance(content, str):
        return estimate_text(content)
    if isinstance(content, BinaryContent):
        text = file_costs.file_text(content)
        return estimate_text(text) if text is not None else file_costs.file_tokens(content, provider)
    if isinstance(content, FileUrl | UploadedFile):
        return file_costs.url_tokens(content, provider)
    if isinstance(content, TextContent):
        return estimate_text(content.content)
    if isinstance(content, CachePoint):
        return 0
    if isinstance(content, Sequence):
        return sum(estimate_content(item, provider) for item in content)
    return estimate_text(to_json(content, fallback=str, bytes_mode="base64").decode(errors="replace"))


def estimate_message(message: ModelMessage, provider: str = "") -> int:
    """Tokens of one message without its system parts, which are counted separately."""
    total = MESSAGE_OVERHEAD_TOKENS
    for part in message.parts:
        match part:
            case SystemPromptPart():
                pass
            case UserPromptPart() | TextPart() | ThinkingPart():
                total += estimate_content(part.content, provider)
            case ToolCallPart():
                total += estimate_text(part.tool_name) + estimate_content(part.args) + MESSAGE_OVERHEAD_TOKENS
            case ToolReturnPart():
                total += estimate_content(part.content, provider) + MESSAGE_OVERHEAD_TOKENS
            case _:
                total += estimate_content(getattr(part, "content", None), provider)
    return total


def with_estimated_usage(reply: ModelResponse, sent_tokens: int, received: str, ratio: float) -> ModelResponse:
    """A reply that was stopped or broke off, with its usage as far as its provider counted it, else by our estimate."""
    usage = reply.usage
    output_tokens = max(usage.output_tokens, round(ratio * estimate_text(received)))
    counted = replace(usage, input_tokens=usage.input_tokens or sent_tokens, output_tokens=output_tokens)
    return replace(reply, usage=counted)


def estimate_tools(tools: Sequence[ToolDefinition]) -> int:
    """Tokens of the tool definitions sent with every request."""
    return sum(
        estimate_text(tool.name)
        + estimate_text(tool.description or "")
        + estimate_text(to_json(tool.parameters_json_schema).decode())
        + 2 * MESSAGE_OVERHEAD_TOKENS
        for tool in tools
    )


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Split the total into whole numbers in proportion to the weights; they add up to it exactly."""
    whole = sum(weights)
    if whole <= 0:
        return [total, *[0] * (len(weights) - 1)] if weights else []
    borders = [round(total * (part / whole)) for part in accumulate(weights)]
    borders[-1] = total
    return [border - before for border, before in zip(borders, [0, *borders], strict=False)]


class Window(NamedTuple):
    """The context window of a model, and whether it is known or assumed."""

    tokens: int
    known: bool
    source: str = ""
    """`catalogue` if it is assumed because the model's maker publishes it."""


SIMILAR_RATIO = 1.25
"""Up to this ratio, a model's tokens are treated as ours."""


def estimated_window(window_tokens: int, ratio: float) -> int:
    """The window in estimated tokens: smaller if the model counts far more than we do."""
    return int(window_tokens / ratio) if ratio > SIMILAR_RATIO else window_tokens


class Scaffold(NamedTuple):
    """What is sent with every request in addition to the conversation."""

    instructions: str = ""
    tools: Sequence[ToolDefinition] = ()
    tools_estimate: int = 0
    """Size of the tools when last sent, until they are loaded."""
    names: Sequence[str] = ()
    """Names of these tools, until they are loaded."""
    instructions_estimate: int = 0
    """Size of the instructions when last sent, until they are complete."""
    was_sent: bool = False
    """Whether a request was sent with it; otherwise only the instructions are known."""

    @property
    def is_whole(self) -> bool:
        """Whether the actual instructions and tools are known, not only their size."""
        return self.was_sent and not self.instructions_estimate and len(self.tools) == len(self.tool_names)

    @property
    def instructions_tokens(self) -> int:
        return self.instructions_estimate or estimate_text(self.instructions)

    @property
    def tool_names(self) -> Sequence[str]:
        return [tool.name for tool in self.tools] if self.tools else self.names

    @property
    def tools_tokens(self) -> int:
        return estimate_tools(self.tools) if self.tools else self.tools_estimate


class Reading(NamedTuple):
    """The one measurement of the context, shared by gauge, commands and stages."""

    system_tokens: int
    conversation_tokens: int
    tool_definition_tokens: int
    messages_count: int
    window: Window
    measured: str
    """`provider` if the whole count is the provider's, `estimate` if any of it is ours."""
    most_tokens: int = 0
    """Upper bound of the count, while the model's tokens are uncertain."""

    @property
    def current_tokens(self) -> int:
        return self.system_tokens + self.conversation_tokens + self.tool_definition_tokens

    @property
    def fixed_tokens(self) -> int:
        """Instructions and tools, which compaction cannot reduce."""
        return self.system_tokens + self.tool_definition_tokens

    @property
    def share(self) -> float:
        """The filled share of the window."""
        return share_of(self.current_tokens, self.window.tokens)

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
            limit_source=self.window.source,
            measured=self.measured,
            model=model,
            **reported,
        )


def system_tokens(message: ModelMessage) -> int:
    if not isinstance(message, ModelRequest):
        return 0
    return sum(estimate_text(part.content) for part in message.parts if isinstance(part, SystemPromptPart))
