"""A day of approvals: how many of 1,815 recorded shell calls ask, and that none is free that changes something."""

import os
import subprocess
from pathlib import Path

import pytest

from co_tui.agent.permissions.git_guard import guarded_environment
from tests.support.approval_day import free_lines, project, replayed, shell_calls
from tests.support.long_run import LONG_RUN, only_in_a_long_run
from tests.support.sandbox import needs_bwrap
from tests.support.waiting import PATIENCE_S

DATA = Path(__file__).parents[4] / "shared" / "data" / "conversations.jsonl"
EVERY = 1 if LONG_RUN else 6
"""Judging all calls takes ten seconds: the suite judges those of a sixth of the conversations."""
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the recorded conversations are not here")


@only_in_a_long_run
@needs_data
def test_fewer_than_a_quarter_ask_once_ten_answers_were_given(tmp_path: Path) -> None:
    conversations = shell_calls(DATA)
    assert (len(conversations), sum(map(len, conversations))) == (29, 1815)
    day = replayed(conversations, project(tmp_path / "shop"), "ask", one_project=True)
    assert day.free > day.calls * 0.4
    assert day.later_share < 0.25


@needs_data
@needs_bwrap
def test_none_of_the_free_ones_changes_anything(tmp_path: Path) -> None:
    """Run in one sandbox over files named like options."""
    folder = project(tmp_path / "shop")
    for name in ("--output=planted", "-exec", "-o", "a.py", "-delete", "-i"):
        (folder / name).write_text("def text(): ...\n")
    lines = free_lines(shell_calls(DATA)[::EVERY], folder)
    assert len(lines) > 400 / EVERY
    before = sorted(tmp_path.glob("*/*"))
    once = dict.fromkeys(line.replace("sleep 5", "sleep 0") for line in lines)
    script = "\n".join(f"sh -c {_quoted(line)} >/dev/null 2>&1 </dev/null" for line in once)
    subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(tmp_path), str(tmp_path),
         "--unshare-net", "--die-with-parent", "--chdir", str(folder), "sh"],
        input=script.encode(), env=guarded_environment({"PATH": os.environ["PATH"]}, folder), timeout=PATIENCE_S,
    )  # fmt: skip
    assert sorted(tmp_path.glob("*/*")) == before and list(tmp_path.iterdir()) == [folder]


def _quoted(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"
