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
        mark = self._mark.encode()
        return any(_is_running(group) for group in list(self._groups)) or any(
            mark in environment and mark in environment.split(b"\0") for _, environment in _of_all_processes("environ")
        )

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


def _of_all_processes(name: str) -> Iterator[tuple[int, bytes]]:
    """The processes, and what is in that file of each; none where there is no /proc."""
    with contextlib.suppress(OSError), os.scandir("/proc") as entries:
        for process in [int(each.name) for each in entries if each.name.isdigit()]:
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                yield process, _of_process(process, name)


def _of_process(process: int, name: str) -> bytes:
    with open(f"/proc/{process}/{name}", "rb", buffering=0) as file:
        return file.read()


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
    with contextlib.suppress(OSError):  # usually its first process runs, and no other has to be looked at
        if _runs_in(group, _of_process(group, "stat")):
            return True
    states = [state for _, state in _of_all_processes("stat")]
    return not states or any(_runs_in(group, state) for state in states)


def _runs_in(group: int, state: bytes) -> bool:
    letter, _, of_group, *_ = state.rpartition(b")")[2].split()
    return int(of_group) == group and letter not in (b"Z", b"X")


def group_of_job(job: Path) -> int | None:
    """The process group of the background command that works with this folder; None if it has ended.

    It is found by the arguments of its first process: what the command writes is not trusted, and is a number of its
    sandbox. Without /proc there is no sandbox either, and its handle file has the number.
    """
    if not Path("/proc/self").exists():
        fields = end_of(job / "handle", 100).split()
        group = int(fields[1]) if len(fields) == 2 and fields[1].isdigit() else 0
        return group if group > 1 else None  # 0 and 1 would mean other processes
    for process, arguments in _of_all_processes("cmdline"):
        with contextlib.suppress(OSError):
            if str(job).encode() in arguments.split(b"\0") and os.getpgid(process) == process:
                return process
    return None


def kill_sandbox_of_job(job: Path) -> None:
    """Kill the init of a background command's process namespace, and with it all that the command left running."""
    for process, arguments in _of_all_processes("cmdline"):
        with contextlib.suppress(OSError):
            if str(job).encode() in arguments and _is_init(process):
                os.kill(process, signal.SIGKILL)


def _is_init(process: int) -> bool:
    """Whether it is the first process of a namespace inside of ours."""
    numbers = re.search(rb"^NSpid:(.*)$", _of_process(process, "status"), re.MULTILINE)
    return numbers is not None and len(fields := numbers[1].split()) > 1 and fields[-1] == b"1"


def _input(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _wait(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOPPING_S)
