import gc
import importlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers as hypothesis_providers
from syrupy.assertion import SnapshotAssertion

from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.loaded import LoadedProcesses
from tests.support.long_run import LONG_RUN, drawn
from tests.support.pictures import Pictures
from tests.support.provider import Provider

if hasattr(signal, "SIGHUP"):
    # Whoever started the tests may ignore hang-ups; what they start must not inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Reading the machine's certificates takes as long as a turn, and no server of the tests has one.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = os.devnull
# Tests keep no key in the keyring of the person who runs them.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
if LONG_RUN:
    os.environ["PYTEST_TIMEOUT"] = "0"


_TESTS = Path(__file__).parent
_IN_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 2_000_000_000


def pytest_configure() -> None:
    """What tests write goes into memory where there is room: each commit waits for the disk otherwise."""
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > _ROOM_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


# Looking for garbage among all that the libraries hold took a sixth of the time of the tests.
gc.set_threshold(20_000, 10, 20)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Each worker begins with other modules, so that their assertions are rewritten once and not by all of them."""
    given = getattr(session.config, "workerinput", None)
    if given is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, count = int(given["workerid"].removeprefix("gw")), given["workercount"]
    modules = sorted(_TESTS.rglob("test_*.py"))
    for file in modules[number::count]:
        importlib.import_module(".".join(file.relative_to(_TESTS.parent).with_suffix("").parts))


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    if sys.platform == "linux":
        from tests.support.forked_workers import fork_workers

        config.add_cleanup(fork_workers())


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
    max_examples=drawn(25),
    derandomize=not LONG_RUN,
    database=None,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate, *_MORE_PHASES),
)
hypothesis.settings.load_profile("untimed")
if not LONG_RUN:
    # Looking for constants in all of our files took seconds of each process, and drew other examples after any change.
    hypothesis_providers._get_local_constants = lambda: hypothesis_providers._local_constants


@pytest.fixture
def pictures(snapshot: SnapshotAssertion, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pictures:
    """Compares a screen with how it looked, at several sizes, dark and light. Paths on it are always the same."""
    monkeypatch.setattr("co_tui.ui.chat.chat_screen.folder_name", lambda _: "shop/")
    monkeypatch.setattr("co_tui.ui.commands.settings_commands.config_path", lambda _: "~/.config/co-tui/config.toml")
    return Pictures(snapshot, request.config.getoption("--pictures"), request.node.name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a test's co-tui keeps everything it writes."""
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test's co-tui is started."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def loaded() -> Iterator[LoadedProcesses]:
    """Processes that begin with everything loaded."""
    processes = LoadedProcesses()
    yield processes
    processes.close()


@pytest.fixture
def co_tui(home: Path, folder: Path, loaded: LoadedProcesses) -> CliCommand:
    """`co-tui` in a process of its own, for what only a process can show: signals, streams, other processes."""
    return CliCommand(home, folder, loaded)


@pytest.fixture
def here(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    """`co-tui` in this process."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # what a command sets ends with the test
    with mock.patch.dict(os.environ, CliCommand(home, folder).environ, clear=True):
        yield Here(home, folder)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider().serving() as serving:
        yield serving
    assert not serving.broken_rules, "a request broke the rules of its wire"


@pytest.fixture
def served(co_tui: CliCommand, provider: Provider) -> CliCommand:
    """`co-tui` whose model is the local provider, in a process of its own."""
    co_tui.environ.update(provider_environ(provider))
    return co_tui


@pytest.fixture
def served_here(here: Here, provider: Provider) -> Here:
    """The same in this process."""
    here.environ.update(provider_environ(provider))
    return here


def provider_environ(provider: Provider) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "sk-test-0123456789abcdef",
        "CO_TUI_MODEL": "openai-chat:scripted",
    }
