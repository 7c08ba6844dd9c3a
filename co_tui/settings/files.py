"""Read settings files. They may have come with a clone, so size, nesting and parsing time are bounded."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from co_tui.paths import is_inside, path_text, read_small_text
from co_tui.settings.plain_toml import plain_table
from co_tui.settings.rules import SettingsError

LIMIT_BYTES: Final = 64_000
"""Far more than people write by hand."""
MOST_DOTS: Final = 100
"""In one line: parsing time grows with the square of a key's parts."""
_LONG_NUMBER: Final = r"\d{40,}"


def read_table(file: Path) -> dict[str, Any]:
    """The table in a TOML file. Raises `SettingsError` that names the file and the problem."""
    return parsed(read_text(file), file)


def read_text(file: Path) -> str:
    try:
        return read_small_text(file, LIMIT_BYTES)
    except OSError as error:
        raise SettingsError(f"Cannot read {file}: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"Cannot read {file}: it is not UTF-8 ({error.reason}).") from None


def parsed(text: str, file: Path) -> dict[str, Any]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS and not line.lstrip().startswith("#"):
            raise SettingsError(f"Cannot read {file}: line {number} has more than {MOST_DOTS} dots.")
    if (plain := plain_table(text)) is not None:
        return plain
    import tomllib  # slow to import

    try:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise
        except ValueError:  # Python refuses integers of thousands of digits; forty are just as far out of range
            return tomllib.loads(re.sub(_LONG_NUMBER, lambda found: found[0][:40], text))
    except RecursionError:
        raise SettingsError(f"Cannot read {file}: it is nested too deeply.") from None
    except ValueError as error:
        raise SettingsError(f"Cannot read {file}: {error}.") from None


def definition_folders(project: Path, names: Iterable[str]) -> tuple[list[Path], list[Path]]:
    """A project's folders of agents or commands, each once: those inside of it, and those behind a link out of it."""
    root, seen = Path(os.path.realpath(project)), set[str]()
    inside: list[Path] = []
    outside: list[Path] = []
    for folder in (project / name for name in names):
        real = os.path.realpath(folder)
        if real not in seen and folder.is_dir():
            seen.add(real)
            (inside if is_inside(folder, root) else outside).append(folder)
    return inside, outside


def link_out_problem(folder: Path) -> str:
    return f"Skipped {path_text(folder)}: it is a link out of the project."
