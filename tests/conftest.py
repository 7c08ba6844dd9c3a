import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers as hypothesis_providers

from tests.support.long_run import LONG_RUN, drawn

if hasattr(signal, "SIGHUP"):
    # Whoever started the tests may ignore hang-ups; what they start must not inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Reading the machine's certificates takes as long as a turn, and no server of the tests has one.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull
# Tests keep no key in the keyring of the person who runs them.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"


_IN_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 2_000_000_000


def pytest_configure(config: pytest.Config) -> None:
    """What tests write goes into memory where there is room: each commit waits for the disk otherwise."""
    if LONG_RUN:  # it has no limit of time
        config._inicache["faulthandler_timeout"] = "0"
    if hasattr(config, "workerinput") or config.option.dist == "no":
        config.pluginmanager.import_plugin("tests.support.fixtures")  # who only hands out the tests needs none
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > _ROOM_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


# Looking for garbage among all that the libraries hold took a sixth of the time of the tests, and every 100,000 objects
# still a thirtieth.
gc.set_threshold(250_000, 20, 50)


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    if sys.platform == "linux":
        from tests.support.forked_workers import fork_workers

        config.add_cleanup(fork_workers(config))


def pytest_xdist_getremotemodule() -> object:
    if sys.platform != "linux":
        return None
    from tests.support import collected

    return collected


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from tests.support.scheduling import Scheduling

    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from tests.support.scheduling import FIRST

    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_collection_finish() -> None:
    from tests.support.drawing import draw_when_looked_at  # the process that only hands out the tests needs none of it
    from tests.support.made_once import make_once
    from tests.support.patience import LIMITS, set_constants

    make_once()
    draw_when_looked_at()
    set_constants(LIMITS)
    gc.collect()
    gc.freeze()


_VARIABLES = pytest.StashKey[dict[str, str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_VARIABLES] = dict(os.environ)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """A variable that one test leaves would help or break another."""
    yield
    before = item.stash[_VARIABLES]
    left = {name for name, _ in before.items() ^ os.environ.items()} - {"PYTEST_CURRENT_TEST"}
    for name in left:
        os.environ.pop(name, None)
    os.environ.update({name: before[name] for name in left & before.keys()})
    assert not left, f"left changed: {', '.join(sorted(left))}"


def pytest_sessionfinish() -> None:
    if "tests.support.postgres" in sys.modules:
        from tests.support.postgres import stop_postgres_server

        stop_postgres_server()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pictures", metavar="FOLDER", type=Path, help="draw the screens that are compared there, as SVG")


# How long an example takes says nothing on a busy machine. The suite draws the same examples each time, so that nothing
# fails by chance; a long run draws others, and makes those that fail smaller, which takes minutes.
_MORE_PHASES = (hypothesis.Phase.target, hypothesis.Phase.shrink) if LONG_RUN else ()
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    max_examples=drawn(16),
    derandomize=not LONG_RUN,
    database=None,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate, *_MORE_PHASES),
)
hypothesis.settings.load_profile("untimed")
if not LONG_RUN:
    # Looking for constants in all of our files took seconds of each process, and drew other examples after any change.
    hypothesis_providers._get_local_constants = lambda: hypothesis_providers._local_constants
