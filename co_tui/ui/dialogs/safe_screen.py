"""Screens that survive bursts of keys and clicks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from textual import events
from textual.await_complete import AwaitComplete
from textual.css.query import NoMatches

from co_tui.ui.textual_internals import ScreenInternals


class SafeScreen(ScreenInternals):
    """Handles one key after the other, closes only itself, ignores clicks on widgets being removed, and tolerates late
    messages.

    Textual lets a key with priority overtake the letters typed before it, closes whatever screen is on top, or fails
    if none is left.
    """

    _messages_under_way = 0
    _closes_later = False
    _result: Any = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close with a result; waits until the screen is mounted and no other screen is on top."""
        if self.is_active and self.is_mounted:
            return super().dismiss(result)
        self._closes_later, self._result = True, result
        if self.is_active:
            self.call_later(self._close_if_asked)  # the first of its messages after it was mounted
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        self._close_if_asked()

    def _close_if_asked(self) -> None:
        if self._closes_later:
            self._closes_later = False
            self.dismiss(self._result)

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Messages still on their way to a closed screen may miss widgets that are gone."""
        self._messages_under_way += 1
        try:
            yield
        except NoMatches:
            if self in self.app.screen_stack:
                raise
        finally:
            self._messages_under_way -= 1

    @property
    def has_unsaved_text(self) -> bool:
        """Whether closing it now would lose something that the user wrote."""
        return False

    @property
    def is_settled(self) -> bool:
        """Whether all that earlier keys asked for is done, so that the next one finds its field and list as they are
        then: no message waits in a widget's queue, on its way through the widgets around it, or in the app."""
        nodes = (self.app, *self.walk_children(with_self=True))
        return not self._messages_under_way and not any(node.message_queue_size for node in nodes)

    def intercept(self, event: events.Key | events.Paste) -> bool:
        """Whether a key is done with, before any binding and widget gets it."""
        return False

    def accepts(self, event: events.Event) -> bool:
        return not (isinstance(event, events.MouseDown) and self._is_leaving_at(event.x, event.y))

    def _is_leaving_at(self, x: int, y: int) -> bool:
        widget, _ = self.get_widget_and_offset_at(x, y)
        return widget is not None and widget is not self and widget.parent is None
