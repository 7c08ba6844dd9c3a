"""The files that a shell command changes, as far as its text says so."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?\n)?[ \t]*\2[ \t]*(?=\n|$)", re.DOTALL)
_PATCHED: Final = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)
_ENDS: Final = frozenset({"|", "||", "&&", ";", "&", "(", ")", "|&", ";;"})
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>"})
_NOT_A_NAME: Final = re.compile(r"[$*?{}<>|;&`\n=]|^\d*$|^-|^/dev/|^&")
_MAY_CHANGE: Final = re.compile(r">|\b(?:tee|sed|cp|mv|rm|touch|install|ln)\b")
"""Reading a line word by word is slow."""
_LONGEST: Final = 20_000
"""Longer commands are read up to here, without what they feed to a file."""


def patched_files(text: str) -> list[str]:
    """The files named by a patch in the `*** Update File:` form."""
    return [match.strip() for match in _PATCHED.findall(text)]


@lru_cache(maxsize=4096)
def changed_files(command: str) -> tuple[str, ...]:
    """The files that redirections, `tee`, `sed -i`, `cp`, `mv`, `rm`, `touch` and patches in a command name."""
    found = patched_files(command)
    # The body of a here-document is data; the rest of its first line is still the command.
    plain = _HEREDOC.sub(lambda match: f" {match[3]}", command)[:_LONGEST]
    for line in filter(_MAY_CHANGE.search, _logical_lines(plain)):
        for words in _simple_commands(line):
            found += _changed_by(words)
    return tuple(dict.fromkeys(name for name in map(_clean, found) if name))


def _logical_lines(text: str) -> Iterator[str]:
    """Lines, joined while a quote is open."""
    held = ""
    for line in text.replace("\\\n", " ").split("\n"):
        held = f"{held}\n{line}" if held else line
        if _is_closed(held):
            yield held
            held = ""


def _is_closed(text: str) -> bool:
    if "'" not in text and '"' not in text:
        return True
    quote, skip = "", False
    for character in text:
        if skip:
            skip = False
        elif character == "\\" and quote != "'":
            skip = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
    return not quote


def _simple_commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if word in _ENDS:
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        return
    yield words


def _changed_by(words: Sequence[str]) -> Iterator[str]:
    plain: list[str] = []
    writes = False
    for word in words:
        if writes:
            yield word
            writes = False
        elif word in _WRITES:
            writes = True
            if plain and plain[-1] == "2":
                writes = False  # errors only
        else:
            plain.append(word)
    while plain and ("=" in plain[0] or plain[0] in ("sudo", "env", "time", "git")):
        del plain[0]
    if plain:
        yield from _arguments_changed(plain[0].rsplit("/", 1)[-1], plain[1:])


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
