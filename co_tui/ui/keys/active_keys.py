"""The active keys: the user's own bindings, and the list for help."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen

from co_tui.actions import COMMANDS, KEYS, KeyScope
from co_tui.key_names import key_name
from co_tui.ui.keys.command_table import bindings, command_bindings
from co_tui.ui.textual_internals import bindings_of, set_bindings


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


_PLACES: Final[Mapping[str, KeyScope]] = {"Prompt": "prompt", "Transcript": "chat", "Timeline": "timeline"}
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
