import pytest

from co_tui.agent.local.weights_server import WeightsServer
from co_tui.agent.models import open_model

_preload = open_model.preload


@pytest.fixture(autouse=True)
def embedded_model_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the screen ask the embedded model nothing: its process, a second of work, is not started."""

    async def start(server: WeightsServer, *_: object) -> None:
        server._address = "http://127.0.0.1:9"

    monkeypatch.setattr(WeightsServer, "_start", start)


@pytest.fixture(autouse=True)
def no_library_ahead_of_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's library takes seconds to import: only a test that opens one of its models needs it."""
    monkeypatch.setattr(
        open_model, "preload", lambda name: None if name.startswith(("anthropic:", "google:")) else _preload(name)
    )
