"""Run what was judged: a command line from the words that were judged, with nothing left to expand (X10)."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from co_tui.agent.permissions.command_kinds import HARMLESS_VARIABLES, unwrapped, wrapped_programs
from co_tui.agent.permissions.git_guard import GUARDED_ENVIRONMENT
from co_tui.agent.permissions.reading_commands import FOUND_READERS, Reading, read_by
from co_tui.agent.permissions.working_folders import LocatedCommand, expanded
from co_tui.settings.permission_rules import EDIT, READ
from co_tui.shell.syntax import Piece, Redirect, ShellCommand, Word, commands_in_text

LONGEST_JUDGED_BYTES: Final = 100_000
"""The system starts no program with a longer argument than 128 KiB."""
_PLAIN_PATTERN: Final = re.compile(r"\w(?!.*/\.)[\w./*?-]*")
_LATER_PATTERN: Final = re.compile(r"[\w./-]")
"""Begins a wildcard that never expands to an option."""
_BUILTINS: Final = frozenset(("cd", "echo", "printf", "pwd", "true", "false", ":", "test", "command"))
_GUARDED: Final = " ".join(f"{name}={shlex.quote(value)}" for name, value in GUARDED_ENVIRONMENT.items())
_SHIM_FOLDER: Final = "/shims/"
_SHIMS: Final = frozenset(("mise", "rtx", "asdf", "volta-shim", "proto-shim", "aqua-proxy"))
"""Programs of version managers that read the folder's files to decide which version to run."""


class JudgedWords(NamedTuple):
    """The words of a command as written, and what each becomes."""

    written: Sequence[Word]
    texts: Sequence[Sequence[str]]

    @property
    def flat(self) -> list[str]:
        return [text for texts in self.texts for text in texts]


class Part(NamedTuple):
    """A command of a line, or the redirections of a compound, with what it reads in each of its folders."""

    command: ShellCommand | None
    redirects: tuple[Redirect, ...]
    folders: tuple[Path, ...]
    is_fed: bool
    """Whether its input comes from another command, a file or a here-document."""
    words: tuple[JudgedWords | None, ...] = ()
    readings: tuple[Reading | None, ...] = ()

    @property
    def bare(self) -> list[str]:
        """The words without variables in front; what is computed at run time as written."""
        words = self.command.words if self.command is not None else ()
        return [word.source if word.text is None else word.text for word in words]

    @property
    def with_variables(self) -> list[str]:
        values = self.command.assignments if self.command is not None else ()
        before = [f"{name}={value.source if value.text is None else value.text}" for name, value in values]
        return [*before, *self.bare]

    @property
    def has_harmless_variables(self) -> bool:
        return self.command is None or all(name in HARMLESS_VARIABLES for name, _ in self.command.assignments)

    @property
    def exact_words(self) -> list[str] | None:
        """The words of a rule for this line alone; None when one is only known at run time."""
        if self.command is None or self.command.texts is None:
            return None
        if any(value.text is None for _, value in self.command.assignments):
            return None
        return self.with_variables

    @property
    def own_forms(self) -> list[list[str]]:
        """The forms that allow rules are compared with: the whole command and, without variables in front, what its
        wrappers run."""
        whole = self.with_variables
        return [whole, unwrapped(whole)] if whole == self.bare else [whole]

    @property
    def kept_texts(self) -> list[str] | None:
        """The words that a kept rule is compared with; a wildcard as written, unless it could become an option or lead
        out of the folder."""
        words = self.command.words if self.command is not None else ()
        if any(word.is_under_home for word in words):
            return None
        texts = [word.source if _PLAIN_PATTERN.fullmatch(word.source) else word.text for word in words]
        return None if None in texts else [text for text in texts if text is not None]

    @property
    def text(self) -> str:
        """As shown in a question."""
        source = self.command.source if self.command is not None else ""
        writes = [f"{each.operator} {each.target.source}" for each in self.redirects if each.writes]
        return " ".join(filter(None, (source, *writes)))

    def forms(self) -> Iterator[list[str]]:
        """The forms that deny and ask rules are compared with: the command itself, and any it may start."""
        bare = self.bare
        yield self.with_variables
        for at, word in enumerate(bare):
            yield [PurePosixPath(word).name or word, *bare[at + 1 :]]
            if at and " " in word:
                for inner in commands_in_text(word):
                    yield from (inner[start:] for start in range(len(inner)))
        if bare[0] == "git":  # options may precede its subcommand
            yield ["git", *(word for word in bare[1:] if not word.startswith("-"))]

    @property
    def can_expand_later(self) -> bool:
        """Whether its wildcards may be left to the shell: no file that appears could become an option."""
        words = self.command.words if self.command is not None else ()
        return all(_LATER_PATTERN.match(word.source) for word in words if word.is_pattern)

    def paths_used(self, at: int) -> Iterator[tuple[str, str]]:
        """How it may use which paths in one of its folders: a reading command reads them, any other may also write
        them."""
        for redirect in self.redirects:
            tools = (EDIT, READ) if redirect.writes else (READ,)
            yield from ((tool, redirect.target.text or "") for tool in tools)
        if self.command is None:
            return
        words, reading = self.words[at], self.readings[at]
        if reading is not None:
            yield from ((READ, path) for path in reading.paths)
            return
        for word in words.flat[1:] if words is not None else self.bare[1:]:
            yield from ((tool, word) for tool in (READ, EDIT))


