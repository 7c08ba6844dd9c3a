"""The queue of waiting prompts: view, edit, reorder, drop."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.ui.background import guarded_callback
from co_tui.ui.dialogs.dialog import Dialog, show_rows
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

if TYPE_CHECKING:
    from co_tui.session.queue import WaitingPrompt, WorkQueue

LINE_CHARS = 200
KEYS = (
    ("enter", "edit"),
    ("d", "drop"),
    ("k", "earlier"),
    ("j", "later"),
    ("esc", "back"),
)
NOTHING = "No queued prompts. Prompts sent while a turn runs appear here."


class QueueScreen(Dialog[int | None]):
    """Returns the number of the prompt to edit, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("e", "edit", "Edit"),
        Binding("d,delete", "drop", "Drop"),
        Binding("shift+up,k", "move(-1)", "Earlier"),
        Binding("shift+down,j", "move(1)", "Later"),
    ]

    def __init__(self, queue: "WorkQueue") -> None:
        super().__init__(wide=True)
        self._queue = queue
        self._shown: tuple[WaitingPrompt, ...] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Queued prompts"
            yield SafeList(classes="-filling")
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._fill(0)
        self.query_one(OptionList).focus()
        self.set_interval(0.3, guarded_callback(self, "Reading the queue", self._refill, once=True))

    def _refill(self) -> None:
        """Prompts may be added and sent while the list is open. None is chosen once the chosen one was sent."""
        if self._queue.prompts != self._shown:
            self._fill(self._index_of(self._chosen) if self._shown else 0)

    def _index_of(self, prompt: "WaitingPrompt | None") -> int | None:
        """Its place in the queue now."""
        waiting = (n for n, each in enumerate(self._queue.prompts) if prompt and each.number == prompt.number)
        return next(waiting, None)

    def _fill(self, highlighted: int | None) -> None:
        self._shown = self._queue.prompts
        options = self.query_one(OptionList)
        show_rows(options, [_option(n, prompt) for n, prompt in enumerate(self._shown, 1)], NOTHING, highlighted)
        self.query_one(KeyHints).show(*(KEYS if self._shown else KEYS[-1:]))

    @property
    def _chosen(self) -> "WaitingPrompt | None":
        highlighted = self.query_one(OptionList).highlighted
        return self._shown[highlighted] if highlighted is not None and highlighted < len(self._shown) else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_edit()

    def action_edit(self) -> None:
        if (chosen := self._chosen) is not None:
            self.answer(chosen.number)

    def action_drop(self) -> None:
        if (chosen := self._chosen) is not None:
            index = self._index_of(chosen)
            self._queue.withdraw(chosen.number)
            self._fill(index)

    def action_move(self, step: int) -> None:
        if (chosen := self._chosen) is not None:
            self._queue.move(chosen.number, step)
            self._fill(self._index_of(chosen))


def _option(number: int, prompt: "WaitingPrompt") -> Option:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{number:>3} ", "dim")
    line.append("this turn  " if prompt.steers else "on hold  " if prompt.held else "", "dim")
    line.append(one_line(prompt.text, LINE_CHARS))
    return Option(line)
