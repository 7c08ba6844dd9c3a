"""A one-line input; in Textual's own, letters overtake keys such as backspace typed before them."""

from textual.events import Key
from textual.widgets import Input


class Field(Input):
    """Handles keys in the order of typing, however fast."""

    async def _on_key(self, event: Key) -> None:
        if not event.is_printable and await self.app._check_bindings(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)
