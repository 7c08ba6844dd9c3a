"""The text of a command's file: where its arguments go, and which shell commands are run for it."""

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_INLINE: Final = re.compile(r"(?<![^\s(\[{:>*_-])!`([^`\n]+)`")
_LINE: Final = re.compile(r"!(?![\[`=\s])(.+)")
_PLACEHOLDER: Final = re.compile(r"\$(?:(ARGUMENTS)\b|([1-9]\d?)(?!\d))")
MOST_COMMANDS: Final = 20
"""In one file."""


class TextPiece(NamedTuple):
    """A part of the text: as it is, or a shell command whose output takes its place."""

    text: str
    is_shell: bool = False


def pieces_of(body: str) -> list[TextPiece]:
    """The text split at its shell commands: !`command` anywhere, and lines that begin with `!` outside of code."""
    pieces: list[TextPiece] = []
    fence = ""
    for number, line in enumerate(body.split("\n")):
        pieces += [TextPiece("\n")] if number else []
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        whole = _LINE.fullmatch(line) if not fence else None
        pieces += [TextPiece(whole[1].strip(), True)] if whole else _inline(line)
    return _joined(pieces)


def shell_lines(body: str) -> list[str]:
    """The shell commands of a text, before arguments are filled in."""
    return [piece.text for piece in pieces_of(body) if piece.is_shell]


def filled(pieces: list[TextPiece], arguments: str) -> list[TextPiece]:
    """The pieces with `$ARGUMENTS` and `$1`… replaced, once: nothing in the arguments is replaced again or run."""
    arguments = arguments.strip()
    words = _words(arguments)
    used = False

    def value(found: re.Match[str]) -> str:
        nonlocal used
        used = True
        if found[1]:
            return arguments
        at = int(found[2])
        return words[at - 1] if at <= len(words) else ""

    done = [piece._replace(text=_PLACEHOLDER.sub(value, piece.text)) for piece in pieces]
    if arguments and not used:
        done.append(TextPiece(f"\n\nARGUMENTS: {arguments}"))
    return done


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an apostrophe, not a quote
        return arguments.split()


def _inline(line: str) -> Iterator[TextPiece]:
    at = 0
    for found in _INLINE.finditer(line):
        yield TextPiece(line[at : found.start()])
        yield TextPiece(found[1].strip(), True)
        at = found.end()
    yield TextPiece(line[at:])


def _joined(pieces: list[TextPiece]) -> list[TextPiece]:
    """Adjacent texts joined, empty ones dropped."""
    joined: list[TextPiece] = []
    for piece in pieces:
        if joined and not piece.is_shell and not joined[-1].is_shell:
            joined[-1] = TextPiece(joined[-1].text + piece.text)
        elif piece.text:
            joined.append(piece)
    return joined
