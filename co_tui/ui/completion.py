"""Which commands fit what is being typed, and which of them is meant. Knows no screen."""

from co_tui.ui import command_table
from co_tui.ui.command_table import Command


class CompletionOffer:
    """Follows the prompt's text at once, so that keys pressed in a burst mean what they say."""

    def __init__(self) -> None:
        self.found: list[Command] = []
        self.index = 0
        self._text = ""
        self._dismissed = ""
        """The text for which nothing more is wanted."""

    def update(self, text: str) -> bool:
        """Take the text as it is now; returns whether anything is on offer."""
        if text != self._text:
            self._text = text
            wanted = text if text.startswith("/") and " " not in text and "\n" not in text else ""
            found = command_table.starting_with(wanted) if wanted else []
            if found != self.found:
                self.found, self.index = found, 0
        return self.is_open

    @property
    def is_open(self) -> bool:
        return bool(self.found) and self._text != self._dismissed

    @property
    def chosen(self) -> Command | None:
        return self.found[self.index] if self.is_open else None

    def move(self, step: int) -> None:
        self.index = (self.index + step) % len(self.found)

    def dismiss(self) -> None:
        """Offer nothing until the text is another."""
        self._dismissed = self._text
