"""The choices of a question: letters choose at once, arrows and Enter choose the marked one."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key
from textual.geometry import Size
from textual.style import Style
from textual.widget import Widget

from co_tui.key_names import key_name
from co_tui.ui.textual_internals import bindings_of

MARKER: Final = "❯"
GAP: Final = "   "
"""Between two choices of a row."""
KEY_STYLE: Final = "bold $primary"


class Choice(NamedTuple):
    """One answer."""

    key: str
    label: str
    """`{}` is replaced by `about`."""
    about: str = ""
    """What the answer is about; shortened if it does not fit."""
    same_row: bool = False
    """Whether it shares a row with the choice before it."""
    letter_only: bool = False
    """Whether only its letter marks it, as for destructive calls: then Enter chooses it."""
    writes: str = ""
    """What its field says while it is empty, if the answer is a text."""

    def fitted(self, width: int) -> str:
        """The label, fitted to a width in cells."""
        before, gap, after = self.label.partition("{}")
        if not gap:
            return _shortened(self.label, width)
        about = _shortened(self.about, max(8, width - cell_len(before + after)))
        return _shortened(f"{before}{about}{after}", width)


class Choices:
    """Keeps the marked choice, and the checked ones if several may be chosen. Renders rows, but knows no screen."""

    def __init__(
        self, choices: Iterable[Choice], *, marked: str | None = "", several: Iterable[str] = (), in_a_row: bool = False
    ) -> None:
        """`marked` is the first marked choice, None for no marker; `several` can be chosen together."""
        self.all = tuple(choices)
        self.several = frozenset(several)
        self.checked: set[str] = set()
        self._in_a_row = in_a_row
        markable = [each.key for each in self.all if not each.letter_only]
        self.marked = marked or (markable[0] if markable and marked is not None else "")
        self._markable = markable if marked is not None else []

    def __contains__(self, key: str) -> bool:
        return any(each.key == key for each in self.all)

    def is_letter_only(self, key: str) -> bool:
        return any(each.key == key and each.letter_only for each in self.all)

    def writes(self, key: str) -> str:
        """What the field of a choice says while it is empty; empty if the choice has no field."""
        return next((each.writes for each in self.all if each.key == key), "")

    def unmark_letter(self) -> None:
        """Mark the first choice again if only a letter could mark the present one."""
        if self._markable and self.marked not in self._markable:
            self.marked = self._markable[0]

    def move(self, step: int) -> None:
        """Mark the next choice; after the last comes the first."""
        if self._markable:
            at = self._markable.index(self.marked) if self.marked in self._markable else 0
            self.marked = self._markable[(at + step) % len(self._markable)]

    def toggle(self, key: str) -> None:
        if key in self.several:
            self.checked ^= {key}

    def chosen(self) -> str:
        """What Enter answers: the marked choice, or the checked ones if the marker is on one of `several`."""
        if self.marked in self.several and self.checked:
            return ",".join(each.key for each in self.all if each.key in self.checked)
        return self.marked

    def is_cut(self, width: int, *, packed: bool) -> bool:
        """Whether a label does not fit."""
        packed = packed or self._in_a_row
        return any(each.label.replace("{}", each.about) != self._label(each, width, packed=packed) for each in self.all)

    def _label(self, each: Choice, width: int, *, packed: bool) -> str:
        return each.fitted(width - self._before(each, packed=packed))

    def _before(self, each: Choice, *, packed: bool) -> int:
        """Cells of a choice before its label."""
        column = 0 if packed or each.same_row else self._key_column
        return (
            self._marker_cells
            + max(cell_len(key_name(each.key)), column)
            + (1 if packed else 2)
            + 4 * bool(self.several & {each.key})
        )

    @property
    def _marker_cells(self) -> int:
        return 2 if self._markable else 0

    @property
    def _key_column(self) -> int:
        return max((cell_len(key_name(each.key)) for each in self.all if not each.same_row), default=1)

    def rows(self, width: int, *, packed: bool = False, further: Sequence[Choice] = ()) -> list[Content]:
        """One row per choice, or as many per row as fit; a choice is never split. `further` cannot be marked."""
        packed = packed or self._in_a_row
        rows: list[Content] = []
        for each in (*self.all, *further):
            item = self._item(each, width, packed=packed)
            joins = (
                bool(rows) and (packed or each.same_row) and rows[-1].cell_length + len(GAP) + item.cell_length <= width
            )
            if joins:
                rows[-1] = Content.assemble(rows[-1], GAP, item)
            else:
                rows.append(item)
        return rows

    def _item(self, each: Choice, width: int, *, packed: bool) -> Content:
        is_marked = bool(self._markable) and each.key == self.marked
        marker = ((f"{MARKER} " if is_marked else "  "), KEY_STYLE) if self._markable else ("", "")
        column = 0 if packed or each.same_row else self._key_column
        box = f"[{'x' if each.key in self.checked else ' '}] " if each.key in self.several else ""
        label = self._label(each, width, packed=packed)
        item = Content.assemble(
            marker,
            (key_name(each.key), KEY_STYLE),
            " " * (max(0, column - cell_len(key_name(each.key))) + (1 if packed else 2)),
            box,
            (label, "bold" if is_marked else ""),
        )
        return item.stylize(Style.from_meta({"@click": f"answer({each.key!r})"}))


def _shortened(text: str, width: int) -> str:
    return text if cell_len(text) <= width else Content(text).truncate(max(1, width), ellipsis=True).plain


class ChoiceBox(Widget, can_focus=True):
    """Shows choices and handles the keys that choose."""

    DEFAULT_CSS = "ChoiceBox { height: auto; }"
    hears_letters: ClassVar[bool] = True
    """Whether a letter answers at once."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "move(-1)", "Previous choice", show=False),
        Binding("down,right", "move(1)", "Next choice", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]

    def __init__(self, choices: Choices, answered: Callable[[str], None]) -> None:
        """`answered` gets the key of the choice; several are joined by commas."""
        super().__init__()
        self.choices, self._answered = choices, answered
        if choices.several:
            bindings_of(self).bind("space", "check", "Check", show=False)

    def on_mount(self) -> None:
        self.auto_links = False  # choices are not links

    def on_key(self, event: Key) -> None:
        if self.hears_letters and len(event.key) == 1 and event.key in self.choices:
            event.stop()
            self.press(event.key)

    def render(self) -> Content:
        return Content("\n").join(self._rows(self.content_size.width))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows(width))

    def _rows(self, width: int) -> list[Content]:
        return self.choices.rows(width)

    def action_move(self, step: int) -> None:
        self.choices.move(step)
        self.refresh()

    def action_check(self) -> None:
        self.choices.toggle(self.choices.marked)
        self.refresh()

    def action_choose(self) -> None:
        if chosen := self.choices.chosen():
            self.give(chosen)

    def give(self, answer: str) -> None:
        self._answered(answer)

    @property
    def letters(self) -> frozenset[str]:
        """Those that answer."""
        return frozenset(each.key for each in self.choices.all if len(each.key) == 1)

    def press(self, letter: str) -> None:
        """A letter was pressed alone: check one of several, mark what Enter must confirm, else answer."""
        if letter in self.choices.several:
            self.choices.toggle(letter)
        elif not self.choices.is_letter_only(letter):
            self.give(letter)
            return
        self.choices.marked = letter
        self.refresh()

    def confirm(self, letters: Sequence[str]) -> None:
        """Enter follows these letters."""
        for letter in letters:
            self.press(letter)
        if self.choices.marked in letters:
            self.action_choose()

    def action_answer(self, key: str) -> None:
        """A click: as the letter does; a second one as Enter does."""
        if self.choices.is_letter_only(key) and self.choices.marked == key:
            self.give(key)
        else:
            self.press(key)
