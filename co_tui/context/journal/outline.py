"""The outline of a file: how long it is, and what it defines."""

from collections.abc import Iterable, Sequence
from typing import Final

from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern

OUTLINE_CHARS: Final = 110
FEWEST_OUTLINED: Final = 12
"""Lines of a file; a shorter one needs no outline."""
_DEFINES: Final = late_pattern(
    r"^\s*(?:\d+[:|\t-]?\s*)?"  # the number of a line
    r"(?:(?:export|default|public|private|protected|static|abstract|async|pub(?:\([a-z]+\))?|final|override)\s+)*"
    r"(?:(?:def|class|function\*?|func(?:\s+\([^)]*\))?|fn|struct|enum|trait|interface|impl|module|namespace|type"
    r"|object|record)\s+([A-Za-z_$][\w$.]*)"
    r"|(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>)"
    r"|^(#{1,4} (?![a-z]).+)$"
)
"""A definition or a heading; what begins with a small letter is a comment."""


def outline_of(lines: Sequence[str]) -> str:
    """How long a file is, and the definitions or headings seen in it; empty without any."""
    if len(lines) < FEWEST_OUTLINED:
        return ""
    names = defined_in(lines)
    return f"{len(lines)} lines: {one_line(', '.join(names), OUTLINE_CHARS)}" if names else ""


def defined_in(lines: Iterable[str]) -> list[str]:
    """The names of definitions, and headings, each once; in code, a line after one `#` is a comment."""
    matches = [found for line in lines if (found := _DEFINES.match(line))]
    if any(found[1] or found[2] for found in matches):
        matches = [found for found in matches if not (found[3] or "").startswith("# ")]
    return [*dict.fromkeys((found[1] or found[2] or found[3]).lstrip("# ").strip() for found in matches)]


def written_outline(text: str) -> str:
    """The same of a text that is written; its length, if it defines nothing."""
    lines = text.splitlines()
    return outline_of(lines) or (f"{len(lines)} lines" if len(lines) >= FEWEST_OUTLINED else "")