def examined(located: LocatedCommand, home: Path) -> Part:
    """Expand the words of a command, once: what is judged is what runs."""
    command = located.command
    if command is None:
        return Part(*located)
    at_home = [_at_home(word, home) for word in command.words]
    texts = [None if command.assignments else expanded(at_home, folder) for folder in located.folders]
    words = tuple(None if each is None else JudgedWords(command.words, each) for each in texts)
    is_known = bool(command.program) and not any(word.is_under_home for word in at_home)
    readings = (read_by(unwrapped(each.flat)) if each is not None and is_known else None for each in words)
    return Part(*located, words, tuple(readings))


def _at_home(word: Word, home: Path) -> Word:
    """The word with the home folder in place of a plain `~/`."""
    if not word.is_under_home or word.text is None:
        return word
    path = f"{home}{word.text[1:]}"
    return word._replace(source=path, pieces=(Piece(path, quoted=True),))


def rewritten(
    line: str, parts: Sequence[tuple[Part, bool]], path: str, *, names_programs: bool, guards_git: bool
) -> str | None:
    """The line with the words of these parts quoted; None if a program would read the folder's files to find another,
    or the line would be too long. With each part: whether another may make files before it, so that it keeps its
    wildcards. `path` is where programs are. `names_programs`: by their absolute path, unless other parts may change
    that. `guards_git`: git gets the environment with which it runs nothing."""
    source = line.encode("utf-8", "surrogateescape")
    edits: list[tuple[int, int, bytes]] = []
    for part, is_late in parts:
        command = part.words[0]
        if command is None or (words := _runnable(command.flat, path, names_programs=names_programs)) is None:
            return None
        if guards_git and unwrapped(command.flat)[0] == "git":
            words[0] = f"{_GUARDED} {words[0]}"
        at = 0
        for word, texts in zip(command.written, command.texts, strict=True):
            text = " ".join(words[at : at + len(texts)])
            at += len(texts)
            if is_late and word.is_pattern and not word.source.startswith("-"):
                continue
            size = len(word.source.encode("utf-8", "surrogateescape"))
            edits.append((word.start, word.start + size, text.encode("utf-8", "surrogateescape")))
    for start, end, replacement in sorted(edits, reverse=True):
        source = source[:start] + replacement + source[end:]
    return source.decode("utf-8", "surrogateescape") if len(source) <= LONGEST_JUDGED_BYTES else None


def _runnable(words: Sequence[str], path: str, *, names_programs: bool) -> list[str] | None:
    """The words of a command quoted, perhaps each program by its absolute path; None if one is a shim."""
    quoted = list(map(shlex.quote, words))
    if words[0] == "cd" and not words[1].startswith("/"):
        quoted[1] = shlex.quote(f"./{words[1]}")  # not looked up in CDPATH
    programs = wrapped_programs(words)
    if words[programs[-1]] == "find":
        programs += [
            at + 1 for at, pair in enumerate(pairwise(words)) if pair[0] == "-exec" and pair[1] in FOUND_READERS
        ]
    for at in programs:
        if words[at] in _BUILTINS and all(words[each] == "command" for each in programs if each < at):
            continue
        if (found := _program(words[at], path)) is None:
            return None
        quoted[at] = shlex.quote(found) if names_programs else quoted[at]
    return quoted


def _program(name: str, path: str) -> str | None:
    """Where a program is, or would be; None for a shim."""
    found = shutil.which(name, path=path)
    if found is None:
        return f"/usr/bin/{name}"
    is_shim = _SHIM_FOLDER in found or Path(os.path.realpath(found)).name in _SHIMS
    return None if is_shim else found
