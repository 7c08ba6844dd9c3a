"""The thread that reads keys sleeps until there is something to read, or the app ends."""

import os
import selectors
import threading
from typing import Any

from co_tui.ui.terminal.driver import PatientSelector, QuietParser, WakingEvent
from co_tui.ui.textual_internals import MOST_BLINKS
from co_tui.ui.widgets.safe_text_area import SafeTextArea
from tests.support.waiting import HANGING_S


def test_it_waits_for_keys_however_long_and_for_the_end() -> None:
    ending, (typed, keyboard) = WakingEvent(), os.pipe()
    with PatientSelector(ending, lambda: True) as selector:
        selector.register(typed, selectors.EVENT_READ)
        ready: list[Any] = []
        waiting = threading.Thread(target=lambda: ready.append(selector.select(0.0)))
        waiting.start()
        os.write(keyboard, b"a")
        waiting.join(HANGING_S)
        assert [key.fd for key, _ in ready[0]] == [typed]
        os.read(typed, 1)
        ending.set()
        assert selector.select(0.0) == [], "the end is no key"
        selector.unregister(typed)
        assert selector.select(0.0) == []
    ending.clear()
    with PatientSelector(ending, lambda: False) as again:
        assert again.select(0.0) == [], "cleared, and not patient: it does not wait"
    os.close(typed)
    os.close(keyboard)


def test_it_does_not_wait_while_time_decides_what_was_typed() -> None:
    parser = QuietParser()
    assert not parser.awaits_more
    assert [event.key for event in parser.feed("a")] == ["a"] and not parser.awaits_more
    list(parser.feed("\x1b"))
    assert parser.awaits_more, "Esc, or the beginning of a sequence"
    list(parser.feed("[A"))
    assert not parser.awaits_more
    list(parser.feed("\x1b[200~pasted"))
    assert parser.awaits_more
    list(parser.feed(" text\x1b[201~"))
    assert not parser.awaits_more


async def test_the_cursor_stops_blinking_without_keys_and_stays_visible() -> None:
    from textual.app import App, ComposeResult

    class Writing(App[None]):
        def compose(self) -> ComposeResult:
            yield SafeTextArea()

    app = Writing()
    async with app.run_test() as pilot:
        area = app.query_one(SafeTextArea)
        area.blink_timer.stop()
        paused = []
        area.blink_timer.pause = lambda: paused.append(area._cursor_visible)  # type: ignore[method-assign]
        for _ in range(MOST_BLINKS + 2):
            area._toggle_cursor_blink_visible()
        assert paused[:1] == [True]
        await pilot.press("a")
        paused.clear()
        area._toggle_cursor_blink_visible()
        assert paused == []
