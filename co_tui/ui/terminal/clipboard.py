"""Copying: to the terminal's clipboard, and saying so."""

from typing import Any

from textual.app import App

MOST_CHARS = 70_000
"""Several terminals take no longer text, and do not say so."""


def copy(app: App[Any], text: str, what: str) -> None:
    """Hand a text to the terminal, which has the clipboard, also where the app runs on another machine."""
    app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
    caution = " It is long: some terminals refuse that; /export writes a file." if len(text) > MOST_CHARS else ""
    app.notify(
        f"Copied {what} ({size}) to the clipboard, by way of the terminal (OSC 52).{caution}", timeout=3, markup=False
    )
