"""A small helper process that stops what we started when we exit, even by `kill -9`."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from co_tui.session.processes.command_files import end_of

STOPPING_S: Final = 5.0
MARK: Final = "STARTED_BY_CO_TUI"
"""Environment variable, with the session's id, of every process that ends with the session."""
_GUARD: Final = """
detached() { grep -lszxF -e "$mark" /proc/[0-9]*/environ | tr -dc '0-9\\n'; }
mark=$2
groups=
while read -r sign group; do
  kept=
  for each in $groups; do [ "$each" = "$group" ] || kept="$kept $each"; done
  groups=$kept
  if [ "$sign" = + ]; then groups="$groups $group"; fi
done
if [ -n "$groups$(detached)" ]; then
  for each in $groups; do kill -s TERM -- "-$each"; done
  for each in $(detached); do kill -s TERM "$each"; done
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=$(for each in $groups; do kill -s 0 -- "-$each" && echo "$each"; done; detached)
    if [ -z "$left" ]; then break; fi
    sleep 0.1
  done
  for each in $groups; do kill -s KILL -- "-$each"; done
  for each in $(detached); do kill -s KILL "$each"; done
fi
rm -rf -- "$1"
"""
"""Reads process groups from standard input, which closes when our process ends. A process that left its group is found
by its environment variable, where there is a /proc."""


class ProcessGuard:
    """Stops the noted process groups and all processes marked with the session's id, and removes a folder, when this
    process exits or closes the guard."""

    def __init__(self, folder: Path, session_id: str) -> None:
        self._folder = folder
        self._mark = f"{MARK}={session_id}"
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def note(self, group: int) -> None:
        self.forget_ended()
        self._groups.add(group)
        self._send(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """Let what is left of a group run on."""
        if group in self._groups:
            self._groups.discard(group)
            self._send(f"- {group}\n")

    def forget_ended(self) -> None:
        """Forget groups that ended: their numbers may be reused."""
        for group in [each for each in self._groups if not _is_running(each)]:
            self.forget(group)

    def has_processes(self) -> bool:
        """Whether a noted group or a marked process still runs."""
        return any(_is_running(group) for group in list(self._groups)) or any(map(self._is_marked, _environments()))

    def _is_marked(self, environment: Path) -> bool:
        with contextlib.suppress(OSError):
            return self._mark.encode() in environment.read_bytes().split(b"\0")
        return False

    async def close(self) -> None:
        """Stop what is left, and wait until it is gone."""
        self.forget_ended()
        process, self._process = self._process, None
        self._groups.clear()
        if process is not None:
            _input(process).close()
            await asyncio.to_thread(_wait, process)

    def _send(self, line: str) -> None:
        # Without a guard, a normal exit still cleans up.
        with contextlib.suppress(OSError):
            if self._process is None:
                self._process = self._started()
            _input(self._process).write(line.encode())

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "co-tui-guard", str(self._folder), self._mark],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            start_new_session=True,  # it must survive a signal from the terminal
        )


def _environments() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*/environ")


def group_exists(group: int) -> bool:
    """Whether a process group has a process left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_running(group: int) -> bool:
    """Whether a process of the group runs. In a container without an init process, those that ended stay listed."""
    if not group_exists(group):
        return False
    states = list(Path("/proc").glob("[0-9]*/stat"))
    return not states or any(_runs_in(group, state) for state in states)


def _runs_in(group: int, state: Path) -> bool:
    with contextlib.suppress(OSError):
        letter, _, of_group, *_ = state.read_text(errors="replace").rpartition(")")[2].split()
        return int(of_group) == group and letter not in "ZX"
    return False


def group_of_job(job: Path) -> int | None:
    """The process group of the background command that works with this folder; None if it has ended.

    It is found by the arguments of its first process: what the command writes is not trusted, and is a number of its
    sandbox. Without /proc there is no sandbox either, and its handle file has the number.
    """
    if not Path("/proc/self").exists():
        fields = end_of(job / "handle", 100).split()
        group = int(fields[1]) if len(fields) == 2 and fields[1].isdigit() else 0
        return group if group > 1 else None  # 0 and 1 would mean other processes
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError, ValueError):
            process = int(arguments.parent.name)
            if str(job).encode() in arguments.read_bytes().split(b"\0") and os.getpgid(process) == process:
                return process
    return None


def kill_sandbox_of_job(job: Path) -> None:
    """Kill the init of a background command's process namespace, and with it all that the command left running."""
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(job).encode() in arguments.read_bytes() and _is_init(arguments.parent):
                os.kill(int(arguments.parent.name), signal.SIGKILL)


def _is_init(process: Path) -> bool:
    """Whether it is the first process of a namespace inside of ours."""
    numbers = re.search(r"^NSpid:(.*)$", (process / "status").read_text(), re.MULTILINE)
    return numbers is not None and len(fields := numbers[1].split()) > 1 and fields[-1] == "1"


def _input(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _wait(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOPPING_S)
