"""The keys that apply, in the last line: whole items only, the rest is in the palette."""

from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

GAP = "  "
MORE = ("^p", "more", "app.command_palette")


class KeyLine(Widget):
    """Made anew from the bindings in force whenever these change."""

    COMPONENT_CLASSES = {"key-line--key", "key-line--dim"}
    DEFAULT_CSS = """
    KeyLine { height: 1; dock: bottom; padding: 0 1; background: $panel; }
    KeyLine > .key-line--key { color: $footer-key-foreground; text-style: bold; }
    KeyLine > .key-line--dim { color: $muted; }
    """

    def on_mount(self) -> None:
        self.auto_links = False  # keys are no links to read
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> RenderResult:
        shown = [
            (self.app.get_key_display(each.binding), each.binding.description, each.binding.action, each.enabled)
            for each in self.screen.active_bindings.values()
            if each.binding.show
        ]
        # What belongs to the place the focus is in comes first; the palette has everything.
        room = self.size.width - len(f"{GAP}{MORE[0]} {MORE[1]}")
        line = Text(no_wrap=True)
        for key, label, action, enabled in shown:
            item = self._item(key, label, action if enabled else "")
            gap = GAP if line else ""
            if line.cell_len + len(gap) + item.cell_len > room:
                break
            line.append(gap).append_text(item)
        line.append(" " * max(len(GAP), self.size.width - line.cell_len - len(f"{MORE[0]} {MORE[1]}")))
        return line.append_text(self._item(*MORE))

    def _item(self, key: str, label: str, action: str) -> Text:
        if not action:
            return Text(f"{key} {label}", self.get_component_rich_style("key-line--dim", partial=True))
        text = Text.assemble((key, self.get_component_rich_style("key-line--key", partial=True)), f" {label}")
        text.stylize(Style.from_meta({"@click": action if "." in action else f"screen.{action}"}))
        return text
