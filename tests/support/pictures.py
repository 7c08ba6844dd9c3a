"""Screens as they look: the words of each line and the colours under them, at several sizes, dark and light.

Kept as text, so that a change is read where it was made. `--pictures FOLDER` draws them for the eye.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.pilot import Pilot
from textual.strip import Strip

from co_tui.ui.app import CoTui
from co_tui.ui.themes import DARK, LIGHT

SIZES = ((60, 16), (80, 24), (120, 40))
SAME_LOOKS = 2
THEMES = {"dark": DARK.name, "light": LIGHT.name}

Scene = Callable[[Pilot[None]], Awaitable[None]]


class TextFile(SingleFileSnapshotExtension):
    """One file a picture."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


class Pictures:
    """Takes pictures of one app, and compares them with those that were looked at."""

    def __init__(self, kept: SnapshotAssertion, folder: Path | None, name: str) -> None:
        self._kept = kept.use_extension(TextFile)
        self._folder = folder
        self._name = name

    async def __call__(self, app: CoTui, scene: Scene, sizes: Sequence[tuple[int, int]] = SIZES) -> None:
        async with app.run_test(size=sizes[-1]) as pilot:
            await scene(pilot)
            drawn = [await self._at(pilot, *size) for size in sizes]
        assert "\n".join(drawn) == self._kept

    async def _at(self, pilot: Pilot[None], width: int, height: int) -> str:
        await pilot.resize_terminal(width, height)
        words, colours = "", []
        for theme, name in THEMES.items():
            pilot.app.theme = name
            strips = await _settled(pilot)
            self._draw(pilot, f"{width}x{height} {theme}")
            words = "\n".join(strip.text.rstrip() for strip in strips)
            colours.append(f"--- {theme}\n{_colours(strips)}")
        return "\n".join([f"=== {width} x {height}", words, *colours])

    def _draw(self, pilot: Pilot[None], which: str) -> None:
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{self._name} {which}.svg").write_text(pilot.app.export_screenshot(), encoding="utf-8")


async def _settled(pilot: Pilot[Any]) -> list[Strip]:
    """The lines of the screen once several looks at it see the same; no cursor blinks."""
    before: list[Strip] = []
    same = 0
    for written in pilot.app.screen.query("Input, TextArea"):
        written.cursor_blink = False
    for _ in range(200):
        await pilot.pause()
        strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
        same = same + 1 if strips == before else 0
        if same == SAME_LOOKS:
            return strips
        before = strips
        await asyncio.sleep(0.03)
    raise AssertionError("did not happen within 6 s: the screen stands still")


def _colours(strips: Sequence[Strip]) -> str:
    """How each line is drawn: columns and style; lines that are drawn alike stand together."""
    lines = [", ".join(_runs(strip)) for strip in strips]
    told, number = [], 0
    for line, same in groupby(lines):
        count = len(list(same))
        told.append(f"{number + 1}{f'–{number + count}' if count > 1 else ''}: {line}")
        number += count
    return "\n".join(told)


def _runs(strip: Strip) -> list[str]:
    runs, column = [], 0
    for style, segments in groupby(strip, key=lambda segment: str(segment.style or "").partition(" link ")[0]):
        width = sum(segment.cell_length for segment in segments)
        runs.append(f"{column}–{column + width} {style}")
        column += width
    return runs
