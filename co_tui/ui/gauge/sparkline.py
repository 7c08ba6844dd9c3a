"""How full the context was at the end of each of the last turns, in one line of small bars."""

from collections.abc import Sequence

from co_tui.events.symbols import COMPACTED_SYMBOL
from co_tui.session.state.pace import Fill

LEVELS = "▁▂▃▄▅▆▇█"


def sparkline(fills: Sequence[Fill], width: int, high_tokens: float = 0) -> str:
    """The newest turns that have room; a sign stands where it was compacted.

    So many tokens, or else the fullest, are as high as it goes.
    """
    cells: list[str] = []
    most = max(high_tokens, *(fill.tokens for fill in fills[-width:]), 0)
    for fill in reversed(fills):
        new = [_level(fill.tokens, most), *([COMPACTED_SYMBOL] if fill.compacted else [])]
        if len(cells) + len(new) > width:
            break
        cells += new
    return "".join(reversed(cells))


def _level(tokens: int, most: float) -> str:
    return LEVELS[min(len(LEVELS) - 1, int(tokens / most * len(LEVELS)))] if most > 0 else LEVELS[0]
