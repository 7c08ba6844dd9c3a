"""A provider's key, entered in the app: asked for, checked, kept, and nowhere else."""

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from co_tui.agent import redact
from co_tui.agent.models import nearby_servers
from co_tui.ui.app import CoTui
from co_tui.ui.models.login_screen import CHECKING
from tests.support.in_memory_keyring import use_keyring_in_memory
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, type_text, until

KEY = "zq-made-up-key-9876543210"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearby_servers, "USUAL_SERVERS", ())
    monkeypatch.setattr(redact, "_remembered", set())


def models_answer(provider: Provider, status: int) -> None:
    body = b'{"data": [{"id": "scripted"}]}'
    provider.models = Reply(status=status, raw=(body,), headers={"Content-Type": "application/json"})


async def enter_key(app: CoTui, pilot: Pilot[None], key: str) -> None:
    await until(pilot, lambda: type(app.screen).__name__ == "KeyScreen")
    app.screen.query_one(Input).value = key
    await pilot.press("enter")


def files_with(key: str, folder: Path) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and key.encode() in file.read_bytes()]


async def test_a_key_entered_for_a_model_is_in_the_keyring_and_nowhere_else(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = use_keyring_in_memory(monkeypatch)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    environ = {**os.environ, "CO_TUI_HOME": str(home), "CO_TUI_MODEL": "openai-chat:scripted"}
    seen: list[str] = []
    async with running(launch_for(home, environ=environ)) as (app, pilot):
        app.run_command("model", "openai:gpt-6-sol")
        models_answer(provider, 401)
        await enter_key(app, pilot, "  ")
        assert app.screen.query_one(Input).value == "  " and CHECKING not in screen_text(app), "no key yet"
        await enter_key(app, pilot, KEY)
        await until(pilot, lambda: "refused the key (HTTP 401)" in screen_text(app))
        assert app.screen.query_one(Input).value == "" and keyring.kept == {}
        models_answer(provider, 200)
        app.screen.query_one(Input).value = KEY
        await pilot.press("ctrl+a", "ctrl+x", "ctrl+c")
        await until(pilot, lambda: "••••" in screen_text(app))
        seen += [screen_text(app), app.clipboard]
        await pilot.press("enter")
        await until(pilot, lambda: "Now using openai:gpt-6-sol" in transcript_text(app))
        assert list(keyring.kept.values()) == [KEY] and "accepted the key. Saved in the system's keyring" in (
            transcript_text(app)
        )
        app.run_command("model", "openai-chat:scripted")
        await until(pilot, lambda: "Now using openai-chat:scripted" in transcript_text(app))
        provider.script = [Reply(status=401, body=f'{{"error": {{"message": "Incorrect API key: {KEY}"}}}}')]
        await ask(app, pilot, "hello")
        await until(pilot, lambda: "`co-tui login openai-chat`" in transcript_text(app))
        await type_text(pilot, "!env; tr '\\0' '\\n' < /proc/self/environ; tr '\\0' ' ' < /proc/$PPID/cmdline\n")
        await until(pilot, lambda: "CO_TUI_HOME=" in transcript_text(app))
        for form in ("markdown", "jsonl", "html"):
            app.run_command("export", f"{form} {home.parent / f'talk.{form}'}")
            await until(pilot, lambda form=form: (home.parent / f"talk.{form}").exists())
        seen += [screen_text(app), transcript_text(app), *app.failures]
    assert any(headers.get("Authorization") == f"Bearer {KEY}" for headers in provider.asked_models), "it was used"
    assert all(KEY not in each for each in seen)
    assert KEY not in str(dict(os.environ)) and files_with(KEY, home.parent) == []


async def test_the_picker_says_which_providers_lack_a_key_and_asks_for_it(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = use_keyring_in_memory(monkeypatch)
    address = provider.url.removesuffix("/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    environ = {"ANTHROPIC_BASE_URL": address}
    async with running(launch_for(home, provider, environ=environ), size=(80, 24)) as (app, pilot):
        await pilot.press("f6")
        await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")
        app.screen.query_one(Input).value = "anthropic:claude-sonnet-5"
        await until(pilot, lambda: "anthropic · no key: Enter asks for it" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "Key for anthropic" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "claude-sonnet-5 needs a key. The model is unchanged." in transcript_text(app))
        assert app.controller.launch.choice.model == "openai-chat:scripted" and keyring.kept == {}
        models_answer(provider, 200)
        app.run_command("login", "anthropic")
        await enter_key(app, pilot, KEY)
        await until(pilot, lambda: "/model chooses one of its models." in transcript_text(app))
        assert "Saved in the system's keyring" in transcript_text(app)
        await type_text(pilot, "/login\n")
        await until(pilot, lambda: "● anthropic    the system's keyring" in screen_text(app))
        assert "● openai       OPENAI_API_KEY" in screen_text(app) and "○ google       no key" in screen_text(app)
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "Remove the key of anthropic" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: "The key of anthropic is removed" in transcript_text(app))
        assert keyring.kept == {} and files_with(KEY, home) == []


async def test_a_wrong_key_of_the_environment_is_replaced_where_models_are_chosen(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring = use_keyring_in_memory(monkeypatch)
    provider.script = [Reply(status=401, body='{"error": {"message": "Incorrect API key"}}')]
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hello")
        await until(pilot, lambda: "Enter another with /login" in transcript_text(app))
        models_answer(provider, 200)
        await pilot.press("f6")
        await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")
        app.screen.query_one(Input).value = "openai-chat:scripted"
        await pilot.press("enter")
        await enter_key(app, pilot, KEY)
        await until(pilot, lambda: "It is used now instead of OPENAI_API_KEY." in transcript_text(app))
        await until(pilot, lambda: "Now using openai-chat:scripted" in transcript_text(app))
        assert list(keyring.kept.values()) == [KEY]
        provider.default = Reply(text="With the new key.")
        await ask(app, pilot, "and now?")
        await until(pilot, lambda: "With the new key." in transcript_text(app))
    assert provider.keys == ["sk-test", KEY]


async def test_login_replaces_a_key_of_the_environment_before_it_is_refused(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_keyring_in_memory(monkeypatch)
    models_answer(provider, 200)
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hello")
        app.run_command("login", "openai-chat")
        await enter_key(app, pilot, KEY)
        await until(pilot, lambda: "Now using openai-chat:scripted" in transcript_text(app))
        await ask(app, pilot, "and now?")
    assert provider.keys == ["sk-test", KEY]


async def test_login_names_what_is_wrong_and_never_repeats_a_key(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.run_command("login", "antropic")
        await until(pilot, lambda: "Unknown provider 'antropic'. Did you mean anthropic?" in transcript_text(app))
        app.run_command("login", f"anthropic {KEY}")
        await until(pilot, lambda: "It then asks for the key" in transcript_text(app))
        assert KEY not in transcript_text(app)
