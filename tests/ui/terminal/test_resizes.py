"""No frame is drawn for a size that the terminal no longer has, and none that was left out is missed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual._compositor import Compositor
from textual.geometry import Size
from textual.pilot import Pilot

from co_tui.ui.app import CoTui
from co_tui.ui.terminal import terminal_facts
from co_tui.ui.transcript.block import Block
from tests.support.drawing import draw_every_change
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, until

START = (120, 40)
SOON_S = 0.15
TINY = [(1, 1), (19, 4), (3, 40), (100, 2)]


class Terminal:
    """A terminal whose size is known to the system at once, and to the app when it is reported."""

    def __init__(self, app: CoTui, pilot: Pilot[None]) -> None:
        self.size: tuple[int, int] | None = START
        self.frames: list[Size] = []
        """Of each frame, the size that it was made for."""
        self.whole: list[Size] = []
        """Of those in which all is drawn."""
        self.growing = Block("reply", "The beginning.")
        self._app, self._pilot = app, pilot

    async def show_stream(self) -> None:
        self._app.chat.transcript.show([self.growing])
        await self._pilot.pause()
        self._app.post_display_hook = lambda: self.frames.append(self._app.screen.outer_size)  # type: ignore[method-assign]

    async def stream(self, seconds: float = SOON_S) -> None:
        """Words come, for a while."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            self._app.chat.transcript.grow(self.growing, " word")
            await asyncio.sleep(0.01)

    async def report(self) -> None:
        assert self.size is not None
        await self._pilot.resize_terminal(*self.size)

    def forget(self) -> None:
        self.frames.clear()
        self.whole.clear()


@pytest.fixture
def slow_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(terminal_facts, "LONGEST_WAIT_S", 60.0)


@asynccontextmanager
async def streaming(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[CoTui, Pilot[None], Terminal]]:
    draw_every_change(monkeypatch)
    async with running(launch_for(home, provider), size=START) as (app, pilot):
        terminal = Terminal(app, pilot)
        draw = Compositor.render_full_update
        monkeypatch.setattr(terminal_facts, "terminal_size", lambda _: terminal.size and Size(*terminal.size))

        def draw_whole(compositor: Compositor, simplify: bool = False) -> object:
            terminal.whole.append(compositor.size)
            return draw(compositor, simplify)

        monkeypatch.setattr(Compositor, "render_full_update", draw_whole)
        await terminal.show_stream()
        yield app, pilot, terminal


def drawn_at(size: tuple[int, int]) -> Size:
    """What is drawn in a terminal of this size."""
    return Size(max(size[0], terminal_facts.MIN_COLUMNS), max(size[1], terminal_facts.MIN_ROWS))


@pytest.mark.usefixtures("slow_to_give_up")
async def test_frames_wait_for_the_report_of_a_new_size(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with streaming(home, provider, monkeypatch) as (_, pilot, terminal):
        for size in [(100, 30), *TINY, (140, 50), START]:
            terminal.size = size
            terminal.forget()
            await terminal.stream()
            assert terminal.frames == [] and terminal.whole == [], f"the app does not know of {size}"
            await terminal.report()
            await until(pilot, lambda: terminal.whole)
            assert {*terminal.whole, *terminal.frames} == {drawn_at(size)}
            terminal.forget()
            await terminal.stream()
            await until(pilot, lambda: terminal.frames)
            assert {*terminal.frames} == {drawn_at(size)}, "the stream goes on"


@pytest.mark.usefixtures("slow_to_give_up")
async def test_a_size_that_comes_back_before_it_is_reported_is_drawn_again(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with streaming(home, provider, monkeypatch) as (app, pilot, terminal):
        for streams in (True, False):
            terminal.forget()
            terminal.size = (100, 30)
            await terminal.stream(SOON_S if streams else 0)
            terminal.size = START
            await terminal.report()
            await until(pilot, lambda: terminal.whole)
            assert {*terminal.whole} == {Size(*START)}, "the terminal may have lost what it showed"
            assert terminal.growing.text.split()[-1] in screen_text(app)


@pytest.mark.usefixtures("slow_to_give_up")
async def test_a_frame_that_is_left_out_is_not_tried_again_and_again(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with streaming(home, provider, monkeypatch) as (app, pilot, terminal):
        terminal.size = (1, 1)
        await terminal.stream()
        await pilot.pause()
        tried: list[bool] = []
        may_draw = app.may_draw
        monkeypatch.setattr(app, "may_draw", lambda: bool(tried.append(True)) or may_draw())
        await asyncio.sleep(0.4)
        assert len(tried) <= 3, "a cursor may blink"


async def test_a_size_that_is_never_reported_holds_frames_for_a_moment_only(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_facts, "LONGEST_WAIT_S", 0.3)
    async with streaming(home, provider, monkeypatch) as (_, pilot, terminal):
        terminal.size = (100, 30)
        await terminal.stream()
        assert terminal.frames == []
        await until(pilot, lambda: terminal.whole)
        assert {*terminal.whole} == {Size(*START)}
        terminal.forget()
        await terminal.stream()
        await until(pilot, lambda: terminal.frames)
        assert not terminal.whole, "only what is new"


@pytest.mark.usefixtures("slow_to_give_up")
async def test_a_covered_chat_is_whole_when_it_is_seen_again(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with streaming(home, provider, monkeypatch) as (app, pilot, terminal):
        for key, size in (("ctrl+p", (100, 30)), ("f2", (140, 50)), ("ctrl+p", START), ("f1", (19, 4))):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.chat)
            terminal.size = size
            await terminal.stream()
            terminal.forget()
            await terminal.report()
            await until(pilot, lambda: terminal.whole)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)
            terminal.forget()
            await terminal.stream()
            await until(pilot, lambda: terminal.frames)
            assert {*terminal.frames} == {drawn_at(size)} == {app.chat.outer_size}
        terminal.size = START
        await terminal.report()
        await until(pilot, lambda: not app.chat.is_covered)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen is not app.chat)
        app._resizes.heard(Size(90, 30), Size(90, 30))
        app.chat._screen_resized(Size(90, 30))
        assert not app.may_draw(), "what covers it has the old size"
        terminal.size = (90, 30)
        await terminal.report()
        await until(pilot, app.may_draw)


@pytest.mark.usefixtures("slow_to_give_up")
async def test_a_page_has_no_size_but_the_reported_one(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with streaming(home, provider, monkeypatch) as (app, pilot, terminal):
        terminal.size = None
        await terminal.stream()
        await until(pilot, lambda: terminal.frames)
        for size in [(100, 30), *TINY, START]:
            terminal.forget()
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: terminal.whole)
            assert {*terminal.frames} == {drawn_at(size)} == {app.screen.outer_size}
