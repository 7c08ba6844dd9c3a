"""Screens as they look: the words of each line and the colours under them, at several sizes, dark and light.

Kept as text, so that a change is read where it was made. `--pictures FOLDER` draws them for the eye. The suite looks at
one size of each scene: in turn at the largest and at the one before it, dark but for one of a row; and in a long row of
scenes at every second one. A long run, `--pictures` and `--snapshot-update` look at all of them.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual.pilot import Pilot
from textual.strip import Strip

from co_tui.events import Event, Fact
from co_tui.session.state.derive import replay
from co_tui.ui.app import CoTui
from co_tui.ui.themes.themes import DARK, LIGHT
from co_tui.ui.transcript.blocks import BlockBuilder
from co_tui.ui.transcript.transcript import Transcript
from tests.support.drawing import changes
from tests.support.long_run import LONG_RUN
from tests.support.waiting import PATIENCE_S

SIZES = ((60, 16), (80, 24), (120, 40))
SAME_LOOKS = 2
SHORT_ROW = 5
THEMES = {"dark": DARK.name, "light": LIGHT.name}
Look = tuple[tuple[int, int], Mapping[str, str]]
"""A size, and the themes to draw it under."""

Scene = Callable[[Pilot[None]], Awaitable[None]]


class Stored(CoTui):
    """Shows these events and loads no engine, so that every picture is the same."""

    events: Sequence[Event]

    def load_engine(self) -> None:
        self.chat.branch = "main"
        builder = BlockBuilder()
        builder.add_all(self.events)
        state = replay(self.events)
        self.controller.bridge.begin(state)
        self.chat.show_session(builder, state)
        self.chat.prompt.cursor_blink = False


def logged(facts: Iterable[Fact]) -> list[Event]:
    """A log of these, a minute apart."""
    return [
        Event(session_id="s", seq=n, timestamp=f"2026-01-01T14:{n:02}:00", fact=fact) for n, fact in enumerate(facts, 1)
    ]


class TextFile(SingleFileSnapshotExtension):
    """One file a picture."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT


class SomeLooks(TextFile):
    """What was not drawn is not compared."""

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        drawn = _looks_in(serialized_data)
        return drawn.items() <= _looks_in(snapshot_data).items()

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        drawn, kept = _looks_in(serialized_data), _looks_in(snapshot_data)
        yield from super().diff_lines(serialized_data, "\n".join(kept[look] for look in drawn if look in kept))


_SCENE, _SIZE, _THEME = re.compile("##### .*"), re.compile(r"=== \d+ x \d+"), re.compile(r"--- [a-z-]+")


def _looks_in(text: str) -> dict[tuple[str, ...], str]:
    """The words of each scene and size, and the colours of each theme."""
    looks: dict[tuple[str, ...], list[str]] = {}
    at: tuple[str, ...] = ("", "", "")
    for line in text.splitlines():
        if _SCENE.fullmatch(line):
            at = line, "", ""
        elif _SIZE.fullmatch(line):
            at = at[0], line, ""
        elif _THEME.fullmatch(line):
            at = at[0], at[1], line
        looks.setdefault(at, []).append(line)
    return {look: "\n".join(lines) for look, lines in looks.items()}


