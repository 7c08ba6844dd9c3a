"""Patterns of file names, as the tools that find and search take them."""

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import Final

from co_tui.agent.library_internals import glob_match, glob_parts
from co_tui.folder_files import Entry

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_MOST_GLOBS: Final = 64


class FindPattern:
    """The pattern of a search for files and folders."""

    def __init__(self, pattern: str, files_only: bool) -> None:
        self._parts, self._folders_only = glob_parts(pattern)
        self._files_only = files_only
        self._anywhere = "**" in self._parts
        self.names_hidden = names_hidden(pattern)

    def is_above(self, entry: Entry) -> bool:
        """Whether only paths above an entry can match."""
        return not self._anywhere and entry.path.count("/") >= len(self._parts)

    def may_match(self, entry: Entry) -> bool:
        """Whether an entry, or something in it, would match."""
        return (entry.is_dir and self._anywhere) or self._fits(entry.path)

    def matches(self, entry: Entry) -> bool:
        return self._fits(entry.path) and not (self._files_only if entry.is_dir else self._folders_only)

    def _fits(self, path: str) -> bool:
        # The last part rules out most paths quickly.
        *_, name = names = path.split("/")
        last = self._parts[-1]
        return (last == "**" or fnmatch.fnmatchcase(name, last)) and glob_match(self._parts, names)


def names_hidden(pattern: str | None) -> bool:
    """Whether a glob names a hidden file or folder: only then are they searched."""
    parts = re.split(r"[/{,]", pattern or "")
    return any(part.startswith(".") and part not in (".", "..") for part in parts)


def globs(pattern: str) -> Callable[[str], bool]:
    """A matcher for a glob whose `*` also spans `/`, with `**` and `{a,b}` as in ripgrep."""
    given = pattern.removeprefix("!").removeprefix("./").removeprefix("/")
    forms = {form for each in _expanded(given) for form in (each, each.replace("**/", ""))}
    return lambda path: any(fnmatch.fnmatchcase(path, form) for form in forms) != pattern.startswith("!")


def path_globs(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A matcher for globs whose `*` stays within a name, with `**` and `{a,b}`: whether a path matches any."""
    expanded = [[part for part in each.split("/") if part not in ("", ".")] for p in patterns for each in _expanded(p)]
    return lambda path: any(glob_match(parts, path.split("/")) for parts in expanded)


def _expanded(pattern: str) -> list[str]:
    done: list[str] = []
    open_ = [pattern]
    while open_ and len(done) < _MOST_GLOBS:
        each = open_.pop()
        braces = _BRACES.search(each)
        if braces is None:
            done.append(each)
        else:
            open_ += [f"{each[: braces.start()]}{part}{each[braces.end() :]}" for part in braces[1].split(",")]
    return done
