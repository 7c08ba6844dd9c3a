"""Maps commands to functions: those that open a screen are here, all others work without one."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TypeAlias

from co_tui.actions import SlashCommand
from co_tui.session.slash import command_host
from co_tui.ui.commands.host import CommandHost

CommandFunction: TypeAlias = Callable[[CommandHost, str], Awaitable[object]]
"""Takes the arguments as typed."""

_FUNCTIONS: dict[str, CommandFunction] = {}


def command(name: str) -> Callable[[CommandFunction], CommandFunction]:
    """Register the decorated function for a command."""

    def register(function: CommandFunction) -> CommandFunction:
        _FUNCTIONS[name] = function
        return function

    return register


def function_of(row: SlashCommand) -> CommandFunction:
    """The function of a command; its module is imported when one of its commands is first used."""
    import_module(f"{__package__}.{row.group}_commands")
    return _FUNCTIONS.get(row.name) or command_host.function_of(row)
