"""Lists the providers, and where the key of each comes from."""

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.steady_list import SteadyList

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
            yield SteadyList(*map(_row, self._providers.values()), classes="-filling")
            yield KeyHints(("enter", "set a key"), ("ctrl+d", "remove a kept key"), ("escape", "back"))

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
            self.notify(f"No key of {chosen.provider} is kept here.", timeout=3, markup=False)


def _row(each: ProviderKey) -> Option:
    symbol = "●" if each.source else "○"
    source = one_line(each.source or "no key", 200)
    line = Text(f"{symbol} {each.provider:<{NAME_CELLS}} ", no_wrap=True)
    return Option(line.append(source, "dim"), id=each.provider)
