"""Find the folders in which the commands of a line may run, and expand their words there."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.command_kinds import unwrapped
from co_tui.shell.syntax import NotUnderstood, Redirect, ShellCommand, Statement, Word

MOST_FOLDERS: Final = 8
MOST_MATCHES: Final = 5_000


class LocatedCommand(NamedTuple):
    """A command, or the redirections of a compound, with the folders it may run in."""

    command: ShellCommand | None
    redirects: tuple[Redirect, ...]
    folders: tuple[Path, ...]
    is_fed: bool = False
    """Whether its input comes from another command, a file or a here-document."""


def located(statement: Statement, folder: Path) -> list[LocatedCommand]:
    """Every part of a statement that starts in `folder`. Raises `NotUnderstood` for a `cd` that cannot be followed."""
    walk = _Walk(folder.resolve())
    walk.statement(statement, (walk.root,))
    return walk.found


class _Walk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: list[LocatedCommand] = []
        self._reached: tuple[Path, ...] = (root,)
        """All folders that may be current after the last statement, whether it succeeded or not."""

    def statement(self, statement: Statement, folders: tuple[Path, ...], *, is_fed: bool = False) -> tuple[Path, ...]:
        """Visit a statement; returns the folders that may be current after it succeeds."""
        is_fed = is_fed or any(redirect.operator in ("<", "<<", "<&") for redirect in statement.redirects)
        if isinstance(statement, ShellCommand):
            return self._command(statement, folders, is_fed=is_fed)
        after = possible = folders
        for part, joined_by in zip(statement.parts, ("", *statement.joined_by), strict=True):
            # Only `&&` guarantees that the previous one succeeded, in this same shell.
            begins = after if joined_by == "&&" else possible
            self._reached = begins
            after = self.statement(part, begins, is_fed=is_fed or joined_by == "|")
            possible = _all(possible, self._reached, after)
            if joined_by not in ("", "&&"):
                after = possible
        self._reached = possible
        if statement.redirects:
            self._redirects(statement.redirects, possible)
            self.found.append(LocatedCommand(None, statement.redirects, possible))
        return after

    def _command(self, command: ShellCommand, folders: tuple[Path, ...], *, is_fed: bool) -> tuple[Path, ...]:
        for word in (*command.words, *(value for _, value in command.assignments)):
            self._inside(word, folders)
        self._redirects(command.redirects, folders)
        self.found.append(LocatedCommand(command, command.redirects, folders, is_fed))
        program = command.program
        if not program or (program != "cd" and unwrapped([program, *_texts(command)])[0] == "cd"):
            raise NotUnderstood  # it may change the folder
        after = self._changed_to(command, folders) if program == "cd" else folders
        self._reached = _all(folders, after)
        return after

    def _redirects(self, redirects: Sequence[Redirect], folders: tuple[Path, ...]) -> None:
        for redirect in redirects:
            self._inside(redirect.target, folders)

    def _inside(self, word: Word, folders: tuple[Path, ...]) -> None:
        for inner in word.substitutions:
            self.statement(inner, folders)

    def _changed_to(self, command: ShellCommand, folders: tuple[Path, ...]) -> tuple[Path, ...]:
        """The folders after `cd`. Links are refused: after one, `cd ..` and `cat ../x` disagree about the parent."""
        target = command.words[1].text if len(command.words) == 2 else None
        if not target or target.startswith("-") or command.words[1].is_under_home:
            raise NotUnderstood
        changed = tuple(Path(os.path.normpath(each / target)) for each in folders)
        if any(each != _real(each) for each in changed):
            raise NotUnderstood
        return changed


def _texts(command: ShellCommand) -> list[str]:
    return [word.text or "" for word in command.words[1:]]


def _real(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _all(*several: tuple[Path, ...]) -> tuple[Path, ...]:
    found = tuple(dict.fromkeys(path for folders in several for path in folders))
    if len(found) > MOST_FOLDERS:
        raise NotUnderstood
    return found


def expanded(words: Sequence[Word], folder: Path) -> list[list[str]] | None:
    """What each word becomes in a folder, wildcards expanded; None when that is unknown.

    A name that begins with `-` becomes `./-x`, so that no program takes it for an option.
    """
    texts: list[list[str]] = []
    count = 0
    for word in words:
        if word.pieces is None:
            return None
        try:
            names = list(_matches(word, folder)) if word.is_pattern else []
        except NotUnderstood:
            return None
        count += len(names)
        if count > MOST_MATCHES:
            return None
        written = "".join(piece.text for piece in word.pieces)
        texts.append([f"./{name}" if name.startswith("-") else name for name in names] or [written])
    return texts


_WILDCARDS: Final = {"*": ".*", "?": "."}


class _Component(NamedTuple):
    """A component of a path pattern."""

    written: str = ""
    expression: str = ""
    is_pattern: bool = False


def _matches(word: Word, folder: Path) -> Iterator[str]:
    """The names a pattern expands to. Raises `NotUnderstood` where shells differ."""
    path = [_Component()]
    for piece in word.pieces or ():
        for character in piece.text:
            if character == "/":
                path.append(_Component())
                continue
            last, any_characters = path[-1], not piece.quoted and character in "*?"
            expression = _WILDCARDS[character] if any_characters else re.escape(character)
            path[-1] = _Component(
                last.written + character, last.expression + expression, last.is_pattern or any_characters
            )
    yield from _descend("", path, folder)


def _descend(prefix: str, path: Sequence[_Component], folder: Path) -> Iterator[str]:
    first, *rest = path
    names = _names(folder / prefix, first) if first.is_pattern else [first.written]
    for name in names:
        if rest:
            yield from _descend(f"{prefix}{name}/", rest, folder)
        elif os.path.lexists(found := folder / (prefix + name)) and (name or found.is_dir()):  # `*/` matches no file
            yield prefix + name


def _names(folder: Path, component: _Component) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except (OSError, ValueError):
        return []
    expression = re.compile(component.expression, re.DOTALL)
    if component.written.startswith("."):
        names += [".", ".."]  # dash matches them, too
    else:
        names = [name for name in names if not name.startswith(".")]
    found = sorted(name for name in names if expression.fullmatch(name))
    if "?" in component.written and any(not name.isascii() for name in names):
        raise NotUnderstood  # how many characters a name has depends on the locale
    return found
