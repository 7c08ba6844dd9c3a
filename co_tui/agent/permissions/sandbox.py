"""The sandbox of the model's commands: its description, its bubblewrap arguments, and whether it works here."""

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from co_tui.agent.permissions.git_guard import safe_path
from co_tui.agent.permissions.home_view import CACHE, home_arguments
from co_tui.agent.permissions.obeyed import NAMES
from co_tui.folders import Folders
from co_tui.inert import one_line
from co_tui.paths import Paths, is_inside
from co_tui.record import Record
from co_tui.settings.rules import SANDBOX_OFF, SANDBOX_WITH_NETWORK

HIDDEN_IN_HOME: Final = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".netrc", ".git-credentials", ".pypirc",
    ".npmrc", ".pgpass", ".my.cnf", ".vault-token", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub",
    ".config/op", ".config/rclone", ".config/git/credentials", ".config/pip", ".cargo/credentials.toml",
    ".terraform.d", ".local/share/keyrings", ".mozilla", ".config/google-chrome", ".config/chromium", ".anthropic",
    ".claude", ".codex", ".gemini", ".config/openai",
)  # fmt: skip
"""Where programs keep keys; empty inside the sandbox, also where the home folder is the one to work in."""
STARTING_S: Final = 10.0
PATH_CHARS: Final = 200
_READ_ONLY: Final = r"read-only file system|EROFS"
_MISSING: Final = r"ENOENT|no such file or directory|(could not|cannot|can't|failed to) create"
_WRITES_OUTSIDE: Final = "it writes outside this folder"
_NAMED: Final = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|([^\s'\":,;()\[\]]*/[^\s'\":,;()\[\]]*)")
"""What can be a path in an error message."""
_REFUSALS: Final = {
    "it changes a protected file": rf"(?<!\w)({'|'.join(map(re.escape, sorted(NAMES)))})\b.*"
    r"(read-only file system|EROFS|device or resource busy)",
    "it needs the network": r"network is unreachable|could not resolve host|temporary failure in name resolution|"
    r"name or service not known|failed to establish a new connection|dns error|getaddrinfo|EAI_AGAIN|ENOTFOUND|"
    r"could not resolve proxy|no address associated with hostname|failed to connect to|couldn't connect to server",
    _WRITES_OUTSIDE: _READ_ONLY,
    "it needs more permissions": r"operation not permitted",
}
"""Output of commands that the sandbox blocks, by reason."""
_SMALLEST: Final = ("--unshare-user", "--unshare-ipc", "--unshare-uts", "--cap-drop", "ALL", "--ro-bind", "/", "/")
_NO_NETWORK: Final = ("--unshare-net",)
HIDE_PROCESSES: Final = "--unshare-pid"
ENDS_WITH_PARENT: Final = "--die-with-parent"
RUNS_PROJECT: ContextVar[str] = ContextVar("the hook or check that runs", default="")
"""Its command line. It runs in the sandbox in every mode: the model may have changed what it runs."""
NO_MOUNTS: Final[Mapping[Path, Sequence[str]]] = {}
_working: set[tuple[str, str]] = set()
"""Sandboxes known to work, by program and kind. Failures are not cached: the user may have fixed them."""
_tried: dict[tuple[str, str], bool] = {}


@contextlib.contextmanager
def running_project(line: str) -> Iterator[None]:
    """While open, commands run in the sandbox in every mode, if one can be started here: for this hook or check."""
    token = RUNS_PROJECT.set(line)
    try:
        yield
    finally:
        RUNS_PROJECT.reset(token)


class Sandbox(Record):
    """How commands are isolated."""

    kind: str
    folder: Path
    home: Path
    """The user's home folder, which commands do not see."""
    paths: Paths
    """co-tui's own folders, which commands must not see."""
    folders: Folders | None = None
    """Those of the session; None if there is only one."""

    @property
    def added(self) -> tuple[Path, ...]:
        """Real paths of further folders in which commands may write."""
        return self.folders.added if self.folders is not None else ()

    def __bool__(self) -> bool:
        return self.kind != SANDBOX_OFF

    @property
    def has_network(self) -> bool:
        return self.kind == SANDBOX_WITH_NETWORK

    @property
    def set_aside(self) -> Path:
        """Where files that commands created under protected names are moved; commands cannot reach it."""
        return self.paths.state / "set-aside"

    def home_arguments(self, named: Sequence[Path] = (), environments: Sequence[str] = ()) -> tuple[str, ...]:
        """The bubblewrap arguments that hide the home folder, except what the user's own command line names, and what
        the Python environments in the folders need; the session's folder must be mounted after them. Reads files: call
        it in a thread."""
        path, copies = os.environ.get("PATH", os.defpath), self.paths.state / "git-settings"
        return home_arguments(self.home, self.folder, path, named, environments, copies=copies, writable=self.added)

    def arguments(
        self,
        writable: Path | None = None,
        mounts: Mapping[Path, Sequence[str]] = NO_MOUNTS,
        *,
        home_hidden: bool = True,
    ) -> tuple[str, ...]:
        """Further bubblewrap arguments: hide our own folders, allow writing to `writable` if it exists. Where the home
        cannot be hidden, known places of keys are.

        `mounts` are those of each added folder.
        """
        ours = (self.paths.data, self.paths.config, self.paths.state)
        folder = self.folder.resolve()
        paths = (*(() if home_hidden else (self.home / name for name in HIDDEN_IN_HOME)), *ours)
        hidden = [each for path in paths for each in _mask(path, folder)]
        before, after = list[str](), list[str]()
        for added, own in mounts.items():
            (after if any(is_inside(added, path.resolve()) for path in paths) else before).extend(own)
        skills = ("--ro-bind-try", str(self.paths.skills), str(self.paths.skills))
        kept = ("--bind-try", str(writable), str(writable)) if writable is not None else ()
        # What a program writes to a hidden home must fail, not be lost.
        fixed = ("--remount-ro", os.path.realpath(self.home)) if home_hidden else ()
        return (*before, *hidden, *after, *skills, *kept, *fixed, "--setenv", "XDG_CACHE_HOME", CACHE)


def _mask(path: Path, folder: Path) -> tuple[str, ...]:
    """Hide a file or folder, links resolved, unless `folder` is in it."""
    with contextlib.suppress(OSError, RuntimeError):
        path = path.resolve(strict=True)
        if not folder.is_relative_to(path):
            return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))
    return ()


