"""What co-tui starts by itself in a session, and which files of the session's folders that runs (X9).

Hooks, checks after edits and MCP servers run without a question each time. So the files they name, the `PATH` folders
inside of the project, and co-tui's own code are changed only with approval, and what they run in the folders runs in
the sandbox of commands.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from importlib.machinery import all_suffixes
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Final

from co_tui.folders import Folders
from co_tui.settings.after_edit import FILE
from co_tui.settings.all_settings import Settings
from co_tui.settings.hook_entries import PROJECT_VARIABLE
from co_tui.settings.markdown.agent_files import project_folder
from co_tui.settings.mcp_servers import McpServer

_RUN_THE_FOLDER: Final = frozenset((
    "make", "gmake", "just", "task", "rake", "npm", "pnpm", "yarn", "bun", "deno", "cargo", "go",
    "gradle", "mvn", "ant", "sbt", "bazel", "cmake", "ctest", "ninja", "meson", "tox", "nox", "pytest", "py.test",
    "mypy", "pylint", "flake8", "pre-commit", "lefthook", "eslint", "prettier", "stylelint", "jest", "vitest", "mocha",
    "tsc", "uv", "poetry", "pipenv", "pdm", "hatch", "bundle", "rspec", "rubocop", "composer", "phpunit",
    "dotnet", "mix", "swift", "terraform", "direnv", "unittest", "coverage",
))  # fmt: skip
"""Programs that run what the working folder holds without naming it: a `Makefile`, plugins, tests."""
_ELSEWHERE: Final = re.compile(r"(?:^|\s)(?:-C|--(?:directory|project|prefix|cwd|dir|manifest-path))[=\s]+(\S+)")
"""Options with which they work in another folder."""
_PACKAGES: Final = ("node_modules", "node_modules/.bin")
"""Where `npx` and its like look first."""
_PYTHON: Final = re.compile(r"python[\d.]*")
_IMPORTS: Final = re.compile(r"-[A-Za-z]*?([cm])([\w.]*)")
"""With these options, Python imports modules of the working folder."""
_PACKAGE_RUNNERS: Final = frozenset(("npx", "uvx", "pipx", "bunx", "pnpx"))
_PACKAGE_COMMANDS: Final = frozenset((
    ("uv", "tool"), ("npm", "exec"), ("npm", "x"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x"),
))  # fmt: skip
"""They download and run packages, unless the folder provides one of that name."""
_RUNNERS: Final = frozenset((
    "sh", "bash", "dash", "zsh", "ksh", "fish", "pypy", "pypy3", "node", "nodejs", "tsx", "ts-node", "ruby", "perl",
    "php", "lua", "java", "julia", "Rscript", "awk", "gawk", "source", ".", "eval", "exec", "command", "env", "nohup",
    "timeout", "nice", "ionice", "time", "xargs", "sudo", "doas", "setsid", "stdbuf", "find", "parallel", "flock",
    "busybox", "chronic", "unbuffer",
))  # fmt: skip
"""They run what their arguments name."""
_TAKES_FOLDER: Final = frozenset((
    "node", "nodejs", "tsx", "bun", "deno", "--from", "--with", "--with-editable", "--spec", "--package", "-p",
))  # fmt: skip
"""They run the folder that the next word names."""
_RESERVED: Final = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "}"))
_ASSIGNMENT: Final = re.compile(r"\w+=")
_OPERATORS: Final = "();<>|&"
_PIECE: Final = re.compile(r"[^\s;|&<>()'\"`=,]+")
_WRITTEN: Final = re.compile(r"\d*(?<!<)>[>|]?\s*[^\s;|&<>()]+|\btee\s+(?:-\w+\s+)*[^\s;|&<>()]+")
"""Files that a command line writes to are not what it runs."""
_FILE_NAME: Final = re.compile(r"\w[\w.-]*\.[A-Za-z]\w{0,4}")
_STARTUP_MODULES: Final = ("sitecustomize", "usercustomize")
"""Python imports them when it starts."""


class SessionPrograms:
    """What one session starts by itself, as its settings and folders are now."""

    def __init__(self, folders: Folders, environ: Mapping[str, str]) -> None:
        self._folders = folders
        self._environ = environ
        self._lines: list[str] = []

    def use(self, settings: Settings) -> None:
        """Use the hooks, checks and servers of these settings."""
        servers = (server for server in settings.mcp_servers.values() if server.command and server.enabled)
        self._lines = [
            *(entry.command for entries in settings.hooks.values() for entry in entries),
            *(line.replace(FILE, "") for lines in settings.after_edit.values() for line in lines),
            *map(server_line, servers),
        ]
        self._environ = {**self._environ, **settings.env}

    @property
    def paths(self) -> dict[Path, str]:
        """The paths in the folders that are run, whether they exist or not, each with its name for people. Reads
        files: call it in a thread."""
        found: dict[Path, str] = {}
        for line in self._lines:
            for path in named_paths(line, self._folders.first, self._environ):
                if not path.is_dir():
                    self._add(found, path, f"{path.name}, which a hook, a check or an MCP server uses,")
        for path in path_folders(self._folders.first, self._environ):
            self._add(found, path, f"{path.name}, a folder of PATH,")
        for path in own_code():
            self._add(found, path, "co-tui's own code")
        return found

    def runs_folder(self, line: str) -> str:
        """The word with which a command line runs something in the folders; empty if it does not."""
        return runs_folder(line, self._folders.first, self._roots, self._environ)

    @property
    def _roots(self) -> list[Path]:
        return [Path(os.path.realpath(self._folders.first)), *self._folders.added]

    def _add(self, found: dict[Path, str], path: Path, name: str) -> None:
        """Add a path below one of the folders, and what it leads to there. A path that holds a whole folder cannot be
        protected."""
        roots = self._roots
        above = Path(os.path.realpath(path.parent))
        for each in (above / path.name, Path(os.path.realpath(path))):
            is_inside = any(each.is_relative_to(root) for root in roots)
            if is_inside and not any(root.is_relative_to(each) for root in roots):
                found.setdefault(each, name)


def server_line(server: McpServer) -> str:
    """The program of an MCP server and its arguments as a command line."""
    folder = [f"{server.cwd}/"] if server.cwd else []
    return shlex.join((server.command, *server.args, *folder))


def runs_folder(line: str, folder: Path, roots: Sequence[Path], environ: Mapping[str, str]) -> str:
    """The word with which a command line that starts in `folder` runs something inside of these real folders; empty if
    it runs nothing there."""
    base, is_first = folder, True
    for words in _commands(_filled(line, folder, environ)):
        if not words:
            base, is_first = folder, True
            continue
        while words and (words[0] in _RESERVED or _ASSIGNMENT.match(words[0])):
            if word := _path_inside(words[0], base, roots):
                return word
            words = words[1:]
        if words[:1] == ["cd"]:
            target = _place(base, words[-1])
            # A later one may be skipped; one that fails leaves the shell where it was.
            if is_first and os.path.isdir(target):  # noqa: PTH112 - pathlib raises for long names
                base = target
                continue
        is_first = False
        if words and (word := _runs_there(words, base, roots, environ)):
            return word
    return ""


def _runs_there(words: Sequence[str], base: Path, roots: Sequence[Path], environ: Mapping[str, str]) -> str:
    """The word with which one command in the folder `base` runs something inside of these folders; or empty."""
    first = Path(words[0]).name
    is_runner = first in _RUNNERS or bool(_PYTHON.fullmatch(first))
    is_here = _is_in_any(base, roots)
    for at, word in enumerate(words if is_runner else words[:1]):
        name = Path(word).name
        arguments = [each for each in words[at + 1 :] if each not in (">", ">>", "<")]
        elsewhere = [_place(base, each) for each in _ELSEWHERE.findall(" ".join(arguments))]
        if name in _PACKAGE_RUNNERS or (name, *arguments[:1]) in _PACKAGE_COMMANDS:
            if is_here and (provided := _provided(arguments, base)):
                return provided
        elif name in _RUN_THE_FOLDER and (any(_is_in_any(each, roots) for each in elsewhere or [base])):
            return word
        if _PYTHON.fullmatch(name) and is_here and (imported := _imported(arguments, base)):
            return imported
        found = shutil.which(word, path=_path_from(base, environ)) if "/" not in word else None
        if found is not None and _is_in_any(Path(found), roots):
            return word
        if at and "/" not in word and word != "." and os.path.lexists(base / word) and _is_in_any(base / word, roots):
            return word
    for before, word in pairwise(words):
        takes = before in _TAKES_FOLDER or _PYTHON.fullmatch(Path(before).name)
        if takes and os.path.isdir(_place(base, word)) and _is_in_any(_place(base, word), roots):  # noqa: PTH112
            return word
    return next(filter(None, (_path_inside(word, base, roots) for word in words)), "")


def _commands(line: str) -> Iterator[list[str]]:
    """The commands in a command line, each as its words. Those of what a shell is given as an argument, and of what is
    replaced by its output, are among them. An empty one comes where another shell begins or ends."""
    try:
        lexer = shlex.shlex(line.replace("\n", ";"), posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        tokens = list(lexer)
    except ValueError:  # a quote is missing
        tokens = [token for word in _PIECE.findall(line) for token in (word, ";")]
    command: list[str] = []
    for token in (*tokens, ";"):
        if token.strip(_OPERATORS) or set(token) & {"<", ">"}:
            command.append(token)
            continue
        if command:
            first = command[0]
            runs = Path(first).name in _RUNNERS or first in _RESERVED or _ASSIGNMENT.match(first)
            lines = [each for each in command[1:] if runs and re.search(r"\s", each)]
            yield [each for each in command if each not in lines]
            for each in (each for each in command if each in lines or "$(" in each or "`" in each):
                yield []
                yield from _commands(each.replace("$(", ";").replace("`", ";"))
                yield []
        if token.strip(";") and token not in ("&&", "||"):
            yield []
        command = []


def _provided(arguments: Sequence[str], folder: Path) -> str:
    """The argument of a runner of packages that the folder itself provides; or empty."""
    for word in arguments:
        package = word[: word.rfind("@")] if word.rfind("@") > 0 else word
        if word[0] not in "/~.-" and any(os.path.lexists(folder / place / package) for place in _PACKAGES):
            return word
    return ""


def _imported(arguments: Sequence[str], folder: Path) -> str:
    """What Python, started with these arguments, imports from its working folder; or empty."""
    for at, word in enumerate(arguments):
        if option := _IMPORTS.fullmatch(word):
            if option[1] == "c":
                return word
            module = option[2] or "".join(arguments[at + 1 : at + 2])
            top = module.partition(".")[0]
            if module in _RUN_THE_FOLDER or not top:
                return module or word
            names = {top, *sys.stdlib_module_names}  # a file named like a module of Python is imported in its place
            with suppress(OSError):
                return next((each.name for each in sorted(folder.iterdir()) if _is_module(each, top, names)), "")
            return ""
        if not word.startswith("-") and (at == 0 or arguments[at - 1] not in ("-X", "-W")):
            return ""
    return ""


def _is_module(path: Path, top: str, names: Set[str]) -> bool:
    name = path.name.partition(".")[0]
    if path.is_dir():
        return path.name == top or (name in names and (path / "__init__.py").exists())
    return name in names and path.name.endswith((".py", ".pyc", *all_suffixes()))


def _path_inside(word: str, base: Path, roots: Sequence[Path]) -> str:
    """The path in a word that leads into one of these folders, not to the folder itself; or empty."""
    for piece in (word, *_PIECE.findall(word)):
        with suppress(OSError, RuntimeError, ValueError):
            plain: str = piece.lstrip("@")  # as `curl -d @file` names one
            path = _place(base, plain)
            if _is_path(plain, base) and Path(os.path.realpath(path)) not in roots and _is_in_any(path, roots):
                return plain
    return ""


def _place(base: Path, word: str) -> Path:
    """What a word names for a shell in this folder."""
    return Path(os.path.normpath(base / os.path.expanduser(word)))  # noqa: PTH111 - pathlib raises for unknown users


def _is_in_any(path: Path, roots: Sequence[Path]) -> bool:
    return any(_is_inside(path, root) for root in roots)


def named_paths(line: str, folder: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """What the words of a command line that starts in `folder` can name: paths, names of what exists there, and names
    of files, not those that it writes to."""
    for word in _words(_WRITTEN.sub(" ", line), folder, environ):
        with suppress(OSError, RuntimeError, ValueError):
            path = Path(os.path.normpath(folder / Path(word).expanduser()))
            if _is_path(word, folder) or _FILE_NAME.fullmatch(word) or os.path.lexists(path):
                yield path
            if "/" not in word:
                module = folder / word.replace(".", "/")
                yield from (each for each in (module.with_suffix(".py"), module / "__main__.py") if each.exists())


def _is_path(word: str, folder: Path) -> bool:
    """Whether a word with a slash is a path, not an address or an expression: it begins like one, or where something
    is, or ends like the name of a file."""
    if "/" not in word or "://" in word:
        return False
    first, last = word.partition("/")[0], word.rpartition("/")[2]
    return first in ("", ".", "..", "~") or bool(_FILE_NAME.fullmatch(last)) or os.path.lexists(folder / first)


def path_folders(folder: Path, environ: Mapping[str, str]) -> list[Path]:
    """The folders of `PATH`; relative ones begin at `folder`."""
    return [Path(each) for each in _path_from(folder, environ).split(os.pathsep)]


def own_code() -> list[Path]:
    """What runs as co-tui at the next start: its interpreter, its packages, and what Python imports when it starts."""
    package = Path(__file__).parents[2]
    packages = {Path(each) for each in sys.path if each.endswith("-packages")}
    prefixes = {Path(each) for each in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)}
    names = [f"{module}{suffix}" for module in _STARTUP_MODULES for suffix in ("", *all_suffixes())]
    return [package, *sorted(prefixes | packages), *(Path(each, name) for each in sys.path if each for name in names)]


def _words(line: str, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Every word that a shell could see in a command line, variables filled in."""
    filled = _filled(line, folder, environ)
    words = _PIECE.findall(filled)
    with suppress(ValueError):
        words += shlex.split(filled)
    plain = (word.lstrip("@") for word in words)  # as `curl -d @file` names one
    return list(dict.fromkeys(word for word in plain if word and "\0" not in word))


def _filled(line: str, folder: Path, environ: Mapping[str, str]) -> str:
    known = {**environ, "PWD": str(folder), PROJECT_VARIABLE: str(project_folder(folder))}
    return Template(line).safe_substitute(known).replace("\0", "")


def _path_from(folder: Path, environ: Mapping[str, str]) -> str:
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(os.path.normpath(folder / each) for each in entries if each)


def _is_inside(path: Path, root: Path) -> bool:
    """Whether a path, as it is named or with all links resolved, is a folder or inside of it."""
    named = Path(os.path.realpath(path.parent), path.name)
    return named.is_relative_to(root) or Path(os.path.realpath(path)).is_relative_to(root)
