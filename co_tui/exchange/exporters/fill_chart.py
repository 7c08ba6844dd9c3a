"""A picture of how the context filled: one point a request, with a marker at each compaction."""

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from co_tui.events import UsageInfo

WIDTH: Final = 800
HEIGHT: Final = 200
MAX_POINTS: Final = 400
ASSUMED: Final = "?"
"""Marks a limit that is not known."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 12, 24


def filled(measured: Sequence[UsageInfo]) -> str:
    """How full the context was at the end, as the gauge says it; empty when nothing was measured."""
    if not measured:
        return ""
    last = measured[-1]
    estimated, assumed = "" if last.measured == "provider" else "~", "" if last.limit_known else ASSUMED
    return f"{estimated}{_shortly(max(0, last.current_tokens))} of {_shortly(last.token_limit)}{assumed}"


class _Point(NamedTuple):
    x: float
    y: float


def picture(measured: Sequence[UsageInfo], compacted_after: Sequence[int]) -> str:
    """An inline SVG; empty when nothing was measured."""
    if not measured:
        return ""
    tokens = [max(0, info.current_tokens) for info in measured]
    limit = measured[-1].token_limit
    top = max(*tokens, limit if limit <= 4 * max(tokens) else 0, 1)
    scale = _Scale(len(tokens), top)
    points = [scale.at(number, tokens[number]) for number in _shown(tokens)]
    line = " ".join(f"{point.x:.1f},{point.y:.1f}" for point in points)
    floor = scale.at(0, 0).y
    area = f"{points[0].x:.1f},{floor:.1f} {line} {points[-1].x:.1f},{floor:.1f}"
    assumed = "" if measured[-1].limit_known else ASSUMED
    caption = (
        f"Context over {len(tokens):,} measurements: at most {max(tokens):,} tokens, {tokens[-1]:,} at the end; "
        f"the limit is {limit:,}{assumed}."
    )
    return (
        f'<svg class="filling" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(caption)}">'
        f"<title>{escape(caption)}</title>"
        f"{_levels(scale, top, limit, assumed)}"
        f'<polygon class="area" points="{area}"/><polyline class="line" points="{line}"/>'
        f"{_marks(scale, tokens, compacted_after)}"
        "</svg>"
    )


class _Scale(NamedTuple):
    points: int
    top: int

    def at(self, number: float, tokens: float) -> _Point:
        across = number / max(1, self.points - 1)
        up = tokens / self.top
        return _Point(_LEFT + across * (WIDTH - _LEFT - _RIGHT), HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM))


def _shown(tokens: list[int]) -> list[int]:
    """Which points are drawn: all, or of many the fullest of each stretch, and the last."""
    if len(tokens) <= MAX_POINTS:
        return list(range(len(tokens)))
    step = -(-len(tokens) // MAX_POINTS)
    fullest = (
        max(range(start, min(start + step, len(tokens))), key=lambda number: tokens[number])
        for start in range(0, len(tokens), step)
    )
    return sorted({0, *fullest, len(tokens) - 1})


def _levels(scale: _Scale, top: int, limit: int, assumed: str) -> str:
    lines = [_level(scale, 0, "level")]
    lines += [_level(scale, top, "level")] if top != limit else []
    if 0 < limit <= top:
        lines.append(_level(scale, limit, "limit", assumed))
    return "".join(lines)


def _level(scale: _Scale, tokens: int, kind: str, assumed: str = "") -> str:
    y = scale.at(0, tokens).y
    return (
        f'<line class="{kind}" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="label" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_shortly(tokens)}{assumed}</text>'
    )


def _marks(scale: _Scale, tokens: list[int], compacted_after: Sequence[int]) -> str:
    places = (min(max(number - 1, 0), len(tokens) - 1) for number in compacted_after)
    marks = ((scale.at(place, tokens[place]), place) for place in places)
    return "".join(
        f'<text class="mark" x="{point.x:.1f}" y="{max(point.y - 4, 10):.1f}" text-anchor="middle">◆'
        f"<title>Conversation Compacted at {tokens[place]:,} tokens</title></text>"
        for point, place in marks
    )


def _shortly(tokens: int) -> str:
    return str(tokens) if tokens < 1_000 else f"{tokens / 1_000:.0f}k" if tokens < 1_000_000 else f"{tokens / 1e6:.1f}M"
