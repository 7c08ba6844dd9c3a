"""The values that a slash command takes, for the prompt's completions."""

import re
from typing import Final, NamedTuple

from co_tui.session.slash import typed_command

_WORD: Final = re.compile(r"\b[a-z]+\b")
_NAMED: Final = re.compile(r"[A-Z]")


class ArgumentValue(NamedTuple):
    name: str
    help: str = ""


class ArgumentValues(NamedTuple):
    """What may follow a command."""

    values: tuple[ArgumentValue, ...] = ()
    is_closed: bool = True
    """Whether it takes nothing else."""

    def starting_with(self, letters: str) -> list[ArgumentValue]:
        """An exact match comes first; nothing if it is the only one."""
        found = [value for value in self.values if value.name.startswith(letters)]
        found.sort(key=lambda value: value.name != letters)
        return found if [value.name for value in found] != [letters] else []


NO_VALUES: Final = ArgumentValues()


def argument_values(name: str) -> ArgumentValues:
    """The values that the table of commands names, as in "[instructions | clear]"; capitals mean anything."""
    command = typed_command.find(name)
    arguments = command.arguments if command is not None else ""
    words = tuple(ArgumentValue(word) for word in _WORD.findall(arguments))
    return ArgumentValues(words, is_closed=not _NAMED.search(arguments))
