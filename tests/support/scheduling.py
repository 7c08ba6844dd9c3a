"""Which tests a worker gets, and when.

`--dist loadgroup` would do it, were it not for how pytest 9.2 makes the names of tests: their groups are not seen.
"""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

_ROOT = Path(__file__).parents[2]
TOGETHER = {
    "tests/test_imports.py": "imports",  # what several of them ask is found out once
    "tests/test_sentences.py": "sentences",
    "tests/agent/local/test_gguf.py": "embedded",  # one model at a time has both cores
    "tests/e2e/test_embedded.py": "embedded",
    "tests/e2e/test_terminal.py": "embedded",
    "tests/agent/wire/test_odd_arguments.py": "clients",  # each provider's client takes seconds to import
    "tests/agent/models/test_output_limits.py": "clients",
    "tests/agent/web/test_search.py": "clients",
    "tests/agent/models/test_switching.py": "clients",
    "tests/seeds/test_copilot.py": "clients",
    "tests/session/lens/test_looking.py": "programs",  # what they hear slows each test after them
    "tests/ui/test_mcp.py": "servers",  # their library takes seconds, too
}
"""Files whose tests run one after the other in one process; these begin first."""
_SERVER = re.compile(
    r"tests\.support\.(postgres|cut_connections|delayed_connections|fake_sync|machines|pushing) import"
)
_FORKED = "from tests.support.forked import"
FIRST = ("tests/e2e/", "tests/lab/", "tests/headless/")
"""The longest tests: begun last, all would wait for them in the end."""


class Scheduling(LoadScopeScheduling):
    """Gives one test after the other to a free process."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return TOGETHER.get(file) or _shared_start(file) or (file if _shares_fixtures(file) else nodeid)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """Forgets what is done, which would be counted again after each test."""
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        return super()._pending_of(workload)


@cache
def _shared_start(file: str) -> str:
    """What two processes start for all tests that need it, and eight would start: PostgreSQL, what others are forked
    from."""
    text = _text(file)
    if _SERVER.search(text) or _FORKED in text:
        return "tests of the store" if file.startswith("tests/store/") else "a server elsewhere"
    return ""


def _shares_fixtures(file: str) -> bool:
    """Whether its tests use something that is made once for all of them."""
    return 'scope="module"' in _text(file)


@cache
def _text(file: str) -> str:
    return (_ROOT / file).read_text(encoding="utf-8")
