"""The commands that fit what was typed after the slash, or the files after the at."""

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.inert import one_line
from co_tui.ui.prompting.completion import Choice, CompletionOffer

NAME_CHARS = 200


class Completions(OptionList, can_focus=False):
    """Sits above the prompt while something is on offer; the prompt keeps the focus and decides."""

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
        if [option.id for option in self._options] != [choice.name for choice in offer.found]:
            self.clear_options()
            self.add_options([_option(choice) for choice in offer.found])
        self.highlighted = offer.index
        keys = "enter runs it · tab completes it" if offer.found[0].sort == "command" else "tab takes it"
        self.border_subtitle = f"{keys} · {offer.index + 1} of {len(offer.found):,}"


def _option(choice: Choice) -> Option:
    # A file may have any name.
    title = Text.assemble((one_line(choice.title, NAME_CHARS), "bold"), " ", (choice.arguments, "dim"))
    title.append(" " * max(1, 24 - title.cell_len))
    title.append(one_line(choice.help, NAME_CHARS), "" if choice.sort == "command" else "dim")
    return Option(title, id=choice.name)
