"""Keys stay in co-tui: what the model runs finds them nowhere, and no core dump holds them (X8)."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import CliCommand
from tests.support.ordinary_user import as_ordinary_user, folder_of_ordinary_user, needs_ordinary_user
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

KEY = "sk-live-of-this-test-0123456789"
UNSHIELDED = "unshielded-0123456789"
ATTACK = f"""
env PLANTED={UNSHIELDED} sleep 20 > /dev/null 2>&1 &
sleep 0.2
parent=$PPID
echo "== environ"; cat /proc/$PPID/environ /proc/self/../$parent/environ /proc/$parent/task/*/environ
echo "== all"; cat /proc/[0-9]*/environ | tr '\\0' '\\n'
echo "== files"; ls -l /proc/$parent/fd; cat /proc/$parent/maps | head -3
echo "== memory"; python3 - $parent <<'END'
import ctypes, sys
pid = int(sys.argv[1])
try:
    open(f"/proc/{{pid}}/mem", "rb").read(1)
except OSError as error:
    print("mem:", error.strerror)
libc = ctypes.CDLL(None, use_errno=True)
print("ptrace:", libc.ptrace(0x4206, pid, 0, 0), ctypes.get_errno())
END
echo "== end"
"""


def told(provider: Provider) -> str:
    """What the model got back from its calls."""
    messages = provider.requests[-1]["messages"]
    return "\n".join(message["content"] for message in messages if message["role"] == "tool")


@needs_ordinary_user
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such protection")
def test_a_command_of_the_model_finds_no_key(provider: Provider) -> None:
    provider.window = 60_000
    provider.script = [
        Reply(text="", tool=("run_command", json.dumps({"command": ATTACK}))),
        # What co-tui itself reads of its own process works as before.
        Reply(text="", tool=("read_file", json.dumps({"path": "notes.txt"}))),
    ]
    with folder_of_ordinary_user() as home:
        (home / "notes.txt").write_text("as ever")
        command = CliCommand(home / "state", home)
        command.environ |= {
            "HOME": str(home), "CO_TUI_MODEL": "openai-chat:scripted",
            "OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": KEY
        }  # fmt: skip
        done = subprocess.run(
            as_ordinary_user(sys.executable, "-m", "co_tui", "run", "-p", "look", "--yes"),
            env=command.environ, cwd=home, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = told(provider)
    assert "== end" in said and UNSHIELDED in said, "the attack itself works"
    assert KEY not in said and KEY not in done.stdout + done.stderr
    assert "mem: Permission denied" in said and "ptrace: -1 1" in said and "as ever" in said


@pytest.mark.skipif(sys.platform != "linux", reason="other systems only have the limit, which is set as well")
def test_no_core_dump_is_written(tmp_path: Path) -> None:
    """Even where the limit is raised again afterwards."""
    raised = "import os, resource as r; r.setrlimit(r.RLIMIT_CORE, (r.getrlimit(r.RLIMIT_CORE)[1],) * 2); os.abort()"
    shield = "from co_tui.shielding import shield_process; shield_process();"
    limit = f"{shield} import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    assert subprocess.check_output([sys.executable, "-c", limit]) == b"0\n", "all that other systems have"
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("core dumps are forbidden here")
    assert not _dumps_core(shield + raised, tmp_path)
    assert not _dumps_core(shield + "import os; os.abort()", tmp_path)


def _dumps_core(code: str, folder: Path) -> bool:
    process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stderr=subprocess.DEVNULL)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -os.WTERMSIG(status)
    return os.WCOREDUMP(status)
