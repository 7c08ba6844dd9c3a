"""What a provider's prompt cache could serve: the part of a request that it shares with the last one."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.lab.message_text import blocks


class Reuse(NamedTuple):
    """What one request shares with the last one."""

    tokens: float
    """Of the common prefix, up to the first character that differs: most providers cache by tokens."""
    is_rewrite: bool
    """Whether part of the last request was changed or removed."""
    block_tokens: float = 0.0
    """Of the common prefix in whole content blocks, as Anthropic caches."""


class PromptCache:
    """Compares each request of a conversation with the last one."""

    def __init__(self, tokens: Callable[[ModelMessage], float]) -> None:
        self._tokens = tokens
        self._last: Sequence[ModelMessage] = ()

    def next(self, request: Sequence[ModelMessage]) -> Reuse:
        last, self._last = self._last, request
        same = 0
        for message, before in zip(request, last, strict=False):
            if message is not before and message != before:
                break
            same += 1
        whole = sum(map(self._tokens, request[:same]))
        if same == len(last) or same == len(request):
            return Reuse(whole, same < len(last), whole)
        text, block = _shares(request[same], last[same])
        tokens = self._tokens(request[same])
        return Reuse(whole + text * tokens, True, whole + block * tokens)


def _shares(message: ModelMessage, before: ModelMessage) -> tuple[float, float]:
    """The share of a message that an earlier one begins with: by characters, and in whole blocks."""
    if message.kind != before.kind:
        return 0.0, 0.0
    now, then = list(blocks(message)), list(blocks(before))
    characters = sum(map(len, now))
    if not characters:
        return 0.0, 0.0
    equal = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(now, then, strict=False))))
    in_blocks = sum(map(len, now[:equal]))
    rest = _common(now[equal], then[equal]) if equal < min(len(now), len(then)) else 0
    return (in_blocks + rest) / characters, in_blocks / characters


def _common(text: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((index for index, (one, two) in pairs if one != two), min(len(text), len(other)))
