"""How much is drawn: enough for every change in the suite, and as much as one likes in a long run."""

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

LONG_RUN = int(os.environ.get("CO_TUI_LONG_RUN", "0"))
"""`CO_TUI_LONG_RUN=500 uv run pytest tests/session/turns/test_bad_replies.py` draws 500 examples; 0 is the suite."""


def drawn(usual: int) -> int:
    """How many examples: the usual number, unless a long run wants its own."""
    return LONG_RUN or usual


def also_in_a_long_run(few: Sequence[T], more: Sequence[T]) -> list[T]:
    """Examples for every run, and those that show the same of others, for a long run."""
    return [*few, *more] if LONG_RUN else [*few]


def only_in_a_long_run(test: Callable[..., object]) -> Callable[..., object] | None:
    """Not collected by the suite: what it shows is also shown by quicker tests, one part each."""
    return test if LONG_RUN else None
