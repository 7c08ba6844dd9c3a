"""Decide from the tables whether a command only reads, and what it reads."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.program_options import Use, read_words
from co_tui.agent.permissions.program_table import program_of
from co_tui.shell.syntax import NULL_DEVICE


class Reading(NamedTuple):
    """What a free command reads."""

    paths: tuple[str, ...] = ()
    """As given, relative to its working folder."""
    whole_folders: bool = False
    """Whether it shows the content of files it finds by itself."""
    files_only: bool = False
    """Whether all paths must be files."""


_FIXED_OPERANDS: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    "stash": lambda words: list(words) == ["list"] or (words[:1] == ["show"] and len(words) <= 2),
    "list": lambda words: list(words) == ["list"],
    "reflog": lambda words: not words or words[0] in ("show", "HEAD"),
    "date": lambda words: all(word.startswith("+") for word in words),
    "number": lambda words: all(re.fullmatch(r"[\d.]+[smhd]?", word) for word in words),
}
_ADDRESS: Final = r"(?:\d+|\$|/[^/\\\[\n]*/)"
_SED_PRINTS: Final = re.compile(
    rf"{_ADDRESS}?(?:,(?:\+?\d+|{_ADDRESS}))?[p=q](?:;{_ADDRESS}?(?:,\+?{_ADDRESS})?[p=qd])*"
)


_FIND_TESTS: Final = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname",
                     "-printf", "-group", "-user"), r"(?s:.*)"),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin",
                     "-links", "-inum", "-depth"), r"[+-]?\d+[bcwkMG]?"),
    "-type": r"[bcdpfls](,[bcdpfls])*", "-perm": r"[\w/+=,-]+", "-regextype": r"[\w-]+",
}  # fmt: skip
_FIND_ALONE: Final = frozenset(
    ("-print", "-print0", "-ls", "-prune", "-not", "-a", "-and", "-o", "-or", "-empty", "-true", "-false", "-readable",
     "-writable", "-executable", "-mount", "-xdev", "-nouser", "-nogroup", "-quit", "!", "(", ")", "-P", "-noleaf",
     "-daystart")
)  # fmt: skip
FOUND_READERS: Final = frozenset(
    ("cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "ls", "stat", "file", "md5sum", "sha1sum", "sha256sum",
     "basename", "dirname", "echo")
)  # fmt: skip
_TEST_OPERATORS: Final = frozenset(
    ("-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-p", "-r", "-s", "-S", "-u", "-w", "-x", "-z", "=",
     "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "!", "-a", "-o")
)  # fmt: skip
_PROCESS_PATHS: Final = ("/proc/", "/dev/fd", "/dev/std")


def read_by(words: Sequence[str]) -> Reading | None:
    """What a command reads; None unless it is known to only read. For `git`, the caller must also guard it."""
    given = ["git", *words[2:]] if tuple(words[:2]) == ("git", "--no-pager") else list(words)
    if given == ["git", "--version"]:
        return Reading()
    size = 2 if given[0] == "git" else 1
    program = program_of(given[:size])
    return _read(program.reads, given[size:]) if program is not None and program.reads is not None else None


def _read(use: Use, words: Sequence[str]) -> Reading | None:
    if use.operands in _READ_WORDS:
        return _READ_WORDS[use.operands](words)
    given = read_words(use, words)
    if given is None or (use.most is not None and len(given.operands) > use.most):
        return None
    whole = any(each in ("*", *given.names) for each in use.finds_files.split())
    if (is_allowed := _FIXED_OPERANDS.get(use.operands)) is not None:
        return Reading(whole_folders=whole) if is_allowed(given.operands) else None
    return _READ_OPERANDS[use.operands](given.names, given.operands, whole)


def _found(words: Sequence[str]) -> Reading | None:
    """`find`, with `-exec` only for regular files and commands that only read."""
    rest, paths = list(words), []
    while rest and not rest[0].startswith("-") and rest[0] not in ("!", "("):
        paths.append(rest.pop(0))
    only_files = runs_commands = False
    before = ""
    while rest:
        word = rest.pop(0)
        if word == "-exec":
            ends = next((at for at, each in enumerate(rest) if each in (";", "+")), None)
            if not only_files or ends is None or not _only_reads_found(rest[:ends]):
                return None
            rest, runs_commands = rest[ends + 1 :], True
        elif word in _FIND_TESTS:
            only_files |= word == "-type" and rest[:1] == ["f"] and before not in ("!", "-not")
            if not rest or re.fullmatch(_FIND_TESTS[word], rest.pop(0)) is None:
                return None
        elif word not in _FIND_ALONE:
            return None
        before = word
    if runs_commands and {"-o", "-or", "("} & set(words):
        return None  # it is unclear which files reach the command
    return Reading(tuple(paths), runs_commands)


def _only_reads_found(words: Sequence[str]) -> bool:
    """Whether an `-exec` command only reads. Names from `find` begin with its start path, so none is an option."""
    if not words or words[0] not in FOUND_READERS or words.count("{}") != 1 or words[-1] != "{}":
        return False
    reading = read_by(words)
    return reading is not None and set(reading.paths) <= {"{}"}


def _printed(operands: Sequence[str]) -> Reading | None:
    """`sed` that only prints lines: its other commands write files and run programs."""
    if not operands or _SED_PRINTS.fullmatch(operands[0].replace(" ", "")) is None:
        return None
    return Reading(tuple(operands[1:]))


def _listed(options: set[str], operands: Sequence[str]) -> Reading | None:
    return Reading() if not operands or {"-l", "--list"} & options else None


def _searched(options: set[str], operands: Sequence[str], whole: bool) -> Reading:
    """What is searched; the first operand is the expression, unless an option gives it."""
    has_expression = bool(options & {"-e", "--regexp", "--files", "--type-list"})
    return Reading(tuple(operands if has_expression else operands[1:]), whole)


def _tested(operands: Sequence[str]) -> Reading | None:
    known = [each for each in operands if each not in _TEST_OPERATORS]
    return None if any(each.startswith("-") for each in known) else Reading(tuple(known))


_READ_WORDS: Final[Mapping[str, Callable[[Sequence[str]], Reading | None]]] = {
    "anything": lambda _: Reading(),
    "find": _found,
    "test": _tested,
}
"""Kind of operands → what is read, where options are not read as such."""
_READ_OPERANDS: Final[Mapping[str, Callable[[set[str], Sequence[str], bool], Reading | None]]] = {
    "none": lambda _, operands, __: None if operands else Reading(),
    "version": lambda options, operands, _: Reading() if options and not operands else None,
    "text": lambda *_: Reading(),
    "lookup": lambda options, *_: Reading() if options else None,  # without one, `command -- x` runs x
    "listing": lambda options, operands, _: _listed(options, operands),
    "paths": lambda _, operands, whole: Reading(tuple(operands), whole),
    # Folders would be compared file by file, through links.
    "files": lambda _, operands, __: Reading(tuple(operands), files_only=True) if len(operands) == 2 else None,
    "expression": _searched,
    "revisions": lambda _, operands, whole: Reading(tuple(operands), whole),
    "sed": lambda _, operands, __: _printed(operands),
}
"""Kind of operands → what is read, from options, operands, and whether the command finds files by itself."""


def stays_inside(path: str, folder: Path, roots: Sequence[Path], *, file_only: bool = False) -> bool:
    """Whether a path relative to `folder` stays inside one of `roots`, links resolved."""
    if path == NULL_DEVICE:
        return True
    if os.path.normpath(folder / path).startswith(_PROCESS_PATHS):  # different files for us and for the command
        return False
    try:
        real = (folder / path).resolve()
        if not any(real.is_relative_to(root) for root in roots):
            return False
        # Reading a pipe would block forever.
        return not file_only if real.is_dir() else real.is_file() or not real.exists()
    except (OSError, ValueError, RuntimeError):  # a name that is too long, or a loop of links
        return False
