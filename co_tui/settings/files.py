"""Read settings files. They may have come with a clone, so size, nesting and parsing time are bounded."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from co_tui.paths import is_inside, path_text, read_small_text
from co_tui.settings.plain_toml import plain_table
from co_tui.settings.rules import SettingsError

LIMIT_BYTES: Final = 64_000
"""Far more than people write by hand."""
MOST_DOTS: Final = 100
"""In one line: parsing time grows with the square of a key's parts."""
MARKDOWN: Final = ".md"
MOST_ENTRIES: Final = 5_000
"""Looked at in one folder and those below: this is done before a project is trusted."""
DEEPEST: Final = 4
"""Levels of folders below."""
_LONG_NUMBER: Final = r"\d{40,}"


def read_table(file: Path) -> dict[str, Any]:
    """The table in a TOML file. Raises `SettingsError` that names the file and the problem."""
    return parsed(read_text(file), file)


def read_text(file: Path) -> str:
    try:
        return read_small_text(file, LIMIT_BYTES).removeprefix("\ufeff")  # as editors on Windows write it
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


class MarkdownFiles:
    """Finds files, each folder once, whatever links lead to it, until it has seen too many entries."""

    def __init__(self, inside: Path | None) -> None:
        self._inside = inside
        self._seen: set[str] = set()
        self._left = MOST_ENTRIES
        self.is_cut = False

    def below(self, folder: Path, endings: tuple[str, ...] = (MARKDOWN,), levels: int = DEEPEST) -> Iterator[Path]:
        """The files whose names end like this, those of the folder itself first."""
        self._seen.add(os.path.realpath(folder))
        names = self.entries(folder)
        yield from (Path(entry.path) for entry in names if entry.name.endswith(endings) and not entry.is_dir())
        for entry in names if levels > 0 else ():
            if entry.is_dir() and os.path.realpath(entry.path) not in self._seen and self._may_enter(entry.path):
                yield from self.below(Path(entry.path), endings, levels - 1)

    def _may_enter(self, folder: str) -> bool:
        return self._inside is None or is_inside(folder, self._inside)

    def entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """What is in a folder, sorted; nothing if it cannot be read."""
        try:
            with os.scandir(folder) as found:
                listed = list(islice(found, self._left + 1))
        except OSError:
            return []
        self.is_cut = self.is_cut or len(listed) > self._left
        listed = listed[: self._left]
        self._left -= len(listed)
        return sorted((each for each in listed if not each.name.startswith(".")), key=lambda entry: entry.name)