def sandbox_label(kind: str) -> str:
    """The kind of sandbox, in two or three words."""
    labels = {SANDBOX_OFF: "not sandboxed", SANDBOX_WITH_NETWORK: "sandboxed, with network"}
    return labels.get(kind, "sandboxed")


def refusal_in(output: str, home: Path, folders: Sequence[Path]) -> str:
    """Why the sandbox blocked a command, as far as its output shows; else empty. `folders` are those it may change."""
    why = next((why for why, pattern in _REFUSALS.items() if re.search(pattern, output, re.IGNORECASE)), "")
    if why == _WRITES_OUTSIDE:
        return next((_read_only_text(path, folder) for path, folder in _inside(output, folders)), why)
    if not why and any(_is_hidden(path, home, folders) for path in _paths_in(output, _MISSING)):
        return "it uses a file of the home folder, which the sandbox hides"
    return why


def _paths_in(output: str, error: str) -> Iterator[Path]:
    """The path that each line with this error names last, in quotes if any is."""
    for line in output.splitlines():
        if re.search(error, line, re.IGNORECASE):
            found = [(each[1] or each[2] or "", each[3]) for each in _NAMED.finditer(line)]
            named = [quoted for quoted, _ in found if "/" in quoted] or [plain for _, plain in found if plain]
            yield from map(Path, named[-1:])


