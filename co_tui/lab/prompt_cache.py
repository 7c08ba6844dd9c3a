"""How much of each request a provider could take from its prompt cache: what it shares with the request before."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage


class Reuse(NamedTuple):
    """One request beside the one before it."""

    tokens: float
    """Of the messages with which both begin."""
    is_rewrite: bool
    """Whether something of the request before is changed or gone."""


class PromptCache:
    """Follows the requests of one conversation."""

    def __init__(self, tokens: Callable[[ModelMessage], float]) -> None:
        self._tokens = tokens
        self._last: Sequence[ModelMessage] = ()

    def next(self, request: Sequence[ModelMessage]) -> Reuse:
        same = 0
        for message, before in zip(request, self._last, strict=False):
            if message is not before and message != before:
                break
            same += 1
        is_rewrite = same < len(self._last)
        self._last = request
        return Reuse(sum(map(self._tokens, request[:same])), is_rewrite)
