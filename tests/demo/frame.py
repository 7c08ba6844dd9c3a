"""A screen of the app as SVG: every cell in its place, whatever font the reader has."""

from html import escape
from itertools import groupby
from typing import NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, BASELINE = 8.4, 18.0, 14, 13.2
FONT = "ui-monospace,'Cascadia Mono','SF Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace"
_MIDDLE, _CENTRE = CELL_HEIGHT / 2, CELL_WIDTH / 2
_LINES = {
    "─": f"M0 {_MIDDLE}h{CELL_WIDTH}",
    "│": f"M{_CENTRE} 0v{CELL_HEIGHT}",
    "╭": f"M{CELL_WIDTH} {_MIDDLE}q{-_CENTRE} 0 {-_CENTRE} {_MIDDLE}",
    "╮": f"M0 {_MIDDLE}q{_CENTRE} 0 {_CENTRE} {_MIDDLE}",
    "╰": f"M{_CENTRE} 0q0 {_MIDDLE} {_CENTRE} {_MIDDLE}",
    "╯": f"M{_CENTRE} 0q0 {_MIDDLE} {-_CENTRE} {_MIDDLE}",
    "┆": f"M{_CENTRE} 1v4m0 3v4m0 3v3",
}
"""Drawn, so that lines meet in every font."""
_SHADES = {"█": 1.0, "▓": 0.85, "▒": 0.45, "░": 0.22}
_LEFT = {"▏": 1, "▎": 2, "▍": 3, "▌": 4, "▋": 5, "▊": 6, "▉": 7}
_LOWER = {"▁": 1, "▂": 2, "▃": 3, "▄": 4, "▅": 5, "▆": 6, "▇": 7}


class Run(NamedTuple):
    """Cells that look alike."""

    text: str
    x: int
    width: int
    style: Style


def rows_of(app: App[None]) -> list[str]:
    """What a person sees, line by line, each drawn from its own upper left corner."""
    return ["".join(_row(strip)) for strip in app.screen._compositor.render_strips(app.size)]


def _row(strip: Strip) -> list[str]:
    x, parts = 0, list[str]()
    for segment in Segment.simplify(strip):
        style = segment.style or Style()
        for is_drawn, cells in groupby(segment.text, key=lambda c: c if _is_drawn(c) else ""):
            text = "".join(cells)
            width = Segment(text).cell_length
            run = Run(text, x, width, style)
            parts += _drawn(run, is_drawn) if is_drawn else _written(run)
            x += width
    return parts


def _is_drawn(character: str) -> bool:
    return character in _LINES or character in _SHADES or character in _LEFT or character in _LOWER


def _colours(style: Style) -> tuple[str, str]:
    fore, back = _hex(style.color), _hex(style.bgcolor)
    return (back, fore) if style.reverse else (fore, back)


def _hex(colour: Color | None) -> str:
    return colour.get_truecolor().hex if colour is not None and not colour.is_default else ""


def _ground(run: Run) -> list[str]:
    _, back = _colours(run.style)
    return [_box(run.x, run.width * CELL_WIDTH, CELL_HEIGHT, back)] if back else []


def _box(x: int, width: float, height: float, colour: str, more: str = "", down: float = 0) -> str:
    place = f'x="{x * CELL_WIDTH:.1f}" y="{down:.1f}"'
    return f'<rect {place} width="{width:.1f}" height="{height:.1f}" fill="{colour}"{more}/>'


def _written(run: Run) -> list[str]:
    fore, _ = _colours(run.style)
    stripped = run.text.strip()
    if not stripped:
        return _ground(run)
    lead = len(run.text) - len(run.text.lstrip())
    look = (' font-weight="bold"' if run.style.bold else "") + (' font-style="italic"' if run.style.italic else "")
    look += ' text-decoration="underline"' if run.style.underline else ""
    look += ' opacity=".6"' if run.style.dim else ""
    place = f'x="{(run.x + lead) * CELL_WIDTH:.1f}" y="{BASELINE:.1f}"'
    length = f'textLength="{Segment(stripped).cell_length * CELL_WIDTH:.1f}"'
    return [*_ground(run), f'<text {place} {length} fill="{fore}"{look}>{escape(stripped)}</text>']


def _drawn(run: Run, character: str) -> list[str]:
    fore, _ = _colours(run.style)
    if character in _SHADES:
        more = f' opacity="{_SHADES[character]}"' if _SHADES[character] < 1 else ""
        inset = 3 if character in "▓░" else 0
        height = CELL_HEIGHT - 2 * inset
        return [*_ground(run), _box(run.x, run.width * CELL_WIDTH, height, fore, more, inset)]
    if character in _LEFT:
        wide = CELL_WIDTH * _LEFT[character] / 8
        return [*_ground(run), *(_box(run.x + n, wide, CELL_HEIGHT, fore) for n in range(run.width))]
    if character in _LOWER:
        high = CELL_HEIGHT * _LOWER[character] / 8
        return [*_ground(run), _box(run.x, run.width * CELL_WIDTH, high, fore, down=CELL_HEIGHT - high)]
    if character == "─":
        path = f"M0 {_MIDDLE}h{run.width * CELL_WIDTH:.1f}"
        return [*_ground(run), _line(run.x, path, fore)]
    return [*_ground(run), *(_line(run.x + n, _LINES[character], fore) for n in range(run.width))]


def _line(x: int, path: str, colour: str) -> str:
    shift = f"translate({x * CELL_WIDTH:.1f})"
    return f'<path d="{path}" transform="{shift}" stroke="{colour}" fill="none"/>'
