"""Processes of their own that begin with the tests of the store loaded.

One process loads them and is forked for each start. It is started when the first test asks for it, and ends with the
process that runs the tests.
"""

import os
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[2]
LOADED = (
    "tests.store.test_bulk",
    "tests.store.test_context_board",
    "tests.store.test_daily_memory",
    "tests.store.test_migration",
    "tests.store.test_processes",
    "tests.test_kept_file",
)
"""Whose functions are run there; those of other modules load what they need."""


@cache
def forked() -> ForkServerContext:
    """As the module `multiprocessing`."""
    context = get_context("forkserver")
    context.set_forkserver_preload([*LOADED])
    with mock.patch.dict(os.environ, PYTHONPATH=str(ROOT)):  # wherever the test is that asks first
        forkserver.ensure_running()
    return context
