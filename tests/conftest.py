import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.provider import Provider

if hasattr(signal, "SIGHUP"):
    # Whoever started the tests may ignore hang-ups; what they start must not inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a test's co-tui keeps everything it writes."""
    return tmp_path / "home"


@pytest.fixture
def co_tui(home: Path, tmp_path: Path) -> Command:
    folder = tmp_path / "project"
    folder.mkdir()
    return Command(home, folder)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider().serving() as serving:
        yield serving


@pytest.fixture
def served(co_tui: Command, provider: Provider) -> Command:
    """`co-tui` whose model is the local provider."""
    co_tui.environ |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
    co_tui.environ["CO_TUI_MODEL"] = "openai-chat:scripted"
    return co_tui
