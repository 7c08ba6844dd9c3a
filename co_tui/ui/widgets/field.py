"""A one-line input; in Textual's own, letters overtake keys such as backspace typed before them."""

from textual.events import Key
from textual.widgets import Input

from co_tui.ui.textual_internals import run_binding


class Field(Input):
    """Handles keys in the order of typing, however fast."""

    async def on_key(self, event: Key) -> None:
        if not event.is_printable and await run_binding(self.app, event.key):
            event.stop()
            event.prevent_default()
