"""Changes of files as lines that went and came: by their sign, and in colour."""

import re

from rich.style import Style
from textual.strip import Strip

from co_tui.ui.widgets.look import Look

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
LOOKED_AT_CHARS = 20_000


def holds_diff(text: str) -> bool:
    """Whether it is a unified diff, as `git diff` prints it."""
    return _HUNK.search(text, 0, LOOKED_AT_CHARS) is not None


def coloured_diff(lines: list[str], look: Look, width: int) -> list[Strip]:
    """The lines as they are, each in the colour of its sign."""
    return [strip for line in lines for strip in look.plain(line, width, _style_of(line, look))]


def _style_of(line: str, look: Look) -> Style | None:
    if line.startswith(("+++ ", "--- ", "diff ", "index ")):
        return Style(bold=True)
    return {"+": look.me, "-": look.error, "@": look.muted}.get(line[:1])
