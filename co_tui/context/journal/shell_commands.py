"""Read a shell command line: which programs it runs, and which files it reads and changes. Nothing is executed.

A rough reading for a summary, unlike the parser of the permissions: when in doubt, it says less.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

MOST_CHARS: Final = 40_000
"""Longer commands are read up to here."""
_TOKEN: Final = re.compile(
    r"(?P<blank>(?:[ \t\r]|\\\n)++)"
    r"|(?P<comment>(?<!\S)#[^\n]*)"
    r"|(?P<heredoc>\d*<<-?[ \t]*(?!<)[\"'\\]?(?P<tag>[\w.-]+)[\"']?)"
    r"|(?P<redirect>(?:\d*|&)(?:>>|>\||>&|<<<|<&|<>|>|<)[ \t]*)"
    r"|(?P<operator>\n|\|\||&&|\|&|;;?|[|&()])"
    r"|(?P<word>(?:[^\s'\"\\|;&<>()$`]|\\.|'[^']*+'|\"(?:[^\"\\]|\\.)*+\"|\$\([^()]*+\)|`[^`]*+`|[$'\"\\`])++)",
    re.DOTALL,
)
_QUOTED: Final = re.compile(r"'([^']*+)'|\"((?:[^\"\\]|\\.)*+)\"|\\(.)", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"\w+=")
_KEYWORDS: Final = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "("))
_NOT_RUN: Final = frozenset(("for", "case", "done", "fi", "esac", "}", "function", "select"))
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
    """Files to which its output goes."""
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
    for simple in _simples(command[:MOST_CHARS]):
        if simple.program in ("cd", "pushd") and len(simple.words) > 1:
            folder = simple.words[1]
        inner = _inner(simple)
        if inner:
            found += [each._replace(folder=each.folder or folder) for each in read_command(inner)]
        else:
            found.append(simple._replace(folder=folder))
    return found


def _inner(simple: Simple) -> str:
    """The command line that a shell is given as an argument."""
    if simple.program not in _SHELLS:
        return ""
    for flag, text in zip(simple.words[1:], simple.words[2:], strict=False):
        if re.fullmatch(r"-\w*c", flag):
            return text if len(text) < sum(map(len, simple.words)) else ""
    return ""


def _simples(command: str) -> Iterator[Simple]:
    reader = _Reader(command)
    at = 0
    while at < len(command):
        token = _TOKEN.match(command, at)
        if token is None:
            at += 1
            continue
        at = max(token.end(), at + 1)
        operator = reader.take(token)
        if operator is not None:
            if (simple := reader.finish(operator)) is not None:
                yield simple
            if operator == "\n" and reader.tags:
                at = reader.skip_documents(at)
                if (late := reader.late) is not None:
                    yield late
    if (simple := reader.finish("\n")) is not None:
        yield simple
    if (late := reader.take_late()) is not None:
        yield late


class _Reader:
    """Collects the tokens of one simple command after the other."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._words: list[str] = []
        self._written: list[str] = []
        self._redirect = ""
        self._is_filter = False
        self._waiting: Simple | None = None
        """Ended, but its here-document follows."""
        self.tags: list[str] = []
        self.late: Simple | None = None

    def take(self, token: re.Match[str]) -> str | None:
        """Returns the operator that ends a simple command."""
        if token["heredoc"]:
            self.tags.append(token["tag"])
        elif token["redirect"]:
            self._redirect = token["redirect"].strip()
        elif token["word"]:
            self._take_word(_unquoted(token["word"]))
        return token["operator"]

    def _take_word(self, word: str) -> None:
        if not self._redirect:
            self._words.append(word)
        elif ">" in self._redirect and not self._redirect.endswith("&") and is_file_name(word):
            self._written.append(word)
        self._redirect = ""

    def finish(self, operator: str) -> Simple | None:
        """The simple command that the operator ends; None if there is none, or if its document follows."""
        words = _run_words(self._words)
        simple = Simple(tuple(words), tuple(self._written), is_filter=self._is_filter) if words else None
        self._words, self._written, self._redirect = [], [], ""
        self._is_filter = operator in ("|", "|&")
        if simple is None or not self.tags or self._waiting is not None:
            return simple
        self._waiting = simple
        return None

    def skip_documents(self, start: int) -> int:
        """Returns where the here-documents end; the command they belong to is then `late`."""
        first = ""
        for tag in self.tags:
            end = re.compile(rf"^[\t]*{re.escape(tag)}[ \t]*$", re.MULTILINE).search(self._command, start)
            first = first or self._command[start : end.start() if end else len(self._command)]
            start = end.end() if end else len(self._command)
        self.tags = []
        self.late = self.take_late(first)
        return start

    def take_late(self, document: str = "") -> Simple | None:
        waiting, self._waiting = self._waiting, None
        return waiting._replace(document=document) if waiting is not None else None


def _run_words(words: list[str]) -> list[str]:
    """The program and its arguments, without assignments, keywords and wrappers; empty for no program."""
    at = 0
    while at < len(words):
        word = words[at]
        if word in _NOT_RUN:
            return []
        if word in _KEYWORDS or _ASSIGNMENT.match(word):
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
