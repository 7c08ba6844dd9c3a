"""What a command ran on what, to know whether a later one ran the same."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from co_tui.shell.programs import PYTHON, Simple, arguments

SETUP: Final = frozenset((
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
_WITH_VERB: Final = frozenset((
    "cargo", "go", "npm", "pnpm", "yarn", "bun", "gradle", "gradlew", "mvn", "mvnw", "dotnet", "mix", "manage.py",
))  # fmt: skip
"""Programs whose first argument says what they do."""
_CHECKS: Final = frozenset(("test", "check", "vet", "lint", "clippy"))
"""What they run on everything without a target."""
_ALL_OF_GO: Final = "./..."
_NARROWS: Final = frozenset((
    "-k", "-m", "-t", "-run", "--grep", "--filter", "--tests", "--test", "--package", "--bin", "--deselect", "--ignore",
    "--testNamePattern",
))  # fmt: skip
_RUNS_A_PART: Final = frozenset(("--lf", "--last-failed", "--onlyFailures", "--only-failures", "--lib", "--doc"))
RUNS_NOTHING: Final = frozenset((
    "--collect-only", "--co", "--version", "--help", "--markers", "--fixtures", "--setup-plan", "--dry-run",
    "--list", "--listTests", "--no-run",
))  # fmt: skip
_SHELLS: Final = frozenset(("bash", "sh", "zsh"))
_NPX: Final = frozenset(("npx", "bunx", "pnpx", "uvx", "pipx"))
WRITE: Final = "write"
"""What `cat > file` is called."""
INLINE: Final = ("python -c", "node -e")
"""Programs that get their code as an argument."""
INSTALLERS: Final = frozenset(("pip", "pip3", "uv", "npm", "pnpm", "yarn", "apt", "apt-get", "cargo", "brew", "gem"))
TO_INSTALL: Final = frozenset(("install", "add", "i", "ci"))
PACKS: Final = TO_INSTALL | {
    "show",
    "list",
    "ls",
    "freeze",
    "info",
    "view",
    "outdated",
    "uninstall",
    "remove",
    "download",
}
"""What installers do with packages, and not with the work."""
MOST_TARGETS: Final = 12
_TARGET_CHARS: Final = 300


class Run(NamedTuple):
    """A program and what it ran on."""

    program: str
    targets: tuple[str, ...] = ()
    narrowed: str = ""
    """By an option such as `-k`, to a part of its targets."""
    folder: str = ""

    @property
    def _runs_all(self) -> bool:
        """Whether it would run on everything without a target."""
        program, _, verb = self.program.partition(" ")
        return program in RUN_ALL or (program in _WITH_VERB and verb in _CHECKS)

    def covers(self, earlier: "Run") -> bool:
        """Whether a good run of this shows that the earlier one would be good too."""
        if self.program != earlier.program or not _same_folder(self.folder, earlier.folder):
            return False
        if self.narrowed and self.narrowed != earlier.narrowed:
            return False
        if not self.targets:
            return not earlier.targets or self._runs_all
        if not earlier.targets:
            return False
        if self._runs_all:
            return all(any(_within(target, mine) for mine in self.targets) for target in earlier.targets)
        return len(self.targets) == len(earlier.targets) and all(map(is_same_path, self.targets, earlier.targets))


def program_of(simple: Simple) -> str:
    """The program that a simple command is about: of `python -m pytest`, the module; of Git, the verb."""
    return program_and_rest(simple)[0]


def main_of(line: Sequence[Simple]) -> Simple | None:
    """What a command line is about: its first program that is neither a step before it nor a filter."""
    runs = [simple for simple in line if not simple.is_filter]
    return next((simple for simple in runs if simple.program not in SETUP or simple.written), runs[0] if runs else None)


def last_run(line: Sequence[Simple]) -> Simple | None:
    """The last program that is not a filter: usually the one that a failure is of."""
    runs = [simple for simple in line if not simple.is_filter]
    return next((each for each in reversed(runs) if each.program not in SETUP), runs[-1] if runs else None)


def runs_of(line: Sequence[Simple]) -> list[Run]:
    """What a command line runs on what, without filters and steps such as `cd`."""
    return [run_of(simple) for simple in line if not simple.is_filter and simple.program not in SETUP]


def run_of(simple: Simple) -> Run:
    program, rest = _with_verb(*program_and_rest(simple))
    words = Simple((program, *rest))
    narrows = {*_NARROWS, "-p"} if program.startswith("cargo") else _NARROWS
    pairs = pairwise((*rest, ""))
    narrowed = " ".join(word for pair in pairs for word in _narrowed(*pair, narrows))[:_TARGET_CHARS]
    given = arguments(words, *_NARROWS, "-n", "-p", "-A", "-B", "-C")
    targets = [word[:_TARGET_CHARS] for word in given if word != _ALL_OF_GO]
    if simple.document and not simple.written:
        targets.append(str(hash(simple.document)))
    if program in INLINE:
        targets = [str(hash(" ".join(rest)))]
    return Run(program, tuple(targets[:MOST_TARGETS]), narrowed, simple.folder.rstrip("/"))


def _narrowed(option: str, value: str, narrows: Collection[str]) -> tuple[str, ...]:
    """An option that narrows a run, with its value if it has one."""
    if option in narrows:
        return (option, value)
    is_alone = option.partition("=")[0] in narrows or option in _RUNS_A_PART or option in RUNS_NOTHING
    return (option,) if is_alone else ()


def _with_verb(program: str, rest: list[str]) -> tuple[str, list[str]]:
    """Of `npm run test`, `npm test`."""
    if program == "python" and rest and rest[0].endswith("manage.py"):
        program, rest = "manage.py", rest[1:]
    if program not in _WITH_VERB or not rest or rest[0].startswith("-"):
        return program, rest
    rest = rest[1:] if rest[0] == "run" and len(rest) > 1 and program not in ("cargo", "go", "dotnet") else rest
    return f"{program} {rest[0]}", rest[1:]


def program_and_rest(simple: Simple) -> tuple[str, list[str]]:
    """The program that a simple command is about, and the words after it."""
    program, rest = simple.program, list(simple.words[1:])
    if PYTHON.fullmatch(program):
        return _of_python(rest)
    if program in _NPX and (names := [word for word in rest if not word.startswith("-")]):
        return names[0], rest[rest.index(names[0]) + 1 :]
    if program in _SHELLS and rest and not rest[0].startswith("-"):
        return rest[0].rpartition("/")[2], rest[1:]
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


class PathIndex:
    """The last number that was noted of each path. One is found by the same path, as `is_same_path` has it."""

    def __init__(self) -> None:
        self._whole: dict[str, int] = {}
        self._endings: dict[str, int] = {}

    def note(self, path: str, number: int = 0) -> None:
        endings = _endings(path)
        self._whole[endings[0]] = number
        self._endings.update(dict.fromkeys(endings, number))

    def find(self, path: str) -> int:
        """The last number; -1 without one."""
        endings = _endings(path)
        return max(self._endings.get(endings[0], -1), *(self._whole.get(ending, -1) for ending in endings))


def _endings(path: str) -> list[str]:
    """A path, and what is left of it without its first folders."""
    parts = path.removeprefix("./").rstrip("/").split("/")
    return ["/".join(parts[at:]) for at in range(len(parts))]


def _within(target: str, whole: str) -> bool:
    """Whether a target such as `tests/test_a.py::test_one` is in another, such as `tests`."""
    target, whole = target.removeprefix("./").rstrip("/"), whole.removeprefix("./").rstrip("/")
    return (
        whole in (".", "") or is_same_path(target, whole) or target.startswith((f"{whole}/", f"{whole}::", f"{whole}."))
    )
