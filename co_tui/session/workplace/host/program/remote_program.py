"""The program on the other host: judges calls by its files, protects names, takes snapshots, runs commands.

It is sent over ssh with the modules it needs, keeps running while the connection holds, and installs nothing. Requests
and answers are JSON, each after its length. Needs Python 3.10 or newer there and nothing else.
"""

import asyncio
import base64
import json
import os
import platform
import shutil
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from co_tui.agent.permissions.git_guard import git_variables, guarded_environment
from co_tui.agent.permissions.git_state import changed_files
from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.protected_files import ProtectedFiles
from co_tui.agent.permissions.sandbox import Sandbox, can_hide_processes, sandbox_failure
from co_tui.paths import Paths, ensure_dir, is_inside
from co_tui.session.checkout import repository_of
from co_tui.session.processes.process_guard import MARK
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.tools.folder.folder_guard import FolderGuard
from co_tui.session.tools.folder.safe_texts import SafeTexts
from co_tui.session.workplace.branch_changes import ReviewRefused, branch_changes
from co_tui.session.workplace.host.program.remote_commands import RemoteCommands
from co_tui.session.workplace.host.program.remote_files import RemoteFiles, RemoteTexts
from co_tui.session.workplace.host.program.remote_processes import RemoteProcesses
from co_tui.session.workplace.host.program.remote_snapshots import RemoteSnapshots
from co_tui.session.workplace.host.values import decoded, encoded
from co_tui.session.workplace.listed_files import find_files
from co_tui.settings.permission_rules import RuleInForce
from co_tui.shell.syntax import NotUnderstood

LARGEST_BYTES: Final = 64_000_000
"""Of one request or answer."""
SIZE: Final = struct.Struct(">I")
KEPT_DAYS: Final = 90
"""What a session left here, such as its snapshots, is removed after this time without use."""
ATTACHED_BYTES: Final = 20_000_000
"""Read of a file that a prompt names; an image can be so large."""
ERRORS: Final = (
    *(NotCovered, SnapshotsUnusable, ReviewRefused),
    *(FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError, OSError, ValueError),
)
"""Raised here as they were there; the first that fits."""
MOST_AT_ONCE: Final = 64
"""Questions that are answered at a time; that for the output of a command waits for some."""
_PARTS: Final = frozenset(("commands", "files", "processes", "snapshots", "texts"))
"""Those whose methods are asked for as `files.read`."""


class RemoteProgram:
    """What is asked about one folder of this host, for one session."""

    def __init__(self, folder: str, session_id: str) -> None:
        self.home = Path(os.path.realpath(Path.home()))
        self.folder = Path(os.path.realpath(self.home / folder))
        state = Path(os.environ.get("XDG_STATE_HOME") or self.home / ".local/state") / "co-tui-host"
        own = state / "sessions" / (session_id or "none")
        self.paths = Paths(data=state / "data", config=state / "config", state=state)
        self.path = os.environ.get("PATH", os.defpath)
        self.commands = RemoteCommands(own / "commands", f"{MARK}={session_id or 'none'}")
        self.snapshots = RemoteSnapshots(own / "snapshots", self.folder, state)
        self.files = RemoteFiles(self.folder)
        self.processes = RemoteProcesses(self.folder)
        self.texts = RemoteTexts(SafeTexts(self.folder))
        self.guard = FolderGuard(self.folder, own / "set-aside", self.home)
        self.one_at_a_time = threading.Lock()

    def begin(self) -> dict[str, Any]:
        """Where the session works. Raises OSError if there is no such folder."""
        os.scandir(self.folder).close()
        self._forget_old()
        return {
            "folder": str(self.folder),
            "home": str(self.home),
            "guarded": {**guarded_environment({"PATH": self.path}, self.folder)},
            **self.surroundings(with_state=False),
        }

    def _forget_old(self) -> None:
        """Remove what sessions left here that were not used for long."""
        latest = time.time() - KEPT_DAYS * 86_400
        for own in (self.paths.state / "sessions").glob("*"):
            with suppress(OSError):
                if max(each.stat().st_mtime for each in (own, *own.glob("*"), *own.glob("snapshots/*"))) < latest:
                    shutil.rmtree(own, ignore_errors=True)

    def surroundings(self, with_state: bool = True) -> dict[str, Any]:
        repository, branch = repository_of(self.folder)
        changed = changed_files(self.folder, git_variables(os.environ)) if branch and with_state else None
        return {
            "platform": f"{platform.system()} {platform.release()} ({platform.machine()})",
            "shell": Path(os.environ.get("SHELL") or "sh").name,
            "repository": repository,
            "branch": branch,
            "changed": changed,
        }

    def list_files(self) -> str:
        """Files below the folder that a prompt can name, one a line."""
        return "\n".join(path for path in find_files(self.folder) if not path.endswith("/"))

    def attached_file(self, name: str) -> str:
        """The beginning of a file of the folder, in base 64."""
        path = self.folder / name
        if not is_inside(path, self.folder):
            raise OSError("it is outside of the folder")
        if not path.is_file():
            raise IsADirectoryError("a folder, not a file") if path.is_dir() else FileNotFoundError("no such file")
        with path.open("rb") as file:
            return base64.b64encode(file.read(ATTACHED_BYTES)).decode()

    def branch_changes(self, hides: Sequence[RuleInForce]) -> tuple[str, str]:
        """Since when, and what changed on the branch, in base 64."""
        since, text = branch_changes(self.folder, os.environ, hides)
        return since, base64.b64encode(text.encode(errors="replace")).decode()

    def verdict(self, tool: str, arguments: Mapping[str, Any], mode: str, rules: Any, parsed: Any) -> Any:
        def parse(_: str) -> Any:
            if parsed is None:
                raise NotUnderstood
            return parsed

        environ = git_variables(os.environ)
        judge = Judge(folder=self.folder, home=self.home, environ=environ, own=(self.paths.state,), parse=parse)
        return judge.verdict(tool, arguments, mode, rules)

    def sandbox(self, kind: str) -> dict[str, Any]:
        """Whether the sandbox works here, and its arguments."""
        ensure_dir(self.commands.folder)
        sandbox = Sandbox(kind=kind, folder=self.folder, home=self.home, paths=self.paths)
        home = sandbox.home_arguments(environments=list(ProtectedFiles(self.folder, self.home).find().environments))
        return {
            "failure": asyncio.run(sandbox_failure(kind)),
            "hides": bool(shutil.which("bwrap")) and asyncio.run(can_hide_processes()),
            "home": home,
            "arguments": sandbox.arguments(self.commands.folder, home_hidden=bool(home)),
        }

    def guard_begin(self, others_run: bool) -> dict[str, Any]:
        with self.one_at_a_time:
            found, created = asyncio.run(self.guard.begin(others_run=others_run))
        return {"read_only": found.read_only, "pinned": found.pinned, "created": _set_aside(created)}

    def guard_end(self) -> Any:
        with self.one_at_a_time:
            return _set_aside(asyncio.run(self.guard.end()))

    def guard_check(self) -> Any:
        with self.one_at_a_time:
            return _set_aside(asyncio.run(self.guard.check()))

    def is_protected(self, path: str) -> bool:
        return self.guard.is_protected(path)

    def accept(self, path: str, digest: str | None) -> None:
        self.guard.accept(path, digest)

    def answer(self, name: str) -> Callable[..., Any]:
        """The method for a request. Raises LookupError."""
        whole, _, part = name.partition(".")
        owner, method = (getattr(self, whole), part) if part and whole in _PARTS else (self, name)
        if method.startswith("_") or method == "answer":
            raise LookupError(name)
        found: Callable[..., Any] = getattr(owner, method)
        return found


