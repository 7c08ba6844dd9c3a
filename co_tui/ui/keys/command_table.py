"""Textual bindings for the tables in `co_tui.actions`, and how a sentence names a command."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen

from co_tui.actions import COMMANDS, KEYS, KeyAction, KeyScope, SlashCommand
from co_tui.key_names import key_name
from co_tui.session.slash.typed_command import find_own
from co_tui.ui.textual_internals import bindings_of, set_bindings

DEFAULT_KEYS: Mapping[str, str] = {}
_BY_NAME = {command.name: command for command in COMMANDS}
_ALIASES: Final = tuple(
    command._replace(name=alias, help=f"{command.help} ({command.slash})")
    for command in COMMANDS
    for alias in command.aliases
)
_USUAL_KEYS: Final = {row.name: row.key for row in (*COMMANDS, *KEYS)}
ShortcutFor: TypeAlias = Callable[[str], str]
"""Returns the key or slash command for a name in the tables, for use in a sentence."""


def is_key(key: str, chosen: Mapping[str, str]) -> bool:
    """Whether a key runs a command, given the user's own keys."""
    return any(chosen.get(command.name, command.key) == key for command in COMMANDS)


def key_of(name: str, chosen: Mapping[str, str] = DEFAULT_KEYS) -> str:
    """The key for an action; empty without one."""
    return chosen.get(name, _USUAL_KEYS[name])


def shortcut_for(name: str, chosen: Mapping[str, str] = DEFAULT_KEYS) -> str:
    """The key for an action, else its slash command, as a sentence names it; empty without both."""
    if key := key_of(name, chosen):
        return key_name(key)
    return _BY_NAME[name].slash if name in _BY_NAME else ""


def letter_of(command: SlashCommand, chosen: Mapping[str, str] = DEFAULT_KEYS) -> str:
    """The letter that runs a command after the leader key; empty for none."""
    return chosen.get(command.letter_name, command.letter)


def starting_with(prefix: str, own: Sequence[SlashCommand] = ()) -> list[SlashCommand]:
    """Commands that begin with the typed prefix, `own` ones last; an exact match comes first. The other names of a
    command are offered once a letter is typed."""
    found = [command for command in (*COMMANDS, *own) if command.slash.startswith(prefix)]
    if len(prefix) > 1:
        found += [row for row in _ALIASES if row.slash.startswith(prefix) and find_own(row.name, own) is None]
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


class ActiveKey(NamedTuple):
    key: str
    """As people write it."""
    help: str


def active_keys(screen: Screen[Any]) -> list[ActiveKey]:
    """Our keys for the focused widget, and for a screen other than the chat, in table order; Textual's own keys are
    left out."""
    is_chat = screen.app.screen_stack[0] is screen
    return _keys_of(screen, screen.focused) + ([] if is_chat else _keys_of(screen, screen))


def screen_keys(screen: Screen[Any]) -> list[ActiveKey]:
    """Our keys that work on the screen whatever has the focus, in table order."""
    return _keys_of(screen, screen)


def _keys_of(screen: Screen[Any], node: DOMNode | None) -> list[ActiveKey]:
    """The enabled keys that a node binds; alternatives are joined."""
    positions = _own_actions(node) if node is not None else {}
    keys: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        said = binding.tooltip or binding.description
        if active.node is node and active.enabled and said and binding.action in positions:
            keys.setdefault(binding.action, []).append(binding.key_display or binding.key)
            words[binding.action] = said
    return [
        ActiveKey(key_name(",".join(keys[action])), words[action]) for action in sorted(keys, key=positions.__getitem__)
    ]


def _own_actions(node: DOMNode) -> dict[str, int]:
    """Our actions on a node, with their position in the table."""
    ours = (cls for cls in type(node).__mro__ if cls.__module__.startswith("co_tui."))
    bound = (binding for cls in ours for binding in cls.__dict__.get("BINDINGS", ()))
    return {binding.action: position for position, binding in enumerate(bound) if isinstance(binding, Binding)}


_PLACES: Final[Mapping[str, KeyScope]] = {
    "Prompt": "prompt",
    "Transcript": "chat",
    "Timeline": "timeline",
    "WorkStrip": "work",
}
DEFAULT_HELP: Final = next(command.key for command in COMMANDS if command.name == "help")
_IDS: Final = {*(f"command.{command.name}" for command in COMMANDS), *(f"{row.where}.{row.name}" for row in KEYS)}


def rebind(screen: Screen[Any], chosen: Mapping[str, str]) -> None:
    """Apply the user's own keys to the chat screen and its widgets, and the help key to every screen.

    Actions not in `chosen` keep their default keys.
    """
    _replace(screen, BindingsMap([*command_bindings(chosen), *bindings("anywhere", chosen)]))
    for node in screen.query(", ".join(_PLACES)):
        _replace(node, BindingsMap(bindings(_PLACES[type(node).__name__], chosen)))
    help_key = chosen.get("help", DEFAULT_HELP)
    on_every_screen = [Binding(help_key, "help", show=False, id="command.help", priority=True)] if help_key else []
    _replace(screen.app, BindingsMap(on_every_screen))
    screen.refresh_bindings()


def _replace(node: DOMNode, ours: BindingsMap) -> None:
    """Replace the bindings that come from our tables; others stay."""
    others = BindingsMap([binding for _, binding in bindings_of(node) if binding.id not in _IDS])
    set_bindings(node, BindingsMap.merge([ours, others]))
