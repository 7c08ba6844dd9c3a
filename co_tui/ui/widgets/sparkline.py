"""How full the context was at the end of each of the last turns, in one line of small bars."""

from collections.abc import Sequence

from co_tui.events.signs import COMPACTED_SIGN
from co_tui.session.state.pace import Fill

LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(fills: Sequence[Fill], width: int) -> str:
    """The newest turns that have room, the fullest as high as it goes; a sign stands where it was compacted."""
    cells: list[str] = []
    most = max((fill.tokens for fill in fills[-width:]), default=0)
    for fill in reversed(fills):
        new = [_level(fill.tokens, most), *([COMPACTED_SIGN] if fill.compacted else [])]
        if len(cells) + len(new) > width:
            break
        cells += new
    return "".join(reversed(cells))


def _level(tokens: int, most: int) -> str:
    return LEVELS[min(len(LEVELS) - 1, int(tokens / most * len(LEVELS)))] if most > 0 else LEVELS[0]
