"""The list of completions: commands after `/` and their values, files after `@`."""

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.ui.prompt.completion import Choice, CompletionOffer

NAME_CHARS = 200
MAX_NAME_COLUMNS = 22
"""Descriptions start in one column, unless a name is longer than this."""


class Completions(OptionList, can_focus=False):
    """Shown above the prompt, which keeps the focus and handles the keys."""

    DEFAULT_CSS = """
    Completions {
        display: none;
        height: auto;
        max-height: 8;
        border: round $border;
        border-subtitle-color: $muted;
        background: $surface;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-background: $surface;
    }
    .-low Completions { max-height: 6; }
    """

    def show(self, offer: CompletionOffer) -> None:
        self.display = offer.is_open
        if not offer.is_open:
            return
        if [option.id for option in self.options] != [choice.name for choice in offer.found]:
            self.clear_options()
            width = max(len(choice.title) + len(choice.arguments) + 1 for choice in offer.found)
            self.add_options([_option(choice, min(width, MAX_NAME_COLUMNS)) for choice in offer.found])
        self.highlighted = offer.index
        keys = "Enter runs it · Tab completes it" if offer.runs_on_enter else "Tab completes it"
        self.border_subtitle = f"{keys} · {offer.index + 1} of {len(offer.found):,}"


def _option(choice: Choice, name_width: int) -> Option:
    # A file may have any name.
    name = Content.assemble((one_line(choice.title, NAME_CHARS), "bold"), f" {choice.arguments}".rstrip())
    gap = " " * max(2, name_width + 2 - name.cell_length)
    return Option(Content.assemble(name, gap, (one_line(choice.help, NAME_CHARS), "$muted")), id=choice.name)
