"""Parse a command line into shell commands. Anything dash and bash might read differently is rejected.

tree-sitter-bash provides the structure. Only node types listed here are accepted, and every byte outside them must be
blank, so no part of the line is skipped.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST_LINE_CHARS: Final = 20_000
DEEPEST_NESTING: Final = 40
NULL_DEVICE: Final = "/dev/null"

_PLAIN: Final = re.compile(r"[\w@%+=:,./^\-]+")
"""Unquoted characters that are literal in every shell."""
_ESCAPED: Final = re.compile(r"\\([!-~ ])")
_IN_DOUBLE_QUOTES: Final = re.compile(r'\\([$`"\\])')
_DELIMITER: Final = re.compile(r"""(?P<quote>['"]?)(?P<name>[A-Za-z_]\w*)(?P=quote)""")
_REDIRECTS: Final = frozenset(("<", ">", ">>", ">|", ">&", "<&"))


class NotUnderstood(Exception):
    """The line contains syntax that is not supported."""


class Piece(NamedTuple):
    """A run of characters of a word."""

    text: str
    quoted: bool
    """Whether `*` and `?` in it are literal."""


class Word(NamedTuple):
    """One word of a command as written."""

    source: str
    pieces: tuple[Piece, ...] | None
    """None when the shell computes it at run time."""
    substitutions: "tuple[Statement, ...]" = ()
    """Command lines whose output becomes part of it."""
    start: int = 0
    """Where it begins in the line, in bytes."""

    @property
    def is_under_home(self) -> bool:
        """Whether it begins with `~/`, which the shell replaces."""
        return self.source == "~" or self.source.startswith("~/")

    @property
    def is_pattern(self) -> bool:
        return any(not piece.quoted and re.search(r"[*?]", piece.text) for piece in self.pieces or ())

    @property
    def text(self) -> str | None:
        """The word without quotes; None when it is only known at run time."""
        if self.pieces is None or self.is_pattern:
            return None
        return "".join(piece.text for piece in self.pieces)


class Redirect(NamedTuple):
    """Where a stream goes to or comes from."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether it creates or changes a file."""
        if self.operator in ("<", "<&", "<<"):
            return False
        copies_stream = self.operator == ">&" and re.fullmatch(r"[0-9]", self.target.text or "") is not None
        return not copies_stream and self.target.text != NULL_DEVICE


class ShellCommand(NamedTuple):
    """A program with its arguments."""

    source: str
    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()

    @property
    def texts(self) -> list[str] | None:
        """All words; None when one is only known at run time."""
        texts = [word.text for word in self.words]
        return None if None in texts else [text for text in texts if text is not None]

    @property
    def program(self) -> str:
        """The program; empty when it is only known at run time."""
        return (self.words[0].text or "") if self.words else ""


class Compound(NamedTuple):
    """Several statements, and the operators between them: `;`, `&&`, `||` or `|`."""

    parts: "tuple[Statement, ...]"
    joined_by: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()


Statement: TypeAlias = ShellCommand | Compound


def parse(line: str) -> Statement:
    """Parse a command line. Raises `NotUnderstood`."""
    if len(line) > LONGEST_LINE_CHARS or not line.strip():
        raise NotUnderstood
    if re.search(r"[\0-\x08\x0b-\x1f\x7f]|\\\n", line):  # control characters, and lines joined by a backslash
        raise NotUnderstood
    try:
        source = line.encode("utf-8", "surrogateescape")
        root = tree_of(source)
        if root.has_error:
            raise NotUnderstood
        reader = _Reader(source)
        reader.check_covered(root)
        return reader.program(root)
    except (UnicodeError, RecursionError):  # invalid characters, or nested too deeply
        raise NotUnderstood from None


def tree_of(source: bytes) -> "Node":
    """The tree of any text; what is not a shell's is in it as errors."""
    return _parser().parse(source).root_node


@cache
def _parser() -> "Parser":
    # Another host judges lines that were parsed here, without this library.
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    return Parser(Language(language()))


class _Reader:
    def __init__(self, source: bytes) -> None:
        self._source = source

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "surrogateescape")

    def check_covered(self, root: "Node") -> None:
        """Raise unless all bytes outside the leaves are blank."""
        at = 0
        for leaf in _leaves(root):
            if leaf.is_missing or self._source[at : leaf.start_byte].strip(b" \t\n"):
                raise NotUnderstood
            at = max(at, leaf.end_byte)
        if self._source[at:].strip(b" \t\n"):
            raise NotUnderstood

    def program(self, node: "Node", depth: int = 0) -> Statement:
        """The statements of a whole line or a substitution."""
        inner = node.children[1:-1] if node.type == "command_substitution" else node.children
        parts = [child for child in inner if child.type not in (";", "\n") and not self._is_comment(child)]
        return _joined([self._statement(part, depth + 1) for part in parts], ";")

    def _is_comment(self, node: "Node") -> bool:
        return node.type == "comment" and self._source[node.start_byte - 1 : node.start_byte] in (b"", b" ", b"\n")

    def _statement(self, node: "Node", depth: int) -> Statement:
        if depth > DEEPEST_NESTING:
            raise NotUnderstood
        match node.type:
            case "command":
                return self._command(node, depth)
            case "list":
                left, operator, right = _exactly(node, 3)
                if operator.type not in ("&&", "||"):
                    raise NotUnderstood
                both = (self._statement(left, depth + 1), self._statement(right, depth + 1))
                return Compound(both, (operator.type,))
            case "pipeline":
                if any(child.type != "|" for child in node.children[1::2]):
                    raise NotUnderstood
                return _joined([self._statement(part, depth + 1) for part in node.children[::2]], "|")
            case "redirected_statement":
                return self._redirected(node, depth)
            case _:
                raise NotUnderstood

    def _redirected(self, node: "Node", depth: int) -> Statement:
        body, *redirects = node.children
        inner = self._statement(body, depth + 1)
        found = (redirect for each in redirects for redirect in self._redirects(each, depth))
        return inner._replace(redirects=(*inner.redirects, *found))

    def _redirects(self, node: "Node", depth: int) -> Iterator[Redirect]:
        if node.type != "heredoc_redirect":
            yield self._redirect(node, depth)
            return
        yield self._here_document(node)
        for child in node.children[2:-2]:  # on the line that begins the document
            yield self._redirect(child, depth)

    def _redirect(self, node: "Node", depth: int) -> Redirect:
        if node.type != "file_redirect":
            raise NotUnderstood
        parts = [child for child in node.children if child.type != "file_descriptor"]
        is_option = node.children[0].type == "file_descriptor" and not self._text(node.children[0]).isdigit()
        if is_option or len(parts) != 2 or parts[0].type not in _REDIRECTS:  # `-1>x` is an option
            raise NotUnderstood
        return Redirect(parts[0].type, self._word(parts[1], depth))

    def _here_document(self, node: "Node") -> Redirect:
        """A here-document of plain text that ends where the shell ends it."""
        kinds = [child.type for child in node.children]
        if kinds[:2] != ["<<", "heredoc_start"] or kinds[-2:] != ["heredoc_body", "heredoc_end"]:
            raise NotUnderstood
        start, body, end = node.children[1], *node.children[-2:]
        delimiter = _DELIMITER.fullmatch(self._text(start))
        if delimiter is None:
            raise NotUnderstood
        text = self._text(body)
        if not delimiter["quote"] and re.search(r"[$`\\]", text):
            raise NotUnderstood
        # Find the end as the shell does: the first line that is the delimiter and nothing else.
        begins = self._source.find(b"\n", start.end_byte) + 1
        closing = re.compile(rb"^%s$" % re.escape(delimiter["name"].encode()), re.MULTILINE)
        found = closing.search(self._source, begins)
        if found is None or (body.start_byte, body.end_byte, end.start_byte) != (begins, found.start(), found.start()):
            raise NotUnderstood
        if (
            b"<<"
            in self._source[: node.start_byte] + self._source[start.end_byte : begins] + self._source[found.end() :]
        ):
            raise NotUnderstood  # several documents
        return Redirect("<<", Word(delimiter["name"], (Piece(delimiter["name"], True),)))

    def _command(self, node: "Node", depth: int) -> ShellCommand:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        if any(before.end_byte == after.start_byte for before, after in pairwise(node.children)):
            raise NotUnderstood  # the shell reads one word, such as `-""\\o`
        for child in node.children:
            if child.type == "variable_assignment" and not words:
                assignments.append(self._assignment(child, depth))
            elif child.type in ("file_redirect", "heredoc_redirect"):
                redirects += self._redirects(child, depth)
            elif child.type == "command_name" and not words:
                words.append(self._word(_exactly(child, 1)[0], depth))
            else:
                words.append(self._word(child, depth))
        if not words:
            raise NotUnderstood
        return ShellCommand(self._text(node), tuple(assignments), tuple(words), tuple(redirects))

    def _assignment(self, node: "Node", depth: int) -> tuple[str, Word]:
        if [child.type for child in node.children[:2]] != ["variable_name", "="] or len(node.children) > 3:
            raise NotUnderstood
        value = self._word(node.children[2], depth) if len(node.children) == 3 else Word("", (Piece("", True),))
        return self._text(node.children[0]), value

    def _word(self, node: "Node", depth: int) -> Word:
        if (text := self._text(node)) == "{}":  # no shell expands it
            return Word(text, (Piece(text, True),), start=node.start_byte)
        pieces: list[Piece] | None = []
        inner: list[Statement] = []
        parts = node.children if node.type == "concatenation" else [node]
        if any(before.end_byte != after.start_byte for before, after in pairwise(parts)):
            raise NotUnderstood
        for part in parts:
            if part.type in ("word", "number") and not part.children:
                found = _unquoted(self._text(part), begins_word=part is parts[0])
                pieces = None if pieces is None or found is None else [*pieces, *found]
            elif part.type == "raw_string":
                pieces = None if pieces is None else [*pieces, Piece(self._text(part)[1:-1], True)]
            elif part.type == "string":
                known, statements = self._double_quoted(part, depth)
                inner += statements
                pieces = None if pieces is None or known is None else [*pieces, Piece(known, True)]
            elif part.type == "command_substitution":
                inner.append(self._substitution(part, depth))
                pieces = None
            else:
                raise NotUnderstood
        return Word(text, None if pieces is None else tuple(pieces), tuple(inner), node.start_byte)

    def _double_quoted(self, node: "Node", depth: int) -> tuple[str | None, list[Statement]]:
        inner = [
            self._substitution(child, depth) for child in node.children[1:-1] if child.type == "command_substitution"
        ]
        if any(child.type not in ("string_content", "command_substitution", "$") for child in node.children[1:-1]):
            raise NotUnderstood
        if inner:
            return None, inner
        text = self._text(node)[1:-1]
        bare = _IN_DOUBLE_QUOTES.sub("", text)
        if re.search(r'[`"]|\$(?!$|[ |])', bare):  # a `$` before one of these is literal
            raise NotUnderstood
        return _IN_DOUBLE_QUOTES.sub(r"\1", text), inner

    def _substitution(self, node: "Node", depth: int) -> Statement:
        """A `$(…)`. Backquotes have other quoting rules and are rejected."""
        if not self._text(node).startswith("$("):
            raise NotUnderstood
        return self.program(node, depth + 1)


def _unquoted(text: str, *, begins_word: bool) -> list[Piece] | None:
    """The pieces of a word without quotes, escapes resolved; None for a pattern with brackets."""
    if text.startswith("#") or re.search(r"[=:]~", text) or (begins_word and re.match(r"~[^/]", text)):
        raise NotUnderstood
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        if escaped := _ESCAPED.match(text, at):
            pieces.append(Piece(escaped[1], True))
            at = escaped.end()
        elif (plain := _PLAIN.match(text, at)) and plain[0].isascii():
            pieces.append(Piece(plain[0], False))
            at = plain.end()
        elif text[at] in "*?#~[]":
            pieces.append(Piece(text[at], False))
            at += 1
        else:
            raise NotUnderstood
    return None if any(not piece.quoted and piece.text in "[]" for piece in pieces) else pieces


def _joined(parts: Sequence[Statement], operator: str) -> Statement:
    if not parts:
        raise NotUnderstood
    return parts[0] if len(parts) == 1 else Compound(tuple(parts), (operator,) * (len(parts) - 1))


def _exactly(node: "Node", count: int) -> "list[Node]":
    if len(node.children) != count:
        raise NotUnderstood
    return list(node.children)


def _leaves(node: "Node") -> "Iterator[Node]":
    if not node.children or node.type == "heredoc_body":
        yield node
        return
    for child in node.children:
        yield from _leaves(child)


def commands_in(statement: Statement) -> Iterator[ShellCommand]:
    """Every shell command, including those in substitutions."""
    if isinstance(statement, Compound):
        for part in statement.parts:
            yield from commands_in(part)
        words = [redirect.target for redirect in statement.redirects]
    else:
        yield statement
        values = [value for _, value in statement.assignments]
        words = [*statement.words, *values, *(redirect.target for redirect in statement.redirects)]
    for word in words:
        for inner in word.substitutions:
            yield from commands_in(inner)


def commands_in_text(text: str) -> Iterator[list[str]]:
    """Whatever could be a command in a text that is not understood: after operators, in substitutions and quotes."""
    unquoted = re.sub(r"['\"\\]", "", text)  # `r''m` is rm
    for part in re.split(r"[;&|<>`(){}\n\r]|\$\(", f"{text}\n{unquoted}"):
        yield [PurePosixPath(word).name or word for word in re.split(r"[\s'\"\\=]+", part) if word]
