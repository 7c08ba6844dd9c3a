"""A sparkline of how full the context was after each of the last turns."""

from collections.abc import Sequence

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.state.pace import Fill

LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(fills: Sequence[Fill], width: int) -> str:
    """The newest turns that fit, with a symbol at each compaction; the fullest of them is the highest bar."""
    cells: list[str] = []
    newest = fills[-width:]
    most = max((fill.tokens for fill in newest), default=0)
    for fill in reversed(newest):
        new = [_level(fill.tokens, most), *([COMPACTED_SYMBOL] if fill.compacted else [])]
        if len(cells) + len(new) > width:
            break
        cells += new
    return "".join(reversed(cells))


def _level(tokens: int, most: float) -> str:
    return LEVELS[round(tokens / most * (len(LEVELS) - 1))] if most > 0 else LEVELS[0]
