"""The commands that fit what was typed after the slash."""

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.ui.command_table import Command
from co_tui.ui.completion import CompletionOffer


class Completions(OptionList, can_focus=False):
    """Sits above the prompt while something is on offer; the prompt keeps the focus and decides."""

    DEFAULT_CSS = """
    Completions {
        display: none;
        height: auto;
        max-height: 8;
        border: round $border;
        background: $surface;
        scrollbar-size-vertical: 1;
    }
    """

    def show(self, offer: CompletionOffer) -> None:
        self.display = offer.is_open
        if not offer.is_open:
            return
        if [option.id for option in self._options] != [command.name for command in offer.found]:
            self.clear_options()
            self.add_options([_option(command) for command in offer.found])
        self.highlighted = offer.index


def _option(command: Command) -> Option:
    title = Text.assemble((command.slash, "bold"), " ", (command.arguments, "dim"))
    title.append(" " * max(1, 24 - title.cell_len))
    title.append(command.help)
    return Option(title, id=command.name)
