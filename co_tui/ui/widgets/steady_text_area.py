"""The library's text area, without a way in which it failed."""

import contextlib

from textual.widgets import TextArea


class SteadyTextArea(TextArea):
    """Taking back an edit may take away the line that the cursor still stands on."""

    def _recompute_cursor_offset(self) -> None:
        with contextlib.suppress(ValueError):  # it is put elsewhere in the same step
            super()._recompute_cursor_offset()  # type: ignore[no-untyped-call]  # the library gives it no types
