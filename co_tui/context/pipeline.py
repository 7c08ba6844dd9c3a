"""Runs the stages before a model request, in their one order, and reports what they made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage

from co_tui.context.count import Reading, Scaffold, Window, read
from co_tui.context.repair import repair


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as it will be sent, and its measurement."""

    messages: list[ModelMessage]
    reading: Reading


def prepare(messages: Sequence[ModelMessage], scaffold: Scaffold, window: Window) -> Prepared:
    """Repair, then measure."""
    request = repair(messages)
    return Prepared(request, read(request, scaffold, window))
