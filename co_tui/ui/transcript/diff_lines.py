"""Changes of files as lines that went and came: by their sign, and by their ground."""

import re

from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from co_tui.ui.text.text_rendering import Look

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@", re.MULTILINE)
LOOKED_AT_CHARS = 20_000


def holds_diff(text: str) -> bool:
    """Whether it is a unified diff, as `git diff` prints it."""
    return _HUNK.search(text, 0, LOOKED_AT_CHARS) is not None


def coloured_diff(lines: list[str], look: Look, width: int) -> list[Strip]:
    """The lines as they are; those that came and went on a ground of their own, to the end of the line."""
    return [strip for line in lines for strip in _coloured(line, look, width)]


def _coloured(line: str, look: Look, width: int) -> list[Strip]:
    if line.startswith(("+++ ", "--- ", "diff ", "index ")):
        return look.plain(line, width, Style(bold=True))
    if line[:1] not in ("+", "-"):
        return look.plain(line, width, look.muted if line.startswith("@") else None)
    ground, sign = (look.came, look.me) if line[0] == "+" else (look.went, look.gone)
    text = Text.assemble((line[0], sign), line[1:].expandtabs(4), style=ground, overflow="fold")
    return [strip.extend_cell_length(width, ground) for strip in look.lines(text, width)]
