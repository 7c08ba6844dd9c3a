"""Run what was judged: a command line from the words that were judged, with nothing left to expand (X10)."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.command_kinds import wrapped_programs
from co_tui.agent.permissions.git_guard import GUARDED_ENVIRONMENT, safe_path
from co_tui.agent.permissions.shell_syntax import Word

LONGEST_JUDGED_BYTES: Final = 100_000
"""The system starts no program with a longer argument than 128 KiB."""
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


def rewritten(
    line: str, commands: Sequence[JudgedWords], environ: Mapping[str, str], folder: Path, *, guards_git: bool
) -> str | None:
    """The line with the words of these commands quoted, and their programs by absolute path; None if a program would
    read the folder's files to find another, or the line would be too long. `guards_git`: git gets the environment with
    which it runs nothing."""
    source = line.encode("utf-8", "surrogateescape")
    edits: list[tuple[int, int, bytes]] = []
    path = safe_path(environ.get("PATH", os.defpath), folder)
    for command in commands:
        if (words := _runnable(command.flat, path)) is None:
            return None
        if guards_git and command.flat[wrapped_programs(command.flat)[-1]] == "git":
            words[0] = f"{_GUARDED} {words[0]}"
        at = 0
        for word, texts in zip(command.written, command.texts, strict=True):
            text = " ".join(words[at : at + len(texts)])
            at += len(texts)
            size = len(word.source.encode("utf-8", "surrogateescape"))
            edits.append((word.start, word.start + size, text.encode("utf-8", "surrogateescape")))
    for start, end, replacement in sorted(edits, reverse=True):
        source = source[:start] + replacement + source[end:]
    return source.decode("utf-8", "surrogateescape") if len(source) <= LONGEST_JUDGED_BYTES else None


def _runnable(words: Sequence[str], path: str) -> list[str] | None:
    """The words of a command quoted, each program by its absolute path; None if one is a shim."""
    programs = wrapped_programs(words)
    if words[programs[-1]] == "find":
        programs += [at + 1 for at, word in enumerate(words) if word == "-exec"]
    quoted = list(map(shlex.quote, words))
    for at in programs:
        if words[at] in _BUILTINS and all(words[each] == "command" for each in programs if each < at):
            continue
        if (found := _program(words[at], path)) is None:
            return None
        quoted[at] = shlex.quote(found)
    if words[0] == "cd" and not words[1].startswith(("/", ".")):
        quoted[1] = shlex.quote(f"./{words[1]}")  # not looked up in CDPATH
    return quoted


def _program(name: str, path: str) -> str | None:
    """Where a program is, or would be; None for a shim."""
    found = shutil.which(name, path=path)
    if found is None:
        return f"/usr/bin/{name}"
    is_shim = _SHIM_FOLDER in found or Path(os.path.realpath(found)).name in _SHIMS
    return None if is_shim else found
