"""Copying: to the terminal's clipboard, and saying so."""

from typing import Any

from textual.app import App

MOST_CHARS = 70_000
"""Several terminals take no longer text, and do not say so."""


def copy(app: App[Any], text: str, what: str) -> None:
    """Hand a text to the terminal, or to the browser that shows one: it has the clipboard, wherever the app runs."""
    app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    too_long = len(text) > MOST_CHARS and not app.is_web
    caution = " It is long: some terminals refuse that; /export writes a file." if too_long else ""
    way = "the browser" if app.is_web else "the terminal (OSC 52)"
    app.notify(f"Copied {what} ({size}) to the clipboard, by way of {way}.{caution}", timeout=3, markup=False)
