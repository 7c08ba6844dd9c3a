"""What tests ask for by name: a home, a folder, `co-tui` in this process and in others, a provider, pictures."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.launcher import Launcher
from tests.support.loaded import LoadedProcesses
from tests.support.pictures import Pictures
from tests.support.provider import Provider


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


@pytest.fixture(scope="session")
def program(loaded: LoadedProcesses, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In place of Python, for what starts `co-tui` itself: a process that begins with everything loaded."""
    launcher = Launcher(loaded, tmp_path_factory.mktemp("launcher"))
    yield launcher.program
    launcher.close()


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
        monkeypatch.undo()  # afterwards it would bring this test's variables back


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
def served_here(here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Here:
    """The same in this process."""
    for name, value in provider_environ(provider).items():
        monkeypatch.setenv(name, value)
    return here


def provider_environ(provider: Provider) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "sk-test-0123456789abcdef",
        "CO_TUI_MODEL": "openai-chat:scripted",
    }