def _inside(output: str, folders: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """What a command could not write in the folders, with its folder."""
    for named in _paths_in(output, _READ_ONLY):
        path = Path(os.path.normpath(folders[0] / named))
        real = Path(os.path.realpath(path.parent), path.name)
        inside = [(each, folder) for each in (path, real) for folder in folders if each.is_relative_to(folder)]
        yield from (each for each in inside[:1] if path.parent.is_dir())


def _read_only_text(path: Path, folder: Path) -> str:
    on_path = {os.path.realpath(each) for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each}
    programs = next((each for each in (path, *path.parents) if os.path.realpath(each) in on_path), None)
    is_program = programs is not None and programs.is_relative_to(folder)
    changed = one_line(str((programs if programs and is_program else path).relative_to(folder)), PATH_CHARS)
    return f"it changes {changed}, {'a folder on PATH that' if is_program else 'which'} the sandbox keeps read-only"


def _is_hidden(path: Path, home: Path, folders: Sequence[Path]) -> bool:
    if path.parts[:1] == ("~",):
        path = home.joinpath(*path.parts[1:])
    homes = (home, Path(os.path.realpath(home)))
    return any(path.is_relative_to(each) for each in homes) and not any(path.is_relative_to(each) for each in folders)


def sandbox_text(kind: str) -> str:
    """What the sandbox means for a command, in a few words."""
    if kind == SANDBOX_OFF:
        return "not sandboxed"
    network = "with the network" if kind == SANDBOX_WITH_NETWORK else "no network"
    return f"sandboxed: writes only in this folder, {network}, home folder and keys hidden"


async def sandbox_problem(kind: str, *folders: Path) -> str:
    """A sentence on why the sandbox cannot be started here; empty when it can, or is off. See `sandbox_failure`."""
    failure = await sandbox_failure(kind, *folders)
    return unusable_sandbox_text(kind, failure) if failure else ""


async def sandbox_failure(kind: str, *folders: Path) -> str:
    """Why the sandbox cannot be started, in a few words; empty when it can.

    No program in `folders` is tried: a sandboxed command may have put it there.
    """
    if kind == SANDBOX_OFF:
        return ""
    if (program := _bwrap(folders)) is None:
        return "bwrap is not installed"
    if (program, kind) in _working:
        return ""
    network = () if kind == SANDBOX_WITH_NETWORK else _NO_NETWORK
    failure = await _start(program, *network)
    if not failure:
        _working.add((program, kind))
    return failure


async def can_hide_processes(*folders: Path) -> bool:
    """Whether a sandbox can hide other processes; inside a container it often cannot. No program in `folders` is
    tried."""
    key = (_bwrap(folders) or "", "processes")
    if key not in _tried:
        _tried[key] = bool(key[0]) and not await _start(key[0], HIDE_PROCESSES, "--proc", "/proc")
    return _tried[key]


def _bwrap(folders: Sequence[Path]) -> str | None:
    return shutil.which("bwrap", path=safe_path(os.pathsep.join(os.get_exec_path()), *folders))


async def _start(program: str, *arguments: str) -> str:
    """Try an empty sandbox; returns why it failed, else an empty string."""
    process = await asyncio.create_subprocess_exec(
        program, *_SMALLEST, *arguments, program, "--version",
        env={}, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, errors = await asyncio.wait_for(process.communicate(), STARTING_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "bwrap does not start"
    return (errors.decode(errors="replace").strip() or "bwrap failed") if process.returncode else ""


def unusable_sandbox_text(kind: str, why: str) -> str:
    """The sentence about a configured sandbox that cannot be started."""
    return (
        f"Commands must run in a sandbox (command_sandbox = {kind}), but it does not start: {why}. "
        f"Install bubblewrap (bwrap) and allow user namespaces, or set command_sandbox = {SANDBOX_OFF}."
    )
