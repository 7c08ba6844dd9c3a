import os
import threading
from pathlib import Path

import pytest

from tests.headless.here import Here


@pytest.fixture
def here(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    folder = tmp_path / "here"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith(("CO_TUI", "OPENAI", "ANTHROPIC")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CO_TUI_HOME", str(home))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # what a command sets ends with the test
    return Here(home, folder, capsys)
