"""A frame draws only what changed, and looks as if all of it had been drawn."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.textual_internals import LeanCompositor, use_lean_compositor
from co_tui.ui.themes.themes import DARK, LIGHT, palette_of
from co_tui.ui.transcript import stream_pace
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_rendering import BlockLayout
from co_tui.ui.transcript.stream_pace import LONGEST_INTERVAL_S, StreamPace
from co_tui.ui.transcript.transcript import Transcript
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, until

TEXT = (
    "A first paragraph of some words.\n\n- an item\n- another\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)


class Chat(Screen[None]):
    def __init__(self) -> None:
        super().__init__()
        use_lean_compositor(self)

    def compose(self) -> ComposeResult:
        yield Static("the title", id="title")
        with Horizontal():
            yield Transcript(id="transcript")
            yield Static("beside it")


class Shell(App[None]):
    CSS = "Transcript { width: 40; border: round red; } Static { width: 1fr; }"

    def get_default_screen(self) -> Chat:
        return Chat()

    @property
    def transcript(self) -> Transcript:
        return self.screen.query_one(Transcript)


def whole_screen(app: Shell) -> list[list[str]]:
    """What Textual's own compositor draws of it, each row in the same pieces."""
    app.screen._compositor.__class__ = Compositor
    chops = app.screen._compositor._render_chops(app.size.region, lambda _: True)
    app.screen._compositor.__class__ = LeanCompositor
    return [[strip.text for strip in line.values()] for line in chops]


def text_of(lines: list[Strip]) -> list[object]:
    return [list(line) for line in lines]


def drawn_rows(transcript: Transcript) -> list[Strip]:
    return transcript.render_lines(Region(0, 0, *transcript.outer_size))


async def test_streamed_text_marks_and_themes_look_as_if_drawn_anew() -> None:
    app = Shell()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript, reply = app.transcript, Block("reply", "")
        transcript.set_renderer(TextRenderer(palette_of(DARK)))
        transcript.show([Block("user", "a question"), reply])
        await pilot.pause()

        def is_as_new() -> bool:
            kept = text_of(drawn_rows(transcript))
            transcript.notify_style_update()
            transcript.refresh()
            return kept == text_of(drawn_rows(transcript))

        for at in range(0, len(TEXT) * 3, 7):
            transcript.grow(reply, (TEXT * 3)[at : at + 7])
            transcript.draw_streamed()
            assert is_as_new(), at
        transcript.find("item")
        assert is_as_new() and any("item" in line.text for line in drawn_rows(transcript))
        transcript.find("")
        transcript.focus()
        await pilot.pause()
        assert is_as_new()
        before = text_of(drawn_rows(transcript))
        transcript.set_renderer(TextRenderer(palette_of(LIGHT)))
        assert is_as_new() and text_of(drawn_rows(transcript)) != before


async def test_a_line_that_stays_is_the_same_object_in_the_next_frame() -> None:
    app = Shell()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript, reply = app.transcript, Block("reply", "First.\n\n")
        transcript.set_renderer(TextRenderer(palette_of(DARK)))
        transcript.show([Block("user", "a question"), reply])
        await pilot.pause()
        before = {line.text: line for line in drawn_rows(transcript)}
        transcript.grow(reply, "Second.")
        transcript.draw_streamed()
        after = {line.text: line for line in drawn_rows(transcript)}
        again = {text: line for text, line in after.items() if text.strip("│ ")}
        fresh = [text.strip("│ ") for text, line in again.items() if before.get(text) is not line]
        assert fresh == ["Second."]


async def test_a_part_of_the_screen_is_drawn_as_in_the_whole() -> None:
    app = Shell()
    async with app.run_test(size=(60, 20)) as pilot:
        app.transcript.set_renderer(TextRenderer(palette_of(DARK)))
        app.transcript.show([Block("user", "a question"), Block("reply", TEXT)])
        await pilot.pause()
        whole = whole_screen(app)
        compositor = app.screen._compositor
        for part in (Region(0, 1, 40, 19), Region(0, 0, 60, 1), Region(40, 1, 20, 19), Region(5, 4, 10, 3)):
            compositor._dirty_regions = {part}
            update = compositor.render_partial_update()
            assert update is not None
            for y, first, last in update.spans:
                starts = compositor.cuts[y]
                for n, (start, end) in enumerate(itertools.pairwise(starts)):
                    if start < last and end > first:
                        strip = update.chops[y][start]
                        assert strip is not None and strip.text == whole[y][n], (part, y, start)


