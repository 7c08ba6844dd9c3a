"""What a setting accepts, and how to say it."""

import json
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from co_tui.inert import one_line

HOOKS: Final = ("preCompact",)
"""Moments at which commands of the user's own can run."""
SHOWN_CHARS: Final = 60


class Rule(NamedTuple):
    """What a setting accepts, and how to say it."""

    allowed: str
    read: Callable[[object], object]
    """Raises ValueError, TypeError, OverflowError or RecursionError for what is not allowed."""


def shown(value: object) -> str:
    """A value as it is quoted in a sentence: on one line, and not all of a long one."""
    try:
        return one_line(repr(value), SHOWN_CHARS)
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        return f"a value too large to show ({type(value).__name__})"


def whole(minimum: int, maximum: int, meaning_of_zero: str = "") -> Rule:
    def read(value: object) -> object:
        if isinstance(value, str):
            value = int(value.replace("_", ""))
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise ValueError
        return value

    zero = f" (0 {meaning_of_zero})" if meaning_of_zero else ""
    return Rule(f"a whole number from {minimum} to {maximum:,}{zero}", read)


def number(low: float, high: float) -> Rule:
    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        amount = float(value)
        if not low <= amount <= high:
            raise ValueError
        return amount

    return Rule(f"a number from {low:g} to {high:g}", read)


def text(allowed: str = "a text") -> Rule:
    def read(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        return value.strip()

    return Rule(allowed, read)


def one_of(*words: str) -> Rule:
    def read(value: object) -> object:
        if value not in words:
            raise ValueError
        return value

    return Rule("one of " + ", ".join(words), read)


def hook_table() -> Rule:
    def read(value: object) -> object:
        if isinstance(value, str):
            value = json.loads(value)
        if not isinstance(value, Mapping) or not set(value) <= set(HOOKS):
            raise ValueError
        read_hooks = {}
        for name, commands in value.items():
            commands = [commands] if isinstance(commands, str) else commands
            if not isinstance(commands, list | tuple) or not all(isinstance(each, str) and each for each in commands):
                raise ValueError
            read_hooks[name] = tuple(commands)
        return read_hooks

    return Rule(f"a table of commands for {', '.join(HOOKS)}", read)
