"""The setting `after_edit`: which commands check a file after the model changed it."""

import shlex
from collections.abc import Mapping
from typing import Final

from co_tui.inert import one_line
from co_tui.settings.rules import PartRefused, Rule, quoted, table_in

FILE: Final = "{file}"
"""The changed file's place in a command, as one argument or a part of one."""
MOST_CHECKS: Final = 20
_COMMAND: Final = 'a command such as "ruff check {file}", or a list of them'

NO_CHECKS: Final[Mapping[str, tuple[str, ...]]] = {}


def check_table() -> Rule:
    """Commands by a pattern of file names."""
    allowed = f"a table of at most {MOST_CHECKS} file patterns with their commands; or none"

    def read(value: object) -> object:
        table = table_in(value)
        if not isinstance(table, Mapping) or len(table) > MOST_CHECKS:
            raise ValueError
        return {str(pattern): _commands(str(pattern), each) for pattern, each in table.items()}

    return Rule(allowed, read)


def check_words(command: str, file: str) -> list[str]:
    """The command as separate arguments; a file name that begins with `-` is not an option."""
    safe = f"./{file}" if file.startswith("-") else file
    return [word.replace(FILE, safe) for word in shlex.split(command)]


def _commands(pattern: str, value: object) -> tuple[str, ...]:
    several = [value] if isinstance(value, str) else value
    shown = one_line(pattern, 40)
    if not pattern.strip() or not isinstance(several, list | tuple) or not several:
        raise PartRefused(shown, quoted(value), _COMMAND)
    for each in several:
        if not isinstance(each, str) or not _is_command(each):
            raise PartRefused(shown, quoted(each), _COMMAND)
    return tuple(several)


def _is_command(text: str) -> bool:
    try:
        words = shlex.split(text)
    except ValueError:  # an open quote
        return False
    return bool(words) and FILE not in words[0] and "\0" not in text
