"""The first start on a machine without the embedded model."""

import asyncio
import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from co_tui.agent.models import usual_servers
from co_tui.agent.models.usual_servers import UsualServer, listening
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.ui.chat.title_line import EMBEDDED_NOTICES, MISSING_NOTICES
from co_tui.ui.chat.welcome import EMBEDDED_QUESTION, welcome
from tests.support.installed import without_the_embedded_model
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import (
    answer,
    ask,
    launch_for,
    question_shown,
    running,
    screen_text,
    transcript_text,
    until,
)


async def test_it_is_offered_once_and_fetched_in_the_background(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_embedded_model(monkeypatch)
    outcomes: list[str] = ["held", "failed"]

    async def fetch(fetched: Path, environ: object, progressed: object) -> None:
        assert callable(progressed)
        progressed(0.5)
        if outcomes.pop(0) == "held":
            await asyncio.Event().wait()
        raise ModelUnusable("There is no network.")

    monkeypatch.setattr("co_tui.agent.local.embedded_fetch.fetch", fetch)
    async with running(launch_for(home), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "No model yet" in screen_text(app))
        assert "Download it (127 MB)" in screen_text(app) and "No model yet" in screen_text(app)
        await pilot.press("f")
        await until(pilot, lambda: "50 %   64 of 127 MB" in screen_text(app))
        await pilot.press(*"hi", "enter")  # whoever types goes on typing, and what is sent waits
        await until(pilot, lambda: "▌ hi" in screen_text(app) and "starting…" in screen_text(app))
        assert app.focused is app.chat.prompt
        await pilot.press("escape")  # as its line of keys says, wherever the focus is
        await until(pilot, lambda: "Download cancelled" in transcript_text(app) and app.chat.prompt.text == "hi")
        assert "is not installed" in transcript_text(app)
        app.run_command("fetch", "")
        await until(pilot, lambda: "There is no network. /fetch tries again." in transcript_text(app))
        assert "Downloading" not in screen_text(app)
    async with running(launch_for(home), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "No model yet" in screen_text(app))
        await pilot.press("tab", "escape")  # "hi" is in the prompt again, so that it does not take the keys by itself
        await until(pilot, lambda: "Download later with /fetch" in transcript_text(app))
    assert "embedded-model-offered" in (home / "state" / "hints.json").read_text()


@only_in_a_long_run
async def test_a_server_on_this_machine_is_offered_before_the_embedded_model(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_the_embedded_model(monkeypatch)
    body = json.dumps({"data": [{"id": "qwen3:8b"}, {"id": "llama3.2:3b"}]}).encode()
    provider.models = Reply(raw=(body,), headers={"Content-Type": "application/json"})
    running_here = UsualServer("vLLM", urlsplit(provider.url).port or 0)
    monkeypatch.setattr(usual_servers, "USUAL_SERVERS", (running_here,))
    model = f"openai-chat:qwen3:8b@{running_here.address}"
    async with running(launch_for(home), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "vLLM is running here" in screen_text(app))
        assert "It serves qwen3:8b and 1 more." in screen_text(app) and "No model yet" not in question_shown(app)
        await answer(app, pilot, "escape")
        await until(pilot, lambda: "No model yet" in question_shown(app))
    assert provider.requests == [] and all("Authorization" not in headers for headers in provider.asked_models)
    (home / "state" / "hints.json").unlink()
    async with running(launch_for(home), size=(80, 24)) as (app, pilot):
        assert "Why is the sky blue?" in screen_text(app)
        await answer(app, pilot, "a")
        await until(pilot, lambda: "Model: " in transcript_text(app))
        assert model in (home / "config" / "config.toml").read_text()
        await until(pilot, lambda: "Try: What is a context window?" in screen_text(app))
        await ask(app, pilot, "hi")
        assert provider.requests[-1]["model"] == "qwen3:8b"
    async with running(launch_for(home), size=(80, 24)) as (app, _):
        assert not question_shown(app), "a chosen model is not asked about again"


async def test_only_open_ports_of_this_machine_are_found(provider: Provider) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = UsualServer("Ollama", unused.getsockname()[1])
        is_open = UsualServer("vLLM", urlsplit(provider.url).port or 0)
        assert await listening((closed, is_open)) == [is_open] and is_open.address.startswith("http://127.0.0.1:")
    assert provider.asked_models == [], "nothing is sent"


def test_the_first_screen_fits_the_smallest_terminal() -> None:
    shortest = [words[-1].format("F6") for words in (EMBEDDED_NOTICES, MISSING_NOTICES)]
    assert all(len(words) <= 58 and "F6" in words for words in shortest)


def test_the_embedded_model_is_introduced_by_what_it_can_do(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    told = welcome(tmp_path, is_embedded=True)
    assert EMBEDDED_QUESTION in told and "@README.md" not in told and max(map(len, told.splitlines())) <= 53


def test_the_first_screen_names_what_is_in_the_folder(tmp_path: Path) -> None:
    assert "@" not in welcome(tmp_path)
    for name in ("a b.md", ".hidden-file", ".env", "id_rsa", "much-too-long-a-name.txt", "zebra.txt"):
        (tmp_path / name).touch()
    assert "What does @zebra.txt say?" in welcome(tmp_path)
    (tmp_path / "README.md").touch()
    told = welcome(tmp_path)
    assert "What does @README.md say?" in told and max(map(len, told.splitlines())) <= 53
    assert "@" not in welcome(tmp_path / "gone")
