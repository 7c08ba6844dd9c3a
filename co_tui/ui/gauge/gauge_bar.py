"""The gauge's bar by cells: what fills the window, and the policy's thresholds."""

from collections.abc import Iterator
from typing import NamedTuple

from co_tui.events import UsageInfo

EMPTY, MARKER = "░", "┆"


class Part(NamedTuple):
    """A part of the context. Its shade distinguishes it without colours."""

    name: str
    shade: str


PARTS = (Part("system", "█"), Part("tools", "▓"), Part("conversation", "▒"))


class Cell(NamedTuple):
    """One cell of the bar; `part` is empty in the free space."""

    symbol: str
    part: str = ""


def tokens_by_part(usage: UsageInfo) -> tuple[int, ...]:
    """In the order of `PARTS`."""
    return usage.system_tokens, usage.tool_definition_tokens, usage.conversation_tokens


def bar_cells(usage: UsageInfo | None, marks: tuple[float | None, ...], width: int) -> Iterator[Cell]:
    """The bar's cells; threshold markers are drawn over the parts."""
    markers = {marker_cell(share, width) for share in marks if share is not None}
    filled = [part for part, count in zip(PARTS, cells_by_part(usage, width), strict=True) for _ in range(count)]
    for n in range(width):
        part = filled[n] if n < len(filled) else None
        symbol = MARKER if n in markers else part.shade if part else EMPTY
        yield Cell(symbol, part.name if part else "")


def marker_cell(share: float, width: int) -> int:
    """The cell that is filled when the threshold is reached."""
    return min(width - 1, max(0, round(share * width) - 1))


def cells_by_part(usage: UsageInfo | None, width: int) -> tuple[int, ...]:
    """Cells per part, adding up to the total; parts with any tokens get at least one cell if there is room."""
    tokens = tokens_by_part(usage) if usage is not None else ()
    total = sum(tokens)
    if usage is None or total <= 0 or width <= 0:
        return (0,) * len(PARTS)
    room = min(width, max(1, round(usage.share * width)))
    ends, held = [], 0
    for count in tokens:
        held += count
        ends.append(round(held / total * room))
    cells = [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    for n, count in enumerate(tokens):
        if count and not cells[n] and max(cells) > 1:
            cells[cells.index(max(cells))] -= 1
            cells[n] = 1
    return tuple(cells)