class Pictures:
    """Takes pictures of one app, and compares them with those that were looked at."""

    def __init__(self, kept: SnapshotAssertion, folder: Path | None, name: str) -> None:
        self._all = bool(LONG_RUN or folder or kept.update_snapshots)
        self._kept = kept.use_extension(TextFile if self._all else SomeLooks)
        self._folder = folder
        self._name = name
        self._scene = ""

    async def __call__(self, app: CoTui, scene: Scene, sizes: Sequence[tuple[int, int]] = SIZES) -> None:
        """All themes at the last size, the first at the others."""
        async with app.run_test(size=sizes[-1]) as pilot:
            await scene(pilot)
            drawn = await self._at_each(pilot, sizes, len(self._name) % 2)
        self._compare("\n".join(drawn))

    async def of_each(self, app: CoTui, scenes: Mapping[str, Scene], sizes: Sequence[tuple[int, int]] = SIZES) -> None:
        """The same of several scenes, one after the other in one app."""
        drawn = []
        step = 1 if self._all or len(scenes) <= SHORT_ROW else 2
        async with app.run_test(size=sizes[-1], notifications=True) as pilot:
            for number, (self._scene, scene) in enumerate(scenes.items()):
                await scene(pilot)
                if number % step == 0:
                    drawn += [f"##### {self._scene}", *await self._at_each(pilot, sizes, number // step)]
        self._compare("\n".join(drawn))

    async def under(self, app: CoTui, scene: Scene, themes: Sequence[str], size: tuple[int, int] = SIZES[-1]) -> None:
        """At one size under other themes."""
        async with app.run_test(size=size) as pilot:
            await scene(pilot)
            drawn = await self._at(pilot, size, {name: name for name in (themes if self._all else themes[:1])})
        self._compare(drawn)

    def _compare(self, drawn: str) -> None:
        assert drawn == self._kept, (
            "The picture differs. Look at it with --pictures FOLDER; if it is right, update it: "
            f"pytest -n 0 tests/ui/pictures -k '{self._name}' --snapshot-update"
        )

    async def _at_each(self, pilot: Pilot[None], sizes: Sequence[tuple[int, int]], number: int) -> list[str]:
        dark, light = ({name: theme} for name, theme in THEMES.items())
        if self._all:
            looks: list[Look] = [*((size, dark) for size in sizes[:-1]), (sizes[-1], THEMES)]
            return [await self._at(pilot, size, themes) for size, themes in looks]
        *_, small, large = [*sizes, *sizes]
        drawn = []
        if number % 2 == 0:
            drawn.append(await self._at(pilot, small, dark))
        if number == 1:
            await pilot.resize_terminal(*small)  # what is in view depends on the size before
            drawn.append(await self._at(pilot, large, light))
        elif number % 2:
            drawn.append(await self._at(pilot, large, dark))
        await pilot.resize_terminal(*large)
        return drawn

    async def _at(self, pilot: Pilot[None], size: tuple[int, int], themes: Mapping[str, str]) -> str:
        width, height = size
        await pilot.resize_terminal(width, height)
        words, colours = "", []
        for theme, name in themes.items():
            pilot.app.theme = name
            strips = await _settled(pilot)
            self._draw(pilot, f"{self._scene} {width}x{height} {theme}".strip())
            words = "\n".join(strip.text.rstrip() for strip in strips)
            colours.append(f"--- {theme}\n{_colours(strips)}")
        return "\n".join([f"=== {width} x {height}", words, *colours])

    def _draw(self, pilot: Pilot[None], which: str) -> None:
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{self._name} {which}.svg").write_text(pilot.app.export_screenshot(), encoding="utf-8")


async def _settled(pilot: Pilot[Any]) -> list[Strip]:
    """The lines of the screen once several looks at it see the same; no cursor blinks."""
    strips: list[Strip] = []
    same, seen = 0, -1
    for written in pilot.app.screen.query("Input, TextArea"):
        written.cursor_blink = False
    latest = time.monotonic() + PATIENCE_S
    while time.monotonic() < latest:
        await pilot.pause()
        _lay_out_everything(pilot.app.chat.transcript)
        before = strips
        if seen != changes():
            strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
            seen = changes()
        same = same + 1 if strips == before else 0
        if same == SAME_LOOKS:
            return strips
        await asyncio.sleep(0.03)
    raise AssertionError(f"the screen did not settle within {PATIENCE_S} s")


def _lay_out_everything(transcript: Transcript) -> None:
    """Heights are estimated until they are looked at, and how many were depends on how fast it went."""
    for block in range(len(transcript.blocks)):
        transcript.layout_of_blocks.lay_out(block)
    transcript._settle()


def _colours(strips: Sequence[Strip]) -> str:
    """How each line is drawn: columns and style; lines that are drawn alike are grouped."""
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
