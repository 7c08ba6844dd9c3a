"""The chat and the side column share the width: prose first, then the side column, the rest around the prose."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from co_tui.ui.app import CoTui
from co_tui.ui.chat.chat_requests import CHAT_COLUMNS, LEAST_SIDE, MOST_SIDE, WIDE_COLUMNS, columns_for, is_too_small
from co_tui.ui.timeline.detail_screen import TextScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, until
from tests.support.waiting import PATIENCE_S


@given(st.integers(WIDE_COLUMNS, 500), st.booleans())
def test_prose_comes_first_and_is_centred_in_what_is_left(width: int, with_side: bool) -> None:
    side, margin = columns_for(width, with_side=with_side)
    assert (LEAST_SIDE <= side <= MOST_SIDE) if with_side else side == 0
    assert width - side - 2 * margin <= max(CHAT_COLUMNS + 1, width - LEAST_SIDE * with_side)
    if side > LEAST_SIDE or margin:
        assert CHAT_COLUMNS <= width - side - 2 * margin <= CHAT_COLUMNS + 1, "the prose has its 100 columns"
    assert not margin or side in (0, MOST_SIDE), "the side column grows before there are margins"


@pytest.mark.parametrize(
    ("size", "too_small"),
    [((60, 16), False), ((43, 16), False), ((43, 36), False), ((42, 60), True), ((200, 15), True)],
)
def test_a_phone_held_upright_is_large_enough_with_its_keyboard_open(size: tuple[int, int], too_small: bool) -> None:
    assert is_too_small(Size(*size)) is too_small


async def test_the_prose_moves_with_the_width_and_the_side_column(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(200, 40)) as (app, pilot):
        await ask(app, pilot, "hi there")

        def starts_at() -> int:
            found = (line.find("▌ hi there") for line in screen_text(app).splitlines() if "▌ hi there" in line)
            return next(found, -1)

        await until(pilot, lambda: starts_at() > 10)
        with_side = starts_at()
        await pilot.press("f4")
        await until(pilot, lambda: starts_at() > with_side)
        await pilot.press("ctrl+l")
        await until(pilot, lambda: starts_at() == with_side and "─ Timeline" in screen_text(app))
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: starts_at() == 2)
        await pilot.press("escape")
        await pilot.resize_terminal(43, 36)
        await until(pilot, lambda: starts_at() == 2 and "Ctrl+P More" in screen_text(app))
        assert max(map(len, screen_text(app).splitlines())) <= 43


LONG_NOTICE = "Press Ctrl+C again to quit. The conversation is saved and continues with co-tui --continue."


def notice_lines(app: CoTui) -> list[str]:
    return [line.partition("▌ ")[2].strip(" │") for line in screen_text(app).splitlines() if "▌ " in line]


@only_in_a_long_run
async def test_a_notice_is_wrapped_whole_and_covers_no_title(home: Path, provider: Provider) -> None:
    app = CoTui(launch_for(home, provider))
    async with app.run_test(size=(43, 36), notifications=True) as pilot:
        await until(pilot, lambda: app.controller.backend.ready)
        app.notify(LONG_NOTICE, timeout=PATIENCE_S)
        await until(pilot, lambda: " ".join(notice_lines(app)) == LONG_NOTICE)
        assert screen_text(app).splitlines()[1].startswith("╭─ Chat ─")
        app.clear_notifications()
        await pilot.resize_terminal(120, 40)
        app.push_screen(TextScreen("Title of a long text", "\n".join(map(str, range(100)))))
        await until(pilot, lambda: "Title of a long text" in screen_text(app))
        app.notify(LONG_NOTICE, timeout=PATIENCE_S)
        await until(pilot, lambda: LONG_NOTICE in " ".join(notice_lines(app)))
        assert "╭─ Title of a long text ─" in screen_text(app) and "Esc Back" in screen_text(app)
        await app.action_quit()
