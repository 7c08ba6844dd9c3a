import pytest

from co_tui.agent.local.weights_server import WeightsServer


@pytest.fixture(autouse=True)
def embedded_model_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of the screen ask the embedded model nothing: its process, a second of work, is not started."""

    async def start(server: WeightsServer, *_: object) -> None:
        server._address = "http://127.0.0.1:9"

    monkeypatch.setattr(WeightsServer, "_start", start)
