"""The programs that a command line runs, as far as its text says so. Nothing is executed.

Any text is read, also what `parse` rejects: when in doubt, this says less.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.shell.syntax import tree_of

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CHARS: Final = 40_000
"""Longer commands are read up to here."""
MOST_SIGNS: Final = 500
"""And up to so many lines and signs such as `|` outside quotes and here-documents: the time grows by their square."""
_TOKEN: Final = re.compile(
    r"\\.|'[^']*+'|\"(?:[^\"\\]|\\.)*+\"|(?<!\S)#[^\n]*+"
    r"|(?<!<)<<-?[ \t]*(['\"]?)(?P<end>\w++)\1|(?P<line>\n)|(?P<sign>[|&;<>(){}])",
    re.DOTALL,
)
_PROGRAMS: Final = frozenset(("command", "declaration_command", "unset_command", "test_command"))
_REDIRECTS: Final = frozenset(("file_redirect", "heredoc_redirect", "herestring_redirect"))
_SUBSTITUTIONS: Final = frozenset(("command_substitution", "process_substitution"))
_ERRORS: Final = "2"
_PIPES: Final = frozenset(("|", "|&"))
_QUOTED: Final = re.compile(r"'([^']*+)'|\"((?:[^\"\\]|\\.)*+)\"|\\(.)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(?:([$`\\])|\n)")
"""Escapes in a here-document without quotes around its end."""
_ASSIGNMENT: Final = re.compile(r"\w+=")
_WRAPPERS: Final = frozenset(
    ("sudo", "env", "time", "nice", "nohup", "exec", "command", "stdbuf", "timeout", "xvfb-run")
)
_RUNNERS: Final = frozenset(("uv", "poetry", "pipenv", "hatch", "pdm", "rye"))
_SHELLS: Final = frozenset(("bash", "sh", "zsh", "dash"))
_DURATION: Final = re.compile(r"[\d.]+[smhd]?")
PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")


class Simple(NamedTuple):
    """One program with its arguments, in a command line."""

    words: tuple[str, ...]
    """Without wrappers such as `sudo`; never empty."""
    written: tuple[str, ...] = ()
    """Files to which its output goes; not those for errors alone."""
    document: str = ""
    """The text given to it inline, as a here-document."""
    is_filter: bool = False
    """Whether it gets the output of the one before."""
    folder: str = ""
    """Of the last `cd` before it."""

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] or self.words[0]


def read_command(command: str) -> list[Simple]:
    """The programs that a command line runs, in order; those of an inner `bash -c` instead of it."""
    found: list[Simple] = []
    folder = ""
    for simple in _simples(_bounded(command[:MOST_CHARS])):
        if simple.program in ("cd", "pushd") and len(simple.words) > 1:
            folder = simple.words[1]
        inner = _inner(simple)
        if inner:
            found += [each._replace(folder=each.folder or folder) for each in read_command(inner)]
        else:
            found.append(simple._replace(folder=folder))
    return found


def _bounded(command: str) -> str:
    """A command up to where it is too long to parse, or has a here-document without an end."""
    at = signs = 0
    ends: list[str] = []
    while found := _TOKEN.search(command, at):
        at = found.end()
        signs += bool(found["sign"] or found["line"])
        ends += [found["end"]] if found["end"] else ()
        if signs > MOST_SIGNS:
            return command[: found.start()]
        while found["line"] and ends:
            closing = re.compile(rf"^\t*{ends.pop(0)}$", re.MULTILINE).search(command, at)
            if closing is None:
                return command[:at]
            at = closing.end()
    return command


def _inner(simple: Simple) -> str:
    """The command line that a shell is given as an argument."""
    if simple.program not in _SHELLS:
        return ""
    for flag, text in zip(simple.words[1:], simple.words[2:], strict=False):
        if re.fullmatch(r"-\w*c", flag):
            return text if len(text) < sum(map(len, simple.words)) else ""
    return ""


class _Part(NamedTuple):
    """A node of the tree that is to be read."""

    node: "Node"
    is_filter: bool = False
    redirects: "tuple[Node, ...]" = ()
    """Of the statement that it ends."""


def _simples(command: str) -> Iterator[Simple]:
    """In order. Without recursion: `a && b && …` is a tree as deep as it is long."""
    source = command.encode(errors="replace")
    waiting = [_Part(tree_of(source))]
    while waiting:
        part = waiting.pop()
        node = part.node
        own = [child for child in node.children if child.type in _REDIRECTS]
        part = part._replace(redirects=(*own, *part.redirects))
        inner = list(_statements(part)) if node.type not in _PROGRAMS else []
        if node.type in _PROGRAMS and (words := _run_words(list(_words(source, node)))):
            written = tuple(filter(is_file_name, _outputs(source, part.redirects)))
            yield Simple(tuple(words), written, _document(source, part.redirects), part.is_filter)
        # The line that begins a here-document may go on after it.
        waiting += reversed([*inner, *map(_Part, own)])


def _statements(part: _Part) -> Iterator[_Part]:
    """The parts of a statement. What is redirected is the output of the last one."""
    children = [child for child in part.node.children if child.type not in _REDIRECTS]
    last = max((at for at, child in enumerate(children) if child.is_named), default=0)
    is_filter = part.is_filter
    for at, child in enumerate(children):
        if child.is_named and child.type not in _SUBSTITUTIONS:
            yield _Part(child, is_filter, part.redirects if at == last else ())
        is_filter = child.type in _PIPES


def _words(source: bytes, node: "Node") -> Iterator[str]:
    if node.type == "test_command":
        yield from _text(source, node).split()
        return
    for child in node.children:
        if child.type == "ERROR":
            return
        if child.type not in _REDIRECTS:
            yield _unquoted(_text(source, child))


def _outputs(source: bytes, redirects: "Sequence[Node]") -> Iterator[str]:
    """The files to which output goes."""
    for redirect in redirects:
        if redirect.type == "heredoc_redirect":
            yield from _outputs(source, redirect.children)
        elif redirect.type == "file_redirect":
            stream, *parts = ["", *(_text(source, child) for child in redirect.children)]
            if parts[0].isdigit():
                stream, *parts = parts
            if len(parts) > 1 and ">" in parts[0] and not parts[0].endswith("&") and stream != _ERRORS:
                yield _unquoted(parts[1])


def _document(source: bytes, redirects: "Sequence[Node]") -> str:
    """The text of the first here-document as a program gets it, but for variables; empty if that has no end."""
    for redirect in redirects:
        parts = {child.type: child for child in redirect.children}
        if "heredoc_start" in parts and "heredoc_end" in parts:
            begins = source.find(b"\n", parts["heredoc_start"].end_byte) + 1
            text = source[begins : parts["heredoc_end"].start_byte].decode(errors="replace")
            is_quoted = any(sign in _text(source, parts["heredoc_start"]) for sign in "'\"\\")
            return text if is_quoted else _ESCAPED.sub(r"\1", text)
    return ""


def _text(source: bytes, node: "Node") -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")


def _run_words(words: list[str]) -> list[str]:
    """The program and its arguments, without assignments and wrappers; empty for no program."""
    at = 0
    while at < len(words):
        word = words[at]
        if _ASSIGNMENT.match(word):
            at += 1
        elif word.rpartition("/")[2] in _WRAPPERS and at + 1 < len(words):
            at += 1
            while at < len(words) - 1 and (words[at].startswith("-") or _DURATION.fullmatch(words[at])):
                at += 1
        elif word in _RUNNERS and words[at + 1 : at + 2] == ["run"] and at + 2 < len(words):
            at += 2
        else:
            return words[at:]
    return []


def _unquoted(word: str) -> str:
    if "'" not in word and '"' not in word and "\\" not in word:
        return word
    return _QUOTED.sub(lambda found: found[1] or found[2] or found[3] or "", word)


def is_file_name(word: str) -> bool:
    """Whether a word names a file: no device, no variable, nothing over several lines."""
    if not word or word.startswith(("-", "&", "/dev/", "$(", "`")) or len(word) > 300:
        return False
    return not any(sign in word for sign in "\n${}`|;<>()\"'") and not word.isdigit() and word not in (".", "..", "/")


def arguments(simple: Simple, *with_value: str) -> list[str]:
    """The arguments that are no options; `with_value` are options whose value is the next word."""
    found: list[str] = []
    skips = False
    for word in simple.words[1:]:
        if skips:
            skips = False
        elif word.startswith("-") and word != "-":
            skips = word in with_value
        else:
            found.append(word)
    return found