def _set_aside(created: Any) -> Any:
    """What was moved away: name, where it is now, whether the earlier file is back."""
    return created and [(each.name, each.kept and str(each.kept), each.restored) for each in created.files]


def read_frame(stream: BinaryIO, largest: int = LARGEST_BYTES) -> Any:
    """The next request or answer; None at the end. Raises ValueError for one that is none."""
    header = stream.read(SIZE.size)
    if len(header) < SIZE.size:
        return None
    size = SIZE.unpack(header)[0]
    if size > largest:
        raise ValueError(f"an answer of {size:,} bytes")
    data = stream.read(size)
    return json.loads(data) if len(data) == size else None


def write_frame(stream: BinaryIO, value: Any) -> None:
    data = json.dumps(value).encode()
    stream.write(SIZE.pack(len(data)) + data)
    stream.flush()


class _Serving:
    """Answers requests, several at a time, until the connection ends."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source, self._sink = source, sink
        self._writing = threading.Lock()
        self._folder = ""
        self._programs: dict[str, RemoteProgram] = {}
        """By session."""
        self._beginning = threading.Lock()

    def run(self) -> None:
        pool = ThreadPoolExecutor(MOST_AT_ONCE)
        try:
            while (request := read_frame(self._source)) is not None:
                if request["call"] == "begin":
                    self._answer(request)
                else:
                    pool.submit(self._answer, request)
        finally:
            for each in self._programs.values():
                each.processes.kill_all()

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            value = {"value": encoded(self._called(request, decoded(request["given"])))}
        except BaseException as error:
            kind = next((each for each in ERRORS if isinstance(error, each)), None)
            text = str(getattr(error, "strerror", None) or error) or type(error).__name__
            value = {"error": kind.__name__ if kind is not None else "", "text": text[:2_000]}
        with self._writing:
            write_frame(self._sink, {"id": request["id"], **value})

    def _called(self, request: Mapping[str, Any], given: Sequence[Any]) -> Any:
        name, session_id = request["call"], request["session"]
        if name == "begin":
            self._folder, given = str(given[0]), ()
        with self._beginning:
            program = self._programs.setdefault(session_id, RemoteProgram(self._folder, session_id))
        return program.answer(name)(*given)


def main() -> None:
    """Serve requests on standard input and output; nothing else may print there."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(ValueError, OSError, LookupError):
        _Serving(sys.stdin.buffer, sink).run()
    os._exit(0)  # a request that still runs has no one to answer
