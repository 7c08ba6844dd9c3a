"""A folder whose settings need trust: asked once without blocking the chat, and remembered."""

import json
from pathlib import Path

import pytest

from co_tui.session.launch import Launch
from co_tui.settings.trust_requests import added_folder_request
from co_tui.store.prompt_drafts import new_session_draft
from co_tui.trust import Trust
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.control.trust_question import ask_about_added
from co_tui.ui.settings.trust_screen import MOST_SHOWN_CHARS, FileScreen, file_texts, request_text
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, to_question, transcript_text, type_text, until


@pytest.fixture
def folder(home: Path) -> Path:
    """The folder the app is started in, with requests of its own."""
    (home.parent / ".co-tui.toml").write_text('summarization_model = "openai:theirs"\ncontext_window = 9000\n')
    return home.parent


def launched(home: Path, provider: Provider | None = None) -> Launch:
    return launch_for(home, provider)


async def test_t_trusts_the_folder_and_holds_for_the_next_session(home: Path, folder: Path, provider: Provider) -> None:
    (folder / ".co-tui.toml").write_text(f'base_url = "{provider.url}"\nmax_retries = 7\npolicy = "theirs"\n')
    launch = launch_for(home, environ={"CO_TUI_MODEL": "openai-chat:scripted", "OPENAI_API_KEY": "sk-test"})
    async with running(launch) as (app, pilot):
        assert app.launch.settings.base_url == "" and app.launch.settings.max_retries == 4
        shown = screen_text(app)
        assert "policy = 'theirs'" in transcript_text(app) and app.launch.settings.policy == "balanced"
        assert (
            "has its own settings" in shown and "send the conversation to" in shown and "t Trust this folder" in shown
        )
        await to_question(app, pilot)
        await pilot.press("t")
        await until(pilot, lambda: app.launch.settings.max_retries == 7)
        assert not app.chat.query(QuestionPanel) and app.focused is app.chat.prompt
        await ask(app, pilot, "hello")
        assert provider.requests, "the session that begins now goes where the trusted folder says"
    async with running(launch_for(home)) as (app, pilot):
        assert not app.chat.query(QuestionPanel) and app.launch.settings.max_retries == 7


@pytest.mark.parametrize(
    ("hook", "told"),
    [("5", "(5)"), ('"make notes"', "(make notes)"), ('["a b", "c"]', "(a b, c)"), ("[{a=1}]", "({'a':")],
)
def test_a_hook_is_shown_as_it_is_written(home: Path, folder: Path, hook: str, told: str) -> None:
    (folder / ".co-tui.toml").write_text(f"[hooks]\npreCompact = {hook}\n")
    wish = launched(home).loaded.withheld
    assert wish is not None and f"run commands {told}" in request_text(wish)


def test_a_mode_and_rules_that_allow_are_named(home: Path, folder: Path) -> None:
    (folder / ".co-tui.toml").write_text(
        'mode = "auto"\n[permissions]\nallow = ["Bash(make:*)"]\ndeny = ["Bash(rm:*)"]\n'
    )
    wish = launched(home).loaded.withheld
    assert wish is not None and "start in mode auto" in request_text(wish)
    assert "allow calls without asking (Bash(make:*))" in request_text(wish), "what is stricter counts already"


def test_hundreds_of_files_are_shown_up_to_a_length(folder: Path) -> None:
    files = [folder / f"{number}.md" for number in range(100)]
    for file in files:
        file.write_text("word " * 1_000)
    *shown, rest = file_texts(files)
    assert shown[0].startswith(f"\n── {files[0]} ──") and len("".join(shown)) < MOST_SHOWN_CHARS * 1.1
    assert f"{100 - len(shown)} more files" in rest


async def test_not_now_is_remembered_until_the_file_wants_something_else(home: Path, folder: Path) -> None:
    async with running(launched(home), ready=False) as (app, pilot):
        await to_question(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "co-tui trust" in transcript_text(app))
        assert not app.chat.query(QuestionPanel)
    again = launched(home)
    assert again.settings.summarization_model == "" and again.settings.context_window == 9000
    assert again.loaded.withheld is not None and Trust(again.paths.trust_file).was_asked(again.loaded.withheld)
    (folder / ".co-tui.toml").write_text('summarization_model = "openai:another"\n')
    async with running(launched(home), ready=False) as (app, pilot):
        await until(pilot, lambda: app.chat.query(QuestionPanel))


