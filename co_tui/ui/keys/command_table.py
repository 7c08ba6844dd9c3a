"""Commands as they are typed, and the keys of the tables in `co_tui.actions` as the library binds them."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from textual.binding import Binding

from co_tui.actions import COMMANDS, KEYS, KeyAction, KeyScope, SlashCommand
from co_tui.nearest import nearest

NO_CHOICE: Mapping[str, str] = {}
_TOLD = {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "up": "↑", "down": "↓", "left": "←", "right": "→"}
_BY_NAME = {command.name: command for command in COMMANDS}
_USUAL_KEYS: Final = {row.name: row.key for row in (*COMMANDS, *KEYS)}
WayTo: TypeAlias = Callable[[str], str]
"""How a sentence names the way to something, by its name in the tables."""


def find(name: str) -> SlashCommand | None:
    return _BY_NAME.get(name)


def is_key(key: str, chosen: Mapping[str, str]) -> bool:
    """Whether a key is a command's, under the keys that the user chose."""
    return any(chosen.get(command.name, command.key) == key for command in COMMANDS)


def told_key(keys: str) -> str:
    """A key as people read it; where several do the same, all of them."""
    return " ".join("+".join(_TOLD.get(part, part) for part in key.split("+")) for key in keys.split(","))


def way_to(name: str, chosen: Mapping[str, str] = NO_CHOICE) -> str:
    """How a sentence names the way to something: by the key it has, else by what can be typed; empty without both."""
    key = chosen.get(name, _USUAL_KEYS[name])
    if key:
        return "+".join(part.capitalize() for part in told_key(key).split("+"))
    return _BY_NAME[name].slash if name in _BY_NAME else ""


def starting_with(prefix: str) -> list[SlashCommand]:
    """Commands whose slash form begins with what was typed; the one that is typed whole comes first."""
    found = [command for command in COMMANDS if command.slash.startswith(prefix)]
    return sorted(found, key=lambda command: command.slash != prefix)


class Called(NamedTuple):
    """A command as it was typed."""

    name: str
    arguments: str


def called(text: str) -> Called | None:
    """The command a prompt calls; None for what is to be said. A path at the beginning is no command."""
    text = text.strip()
    if not text.startswith("/") or "\n" in text:
        return None
    name, _, arguments = text[1:].partition(" ")
    return None if "/" in name else Called(name, arguments.strip())


def unknown(name: str) -> str:
    """The sentence for a command that does not exist."""
    close = nearest(name, _BY_NAME, cutoff=0.5)
    hint = f"did you mean /{close}?" if close else "/help lists them all."
    return f"There is no command /{name}; {hint} ↑ brings back what you wrote."


def command_bindings(chosen: Mapping[str, str] = NO_CHOICE) -> list[Binding]:
    """The keys of the commands."""
    keys = ((command, chosen.get(command.name, command.key)) for command in COMMANDS)
    return [_of_command(command, key) for command, key in keys if key]


def bindings(place: KeyScope, chosen: Mapping[str, str] = NO_CHOICE) -> list[Binding]:
    """The keys of one place."""
    keys = ((row, chosen.get(row.name, row.key)) for row in KEYS if row.where == place)
    return [_of_key(row, key) for row, key in keys if key]


def _of_command(command: SlashCommand, key: str) -> Binding:
    return Binding(
        key,
        command.action,
        command.label or command.help,
        show=bool(command.label),
        tooltip=command.help,
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
