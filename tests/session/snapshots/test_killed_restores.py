"""A restore that is killed leaves either state, and the next start says which."""

import json
import subprocess
import sys
from pathlib import Path

from tests.support.killed_restores import BEFORE, STEPS
from tests.support.long_run import only_in_a_long_run

CHANGED = {"a": "2", "b": "2", "new/n": "2", "d/x": "2", "swap/inner": "2"}
COMPLETE = "An interrupted restore is now complete."


@only_in_a_long_run
def test_a_killed_restore_is_complete_at_the_next_start_or_never_began(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.support.killed_restores", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == STEPS.keys()
    never = found.pop("planned")
    assert never["said"] == "A restore was interrupted before it began. No file was changed."
    assert never["found"] == CHANGED and not never["undoable"]
    for step, seen in found.items():
        assert (seen["said"], seen["found"], seen["again"]) == (COMPLETE, BEFORE, ""), step
        assert seen["undoable"], step
