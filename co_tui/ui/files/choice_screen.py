"""A question with a few answers, about files."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.session.slash import file_rewinds
from co_tui.session.snapshots.commits import commits_sentence
from co_tui.session.snapshots.entries import shown_path
from co_tui.session.snapshots.restore import RestorePlan
from co_tui.ui.approvals.choices import Choice, ChoiceBox, Choices
from co_tui.ui.dialogs.scrolling_dialog import ScrollingDialog
from co_tui.ui.widgets.key_hints import KeyHints

MOST_LISTED = 100
BOTH, CONVERSATION, FILES = "b", "c", "f"
RESTORED = {BOTH: file_rewinds.BOTH, CONVERSATION: file_rewinds.CONVERSATION, FILES: file_rewinds.FILES}
"""What each of these keys brings back."""
KEEP, OVERWRITE = "k", "o"


class ChoiceScreen(ScrollingDialog[str]):
    """Answers with the key of a choice; Esc answers nothing."""

    DEFAULT_CSS = """
    ChoiceScreen ChoiceBox { margin-top: 1; }
    ChoiceScreen.-low ChoiceBox { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
    ]

    def __init__(self, title: str, text: Content, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title, self._text, self._choices = title, text, Choices(choices)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            with VerticalScroll(can_focus=False):
                yield Static(self._text)
            yield ChoiceBox(self._choices, self.answer)
            yield KeyHints(("up down enter", "choose"), ("escape", "back"))

    def on_mount(self) -> None:
        self.query_one(ChoiceBox).focus()


def edit_question(plan: RestorePlan) -> ChoiceScreen:
    """What becomes of files that changed since a prompt that is edited and sent again."""
    choices = (Choice(CONVERSATION, "Keep them as they are"), Choice(BOTH, "Restore them, too"))
    return ChoiceScreen("Edit the prompt and send it again", Content("\n").join(_changed_since(plan)), choices)


def rewind_question(plan: RestorePlan) -> ChoiceScreen:
    """What to bring back to before a turn."""
    choices = (
        Choice(BOTH, "Conversation and files"),
        Choice(CONVERSATION, "Conversation only"),
        Choice(FILES, "Files only"),
    )
    return ChoiceScreen(f"Rewind to before turn {plan.turn}", Content("\n").join(_changed_since(plan)), choices)


def _changed_since(plan: RestorePlan) -> list[Content]:
    paths = plan.paths
    lines = [Content(f"{counted(len(paths), 'file')} changed since then:"), *_listed(paths)]
    if plan.kept:
        lines += [Content("Left as they are, because of what others changed:"), *_listed(plan.kept)]
    if plan.not_covered:
        lines += [Content("Not covered by snapshots, and so not restored:"), *_listed(plan.not_covered)]
    if plan.commits:
        lines += [Content(commits_sentence(plan.commits))]
    return [*lines, Content.styled("Ignored files are not covered.", "$muted")]


def overwrite_question(by_others: Sequence[str], *, undoes: bool = False) -> ChoiceScreen:
    """What to do with files that others changed since."""
    since = "since the restore" if undoes else "by you or others since then"
    lines = [Content(f"{counted(len(by_others), 'file')} changed {since}:"), *_listed(by_others)]
    them, title = ("it", "Overwrite this file?") if len(by_others) == 1 else ("these", "Overwrite these files?")
    choices = (Choice(KEEP, f"Keep {them}, restore the rest"), Choice(OVERWRITE, f"Overwrite {them}, too"))
    return ChoiceScreen(title, Content("\n").join(lines), choices)


def _listed(paths: Sequence[str]) -> list[Content]:
    listed = [Content.styled(f"  {one_line(shown_path(path), 200)}", "bold") for path in paths[:MOST_LISTED]]
    more = len(paths) - MOST_LISTED
    return [*listed, *([Content.styled(f"  and {more:,} more", "$muted")] if more > 0 else [])]
