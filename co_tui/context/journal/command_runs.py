"""What a command ran on what, to know whether a later one ran the same."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from co_tui.shell.programs import PYTHON, Simple, arguments

_SETUP: Final = frozenset((
    "cd", "pushd", "popd", "export", "source", ".", "set", "echo", "printf", "true", ":", "sleep", "mkdir", "wait",
    "unset", "alias", "pwd", "conda",
))  # fmt: skip
"""Programs that only help another one, which is what the command is about."""
READERS: Final = frozenset((
    "cat", "head", "tail", "less", "more", "bat", "nl", "grep", "egrep", "fgrep", "rg", "ag", "find", "fd", "ls",
    "tree", "sed", "awk", "cut", "sort", "uniq", "wc", "diff", "cmp", "stat", "file", "du", "df", "which",
    "whereis", "type", "pwd", "echo", "printf", "jq", "column", "xargs", "test", "[", "git log", "git show",
    "git diff", "git grep", "git blame", "git status", "git ls-files", "git branch", "strings", "od", "xxd",
    "hexdump", "open", "find_file", "search_file", "search_dir", "goto", "scroll_down", "scroll_up", "env",
    "printenv", "history", "man", "help", "tr", "tac", "basename", "dirname", "readlink", "realpath", "cd", "mkdir",
    "touch", "ps", "id", "whoami", "date", "uname",
))  # fmt: skip
"""Programs whose output is mostly the text of others: an error in it is not theirs."""
ANSWERS_WITH_ONE: Final = frozenset((
    "grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "[[", "pgrep", "which", "git diff", "git grep",
    "type", "command", "colordiff", "expr",
))  # fmt: skip
"""Programs whose exit code 1 is an answer: no match, or a difference."""
RUN_ALL: Final = frozenset(
    ("pytest", "unittest", "runtests.py", "tox", "nox", "vitest", "jest", "mocha", "ruff", "mypy")
)
"""Programs that without a target run on everything."""
_NARROWS: Final = frozenset(("-k", "-m", "-t", "--grep", "--filter"))
_NPX: Final = frozenset(("npx", "bunx", "pnpx", "uvx", "pipx"))
WRITE: Final = "write"
"""What `cat > file` is called."""
INLINE: Final = ("python -c", "node -e")
"""Programs that get their code as an argument."""
INSTALLERS: Final = frozenset(("pip", "pip3", "uv", "npm", "pnpm", "yarn", "apt", "apt-get", "cargo", "brew", "gem"))
TO_INSTALL: Final = frozenset(("install", "add", "i", "ci"))
MOST_TARGETS: Final = 12
_TARGET_CHARS: Final = 300


class Run(NamedTuple):
    """A program and what it ran on."""

    program: str
    targets: tuple[str, ...] = ()
    narrowed: str = ""
    """By an option such as `-k`, to a part of its targets."""
    folder: str = ""

    def covers(self, earlier: "Run") -> bool:
        """Whether a good run of this shows that the earlier one would be good too."""
        if self.program != earlier.program or not _same_folder(self.folder, earlier.folder):
            return False
        if self.narrowed and self.narrowed != earlier.narrowed:
            return False
        if not self.targets:
            return not earlier.targets or self.program in RUN_ALL
        if not earlier.targets:
            return False
        if self.program in RUN_ALL:
            return all(any(_within(target, mine) for mine in self.targets) for target in earlier.targets)
        return len(self.targets) == len(earlier.targets) and all(map(is_same_path, self.targets, earlier.targets))


def program_of(simple: Simple) -> str:
    """The program that a simple command is about: of `python -m pytest`, the module; of Git, the verb."""
    return program_and_rest(simple)[0]


def main_of(line: Sequence[Simple]) -> Simple | None:
    """What a command line is about: its first program that is neither a step before it nor a filter."""
    runs = [simple for simple in line if not simple.is_filter]
    return next(
        (simple for simple in runs if simple.program not in _SETUP or simple.written), runs[0] if runs else None
    )


def last_run(line: Sequence[Simple]) -> Simple | None:
    """The last program that is not a filter: usually the one that a failure is of."""
    runs = [simple for simple in line if not simple.is_filter]
    return next((each for each in reversed(runs) if each.program not in _SETUP), runs[-1] if runs else None)


def runs_of(line: Sequence[Simple]) -> list[Run]:
    """What a command line runs on what, without filters and steps such as `cd`."""
    return [run_of(simple) for simple in line if not simple.is_filter and simple.program not in _SETUP]


def run_of(simple: Simple) -> Run:
    program, rest = program_and_rest(simple)
    words = Simple((program, *rest))
    narrowed = next((f"{a} {b}" for a, b in pairwise(rest) if a in _NARROWS), "")
    targets = [word[:_TARGET_CHARS] for word in arguments(words, *_NARROWS, "-n", "-p", "-A", "-B", "-C")]
    if simple.document and not simple.written:
        targets.append(str(hash(simple.document)))
    if program in INLINE:
        targets = [str(hash(" ".join(rest)))]
    return Run(program, tuple(targets[:MOST_TARGETS]), narrowed, simple.folder.rstrip("/"))


def program_and_rest(simple: Simple) -> tuple[str, list[str]]:
    """The program that a simple command is about, and the words after it."""
    program, rest = simple.program, list(simple.words[1:])
    if PYTHON.fullmatch(program):
        return _of_python(rest)
    if program in _NPX and (names := [word for word in rest if not word.startswith("-")]):
        return names[0], rest[rest.index(names[0]) + 1 :]
    if program == "xargs" and (inner := _after_options(rest)):
        return program_and_rest(Simple(tuple(inner)))
    if program == "git":
        while len(rest) > 1 and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in ("-C", "-c") else rest[1:]
        return (f"git {rest[0]}", rest[1:]) if rest else (program, rest)
    if program == "node" and rest[:1] in (["-e"], ["-p"]):
        return "node -e", rest[1:]
    if program == "cat" and simple.written:
        return WRITE, list(simple.written)
    return program, rest


def _after_options(words: list[str]) -> list[str]:
    """The command that `xargs` runs."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-n", "-I", "-P", "-L", "-d", "-s") else 1
    return words[at:]


def _of_python(rest: list[str]) -> tuple[str, list[str]]:
    at = 0
    while at < len(rest):
        word = rest[at]
        if word == "-m" and at + 1 < len(rest):
            return rest[at + 1], rest[at + 2 :]
        if word == "-c":
            return "python -c", rest[at + 1 :]
        if not word.startswith("-"):
            return "python", rest[at:]
        at += 2 if word in ("-W", "-X") else 1
    return "python", rest


def _same_folder(one: str, other: str) -> bool:
    return not one or not other or is_same_path(one, other)


def is_same_path(one: str, other: str) -> bool:
    """Whether two paths are the same, or the end of the other."""
    one, other = one.removeprefix("./").rstrip("/"), other.removeprefix("./").rstrip("/")
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _within(target: str, whole: str) -> bool:
    """Whether a target such as `tests/test_a.py::test_one` is in another, such as `tests`."""
    target, whole = target.removeprefix("./").rstrip("/"), whole.removeprefix("./").rstrip("/")
    return (
        whole in (".", "") or is_same_path(target, whole) or target.startswith((f"{whole}/", f"{whole}::", f"{whole}."))
    )
