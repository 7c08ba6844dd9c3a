"""Which tests a worker gets, and when.

`--dist loadgroup` would do it, were it not for how pytest 9.2 makes the names of tests: their groups are not seen.
"""

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
FIRST = ("tests/e2e/", "tests/lab/", "tests/headless/")
"""The longest tests: begun last, all would wait for them in the end."""


class Scheduling(LoadScopeScheduling):
    """Gives one test after the other to a free process."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return TOGETHER.get(file) or (file if _shares_fixtures(file) else nodeid)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """Forgets what is done, which would be counted again after each test."""
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        return super()._pending_of(workload)


@cache
def _shares_fixtures(file: str) -> bool:
    """Whether its tests use something that is made once for all of them."""
    return 'scope="module"' in (_ROOT / file).read_text(encoding="utf-8")