def test_a_costly_block_is_drawn_less_often_and_a_cheap_one_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"now": 100.0, "used": 0.0}
    monkeypatch.setattr(stream_pace.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(stream_pace.time, "thread_time", lambda: clock["used"])
    pace = StreamPace()
    assert pace.wait_s == 0.0, "the first frame comes at once"
    waits = []
    for took_s in (0.001, 0.006, 5.0):
        with pace.frame():
            clock["used"] += took_s
        waits.append(pace.wait_s)
    assert waits[0] < waits[1] < waits[2] == LONGEST_INTERVAL_S


def test_frames_that_take_long_on_a_busy_machine_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"now": 100.0, "used": 0.0}
    monkeypatch.setattr(stream_pace.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(stream_pace.time, "thread_time", lambda: clock["used"])
    pace, waits = StreamPace(), []
    for slower in (1, 4, 8, 100):
        clock["now"] += 10
        with pace.frame():
            clock["used"] += 0.005
            clock["now"] += 0.003 * slower
        with pace.measured():
            clock["now"] += 0.002 * slower
        waits.append(pace.wait_s)
    assert waits[0] < waits[1] < waits[2] < waits[3] == pytest.approx(LONGEST_INTERVAL_S), "even after one that took it"
    with pace.frame():
        pass
    assert pace.wait_s < waits[0], "as soon as the machine is quiet again"


async def test_a_frame_waits_for_what_the_last_one_cost_after_its_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"used": 0.0}
    monkeypatch.setattr(
        stream_pace, "time", SimpleNamespace(monotonic=time.monotonic, thread_time=lambda: clock["used"])
    )
    app = Shell()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript, reply = app.transcript, Block("reply", "")
        transcript.set_renderer(TextRenderer(palette_of(DARK)))
        transcript.show([reply])
        await pilot.pause()
        transcript.grow(reply, "one")
        await until(pilot, lambda: reply.text == "one")
        with transcript.pace.measured():
            clock["used"] += 1.0
        start = time.monotonic()
        with transcript.pace.frame():
            pass
        transcript.grow(reply, " two")  # due soon
        with transcript.pace.measured():
            clock["used"] += 1.0
        await until(pilot, lambda: reply.text == "one two")
        assert time.monotonic() - start >= 0.9 * LONGEST_INTERVAL_S


def test_frames_that_come_late_on_a_busy_machine_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_pace.time, "monotonic", lambda: 100.0)
    pace, waits = StreamPace(), []
    for due_s in (float("inf"), 101.0, 99.95, 0.0):
        with pace.frame(due_s):
            pass
        waits.append(pace.wait_s)
    assert waits[0] == waits[1] < waits[2] < waits[3] == LONGEST_INTERVAL_S


async def test_frames_of_a_stream_leave_the_scroll_bar_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Shell()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript, reply = app.transcript, Block("reply", "")
        transcript.set_renderer(TextRenderer(palette_of(DARK)))
        transcript.show([Block("reply", TEXT * 9), reply])
        await pilot.pause()
        asked: list[Region] = []
        monkeypatch.setattr(transcript, "refresh", lambda *regions, **_: asked.extend(regions))
        transcript.pace.bar_drawn()
        transcript.grow(reply, "A streamed line.")
        transcript.draw_streamed()
        assert asked and all(part.right <= transcript.scrollable_content_region.width for part in asked)


async def test_all_that_a_frame_draws_counts_for_when_the_next_is_drawn(home: Path, provider: Provider) -> None:
    measured: list[bool] = []

    class Pace(StreamPace):
        @contextmanager
        def measured(self) -> Iterator[None]:
            measured.append(app.chat.transcript.pace.holds_bar)
            with super().measured():
                yield

    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.pause()
        app.chat.transcript.pace = Pace()
        app.chat.prompt.refresh()
        await until(pilot, lambda: measured)


def test_a_reply_is_laid_out_alike_however_it_came() -> None:
    look = TextRenderer(palette_of(DARK))
    grown = BlockLayout(Block("reply", ""), look, 50)
    for at in range(0, len(TEXT), 5):
        grown.grow(TEXT[at : at + 5])
    whole = BlockLayout(Block("reply", TEXT), look, 50)
    assert [grown.text_of(n) for n in range(grown.height)] == [whole.text_of(n) for n in range(whole.height)]


class Sized(Static):
    sizes: int = 0

    def on_resize(self) -> None:
        self.sizes += 1


async def test_a_new_widget_learns_its_size_although_a_position_was_looked_up_before_the_layout() -> None:
    app = Shell()
    async with app.run_test() as pilot:
        new = Sized("new")
        await app.screen.mount(new)
        app.screen._compositor._full_map_invalidated = True  # as a new widget that is drawn does
        assert new in app.screen._compositor.full_map
        await pilot.pause()
        assert new.sizes == 1
