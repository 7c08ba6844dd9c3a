"""Earlier prompts, an editor of one's own, and Ctrl+C: what is written is never lost by a key."""

import contextlib
import os
import stat
import sys
from pathlib import Path

import pytest
from textual.app import App
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import OptionList

from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.ui.app import CoTui
from co_tui.ui.prompt.earlier_prompts import EarlierPromptsScreen
from co_tui.ui.prompt.external_editor import EditorError, edit_file, editor_command
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import (
    ask,
    launch_for,
    look_in_one_app,
    running,
    screen_text,
    transcript_text,
    type_text,
    until,
)


async def test_ctrl_c_clears_a_draft_that_comes_back_and_quits_only_when_asked_twice(
    home: Path, provider: Provider
) -> None:
    app = CoTui(launch_for(home, provider))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.controller.backend.ready)
        app.chat.prompt.insert("a long thought\nin two lines")
        await pilot.press("ctrl+c")
        assert app.chat.prompt.text == "" and any("brings it back" in each.message for each in app._notifications)
        await pilot.press("up")
        assert app.chat.prompt.text == "a long thought\nin two lines"
        await pilot.press("ctrl+c", "ctrl+z")
        assert app.chat.prompt.text == "a long thought\nin two lines"
        app.chat.prompt.up_opens_queue = True
        await pilot.press("ctrl+c")
        assert "Draft cleared. Ctrl+Z brings it back." in [each.message for each in app._notifications]
        await pilot.press("ctrl+c")
        assert app.is_running and any("again to quit" in each.message for each in app._notifications)
        await pilot.press("x", "ctrl+c", "ctrl+c", "f1", "escape", "ctrl+c")
        assert app.is_running, "what came between means that nobody wanted to leave"
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not app.is_running or app._exit)
    assert app.return_code == 0


async def test_earlier_prompts_are_searched_while_typing_in_this_folder_and_in_all(
    home: Path, provider: Provider
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        for prompt in ("deploy 100% of it", "write a haiku", "deploy it again"):
            await ask(app, pilot, prompt)
        app.chat.prompt.insert("half written")
        await pilot.press("ctrl+r")
        await until(
            pilot, lambda: isinstance(app.screen, EarlierPromptsScreen) and "3 in this folder" in screen_text(app)
        )
        shown = [str(option.prompt) for option in app.screen.query_one(OptionList).options]
        assert shown == ["deploy it again", "write a haiku", "deploy 100% of it"], "the newest first"
        await pilot.press(*"deploy", "space", "1", "0", "0", "percent_sign")
        await until(pilot, lambda: "1 in this folder" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.prompt.text == "deploy 100% of it")
        await pilot.press("up")
        assert app.chat.prompt.text == "half written", "what was being written is the latest of the earlier ones"
        app.chat.prompt.text = ""
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, EarlierPromptsScreen))
        for key in (*"hai", "enter"):  # in one burst: nothing was found yet
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.prompt.text == "write a haiku"
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    async with running(launch_for(home, provider).but(workplace=LocalWorkplace(elsewhere))) as (app, pilot):
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "No prompt in this folder yet" in screen_text(app))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "3 in all sessions" in screen_text(app))
        await pilot.press("escape")


