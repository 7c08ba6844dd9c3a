"""Asks for a provider's key. What is typed is not shown, and cannot be copied out again."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from co_tui.inert import one_line
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from co_tui.agent.keys.login import LoginResult

CHECKING: Final = "Checking…"
KEPT: Final = "It is kept in the system's keyring, else in a file that only you can read."


class KeyField(Field):
    """A field whose text is neither shown nor copied."""

    def __init__(self) -> None:
        super().__init__(password=True, placeholder="Paste or type the key")

    def action_copy(self) -> None:
        """Never."""

    def action_cut(self) -> None:
        """Never."""


class KeyScreen(Dialog[str]):
    """Checks the key on Enter, and asks again if it is refused. Answers with what became of it; None after Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Back")]

    def __init__(self, provider: str, host: str, log_in: "Callable[[str], Awaitable[LoginResult]]") -> None:
        """`log_in` checks a key and keeps it."""
        super().__init__()
        self._provider, self._host, self._log_in = provider, host, log_in
        self._is_checking = False

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = f"Key for {self._provider}"
            yield Static(f"{one_line(self._host, 60)} checks it, at no cost. {KEPT}", markup=False)
            yield KeyField()
            yield Static("", id="outcome", markup=False)
            yield KeyHints(("enter", "check and keep"), ("esc", "back"))

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip() and not self._is_checking:
            self._is_checking = True
            self._show(CHECKING)
            check = partial(self._check, event.value)
            run_in_background(self, "Checking the key", check, group="key", failed=partial(self._ask_again, ""))

    async def _check(self, key: str) -> None:
        result = await self._log_in(key)
        if result.kept:
            self.answer(result.sentence)
        else:
            self._ask_again(result.sentence)

    def _ask_again(self, why: str) -> None:
        self._is_checking = False
        self.query_one(KeyField).value = ""
        self._show(why)

    def _show(self, text: str) -> None:
        self.query_one("#outcome", Static).update(text)
