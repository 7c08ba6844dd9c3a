"""Lists the providers, and where the key of each comes from."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

if TYPE_CHECKING:
    from co_tui.agent.keys.login import LoginResult


CHECKING: Final = "Checking…"
WHERE_KEPT: Final = "It is saved in the system's keyring, else in a file that only you can read."

NAME_CELLS: Final = 12


class ProviderKey(NamedTuple):
    """A provider, and where its key comes from; empty when it has none."""

    provider: str
    source: str
    is_kept: bool = False
    """Whether co-tui keeps a key of it, which can be removed."""


class LoginAnswer(NamedTuple):
    """What to do with the key of a provider."""

    provider: str
    remove: bool = False


class LoginScreen(Dialog[LoginAnswer]):
    """Enter asks for the key of a provider; Ctrl+D removes a kept one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back"),
        Binding("ctrl+d", "remove", "Remove", priority=True),
    ]

    def __init__(self, providers: Sequence[ProviderKey]) -> None:
        super().__init__()
        self._providers = {each.provider: each for each in providers}

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Provider keys"
            yield SafeList(*map(_row, self._providers.values()), classes="-filling")
            yield KeyHints(("enter", "set a key"), ("ctrl+d", "remove a saved key"), ("escape", "back"))

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.answer(LoginAnswer(event.option_id or ""))

    def action_remove(self) -> None:
        option = self.query_one(OptionList).highlighted_option
        chosen = self._providers.get(option.id or "") if option is not None else None
        if chosen is None:
            return
        if chosen.is_kept:
            self.answer(LoginAnswer(chosen.provider, remove=True))
        else:
            self.notify(f"No key of {chosen.provider} is saved here.", timeout=3, markup=False)


def _row(each: ProviderKey) -> Option:
    symbol = "●" if each.source else "○"
    source = one_line(each.source or "no key", 200)
    line = Text(f"{symbol} {each.provider:<{NAME_CELLS}} ", no_wrap=True)
    return Option(line.append(source, "dim"), id=each.provider)


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
            yield Static(f"{one_line(self._host, 60)} checks it, at no cost. {WHERE_KEPT}", markup=False)
            yield KeyField()
            yield Static("", id="outcome", markup=False)
            yield KeyHints(("enter", "check and save"), ("esc", "back"))

    @property
    def has_unsaved_text(self) -> bool:
        return bool(self.query_one(KeyField).value)

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
