"""The background commands of a session on the other host: how they are, and how they end."""

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from co_tui.paths import ensure_dir

STOPPING_S: Final = 2.0
POLL_S: Final = 0.05
MOST_SHOWN_BYTES: Final = 4_000
MOST_LOOKED_BYTES: Final = 4_000_000
LOGS: Final = ("stdout.log", "stderr.log")


class FarCommands:
    """By the folder that the tool made for each: its process group, its output, how it ended."""

    def __init__(self, folder: Path, mark: str) -> None:
        """`mark` is in the environment of each process of the session."""
        self.folder = folder
        self._mark = mark.encode()
        self._groups: dict[str, int | None] = {}
        """The process group as it was at the start: what a command writes there later is not trusted."""

    def prepare(self) -> str:
        """The folder for them, which exists now."""
        return str(ensure_dir(self.folder))

    def begin(self, name: str) -> None:
        self._groups[name] = self._group(name)

    def now(self, name: str, waited: str) -> dict[str, Any]:
        """Whether it runs, its exit code, the end of its output, and whether it printed `waited`."""
        job = self._job(name)
        group = self._groups.get(name) or self._group(name)
        code = _exit_code(job)
        running = code is None and group is not None and _exists(group)
        shown = b"\n".join(filter(None, (_end_of(job / each, MOST_SHOWN_BYTES).rstrip() for each in LOGS)))
        printed = bool(waited) and any(waited.encode() in _end_of(job / each, MOST_LOOKED_BYTES) for each in LOGS)
        return {
            "running": running,
            "code": code if not running else None,
            "output": shown.decode(errors="replace"),
            "printed": printed,
        }

    def end(self, name: str) -> None:
        """Terminate it, and kill what is left of it."""
        group = self._groups.get(name) or self._group(name)
        if group is None:
            return
        latest = time.monotonic() + STOPPING_S
        _signal(group, signal.SIGTERM)
        while _exists(group) and _exit_code(self._job(name)) is None and time.monotonic() < latest:
            time.sleep(POLL_S)
        _signal(group, signal.SIGKILL)

    def end_all(self) -> None:
        """End all of this session, and remove what they wrote."""
        for job in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if job.name.isalnum() and _exit_code(job) is None:
                self.end(job.name)
        for process in self._marked():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def have_processes(self) -> bool:
        """Whether a process of the session still runs."""
        return bool(self._marked())

    def _marked(self) -> list[int]:
        found = []
        for each in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError, ValueError):
                if self._mark in each.read_bytes().split(b"\0") and int(each.parent.name) != os.getpid():
                    found.append(int(each.parent.name))
        return found

    def _job(self, name: str) -> Path:
        if not name.isalnum():
            raise ValueError("not a command")
        return self.folder / name

    def _group(self, name: str) -> int | None:
        fields = _end_of(self._job(name) / "handle", 100).split()
        group = int(fields[1]) if len(fields) == 2 and fields[1].isdigit() else 0
        return group if group > 1 else None


def _exit_code(job: Path) -> int | None:
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        code = json.loads(_end_of(job / "status.json", 1_000))["exit_code"]
        return code if isinstance(code, int) else None
    return None


def _end_of(file: Path, most_bytes: int) -> bytes:
    """The last bytes of a file; links are not followed, since commands can write there."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        size = os.fstat(handle).st_size
        return os.pread(handle, most_bytes, max(0, size - most_bytes))
    except OSError:
        return b""
    finally:
        os.close(handle)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
