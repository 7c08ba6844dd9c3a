"""The libraries behind MCP servers heed neither the folder they are loaded in nor write to the terminal."""

import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE_S

CODE = """
import logging, os
before = dict(os.environ)
from co_tui.agent.mcp.servers import load_connection
load_connection()
assert dict(os.environ) == before
logging.getLogger("fastmcp.client").error("to programmers")
logging.getLogger("mcp.client.stdio").error("to programmers")
"""


def test_a_folders_environment_file_is_not_read_and_nothing_is_logged_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FASTMCP_LOG_LEVEL=what no library takes\n")
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
