"""Textual bindings for the tables in `co_tui.actions`, and how a sentence names a command."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from textual.binding import Binding

from co_tui.actions import COMMANDS, KEYS, KeyAction, KeyScope, SlashCommand
from co_tui.key_names import key_name

DEFAULT_KEYS: Mapping[str, str] = {}
_BY_NAME = {command.name: command for command in COMMANDS}
_USUAL_KEYS: Final = {row.name: row.key for row in (*COMMANDS, *KEYS)}
ShortcutFor: TypeAlias = Callable[[str], str]
"""Returns the key or slash command for a name in the tables, for use in a sentence."""


def is_key(key: str, chosen: Mapping[str, str]) -> bool:
    """Whether a key runs a command, given the user's own keys."""
    return any(chosen.get(command.name, command.key) == key for command in COMMANDS)


def shortcut_for(name: str, chosen: Mapping[str, str] = DEFAULT_KEYS) -> str:
    """The key for an action, else its slash command, as a sentence names it; empty without both."""
    key = chosen.get(name, _USUAL_KEYS[name])
    if key:
        return key_name(key)
    return _BY_NAME[name].slash if name in _BY_NAME else ""


def letter_of(command: SlashCommand, chosen: Mapping[str, str] = DEFAULT_KEYS) -> str:
    """The letter that runs a command after the leader key; empty for none."""
    return chosen.get(command.letter_name, command.letter)


def starting_with(prefix: str, own: Sequence[SlashCommand] = ()) -> list[SlashCommand]:
    """Commands that begin with the typed prefix, `own` ones last; an exact match comes first."""
    found = [command for command in (*COMMANDS, *own) if command.slash.startswith(prefix)]
    return sorted(found, key=lambda command: command.slash != prefix)


def command_bindings(chosen: Mapping[str, str] = DEFAULT_KEYS) -> list[Binding]:
    """The bindings of the commands."""
    keys = ((command, chosen.get(command.name, command.key)) for command in COMMANDS)
    return [_of_command(command, key) for command, key in keys if key]


def bindings(place: KeyScope, chosen: Mapping[str, str] = DEFAULT_KEYS) -> list[Binding]:
    """The bindings of one part of the screen."""
    keys = ((row, chosen.get(row.name, row.key)) for row in KEYS if row.where == place)
    return [_of_key(row, key) for row, key in keys if key]


def _of_command(command: SlashCommand, key: str) -> Binding:
    return Binding(
        key,
        command.action,
        command.label or command.help,
        show=bool(command.label),
        tooltip=command.key_help,
        id=f"command.{command.name}",
        priority=True,
    )


def _of_key(row: KeyAction, key: str) -> Binding:
    return Binding(
        key,
        row.does,
        row.label or row.help,
        show=bool(row.label),
        tooltip=row.help,
        id=f"{row.where}.{row.name}",
        priority=row.takes_precedence,
    )
