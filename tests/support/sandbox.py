"""Whether tests of the sandbox can run on this machine."""

import asyncio

import pytest

from co_tui.agent.permissions.sandbox import sandbox_problem

TROUBLE = asyncio.run(sandbox_problem("bwrap"))
needs_bwrap = pytest.mark.skipif(bool(TROUBLE), reason=TROUBLE or "bwrap works")
KINDS = ["off", pytest.param("bwrap", marks=needs_bwrap)]
"""For what holds with a sandbox and without one."""
