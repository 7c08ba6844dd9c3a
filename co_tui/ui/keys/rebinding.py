"""The keys that the user chose, given to whatever they are for."""

from collections.abc import Mapping
from typing import Any, Final

from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen

from co_tui.actions import COMMANDS, KEYS, KeyScope
from co_tui.ui.keys.command_table import bindings, command_bindings

_PLACES: Final[Mapping[str, KeyScope]] = {"Prompt": "prompt", "Transcript": "chat", "Timeline": "timeline"}
DEFAULT_HELP: Final = next(command.key for command in COMMANDS if command.name == "help")
_IDS: Final = {*(f"command.{command.name}" for command in COMMANDS), *(f"{row.where}.{row.name}" for row in KEYS)}


def rebind(screen: Screen[Any], chosen: Mapping[str, str]) -> None:
    """Let the conversation's screen and what is on it have these keys, and every screen that of help.

    Actions not named have their own.
    """
    _replace(screen, BindingsMap([*command_bindings(chosen), *bindings("anywhere", chosen)]))
    for node in screen.query(", ".join(_PLACES)):
        _replace(node, BindingsMap(bindings(_PLACES[type(node).__name__], chosen)))
    help_key = chosen.get("help", DEFAULT_HELP)
    on_every_screen = [Binding(help_key, "help", show=False, id="command.help", priority=True)] if help_key else []
    _replace(screen.app, BindingsMap(on_every_screen))
    screen.refresh_bindings()


def _replace(node: DOMNode, ours: BindingsMap) -> None:
    """What is bound otherwise stays."""
    others = BindingsMap([binding for _, binding in node._bindings if binding.id not in _IDS])
    node._bindings = BindingsMap.merge([ours, others])
