"""What is always allowed, and how to take it back."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.ui.screens.dialog import Dialog, show_rows
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.steady_list import SteadyList

if TYPE_CHECKING:
    from co_tui.session.approvals.standing_approvals import StandingApproval

TOOL_CHARS = 30
LINE_CHARS = 200
KEYS = (("d", "ask about it again"), ("esc", "back"))
NOTHING = "Nothing is always allowed: every change, and every command that may change something, is asked about."


class ApprovalsScreen(Dialog[None]):
    """Lists them; a key takes one back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back"),
        Binding("d,delete", "revoke", "Ask again"),
    ]

    def __init__(
        self,
        approvals: "Callable[[], Sequence[StandingApproval]]",
        revoke: "Callable[[StandingApproval], Awaitable[None]]",
    ) -> None:
        super().__init__(wide=True)
        self._approvals, self._revoke = approvals, revoke
        self._shown: Sequence[StandingApproval] = ()

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Always allowed"
            yield SteadyList(classes="-filling")
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._fill(0)
        self.query_one(OptionList).focus()

    def _fill(self, highlighted: int) -> None:
        self._shown = self._approvals()
        options = self.query_one(OptionList)
        widest = max((len(one_line(each.rule.tool, TOOL_CHARS)) for each in self._shown), default=0)
        show_rows(options, [_option(each, widest) for each in self._shown], NOTHING, highlighted)
        self.query_one(KeyHints).show(*(KEYS if self._shown else KEYS[-1:]))

    async def action_revoke(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._shown):
            await self._revoke(self._shown[at])
            self._fill(at)


def _option(approval: "StandingApproval", tool_width: int) -> Option:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append("in this project  " if approval.kept else "in this session  ", "dim")
    line.append(f"{one_line(approval.rule.tool, TOOL_CHARS):<{tool_width}}  ")
    line.append(one_line(approval.rule.pattern, LINE_CHARS) or "every call of it", "bold")
    return Option(line)
