"""Small pieces of SVG. All text is escaped; colours come from the page's style."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final

STYLES: Final = 8
"""Series have this many colours, each solid and dashed."""


def text(x: float, y: float, words: str, *, anchor: str = "start", style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def path(points: Iterable[tuple[float, float]], style: str) -> str:
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{style}"/>'


def diamond(x: float, y: float, style: str, title: str = "") -> str:
    points = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
    return f'<polygon points="{points}" class="{style}">{_title(title)}</polygon>'


def dot(x: float, y: float, style: str, title: str = "") -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="{style}">{_title(title)}</circle>'


def _title(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def figure(width: int, height: int, label: str, parts: Iterable[str]) -> str:
    """A drawing that scales with the page, with a label for screen readers."""
    return (
        f'<div class="scroll"><svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{''.join(parts)}</svg></div>"
    )


def series(number: int) -> str:
    """The style of a series: a colour, and dashes after all colours were used."""
    return f"s{number % STYLES}{' dashed' if number // STYLES % 2 else ''}"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from `low` to `high`."""
    if high <= low:
        return [low]
    raw = (high - low) / count
    unit = 10 ** floor(log10(raw))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw * 0.999)
    first = ceil(low / step - 1e-9)
    return [each * step for each in range(first, floor(high / step + 1e-9) + 1)]


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions near those wanted, at least `gap` apart, so that labels do not overlap."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + gap)
    return placed
