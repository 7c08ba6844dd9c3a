"""Textual's text area with a failure of its undo fixed."""

from textual.widgets import TextArea

from co_tui.ui.textual_internals import TextAreaInternals


class SteadyTextArea(TextAreaInternals, TextArea):
    """Undo works also where it removes the line that the cursor is on."""