@only_in_a_long_run
async def test_enter_in_a_burst_takes_what_was_searched_for(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        for prompt in ("deploy one", "deploy two", "write a haiku"):
            await ask(app, pilot, prompt)
        for keys, taken in (([*"dep"], "deploy two"), ([*"dep", "down"], "deploy one"), (["down"], "deploy two")):
            await pilot.press("ctrl+r")
            await until(pilot, lambda: isinstance(app.screen, EarlierPromptsScreen))
            for key in (*keys, "enter"):
                app.post_message(Key(key, key if len(key) == 1 else None))
            await until(pilot, lambda: app.screen is app.chat and app.chat.prompt.text)
            assert app.chat.prompt.text == taken
            app.chat.prompt.text = ""


async def edits_of_recalled_prompts_and_the_draft_are_kept(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    for prompt in ("one", "two"):
        await ask(app, pilot, prompt)
    prompt = app.chat.prompt
    await type_text(pilot, "draft")
    await pilot.press("up", "!", "up")
    assert prompt.text == "one"
    await pilot.press("down")
    assert prompt.text == "two!", "as it was left"
    await pilot.press("down")
    assert prompt.text == "draft"
    await pilot.press("up", "up", "enter")
    await until(pilot, lambda: len(provider.requests) == 3 and app.controller.idle)
    seen = []
    for _ in range(5):
        await pilot.press("up")
        seen.append(prompt.text)
    assert seen == ["one", "two!", "draft", "two", "one"], "what was not sent comes back, too"


async def test_an_unsent_prompt_that_comes_back_is_never_joined_to_the_next(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        prompt, give_back = app.chat.prompt, app.controller.sender.give_back
        give_back("cuts")
        assert prompt.text == prompt.selected_text == "cuts"
        await type_text(pilot, "second question")
        give_back("late")
        await type_text(pilot, "!")
        assert prompt.text == "second question!"
        assert [each.message for each in app._notifications] == ["Not sent, ↑ recalls it: late"]
        app.controller._drafts.save()
        assert app.launch.store.prompt_drafts.read(app.controller._drafts._key()) == "second question!\x1elate"
        await pilot.press("enter")
        await until(pilot, lambda: provider.requests and app.controller.idle)
        assert provider.requests[0]["messages"][-1]["content"] == "second question!"
        seen = []
        for _ in range(3):
            await pilot.press("up")
            seen.append((prompt.text, prompt.unsent[1:]))
        assert seen == [("second question!", ["late"]), ("late", []), ("cuts", ["late"])]
        prompt.forget_unsent()
        give_back("cuts")
    launch = launch_for(home, provider, session_id=app.controller.session_id)
    async with running(launch) as (app, pilot):
        assert app.chat.prompt.text == "cuts", "nothing that was not sent is lost"
        await type_text(pilot, "third")
        assert app.chat.prompt.text == "third"
    async with running(launch) as (app, pilot):
        await type_text(pilot, "!")
        assert app.chat.prompt.text == "third!", "a text that was being written is continued"


async def a_completion_can_be_undone(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await type_text(pilot, "/hist")
    await pilot.press("tab")
    assert app.chat.prompt.text == "/history "
    await pilot.press("ctrl+z")
    assert app.chat.prompt.text == "/hist"


async def test_what_was_written_is_recalled_and_undone(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        edits_of_recalled_prompts_and_the_draft_are_kept,
        a_completion_can_be_undone,
    )


EDITS = """
import os, sys
path = sys.argv[-1]
print(open(path).read(), oct(os.stat(path).st_mode), *sorted(k for k in os.environ if "KEY" in k), path, sep="|",
      file=open(sys.argv[1], "w"))
open(path, "w").write("from the editor\\nline two\\n")
"""


def assert_gone(path: str) -> None:
    assert not Path(path).exists()


async def test_the_prompt_is_written_in_an_editor_and_the_file_is_the_user_s_alone(
    home: Path, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, seen = tmp_path / "an editor.py", tmp_path / "seen"
    script.write_text(EDITS)
    environ = {"VISUAL": f"'{sys.executable}' '{script}' '{seen}'", "EDITOR": "nothing-like-it", "PATH": os.defpath}
    async with running(launch_for(home, provider, environ=environ)) as (app, pilot):
        app.chat.prompt.insert("draft")
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "Cannot open an editor" in transcript_text(app))
        assert app.chat.prompt.text == "draft"
        monkeypatch.setattr(app, "suspend", contextlib.nullcontext)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: app.chat.prompt.text == "from the editor\nline two")
    text, mode, path = seen.read_text().strip().split("|")
    assert text == "draft" and stat.S_IMODE(int(mode, 8)) == 0o600
    assert_gone(path)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "No editor set"),
        ({"EDITOR": "  "}, "No editor set"),
        ({"EDITOR": "vi 'x"}, "open quote"),
        ({"EDITOR": "not-there-at-all --wait"}, "not found"),
        ({"EDITOR": "/"}, "cannot run"),
    ],
)
def test_an_editor_that_cannot_be_used_is_a_sentence(environ: dict[str, str], said: str) -> None:
    with pytest.raises(EditorError, match=said):
        editor_command({**environ, "PATH": os.defpath})


async def test_an_editor_that_fails_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app: App[None] = App()
    monkeypatch.setattr(app, "suspend", contextlib.nullcontext)
    with pytest.raises(EditorError, match=r"^The editor exited with code 1\.$"):
        await edit_file(app, tmp_path / "config.toml", {"EDITOR": "false", "PATH": os.environ["PATH"]}, tmp_path)
