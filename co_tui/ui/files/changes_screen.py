"""What the session changed, file by file."""

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from co_tui.events.file_diff import with_marks
from co_tui.events.wording import counted
from co_tui.inert import inert, one_line
from co_tui.session.snapshots.file_diffs import FileChange, SessionChanges
from co_tui.ui.approvals.question_text import diff_contents
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

MOST_LISTED = 8
"""Rows of the list; the diff gets the rest."""
SYMBOLS = {"new": "+", "deleted": "−", "changed": "~"}


class ChangesScreen(Dialog[None]):
    """A list of files; below it, the diff of the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("pagedown,space", "page(1)", show=False, priority=True),
        Binding("pageup,b", "page(-1)", show=False, priority=True),
    ]

    def __init__(self, changes: SessionChanges) -> None:
        super().__init__(tall=True)
        self.add_class("-full")
        self._changes = changes

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Changes in this session"
            box.border_subtitle = _figures(self._changes)
            yield SafeList(*(Option(_line(change)) for change in self._changes.files), classes="-filling")
            with VerticalScroll(can_focus=False, id="output"):
                yield Static(markup=False)
            yield KeyHints(("up down", "choose"), ("pageup pagedown", "scroll"), ("escape", "back"))

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = 0
        options.focus()

    def on_resize(self) -> None:
        options = self.query_one(OptionList)
        options.styles.height = min(len(self._changes.files), MOST_LISTED, max(1, self.size.height // 4))

    @on(OptionList.OptionHighlighted)
    def _show(self, event: OptionList.OptionHighlighted) -> None:
        change = self._changes.files[event.option_index]
        scroll = self.query_one("#output", VerticalScroll)
        scroll.border_title = Text(f" {one_line(change.path, 100)} ")
        self.query_one("#output > Static", Static).update(_diff(change))
        scroll.scroll_home(animate=False)

    def action_page(self, step: int) -> None:
        scroll = self.query_one("#output", VerticalScroll)
        scroll.scroll_relative(y=step * max(1, scroll.size.height - 1), animate=False)


def _figures(changes: SessionChanges) -> str:
    added, removed = (sum(getattr(each, name) for each in changes.files) for name in ("added", "removed"))
    more = f" · {changes.left_out:,} more files" if changes.left_out else ""
    return f"{counted(len(changes.files), 'file')} · +{added:,} −{removed:,}{more}"


def _line(change: FileChange) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{SYMBOLS[change.what]} ", "bold")
    figures = change.diff.figures if change.diff is not None else one_line(change.text, 60)
    return line.append(one_line(change.path, 200)).append(f"  {figures}", "dim")


def _diff(change: FileChange) -> Content:
    if (diff := change.diff) is None:
        return Content(inert(change.text))
    lines = diff_contents(with_marks(diff.rows), diff.number_width)
    if diff.left_out:
        lines.append(Content.styled(f"… {diff.left_out:,} more lines", "$muted"))
    return Content("\n").join(lines) if lines else Content("empty")
