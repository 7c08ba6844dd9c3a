"""Screens that keys and clicks in one burst do not break."""

from typing import TYPE_CHECKING, Any

from textual import events
from textual.await_complete import AwaitComplete

if TYPE_CHECKING:
    from textual.screen import Screen

    AnyScreen = Screen[Any]
else:
    AnyScreen = object  # styles are inherited from the first base that is a widget


class SteadyScreen(AnyScreen):
    """Closes nothing but itself, and takes no click on what is just going away.

    The library would close whatever stands on top, or fail when nothing is left that could be closed.
    """

    _closes_later = False
    _result: Any = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Before it is whole it waits until it is; while another screen stands on it, until that is gone."""
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

    def _forward_event(self, event: events.Event) -> None:
        if not (isinstance(event, events.MouseDown) and self._is_leaving_at(event.x, event.y)):
            super()._forward_event(event)

    def _is_leaving_at(self, x: int, y: int) -> bool:
        widget, _ = self.get_widget_and_offset_at(x, y)
        return widget is not None and widget is not self and widget.parent is None