async def test_every_letter_typed_while_asked_is_in_the_prompt(home: Path, folder: Path) -> None:
    async with running(launched(home), ready=False) as (app, pilot):
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        await type_text(pilot, "tvt hello")
        assert app.chat.prompt.text == "tvt hello" and app.focused is app.chat.prompt
        assert app.chat.query(QuestionPanel) and "Tab answers" in screen_text(app)
        assert app.launch.loaded.withheld is not None
        await pilot.press("tab")
        assert isinstance(app.focused, QuestionPanel)
        app.chat.prompt.text = ""


async def test_v_shows_the_file_and_comes_back_to_the_question(home: Path, folder: Path) -> None:
    async with running(launched(home), ready=False) as (app, pilot):
        await to_question(app, pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, FileScreen))
        assert 'summarization_model = "openai:theirs"' in screen_text(app)
        await pilot.press("escape")
        await to_question(app, pilot)


async def test_a_prompt_that_is_being_written_keeps_the_focus(home: Path, folder: Path) -> None:
    launch = launched(home)
    launch.store.prompt_drafts.write(new_session_draft(launch.cwd), "half a thou")
    async with running(launch, ready=False) as (app, pilot):
        await until(pilot, lambda: app.chat.query(QuestionPanel))
        await type_text(pilot, "ght")
        assert app.chat.prompt.text == "half a thought"


async def test_a_folder_that_is_added_is_in_the_title_and_asks_for_its_instructions(
    home: Path, tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> None:
    lib = tmp_path_factory.mktemp("added") / "lib"
    lib.mkdir()
    (lib / "AGENTS.md").write_text("Library rule.\n")
    provider.window = 60_000
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.insert(f"/add-dir {lib}")
        await pilot.press("enter")
        await until(pilot, lambda: "+ lib/" in screen_text(app) and "has its own instructions" in screen_text(app))
        await to_question(app, pilot)
        await pilot.press("t")
        await until(pilot, lambda: "Its instructions count" in transcript_text(app))
        await ask(app, pilot, "hello")
        assert app.controller.state.folders == (str(lib),)
        assert "Library rule." in str(provider.requests[-1]["messages"])
        app.chat.prompt.insert(f"/add-dir --remove {lib}")
        await pilot.press("enter")
        await until(pilot, lambda: "lib/" not in screen_text(app).splitlines()[0])
        assert app.controller.state.folders == ()
        await ask_about_added(app, app.chat, app.controller, [str(lib)])
        assert "co-tui trust" not in transcript_text(app) and not app.chat.query(QuestionPanel)
        request = added_folder_request(lib)
        assert request is not None
        Trust(app.launch.paths.trust_file).remember(request, trusted=False)
        await ask_about_added(app, app.chat, app.controller, [str(lib)])
        await until(pilot, lambda: "co-tui trust" in transcript_text(app))
        assert not app.chat.query(QuestionPanel), "it is said, and not asked again"


async def test_a_project_for_claude_code_is_listed_trusted_and_its_unused_keys_are_named(
    home: Path, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    provider.window = 60_000
    folder = home.parent / ".claude"
    folder.mkdir()
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true make check"}]}], "Setup": []}
    lib = tmp_path_factory.mktemp("added") / "lib"
    lib.mkdir()
    (lib / "AGENTS.md").write_text("Library rule.\n")
    settings = {"hooks": hooks, "env": {"STAGE": "test"}, "statusLine": {}}
    settings["permissions"] = {"additionalDirectories": [str(lib)]}
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "CLAUDE.md").write_text("Be kind.\n")
    async with running(launched(home, provider), size=(80, 24)) as (app, pilot):
        shown = " ".join(screen_text(app).replace("│", " ").split())
        assert (
            "run commands (true make check), set variables for commands (STAGE) and give the model instructions"
            in shown
        )
        await to_question(app, pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, FileScreen))
        text = screen_text(app)
        assert "runs at stop: true make check" in text and "not used: statusLine" in text
        await pilot.press("escape")
        await to_question(app, pilot)
        await pilot.press("t")
        await until(pilot, lambda: "Not used: hooks.Setup, statusLine (.claude/settings.json)" in transcript_text(app))
        assert app.launch.settings.env["STAGE"] == "test"
        await to_question(app, pilot)
        await pilot.press("t")
        await until(pilot, lambda: "Its instructions count from the next prompt on" in transcript_text(app))
        await ask(app, pilot, "hello")
        assert "+ lib/" in screen_text(app) and "Library rule." in json.dumps(provider.requests[-1]["messages"])
        assert "Be kind." in json.dumps(provider.requests[-1]["messages"])
