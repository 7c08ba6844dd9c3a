"""Which processes of a session still run."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from co_tui.session.processes.process_guard import MARK, ProcessGuard
from tests.support.waiting import wait_until


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no /proc")
def test_what_runs_is_known_by_its_group_or_its_mark_and_what_ended_is_not(tmp_path: Path) -> None:
    session_id = f"s{os.getpid()}"  # marks are seen by every process of the machine
    guard = ProcessGuard(tmp_path / "commands", session_id)
    marked = {"PATH": os.defpath, MARK: session_id}
    left_behind = subprocess.Popen(["sh", "-c", "sleep 600 & exec true"], start_new_session=True)
    os.waitid(os.P_PID, left_behind.pid, os.WEXITED | os.WNOWAIT)  # it is listed until it is waited for
    detached = subprocess.Popen(["sleep", "600"], env=marked, start_new_session=True)
    others = subprocess.Popen(["sleep", "600"], env={**marked, MARK: f"{session_id}2"}, start_new_session=True)
    try:
        assert guard.has_processes(), "the marked one"
        detached.kill()
        detached.wait()
        assert not guard.has_processes(), "the other session's is not ours"
        guard._groups.add(left_behind.pid)
        assert guard.has_processes(), "what the first process of the group started"
        guard.forget_ended()
        assert guard.has_processes()
        os.killpg(left_behind.pid, signal.SIGKILL)
        wait_until(lambda: not guard.has_processes())
        guard.forget_ended()
        assert not guard._groups, "its first process has ended, though it is still listed"
    finally:
        asyncio.run(guard.close())
        others.kill()
        for each in (others, left_behind):
            each.wait()
