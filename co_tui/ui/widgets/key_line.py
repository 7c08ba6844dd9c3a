"""The line of active keys at the bottom of a screen: whole items only, the rest is in the palette."""

from typing import Protocol, runtime_checkable

from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.binding import ActiveBinding, Binding
from textual.widget import Widget

from co_tui.ui.textual_internals import bindings_of

GAP = "  "
MORE = ("More", "command_palette")
HELP = ("Help", "help")
"""The item at the right end, shown at any width: a label and an action of the app."""


class KeyLine(Widget):
    """Shows the active bindings, and follows their changes."""

    COMPONENT_CLASSES = {"key-line--key", "key-line--dim"}
    DEFAULT_CSS = """
    KeyLine { height: 1; dock: bottom; padding: 0 1; background: $panel; }
    KeyLine > .key-line--key { color: $footer-key-foreground; text-style: bold; }
    KeyLine > .key-line--dim { color: $muted; }
    """

    def __init__(self, last: tuple[str, str] = MORE) -> None:
        super().__init__()
        self._last = last

    def on_mount(self) -> None:
        self.auto_links = False  # do not style clickable keys as links
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    @property
    def _shown(self) -> list[ActiveBinding]:
        return [each for each in self.screen.active_bindings.values() if each.binding.show]

    def render(self) -> RenderResult:
        # Keys of the focused widget come first; the palette has all of them.
        last = self._last_item
        line = Text(GAP, no_wrap=True).join(self._fitting(self.size.width - len(GAP) - last.cell_len))
        line.append(" " * max(len(GAP), self.size.width - line.cell_len - last.cell_len))
        return line.append_text(last)

    def _fitting(self, room: int) -> list[Text]:
        """The first items that fit; what Esc does is always among them."""
        shown = self._shown
        items = [self._item(each.binding, _label(each), enabled=each.enabled) for each in shown]
        back = next((item for item, each in zip(items, shown, strict=True) if each.binding.key == "escape"), None)
        kept: list[Text] = []
        for item in items:
            reserved = [back] if back is not None and item is not back and back not in kept else []
            if sum(each.cell_len + len(GAP) for each in (*kept, item, *reserved)) - len(GAP) > room:
                break
            kept.append(item)
        return kept if back is None or back in kept else [*kept, back]

    @property
    def _last_item(self) -> Text:
        words, action = self._last
        bound = next(
            (each.binding for each in self.screen.active_bindings.values() if each.binding.action == action), None
        )
        return self._item(bound, words) if bound is not None else Text()

    def _item(self, binding: Binding, label: str, *, enabled: bool = True) -> Text:
        """Key and label; a click simulates the key, so that Textual finds the action's owner."""
        key, label = self.app.get_key_display(binding), f"{label[:1].upper()}{label[1:]}"
        if not enabled:
            return Text(f"{key} {label}", self.get_component_rich_style("key-line--dim", partial=True))
        text = Text.assemble((key, self.get_component_rich_style("key-line--key", partial=True)), f" {label}")
        text.stylize(Style.from_meta({"@click": f"app.simulate_key({binding.key!r})"}))
        return text


@runtime_checkable
class Relabels(Protocol):
    """A widget whose key labels depend on its state."""

    def label_of(self, action: str) -> str:
        """The current label of an action; empty for the binding's own."""


def _label(each: ActiveBinding) -> str:
    own = each.node.label_of(each.binding.action) if isinstance(each.node, Relabels) else ""
    return own or each.binding.description


def _place_in_chat(action: str) -> tuple[bool, bool]:
    return action not in ("stop", "back", "dismiss"), action == "newline"


class ChatKeys(KeyLine):
    """The chat's key line: what Esc does comes first, newline last."""

    @property
    def _shown(self) -> list[ActiveBinding]:
        return sorted(super()._shown, key=lambda each: _place_in_chat(each.binding.action))


class OrderedKeys(KeyLine):
    """A key line in the order of the screen's bindings, whatever has the focus."""

    @property
    def _shown(self) -> list[ActiveBinding]:
        named = [
            binding.action for bindings in bindings_of(self.screen).key_to_bindings.values() for binding in bindings
        ]
        places = {action: place for place, action in reversed(list(enumerate(named)))}
        return sorted(super()._shown, key=lambda each: places.get(each.binding.action, len(named)))
