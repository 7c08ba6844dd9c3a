"""Keys: one table for footer, palette, help and slash commands; others where the user wants others."""

import re
from pathlib import Path

import pytest

from co_tui.actions import COMMANDS, KEYS
from co_tui.settings import SettingsError, check
from co_tui.ui.keys.command_table import shortcut_for
from tests.support.here import Here
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, transcript_text, type_text, until


def test_names_are_unique_and_no_two_keys_meet() -> None:
    names = [row.name for row in (*COMMANDS, *KEYS)]
    assert len(names) == len(set(names))
    keys = {row.name: row.key.partition(",")[0] for row in (*COMMANDS, *KEYS) if row.key}
    assert check("keys", keys) == keys


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"compact": "f2"}, "keys.compact = 'F2' is not allowed. Use another key: F2 already runs sessions"),
        ({"compact": "x"}, "keys.compact = 'x' is not allowed. Use a key that is not needed for writing: x is"),
        (
            {"compact": "hyper+7"},
            "keys.compact = 'hyper+7' is not allowed. Use a key such as F7, Ctrl+G or Alt+X",
        ),
        ({"compact": "ctrl+m"}, "terminals send Ctrl+M as Enter"),
        ({"compact": "ctrl+p"}, "Ctrl+P is for the palette"),
        ({"compct": "f12"}, "an action that exists (did you mean compact?)"),
        ({"newline": "f5"}, "F5 already runs compact"),
        ({"copy": "]"}, "] already runs next_fold"),
        ("f7", "keys by action, such as compact=F12"),
    ],
)
def test_an_unusable_key_is_reported_in_a_sentence(chosen: object, told: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(told)):
        check("keys", chosen)


def test_keys_may_change_places_and_be_taken_away() -> None:
    assert check("keys", {"compact": "F7", "new": "f5"}) == {"compact": "f7", "new": "f5"}
    assert check("keys", "compact=f7, new = 'f5'") == {"compact": "f7", "new": "f5"} and check("keys", "") == {}
    assert check("keys", {"sessions": "none", "compact": "f2"}) == {"sessions": "", "compact": "f2"}
    assert check("keys", {"copy": "x", "filter": "c"}) == {"copy": "x", "filter": "c"}, "letters where none are typed"


async def test_a_rebound_key_works_and_is_shown_everywhere(home: Path, provider: Provider) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text('[keys]\nhistory = "f12"\nsessions = "none"\nnewline = "alt+n"\n')
    launch = launch_for(home, provider, environ={"CO_TUI_POLCY": "sk-secret"})
    async with running(launch, size=(120, 40)) as (app, pilot):
        await until(pilot, lambda: "Did you mean CO_TUI_POLICY?" in transcript_text(app))
        assert "sk-secret" not in transcript_text(app)
        await pilot.press("f12")
        await until(pilot, lambda: "0 turns" in transcript_text(app))
        await pilot.press("f2")
        await pilot.press("a", "alt+n", "b")
        assert app.screen is app.chat and app.chat.prompt.text == "a\nb"
        footer = screen_text(app).splitlines()[-1]
        assert "Sessions" not in footer and "Alt+N Newline" in footer
        words = {row.label for row in (*COMMANDS, *KEYS) if row.label} | {"More"}
        for width in also_in_a_long_run([60, 81, 116], range(67, 120, 7)):
            await pilot.resize_terminal(width, 20)
            await until(pilot, lambda: screen_text(app).endswith("Ctrl+P More"))
            footer = screen_text(app).splitlines()[-1]
            assert "…" not in footer
            shown = [item.strip() for item in footer.split("  ") if item.strip()]
            assert all(item.split(" ", 1)[1] in words for item in shown), "no word is cut"
        await pilot.resize_terminal(120, 40)
        await pilot.press("f1")
        await until(pilot, lambda: "Type to search" in screen_text(app))
        await until(pilot, lambda: "First keys" in screen_text(app) and "Alt+N" in screen_text(app))
        await type_text(pilot, "count turns")
        await until(pilot, lambda: "(F12)" in screen_text(app) and "/compact" not in screen_text(app))
        await pilot.press("escape")
        app.chat.prompt.text = ""
        await type_text(pilot, "/config keys.history f11\n")
        await until(pilot, lambda: "Key for history: f11 (saved)" in transcript_text(app))
        await pilot.press("f12")
        await pilot.press("f11")
        await until(pilot, lambda: transcript_text(app).count("0 turns") == 2)
        await type_text(pilot, "/config keys.history f5\n")
        await until(pilot, lambda: "F5 already runs compact" in transcript_text(app))


def test_sentences_name_the_keys_that_are_in_force() -> None:
    names = ("help", "sessions", "model")
    assert [shortcut_for(name) for name in names] == ["F1", "F2", "F6"]
    chosen = {"help": "", "sessions": "alt+s", "model": "f12"}
    assert [shortcut_for(name, chosen) for name in names] == ["/help", "Alt+S", "F12"]


