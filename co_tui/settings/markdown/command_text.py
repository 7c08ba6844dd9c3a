"""The text of a command's file: where its arguments go, and which shell commands are run for it."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_INLINE: Final = re.compile(r"(?<![^\s(\[{:>*_-])!`([^`\n]+)`")
_LINE: Final = re.compile(r"!(?![\[`=\s])(.+)")
_PLACEHOLDER: Final = (
    r"(?P<slashes>\\*)\$(?P<what>ARGUMENTS(?!\w)(?:\[(?P<index>\d{{1,2}})\])?|(?P<number>\d{{1,2}})(?!\d){})"
)
"""Where an argument goes; `{}` is for the names that a file declares."""
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
    if "!`" not in body and "\n!" not in body and not body.startswith("!"):
        return []  # most skills are long and have none
    return [piece.text for piece in pieces_of(body) if piece.is_shell]


def filled(pieces: list[TextPiece], arguments: str, names: Sequence[str] = ()) -> list[TextPiece]:
    """The pieces with arguments filled in, once: nothing in the arguments is replaced again or run.

    `$ARGUMENTS` is all of them, `$ARGUMENTS[0]` the first. `$1` is the first, too, unless the text counts from 0, with
    a `$0` or an `$ARGUMENTS[N]`. `names` are further names for them, in order. `\\$1` stays `$1`.
    """
    arguments = arguments.strip()
    filling = _Filling(arguments, names, "\n".join(piece.text for piece in pieces))
    done = [piece._replace(text=filling.fill(piece)) for piece in pieces]
    if arguments and not filling.is_used:
        done.append(TextPiece(f"\n\nARGUMENTS: {arguments}"))
    return done


class _Filling:
    """Fills the arguments into the pieces of one text."""

    def __init__(self, arguments: str, names: Sequence[str], text: str) -> None:
        self._arguments = arguments
        self._words = _words(arguments)
        self._names = list(names)
        named = "".join(f"|{re.escape(name)}(?!\\w)" for name in names)
        self._placeholder = re.compile(_PLACEHOLDER.format(named))
        found = [each for each in self._placeholder.finditer(text) if not _is_escaped(each)]
        self._first = 0 if any(each["index"] or each["number"] == "0" for each in found) else 1
        self.is_used = False

    def fill(self, piece: TextPiece) -> str:
        def value(found: re.Match[str]) -> str:
            if _is_escaped(found):
                return found[0][1:]
            word = self._word(found)
            self.is_used |= word is not None
            if word is None:  # as the shell would read it, where it runs
                is_empty = piece.is_shell and piece.text.count("'", 0, found.start()) % 2 == 0
                word = "" if is_empty else f"${found['what']}"
            return f"{found['slashes']}{word}"

        return self._placeholder.sub(value, piece.text)

    def _word(self, found: re.Match[str]) -> str | None:
        """The argument that a placeholder names; None if there are fewer."""
        if found["what"] == "ARGUMENTS":
            return self._arguments
        if found["what"] in self._names:
            at = self._names.index(found["what"])
            return self._words[at] if at < len(self._words) else ""
        at = int(found["index"]) if found["index"] else int(found["number"]) - self._first
        return self._words[at] if at < len(self._words) else None


def _is_escaped(found: re.Match[str]) -> bool:
    """Only a single backslash escapes."""
    return found["slashes"] == "\\"


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
