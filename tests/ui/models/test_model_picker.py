"""F6: the list of models, and what can be chosen there."""

import asyncio
import json
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from co_tui.agent.models import nearby_servers
from co_tui.agent.models.nearby_servers import UsualServer, models_at
from co_tui.events.model_names import served, short_name
from co_tui.ui.app import CoTui
from co_tui.ui.models.model_list import ModelGroup, ModelList, RecentModels, is_older, known_models, rank
from tests.support import model_servers as servers
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until


def server_at(provider: Provider, *names: str, program: str = "Ollama") -> UsualServer:
    """The local provider as a server of models that runs on this machine."""
    body = json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()
    provider.models = Reply(raw=(body,), headers={"Content-Type": "application/json"})
    return UsualServer(program, urlsplit(provider.url).port or 0)


@pytest.fixture(autouse=True)
def nothing_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever serves models on the machine of the tests is no part of them."""
    monkeypatch.setattr(nearby_servers, "USUAL_SERVERS", ())


def rows(app: CoTui) -> list[str]:
    """The strings behind the rows, headings as their words in brackets."""
    options = app.screen.query_one(OptionList).options
    return [option.id or f"[{str(option.prompt).partition('   ')[0]}]" for option in options]


def highlighted(app: CoTui) -> str | None:
    option = app.screen.query_one(OptionList).highlighted_option
    return option.id if option else None


async def opened(app: CoTui, pilot: Pilot[None]) -> None:
    await pilot.press("f6")
    await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")


async def test_without_a_key_a_server_on_this_machine_is_a_few_keys_away(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = server_at(provider, "llama3.2:latest", "nomic-embed-text")
    monkeypatch.setattr(nearby_servers, "USUAL_SERVERS", (UsualServer("vLLM", _closed_port()), found))
    environ = {"OPENAI_API_KEY": "sk-secret-of-openai", "CO_TUI_MODEL": "embedded"}
    async with running(launch_for(home, environ=environ), size=(80, 24)) as (app, pilot):
        await opened(app, pilot)
        model = f"openai-chat:llama3.2:latest@{found.address}"
        await until(pilot, lambda: model in rows(app))
        assert rows(app)[:4] == ["[This session]", "embedded", "[Running here]", model]
        assert "● llama3.2:latest · Ollama" in screen_text(app) and "embed-text" not in screen_text(app)
        assert highlighted(app) == "embedded", "what comes does not move what Enter would choose"
        await pilot.press("down", "enter")
        await until(pilot, lambda: "llama3.2:latest @ 127.0.0.1" in screen_text(app).splitlines()[0])
        await ask(app, pilot, "hi")
        assert provider.requests[-1]["model"] == "llama3.2:latest"
        assert all("Authorization" not in headers for headers in provider.asked_models), "a key is not for it"
        assert RecentModels(app.launch.paths).read() == [model]
        assert transcript_text(app).count("rror") == 0


PROGRAMS = [
    ("Ollama", servers.OLLAMA, servers.Ollama(), ["llama3.2:latest · Ollama ≤131k", "qwen3:8b · Ollama ≤131k"]),
]
MORE_PROGRAMS = [
    ("LM Studio", servers.LM_STUDIO, servers.lm_studio, ["qwen3-8b · LM Studio 16k", "gemma-3-4b · LM Studio ≤66k"]),
    ("vLLM", servers.VLLM, lambda *_: None, ["Qwen/Qwen3-8B · vLLM 33k"]),
    ("Ollama", servers.OLLAMA, servers.Ollama("num_ctx 16384"), ["llama3.2:latest · Ollama 16k", "qwen3:8b"]),
    ("llama.cpp", servers.LLAMA_CPP, servers.llama_cpp, ["qwen3-0.6b · llama.cpp 8.2k"]),
    ("llama.cpp", servers.LLAMA_CPP_BEFORE, servers.llama_cpp, ["qwen3-0.6b · llama.cpp 8.2k"]),
]


async def test_each_program_is_shown_with_the_windows_it_reports(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, environ={"CO_TUI_MODEL": "embedded"}), size=(80, 24)) as (app, pilot):
        for program, list_, native, seen in also_in_a_long_run(PROGRAMS, MORE_PROGRAMS):
            provider.models, provider.native = Reply(raw=(json.dumps(list_).encode(),)), native
            server = UsualServer(program, urlsplit(provider.url).port or 0)
            monkeypatch.setattr(nearby_servers, "USUAL_SERVERS", (server,))
            await opened(app, pilot)
            await until(pilot, lambda seen=seen: all(each in " ".join(screen_text(app).split()) for each in seen))
            shown = screen_text(app)
            assert "minilm" not in shown and "nomic" not in shown, "those make vectors"
            assert not provider.requests and not getattr(native, "asked_to_load", [])
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)


def _closed_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


async def test_a_port_that_is_silent_closed_or_odd_is_as_good_as_none(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearby_servers, "TIMEOUT_S", 0.1)
    assert await models_at(UsualServer("Ollama", _closed_port())) == []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert await models_at(UsualServer("Ollama", silent.getsockname()[1])) == []
    port = urlsplit(provider.url).port or 0
    for raw in (b"<html>", b"[]", b'{"data": 5}', b'{"data": [7, {"id": 7}, {"id": ""}]}'):
        provider.models = Reply(raw=(raw,))
        assert await models_at(UsualServer("llama.cpp", port)) == []
    provider.models = Reply(raw=(b"",), status=302, headers={"Location": "http://example.com/v1/models"})
    assert await models_at(UsualServer("llama.cpp", port)) == []


async def test_the_present_model_is_first_then_recent_ones_and_typing_searches_the_catalogue(
    home: Path, provider: Provider
) -> None:
    launch = launch_for(home, provider, environ={"ANTHROPIC_API_KEY": "sk-ant-test"})
    for name in ("google:gemini-flash-latest", "anthropic:claude-sonnet-5", "openai-chat:scripted"):
        RecentModels(launch.paths).note(name)
    provider.models = None
    async with running(launch, size=(80, 24)) as (app, pilot):
        await opened(app, pilot)
        await until(pilot, lambda: "anthropic:claude-opus-5-5" in rows(app) and "4.1k" in screen_text(app))
        assert rows(app)[:5] == [
            "[This session]",
            "openai-chat:scripted",
            "[Recent]",
            "anthropic:claude-sonnet-5",
            "google:gemini-flash-latest",
        ]
        assert rows(app)[-1].endswith("more: type to find them]")
        await type_text(pilot, "gemini flash")
        await until(pilot, lambda: "google:gemini-flash-latest" in rows(app)[:2])
        assert all("gemini" in row and "flash" in row for row in rows(app) if not row.startswith("["))
        line = next(line for line in screen_text(app).splitlines() if "gemini-flash-latest" in line)
        assert "○" in line and "1.0M" in line and "$" in line, "no key, its window, its price"
        app.screen.query_one(Input).value = "sonnet-5"
        await until(pilot, lambda: "anthropic:claude-sonnet-5" in rows(app)[:2])
        assert "● anthropic:claude-sonnet-5" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        assert "Now using" not in transcript_text(app)


async def test_any_model_string_can_be_typed_and_chosen(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(60, 16)) as (app, pilot):
        await opened(app, pilot)
        app.screen.query_one(Input).value = "openai-chat:my own"
        await until(pilot, lambda: rows(app)[-2:] == ["[As typed]", "openai-chat:my own"])
        assert "Enter Choose  Esc Back" in screen_text(app) and "openai-chat:my own" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: "Now using openai-chat:my own" in transcript_text(app))
        await opened(app, pilot)
        app.screen.query_one(Input).value = "nonsense that is no model"
        await until(pilot, lambda: "No known model matches" in screen_text(app))
        await pilot.press("enter")
        assert type(app.screen).__name__ == "ModelScreen", "there is nothing to choose"


@only_in_a_long_run
async def test_entries_that_come_late_leave_what_is_highlighted(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()
    late = server_at(provider, "late-model")
    listed = nearby_servers.models_at

    async def held_back(server: UsualServer) -> list[nearby_servers.FoundModel]:
        await asyncio.to_thread(let_go.wait, 30)
        return await listed(server)

    monkeypatch.setattr(nearby_servers, "USUAL_SERVERS", (late,))
    monkeypatch.setattr(nearby_servers, "models_at", held_back)
    environ = {"CO_TUI_MODEL": "anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY": "sk-ant-test"}
    async with running(launch_for(home, environ=environ)) as (app, pilot):
        await opened(app, pilot)
        await until(pilot, lambda: "anthropic:claude-opus-5-5" in rows(app))
        await pilot.press("down", "down", "down")
        chosen = highlighted(app)
        assert chosen not in (None, "embedded", "anthropic:claude-sonnet-5")
        let_go.set()
        await until(pilot, lambda: f"openai-chat:late-model@{late.address}" in rows(app))
        assert highlighted(app) == chosen


def test_recent_models_are_few_each_once_and_a_bad_file_is_as_good_as_none(home: Path) -> None:
    paths = launch_for(home).paths
    recent = RecentModels(paths)
    for n in (*range(12), 11, 5):
        recent.note(f"openai:{n}")
    assert list(recent.read()) == [f"openai:{n}" for n in (5, 11, 10, 9, 8, 7, 6, 4)]
    file = paths.state / "recent-models.json"
    assert file.stat().st_mode & 0o077 == 0
    for bad in ("{", '{"a": 1}', "[1, null]", "[" * 9000):
        file.write_text(bad)
        assert list(recent.read()) == []


def test_a_model_string_may_name_the_address_of_its_server() -> None:
    at = served("openai-chat:org/model:tag@http://127.0.0.1:1234/v1")
    assert at is not None and (at.name, at.address) == ("org/model:tag", "http://127.0.0.1:1234/v1")
    assert served(at.model) == at and short_name(at.model) == "org/model:tag @ 127.0.0.1:1234"
    plain = served("openai-chat:name@version")
    assert plain is not None and (plain.name, plain.address) == ("name@version", "")
    assert served("openai:gpt-6-sol") is None


def listed(environ: dict[str, str], base_url: str = "", typed: str = "", present: str = "embedded") -> list[ModelGroup]:
    models = ModelList(environ, present, (), base_url)
    models.learn_catalogue(known_models())
    return models.matching(typed)


def test_a_providers_models_come_newest_and_strongest_first_and_dated_ones_are_older() -> None:
    groups = {group.heading: group for group in listed({"ANTHROPIC_API_KEY": "k"})}
    names = [entry.model.partition(":")[2] for entry in groups["anthropic"].entries]
    assert names[:3] == ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"] and groups["anthropic"].more > 0
    assert list(groups).index("anthropic") < list(groups).index("google · no key: Enter asks for it"), (
        "what is ready is first"
    )
    found = listed({}, typed="gpt-4.1")
    assert {entry.model for group in found for entry in group.entries} >= {"openai:gpt-4.1-2025-04-14"}, (
        "typing finds it"
    )
    older = next(group for group in found if group.heading == "Older")
    assert all(is_older(entry.model) for entry in older.entries)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("gpt-6.1-sol", "gpt-6-astra"),
        ("claude-opus-4-8", "claude-opus-4-5"),
        ("grok-4.7", "grok-4.20"),
        ("llama-3.3-70b-versatile", "llama-3.1-8b-instant"),
        ("kimi-k3", "kimi-k2.7-code"),
        ("gpt-4o", "gpt-3.5-turbo"),
    ],
)
def test_versions_are_compared_as_people_read_them(newer: str, older: str) -> None:
    assert rank(newer, None) < rank(older, None)
    assert rank("gemini-flash-latest", 1.0) < rank(newer, 1.0), "an alias of the newest"


def test_ready_is_only_what_its_key_goes_to() -> None:
    def ready(model: str, environ: dict[str, str], base_url: str = "") -> bool:
        return ModelList(environ, "embedded", (), base_url).is_ready(model)

    key = {"OPENAI_API_KEY": "k"}
    assert ready("openai:gpt-6-sol", key) and not ready("openai:gpt-6-sol", {})
    assert ready("openai:gpt-6-sol", {**key, "OPENAI_BASE_URL": "https://api.openai.com/v1"})
    assert not ready("openai:gpt-6-sol", {**key, "OPENAI_BASE_URL": "http://localhost:9/v1"})
    assert not ready("openai:gpt-6-sol", key, "https://models.example.com/v1"), "that key is for another server"
    assert ready("openai-chat:llama", {}, "http://localhost:9/v1") and ready("openai-chat:gpt-6-sol", key)
    assert not ready("openai-chat:llama", {}) and not ready("ollama:llama3", {})
    assert ready("openai-chat:llama@http://localhost:1/v1", {}) and ready("embedded", {}) and ready("gguf:/a.gguf", {})
    heading = [group.heading for group in listed(key, "https://models.example.com/v1")]
    assert "openai · its key goes to models.example.com" in heading
    hidden = [group.heading for group in listed({**key, "OPENAI_BASE_URL": "http://me:s3/cret@models.example.com/v1"})]
    assert "openai · its key goes to another server" in hidden
