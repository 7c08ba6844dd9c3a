"""The background commands of a session on the other host: how they are, and how they end."""

import base64
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from co_tui.paths import ensure_dir
from co_tui.session.processes.command_files import LOGS, STATUS, end_of, exit_code, part_of
from co_tui.session.processes.process_guard import group_exists, group_of_job, kill_sandbox_of_job

STOPPING_S: Final = 2.0
POLL_S: Final = 0.05
MOST_SHOWN_BYTES: Final = 4_000
MOST_LOOKED_BYTES: Final = 4_000_000
PIECE_BYTES: Final = 4 << 20


class RemoteCommands:
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
        self._groups[name] = group_of_job(self._job(name))

    def now(self, name: str, waited: str) -> dict[str, Any]:
        """Whether it runs, its exit code, the end of its output, and whether it printed `waited`."""
        job = self._job(name)
        group = self._groups.get(name) or group_of_job(self._job(name))
        code = exit_code(job / STATUS)
        running = code is None and group is not None and group_exists(group)
        shown = b"\n".join(filter(None, (end_of(job / each, MOST_SHOWN_BYTES).rstrip() for each in LOGS)))
        printed = bool(waited) and any(waited.encode() in end_of(job / each, MOST_LOOKED_BYTES) for each in LOGS)
        return {
            "running": running,
            "code": code if not running else None,
            "output": shown.decode(errors="replace"),
            "printed": printed,
        }

    def read(self, name: str, log: str, at: int) -> tuple[str, int]:
        """What it printed from a position on, in base64, and the position after that."""
        if log not in LOGS:
            raise ValueError("not a log")
        piece, after = part_of(self._job(name) / log, at, PIECE_BYTES)
        return base64.b64encode(piece).decode(), after

    def end(self, name: str) -> None:
        """Terminate it, and kill what is left of it."""
        group = self._groups.get(name) or group_of_job(self._job(name))
        if group is not None:
            latest = time.monotonic() + STOPPING_S
            _signal(group, signal.SIGTERM)
            while group_exists(group) and exit_code(self._job(name) / STATUS) is None and time.monotonic() < latest:
                time.sleep(POLL_S)
            _signal(group, signal.SIGKILL)
        kill_sandbox_of_job(self._job(name))

    def end_all(self) -> None:
        """End all of this session, and remove what they wrote."""
        for job in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if job.name.isalnum() and exit_code(job / STATUS) is None:
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


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
