"""Textual's text area with a failure of its undo fixed."""

import contextlib

from textual.widgets import TextArea


class SteadyTextArea(TextArea):
    """Undo may remove the line that the cursor is still on."""

    def _recompute_cursor_offset(self) -> None:
        with contextlib.suppress(ValueError):  # the same step moves the cursor afterwards
            super()._recompute_cursor_offset()  # type: ignore[no-untyped-call]  # the library gives it no types
