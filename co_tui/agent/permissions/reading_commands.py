"""Decide from the tables whether a command only reads, and what it reads."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.reading_tables import (
    FIND_ALONE,
    FIND_TESTS,
    FORMAT,
    FOUND_READERS,
    GIT_READERS,
    READERS,
    TEST_OPERATORS,
    Reader,
)
from co_tui.agent.permissions.shell_syntax import NULL_DEVICE


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


_PROCESS_PATHS: Final = ("/proc/", "/dev/fd", "/dev/std")


def read_by(words: Sequence[str]) -> Reading | None:
    """What a command reads; None unless it is known to only read. For `git`, the caller must also guard it."""
    program, *rest = words
    if program == "git":
        return _read_by_git(rest)
    if program == "command" and rest[:1] in (["-v"], ["-V"]) and len(rest) > 1:
        return Reading()
    if program in ("python", "python3", "node", "bash", "make", "gcc") and rest == ["--version"]:
        return Reading()
    reader = READERS.get(program)
    return _read(reader, rest) if reader is not None else None


def _read_by_git(words: Sequence[str]) -> Reading | None:
    if words[:1] == ["--no-pager"]:
        words = words[1:]
    if list(words) == ["--version"]:
        return Reading()
    if not words or (reader := GIT_READERS.get(words[0])) is None:
        return None
    return _read(reader, words[1:])


def _read(reader: Reader, words: Sequence[str]) -> Reading | None:
    given = _options(reader, words)
    if given is None:
        return None
    options, operands = given
    if reader.most is not None and len(operands) > reader.most:
        return None
    whole = any(each in ("*", *options) for each in reader.finds_files)
    if (is_allowed := _FIXED_OPERANDS.get(reader.operands)) is not None:
        return Reading(whole_folders=whole) if is_allowed(operands) else None
    return _READ_OPERANDS[reader.operands](options, operands, whole)


def _options(reader: Reader, words: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Split options and operands; None for an option that is not listed."""
    if reader.operands in ("find", "test", "anything"):
        return [], list(words)
    options: list[str] = []
    operands: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            operands += ([word] if reader.operands == "revisions" else []) + rest
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        found = _long(reader, word, rest) if word.startswith("--") else _short(reader, word, rest)
        if found is None:
            return None
        options += found
    return options, operands


def _long(reader: Reader, word: str, rest: list[str]) -> list[str] | None:
    """The option in a word like `--name` or `--name=value`; takes its value from `rest` if needed."""
    name, equals, value = word.partition("=")
    pattern = reader.valued.get(name)
    if equals and pattern is not None:
        good = re.fullmatch(pattern, value) is not None
    elif f"{name}=" in reader.long or (not equals and name in reader.long):
        if name in ("--format", "--pretty") and not re.fullmatch(FORMAT, value):
            return None
        good = pattern is None or _takes(pattern, rest)
    else:
        good = pattern is not None and _takes(pattern, rest)
    return [name] if good else None


def _short(reader: Reader, word: str, rest: list[str]) -> list[str] | None:
    """The options in a word like `-rn`, `-A3` or `-5`; takes the last one's value from `rest` if needed."""
    if word in reader.long or (reader.digits and re.fullmatch(r"-\d+", word)):
        return [word]
    found: list[str] = []
    if reader.form != "joined" and len(word) > 2 and (reader.form == "apart" or word[:2] not in reader.valued):
        return None
    for at, letter in enumerate(word[1:], 1):
        option = f"-{letter}"
        if (pattern := reader.valued.get(option)) is not None:
            value = word[at + 1 :]
            good = re.fullmatch(pattern, value) is not None if value else _takes(pattern, rest)
            return [*found, option] if good else None
        if letter not in reader.flags and option not in reader.long:
            return None
        found.append(option)
    return found


def _takes(pattern: str, rest: list[str]) -> bool:
    """Take the next word as a value; not one that looks like an option, which the program may take for one."""
    return bool(rest) and not rest[0].startswith("-") and re.fullmatch(pattern, rest.pop(0)) is not None


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
        elif word in FIND_TESTS:
            only_files |= word == "-type" and rest[:1] == ["f"] and before not in ("!", "-not")
            if not rest or re.fullmatch(FIND_TESTS[word], rest.pop(0)) is None:
                return None
        elif word not in FIND_ALONE:
            return None
        before = word
    if runs_commands and {"-o", "-or", "("} & set(words):
        return None  # it is unclear which files reach the command
    return Reading(tuple(paths), runs_commands)


def _only_reads_found(words: Sequence[str]) -> bool:
    """Whether an `-exec` command only reads. Names from `find` begin with its start path, so none is an option."""
    if not words or words[0] not in FOUND_READERS or words.count("{}") != 1 or words[-1] != "{}":
        return False
    reading = _read(READERS[words[0]], words[1:])
    return reading is not None and set(reading.paths) <= {"{}"}


def _printed(operands: Sequence[str]) -> Reading | None:
    """`sed` that only prints lines: its other commands write files and run programs."""
    if not operands or _SED_PRINTS.fullmatch(operands[0].replace(" ", "")) is None:
        return None
    return Reading(tuple(operands[1:]))


def _listed(options: Sequence[str], operands: Sequence[str]) -> Reading | None:
    return Reading() if not operands or {"-l", "--list"} & set(options) else None


def _searched(options: Sequence[str], operands: Sequence[str], whole: bool) -> Reading:
    """What is searched; the first operand is the expression, unless an option gives it."""
    has_expression = any(option in ("-e", "--regexp", "--files", "--type-list") for option in options)
    return Reading(tuple(operands if has_expression else operands[1:]), whole)


def _tested(operands: Sequence[str]) -> Reading | None:
    known = [each for each in operands if each not in TEST_OPERATORS]
    return None if any(each.startswith("-") for each in known) else Reading(tuple(known))


_READ_OPERANDS: Final[Mapping[str, Callable[[Sequence[str], Sequence[str], bool], Reading | None]]] = {
    "none": lambda _, operands, __: None if operands else Reading(),
    "text": lambda *_: Reading(),
    "anything": lambda *_: Reading(),
    "listing": lambda options, operands, _: _listed(options, operands),
    "paths": lambda _, operands, whole: Reading(tuple(operands), whole),
    # Folders would be compared file by file, through links.
    "files": lambda _, operands, __: Reading(tuple(operands), files_only=True) if len(operands) == 2 else None,
    "expression": _searched,
    "revisions": lambda _, operands, whole: Reading(tuple(each for each in operands if each != "--"), whole),
    "find": lambda _, words, __: _found(words),
    "sed": lambda _, operands, __: _printed(operands),
    "test": lambda _, operands, __: _tested(operands),
}
"""Kind of operands → what is read, from options, operands, and whether the command finds files by itself."""


def stays_inside(path: str, folder: Path, root: Path, *, file_only: bool = False) -> bool:
    """Whether a path relative to `folder` stays inside `root`, links resolved."""
    if path == NULL_DEVICE:
        return True
    if os.path.normpath(folder / path).startswith(_PROCESS_PATHS):  # different files for us and for the command
        return False
    try:
        real = (folder / path).resolve()
        if real.is_dir():
            return real.is_relative_to(root) and not file_only
        # Reading a pipe would block forever.
        return real.is_relative_to(root) and (real.is_file() or not real.exists())
    except (OSError, ValueError, RuntimeError):  # a name that is too long, or a loop of links
        return False
