"""The keys that count where the focus is, with what each does."""

from typing import Any, NamedTuple

from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from co_tui.ui.keys.command_table import told_key


class KeyInForce(NamedTuple):
    key: str
    """As people read it."""
    help: str


def keys_of_focus(screen: Screen[Any]) -> list[KeyInForce]:
    """Of what has the focus, and of a screen other than the conversation's, in the order of their tables; what a
    library binds is not told."""
    told: list[tuple[int, KeyInForce]] = []
    for active in screen.active_bindings.values():
        binding = active.binding
        is_here = active.node is screen.focused or (active.node is screen and screen.app.screen_stack[0] is not screen)
        words = binding.tooltip or binding.description
        places = _own_actions(active.node)
        if is_here and active.enabled and words and binding.action in places:
            told.append((places[binding.action], KeyInForce(binding.key_display or told_key(binding.key), words)))
    return [each for _, each in sorted(told, key=lambda row: row[0])]


def _own_actions(node: DOMNode) -> dict[str, int]:
    """By their place among the keys that are ours."""
    ours = (cls for cls in type(node).__mro__ if cls.__module__.startswith("co_tui."))
    bound = (binding for cls in ours for binding in cls.__dict__.get("BINDINGS", ()))
    return {binding.action: place for place, binding in enumerate(bound) if isinstance(binding, Binding)}
