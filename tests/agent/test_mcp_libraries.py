"""The libraries behind MCP servers heed neither the folder they are loaded in nor write to the terminal."""

import subprocess
import sys

from tests.support.command import CliCommand
from tests.support.waiting import PATIENCE_S

CODE = """
import logging, os, sys
assert "fastmcp" not in sys.modules
before = dict(os.environ)
from co_tui.agent.mcp.servers import load_connection
load_connection()
assert dict(os.environ) == before
logging.getLogger("fastmcp.client").error("to programmers")
logging.getLogger("mcp.client.stdio").error("to programmers")
"""


def test_a_folders_environment_file_is_not_read_and_nothing_is_logged_to_the_terminal(co_tui: CliCommand) -> None:
    (co_tui.cwd / ".env").write_text("FASTMCP_LOG_LEVEL=what no library takes\n")
    process = subprocess.run(
        [sys.executable, "-c", CODE], cwd=co_tui.cwd, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (process.stdout, process.stderr, process.returncode) == ("", "", 0)
