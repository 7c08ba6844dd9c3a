"""The files that a shell command changes, as far as its text says so."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from co_tui.shell.programs import read_command

_PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)
_NOT_A_NAME: Final = re.compile(r"[$*?{}<>|;&`\n=]|^\d*$|^-|^/dev/|^&")


def patched_files(text: str) -> list[str]:
    """The files named by a patch in the `*** Update File:` form."""
    return [match.strip() for match in _PATCHED.findall(text)]


@lru_cache(maxsize=4096)
def changed_files(command: str) -> tuple[str, ...]:
    """The files that redirections, `tee`, `sed -i`, `cp`, `mv`, `rm`, `touch` and patches in a command name."""
    found = patched_files(command)
    for simple in read_command(command):
        words = simple.words[1:] if simple.program == "git" and len(simple.words) > 1 else simple.words
        found += (*simple.written, *_arguments_changed(words[0].rpartition("/")[2], words[1:]))
    return tuple(dict.fromkeys(name for name in map(_clean, found) if name))


def _arguments_changed(program: str, arguments: Sequence[str]) -> Iterable[str]:
    names = [each for each in arguments if not each.startswith("-")]
    match program:
        case "tee" | "touch" | "rm" | "mv":
            return names
        case "cp" | "install" | "ln":
            return names[-1:] if len(names) > 1 else ()
        case "sed" if any(re.match(r"-[a-zA-Z]*i|--in-place", each) for each in arguments):
            scripts = {two for one, two in pairwise(arguments) if one in ("-e", "-f", "--expression")}
            return [name for name in names if name not in scripts] if scripts else names[1:]
    return ()


def _clean(name: str) -> str:
    """A path as written; empty for what is not one: options, variables, devices."""
    name = name.strip().strip("'\"").removeprefix("./").rstrip("/")
    return "" if not name or _NOT_A_NAME.search(name) or name in (".", "..") else name
