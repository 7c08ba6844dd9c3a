"""The input line for searching."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from co_tui.ui.formatting import KEY_STYLE

KEYS = "Enter ↑ previous · ↓ next · Esc closes"
BETWEEN = " · "
PLACEHOLDER = "Search in this conversation"


def styled_keys(keys: str) -> Content:
    """Hints with highlighted keys; each description is one word."""
    title = [each.rpartition(" ") for each in keys.split(BETWEEN)]
    return Content.styled(BETWEEN, "$muted").join(
        Content.assemble((key, KEY_STYLE), (f" {does}", "$muted")) for key, _, does in title
    )


class FindBar(Input):
    """Searches as you type; its border shows the match count and the keys."""

    DEFAULT_CSS = """
    FindBar, FindBar:focus {
        height: 3;
        padding: 0 1;
        border: round $primary;
        border-title-color: $primary;
        background: $background;
        background-tint: $background 0%;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Earlier", key_display="↑", id="find.earlier"),
        Binding("enter", "step(-1)", "Earlier", show=False),
        Binding("down", "step(1)", "Later", key_display="↓", id="find.later"),
    ]

    class Stepped(Message):
        """Go to the next match, above (−1) or below."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, placeholder: str = PLACEHOLDER, keys: str = KEYS) -> None:
        super().__init__(placeholder=placeholder)
        self.border_title = "Find"
        self.border_subtitle = styled_keys(keys)

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def show_count(self, needle: str, number: int, total: int, *, done: bool) -> None:
        """Show the match number and the total; with an ellipsis until the search is `done`."""
        title: str | Content
        if not needle:
            title = "Find"
        elif not total:
            title = Content.styled("Find · nothing found", "$warning") if done else "Find · …"
        else:
            title = f"Find · {f'{number:,}' if number else '–'} of {total:,}{'' if done else '…'}"
        self.border_title = title
