"""Copies text to the clipboard, and says so."""

from typing import Any

from textual.app import App

MAX_CHARS = 70_000
"""Some terminals silently ignore longer text."""
WHOLE = ("message", "selection", "text")
"""What is copied without naming it."""
MAX_WRITTEN_CHARS = 5_000_000
"""Longest text copied: it passes through the terminal, which draws nothing until it is through."""


def copy(app: App[Any], text: str, what: str) -> None:
    """Copy through the terminal or the browser: it owns the clipboard, wherever the app runs."""
    lines = text.count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    if len(text) > MAX_WRITTEN_CHARS:
        words = f"Not copied: {what} ({size}) is too long. Use /export."
        app.notify(words, severity="warning", markup=False)
        return
    app.copy_to_clipboard(text)
    too_long = len(text) > MAX_CHARS and not app.is_web
    caution = " Some terminals refuse this much; /export writes a file." if too_long else ""
    copied = size if what in WHOLE else f"{what} ({size})"
    app.notify(f"Copied {copied}.{caution}", timeout=3, markup=False)
