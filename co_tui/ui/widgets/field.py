"""A one-line input; in Textual's own, letters overtake keys such as backspace typed before them."""

from textual.events import Key, Paste
from textual.widgets import Input

from co_tui.ui.textual_internals import run_binding


class Field(Input):
    """Handles keys in the order of typing, however fast. Of a paste, all lines are kept, as one."""

    async def on_key(self, event: Key) -> None:
        if not event.is_printable and await run_binding(self.app, event.key):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()  # it keeps only the first line
        line = " ".join(part for each in event.text.splitlines() if (part := each.strip())) or event.text[:1]
        if self.selection.is_empty:
            self.insert_text_at_cursor(line)
        else:
            self.replace(line, *self.selection)
