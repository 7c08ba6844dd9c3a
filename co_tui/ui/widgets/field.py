"""A line of text to be written; in the library's own, letters overtake keys such as backspace that came with them."""

from textual.events import Key
from textual.widgets import Input


class Field(Input):
    """Keys act in the order of typing, however fast they come."""

    async def _on_key(self, event: Key) -> None:
        if not event.is_printable and await self.app._check_bindings(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)
