"""Screens one after the other in one SVG, which any browser plays and which holds no script."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tests.demo.frame import CELL_HEIGHT, CELL_WIDTH, FONT, FONT_SIZE

MARGIN, CAPTION_HEIGHT = 12, 34


class Shot(NamedTuple):
    """A screen, how long it is seen, and what is said about it."""

    rows: Sequence[str]
    seconds: float
    caption: str = ""


def picture(shot: Shot, size: tuple[int, int], ground: str) -> str:
    """One still screen."""
    width, height = _extent(size)
    return _svg(width, height, ground, "", _Rows().placed(shot.rows))


def film(shots: Sequence[Shot], size: tuple[int, int], ground: str, words: str) -> str:
    """All of them, for ever; where motion is not wanted, the last one."""
    width, height = _extent(size)
    whole = sum(shot.seconds for shot in shots)
    styles, groups, at, rows = [], [], 0.0, _Rows()
    for n, shot in enumerate(shots):
        begin, end = 100 * at / whole, 100 * (at + shot.seconds) / whole
        at += shot.seconds
        styles.append(_seen(n, begin, end, whole, last=n == len(shots) - 1))
        caption = f'<text x="{width / 2:.0f}" y="{height + 22}" class="c" fill="{words}">{escape(shot.caption)}</text>'
        groups.append(f'<g class="s s{n}">{rows.placed(shot.rows)}{caption}</g>')
    still = f"@media(prefers-reduced-motion:reduce){{.s{{animation:none}}.s{len(shots) - 1}{{visibility:visible}}}}"
    style = ".s{visibility:hidden}.c{text-anchor:middle;font-size:15px}" + "".join(styles) + still
    return _svg(width, height + CAPTION_HEIGHT, ground, style, "".join(groups))


class _Rows:
    """Each row is drawn once, however many screens show it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def placed(self, rows: Sequence[str]) -> str:
        parts = [self._place(row, MARGIN + n * CELL_HEIGHT) for n, row in enumerate(rows)]
        return "".join(parts)

    def _place(self, row: str, y: float) -> str:
        if row in self._names:
            return f'<use href="#{self._names[row]}" x="{MARGIN}" y="{y:.0f}"/>'
        name = self._names[row] = f"r{len(self._names)}"
        return f'<g transform="translate({MARGIN} {y:.0f})"><g id="{name}">{row}</g></g>'


def _seen(n: int, begin: float, end: float, whole: float, *, last: bool) -> str:
    before = f"0%,{begin:.3f}%{{visibility:hidden}}" if n else ""
    after = "" if last else f"{end:.3f}%,100%{{visibility:hidden}}"
    shown = f"{begin + 0.001 if n else 0:.3f}%,{100 if last else end - 0.001:.3f}%{{visibility:visible}}"
    return f"@keyframes k{n}{{{before}{shown}{after}}}.s{n}{{animation:k{n} {whole:.1f}s step-end infinite}}"


def _extent(size: tuple[int, int]) -> tuple[float, float]:
    return size[0] * CELL_WIDTH + 2 * MARGIN, size[1] * CELL_HEIGHT + 2 * MARGIN


def _svg(width: float, height: float, ground: str, style: str, content: str) -> str:
    base = f"text{{white-space:pre;font-family:{FONT};font-size:{FONT_SIZE}px}}rect{{shape-rendering:crispEdges}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        f'<style>{base}{style}</style><rect width="100%" height="100%" rx="10" fill="{ground}"/>{content}</svg>\n'
    )