@only_in_a_long_run
async def test_help_goes_with_its_key_on_every_screen(home: Path, provider: Provider) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text('keys.help = "f12"\n')
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("f1", "f12")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        await pilot.press("f12")
        assert app.screen is app.chat
        await pilot.press("f6")
        await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")
        await pilot.press("f12")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen" and "Here" in screen_text(app))
        await pilot.press("f12", "escape")
        assert app.screen is app.chat, "from a dialog, and back to it"
        await type_text(pilot, "/settings keys\n")
        await until(pilot, lambda: "compact=F12" in screen_text(app))
        assert screen_text(app).endswith("F12 Help")
        await pilot.press("f1")
        assert len(app.screen_stack) == 2
        await type_text(pilot, "\n")
        await pilot.press("ctrl+u", *"help=none", "enter")
        await until(pilot, lambda: app.launch.settings.keys == {"help": ""})
        await pilot.press("f1", "f12", "escape", "escape", "f1", "f12")
        assert app.screen is app.chat


@only_in_a_long_run
async def test_help_opens_on_other_screens_with_their_keys(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(120, 60)) as (app, pilot):
        await pilot.press("f2")
        await until(pilot, lambda: type(app.screen).__name__ == "SessionsScreen")
        await pilot.press("f1")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        await pilot.press("escape")
        await until(pilot, lambda: type(app.screen).__name__ == "SessionsScreen")


def test_the_command_line_sets_one_key_and_the_doctor_reports_a_bad_one(here: Here) -> None:
    done = here("config", "keys.compact", "f7")
    assert done.code == 2 and "F7 already runs new" in done.err
    for letter, why in (("m", "m already runs model_letter"), ("F5", "a letter or a digit, or none")):
        done = here("config", "keys.compact_letter", letter)
        assert done.code == 2 and why in done.err
    assert here("config", "keys.compact", "f12").code == 0
    assert '"f12"' in (here.home / "config" / "config.toml").read_text()
    assert here("config", "keys.compact", "default").code == 0
    (here.home / "config" / "config.toml").write_text('keys.compact = "f2"\n')
    assert "F2 already runs sessions" in here("doctor").err


def test_default_removes_any_setting_from_the_file(here: Here) -> None:
    file = here.home / "config" / "config.toml"
    for key, value in (("retention_days", "30"), ("theme", "nord"), ("keys.compact", "f12")):
        assert here("config", key, value).code == 0
    done = here("config", "retention_days", "default")
    assert done.code == 0 and done.err == f"co-tui: retention_days removed from {file}.\n"
    assert "retention_days" not in file.read_text() and 'theme = "nord"' in file.read_text()
    assert here("config", "keys", "default").code == 0 and "keys" not in file.read_text()
    assert here("run", "-p", "/config theme default").code == 0 and not file.exists(), "nothing is left in it"


async def test_every_key_with_an_f_has_a_letter_after_the_leader_key(home: Path, provider: Provider) -> None:
    with_f = [command for command in COMMANDS if command.key.startswith("f")]
    letters = [command.letter for command in COMMANDS if command.letter]
    assert all(command.letter for command in with_f) and len(letters) == len(set(letters))
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "Ctrl+X, then" in screen_text(app) and "m  Model" in screen_text(app))
        await pilot.press("m")
        await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")
        await pilot.press("escape", "ctrl+x", "s")
        await until(pilot, lambda: type(app.screen).__name__ == "SessionsScreen")
        await pilot.press("escape", "ctrl+x", "z")
        await until(pilot, lambda: app.screen is app.chat)
        assert app.chat.prompt.text == "", "a letter without a command is not typed"
        await pilot.press("ctrl+x", "escape", *"two words", "shift+home", "ctrl+x")
        assert app.screen is app.chat and app.chat.prompt.text == "", "selected text is cut"
        await type_text(pilot, "/config keys.leader Ctrl+B\n")
        await until(pilot, lambda: app.launch.settings.keys == {"leader": "ctrl+b", "background": ""})
        await pilot.press("ctrl+b")
        await until(pilot, lambda: "Ctrl+B, then" in screen_text(app))
        await pilot.press("h")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        await type_text(pilot, "choose a model")
        await until(pilot, lambda: "(F6, Ctrl+B m)" in screen_text(app))
        await pilot.press("escape")
        await type_text(pilot, "/config keys.model_letter j\n")
        await until(pilot, lambda: app.launch.settings.keys.get("model_letter") == "j")
        await pilot.press("ctrl+b")
        await until(pilot, lambda: "j  Model" in screen_text(app) and "m  Model" not in screen_text(app))
        await pilot.press("j")
        await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")


async def test_a_question_mark_in_an_empty_prompt_shows_the_keys_that_work_here(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(120, 60)) as (app, pilot):
        await pilot.press("?")
        await until(pilot, lambda: "Keys" in screen_text(app) and "Shift+Tab" in screen_text(app))
        assert "Add to the running turn" in screen_text(app) and "Select the previous message" not in screen_text(app)
        await pilot.press("?")
        assert app.screen is app.chat and app.chat.prompt.text == ""
        await pilot.press("?", "h", "o", "w", "?")
        await until(pilot, lambda: app.screen is app.chat and app.chat.prompt.text == "how?")
        app.chat.prompt.text = ""
        await type_text(pilot, "!echo hi\n")
        await until(pilot, lambda: "hi" in transcript_text(app))
        await pilot.press("tab", "?")
        await until(pilot, lambda: "Select the previous message" in screen_text(app))
        assert "Add to the running turn" not in screen_text(app), "keys of the prompt do not work in the chat"
        await pilot.press("escape")
        await type_text(pilot, "")
        app.chat.prompt.focus()
        await type_text(pilot, "/config keys.keys_here none\n")
        await until(pilot, lambda: app.launch.settings.keys == {"keys_here": ""})
        await pilot.press("?")
        assert app.chat.prompt.text == "?"
