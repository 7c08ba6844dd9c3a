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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import all_suffixes
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
    "dotnet", "mix", "swift", "terraform", "direnv",
))  # fmt: skip
"""Programs that run what the working folder holds without naming it: a `Makefile`, plugins, tests."""
_ELSEWHERE: Final = re.compile(r"(?:^|\s)(?:-C|--(?:directory|project|prefix|cwd|dir|manifest-path))[=\s]+(\S+)")
"""Options with which they work in another folder."""
_PACKAGES: Final = ("node_modules", "node_modules/.bin")
"""Where `npx` and its like look first."""
_PYTHON: Final = re.compile(r"python[\d.]*")
_FROM_WORKING_FOLDER: Final = frozenset(("-c", "-m"))
"""With these options, Python imports modules of the working folder."""
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

    def runs_folder(self, line: str) -> bool:
        """Whether a command line runs something in the folders."""
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


def runs_folder(line: str, folder: Path, roots: Sequence[Path], environ: Mapping[str, str]) -> bool:
    """Whether a command line that starts in `folder` names or runs something inside of these real folders."""
    words = _words(line, folder, environ)
    names = {Path(word).name for word in words}
    elsewhere = (Path(folder, each).expanduser() for each in _ELSEWHERE.findall(shlex.join(words)))
    if names & _RUN_THE_FOLDER and not any(not _is_inside(each, root) for each in elsewhere for root in roots):
        return True
    if any(map(_PYTHON.fullmatch, names)) and names & _FROM_WORKING_FOLDER:
        return True
    packages = {word[: word.rfind("@")] if word.rfind("@") > 0 else word for word in words if word[0] not in "/~.-"}
    if any(os.path.lexists(folder / place / each) for place in _PACKAGES for each in packages):
        return True
    programs = (shutil.which(word, path=_path_from(folder, environ)) for word in words if "/" not in word)
    named = (*named_paths(line, folder, environ, writes=True), *(Path(each) for each in programs if each is not None))
    return any(_is_inside(each, root) for each in named for root in roots)


def named_paths(line: str, folder: Path, environ: Mapping[str, str], *, writes: bool = False) -> Iterator[Path]:
    """What the words of a command line that starts in `folder` can name: paths, names of what exists there, and names
    of files. With `writes`, also files it writes to, but no bare name of what does not exist: that cannot be run."""
    for word in _words(line if writes else _WRITTEN.sub(" ", line), folder, environ):
        with suppress(OSError, RuntimeError, ValueError):
            path = Path(os.path.normpath(folder / Path(word).expanduser()))
            is_new = not writes and _FILE_NAME.fullmatch(word)
            if _is_path(word, folder) or is_new or os.path.lexists(path):
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
    known = {**environ, "PWD": str(folder), PROJECT_VARIABLE: str(project_folder(folder))}
    filled = Template(line).safe_substitute(known)
    words = _PIECE.findall(filled)
    with suppress(ValueError):
        words += shlex.split(filled)
    plain = (word.lstrip("@") for word in words)  # as `curl -d @file` names one
    return list(dict.fromkeys(word for word in plain if word and "\0" not in word))


def _path_from(folder: Path, environ: Mapping[str, str]) -> str:
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(os.path.normpath(folder / each) for each in entries if each)


def _is_inside(path: Path, root: Path) -> bool:
    """Whether a path, as it is named or with all links resolved, is a folder or inside of it."""
    named = Path(os.path.realpath(path.parent), path.name)
    return named.is_relative_to(root) or Path(os.path.realpath(path)).is_relative_to(root)
