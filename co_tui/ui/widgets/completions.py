"""The commands that fit what was typed after the slash."""

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from co_tui.ui import commands


class Completions(OptionList, can_focus=False):
    """Sits above the prompt while its text begins with a slash; the prompt keeps the focus."""

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

    def offer(self, text: str) -> bool:
        """Show what fits; returns whether anything does."""
        wanted = text if text.startswith("/") and " " not in text and "\n" not in text else ""
        found = commands.starting_with(wanted) if wanted else []
        self.display = bool(found)
        if found and [option.id for option in self._options] != [command.name for command in found]:
            self.clear_options()
            self.add_options([_option(command) for command in found])
            self.highlighted = 0
        return bool(found)

    @property
    def chosen(self) -> commands.Command | None:
        if self.highlighted is None or not self.display:
            return None
        return commands.find(self.get_option_at_index(self.highlighted).id or "")


def _option(command: commands.Command) -> Option:
    title = Text.assemble((command.slash, "bold"), " ", (command.arguments, "dim"))
    title.append(" " * max(1, 24 - title.cell_len))
    title.append(command.help)
    return Option(title, id=command.name)
