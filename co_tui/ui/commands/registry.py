"""Which function does what a row of the table says."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TypeAlias

from co_tui.actions import SlashCommand
from co_tui.ui.commands.host import CommandHost

CommandFunction: TypeAlias = Callable[[CommandHost, str], Awaitable[None]]
"""Takes what was typed after the command's name."""

_FUNCTIONS: dict[str, CommandFunction] = {}


def command(name: str) -> Callable[[CommandFunction], CommandFunction]:
    """Let the decorated function do the command of that name."""

    def register(function: CommandFunction) -> CommandFunction:
        _FUNCTIONS[name] = function
        return function

    return register


def function_of(row: SlashCommand) -> CommandFunction:
    """What does the command; its group is imported when the first of its commands is used."""
    import_module(f"{__package__}.{row.group}_commands")
    return _FUNCTIONS[row.name]
