"""The line above the prompt that says what a compaction would free, before it runs."""

import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from co_tui.events.wording import tokens
from co_tui.key_names import key_name
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.ui.background import run_in_background
from co_tui.ui.formatting import KEY_STYLE
from co_tui.ui.textual_internals import bindings_of

if TYPE_CHECKING:
    from co_tui.session.compaction.forecast import Forecast

COUNTING: Final = "Counting what a compaction frees…"
NOT_DEEPER: Final = "A deeper compaction would not free more."
HELD_S = 0.2
"""A key that comes again sooner is held down."""
CLEARLY_MORE: Final = 1.05
"""A deeper compaction is offered if it frees this many times as much."""


class Foresees(Protocol):
    """Says what a compaction would free. Raises `CompactionRefused` if that is nothing."""

    def __call__(self, *, deep: bool) -> "Awaitable[Forecast]": ...


class CompactOffer(Widget, can_focus=True):
    """One line with the figures and its keys. Any other key goes to the prompt, and closes it."""

    DEFAULT_CSS = """
    CompactOffer { height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Compact", show=False),
        Binding("d", "deeper", "Compact deeper", show=False),
        Binding("escape", "close", "Back", show=False),
    ]
    is_fleeting: Final = True
    """Every key it does not bind is meant for the prompt."""

    class Accepted(Message):
        """Compact now."""

        def __init__(self, *, deep: bool) -> None:
            super().__init__()
            self.deep = deep

    class Refused(Message):
        """Nothing can be gained."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(self, foresees: Foresees, *, key: str, when: str = "") -> None:
        """`key` is the one that opened it, and accepts, too; `when` says when it would compact, if not at once."""
        super().__init__()
        self._foresees, self._when = foresees, when
        self._ordinary: Forecast | None = None
        self._deep: Forecast | None = None
        self._has_counted = False
        self._pressed = time.monotonic()
        """When the key was last pressed."""
        if key:
            bindings_of(self).bind(key, "press_again", show=False)

    def on_mount(self) -> None:
        self.auto_links = False
        run_in_background(self, "Counting what a compaction frees", self._count, group="forecast")

    async def _count(self) -> None:
        try:
            self._ordinary = await self._foresees(deep=False)
            self.refresh()
            self._deep = await self._foresees(deep=True)
        except CompactionRefused as refused:
            if self._ordinary is None:
                self._end(self.Refused(str(refused)))
        self._has_counted = True
        self.refresh()

    @property
    def _is_deeper(self) -> bool:
        """Whether a deeper compaction frees more, as far as known."""
        if self._ordinary is None or not self._has_counted:
            return True
        return self._deep is not None and self._deep.freed_tokens > CLEARLY_MORE * self._ordinary.freed_tokens

    def render(self) -> Content:
        """As much as the line has room for."""
        lines = [self._line(*(n < left for n in range(3))) for left in (3, 2, 1, 0)]
        return next((line for line in lines if line.cell_length <= self.size.width), lines[-1])

    def _line(self, with_words: bool, with_whole: bool, with_deep: bool) -> Content:
        known = self._ordinary
        whole = f" of {tokens(known.tokens)}" if known is not None and with_whole else ""
        frees = f"Frees about {tokens(known.freed_tokens)}{whole}" if known is not None else COUNTING
        deep = f", about {tokens(self._deep.freed_tokens)}" if self._deep is not None and with_deep else ""
        compacts = f"compacts{self._when if with_whole else ''}" if with_words else ""
        keys = [("enter", compacts), ("escape", "")]
        if self._is_deeper:
            keys.insert(1, ("d", f"deeper{deep}"))
        return Content(" · ").join([Content(frees), *(_key(key, words) for key, words in keys)])

    def action_press_again(self) -> None:
        """The key that opened it accepts, but not by being held down."""
        before, self._pressed = self._pressed, time.monotonic()
        if self._pressed - before >= HELD_S:
            self.action_accept()

    def action_accept(self) -> None:
        self._end(self.Accepted(deep=False))

    def action_deeper(self) -> None:
        if self._is_deeper:
            self._end(self.Accepted(deep=True))
        else:
            self.notify(NOT_DEEPER, timeout=3)

    def action_close(self) -> None:
        self._end()

    def on_blur(self) -> None:
        if self.app.app_focus:  # else the terminal lost the focus, and gives it back
            self._end()

    def _end(self, message: Message | None = None) -> None:
        """Close the line; the prompt gets the focus back."""
        if message is not None:
            self.post_message(message)
        if self.has_focus:
            self.screen.query_one("#prompt").focus()
        self.remove()


def _key(key: str, words: str) -> Content:
    return Content.assemble((key_name(key), KEY_STYLE), f" {words}".rstrip())
