"""The settings screen: every value with its origin; a change takes effect at once."""

from pathlib import Path

from textual.events import Key
from textual.widgets import Input, OptionList, Static

from co_tui.key_names import key_pressed
from co_tui.session.history.learned_limits import LIMITS_FILE, Limits
from co_tui.settings import GROUPS, RESUMED, load, rules, unused
from co_tui.ui.app import CoTui
from co_tui.ui.settings.setting_rows import setting_line, setting_rows
from co_tui.ui.settings.settings_screen import SettingsScreen
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import click_on, launch_for, running, screen_text, type_text, until


def said(app: CoTui) -> str:
    return str(app.screen.query_one("#said", Static).content)


def written(home: Path) -> str:
    """The user's file."""
    return (home / "config" / "config.toml").read_text()


def test_every_setting_has_its_row(home: Path) -> None:
    launch = launch_for(home, environ={"CO_TUI_MAX_RETRIES": "2", "CO_TUI_POLICY": "copilot"})
    rows = setting_rows(launch.loaded, unused(launch.settings), launch.paths)
    assert {row.name for row in rows} == set(rules()) and {row.group for row in rows} == set(GROUPS)
    by_name = {row.name: row for row in rows}
    assert (by_name["max_retries"].value, by_name["max_retries"].source) == ("2", "the environment")
    assert (by_name["max_daily_cost"].value, by_name["max_daily_cost"].shown) == ("0", "no limit")
    assert by_name["max_retries"].label == "Retries" and by_name["max_retries"].shown == "2"
    assert by_name["few_turns"].unused and not by_name["policy"].unused
    assert by_name["reduced_motion"].is_switch and "balanced" in by_name["policy"].choices
    assert next(row.name for row in rows if row.group == "context") == "policy"
    marked = {row.name for row in rows if setting_line(row, 60).plain.startswith("●")}
    assert marked == {"max_retries", "policy"}, "the user's own, not what the policy sets"
    assert by_name["min_compaction_messages"].source == "policy copilot"


async def test_settings_are_found_changed_in_place_and_reset(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    async with running(launch, size=(100, 30)) as (app, pilot):
        await type_text(pilot, "/settings\n")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await until(pilot, lambda: "The model. Empty" in screen_text(app))
        assert all(group in screen_text(app) for group in GROUPS) and "From the environment" in screen_text(app)

        for key in ("slash", *"retries"):  # in one burst
            app.post_message(Key(key, "/" if key == "slash" else key))
        await until(pilot, lambda: "max_retries" in screen_text(app) and "base_url" not in screen_text(app))
        assert app.screen.query_one("#filter", Input).value == "retries"
        assert "Enter Edit" in screen_text(app).splitlines()[-1]
        await pilot.press("enter")
        await pilot.press("backspace")
        await type_text(pilot, "99\n")
        await until(pilot, lambda: "✗ max_retries = '99' is not allowed" in said(app))
        await pilot.press("backspace", "backspace")
        await type_text(pilot, "7\n")
        await until(pilot, lambda: "Retries: 7 (saved)" in said(app))
        assert load(paths=launch.paths, cwd=launch.cwd, environ={}).settings.max_retries == 7
        assert app.launch.settings.max_retries == 7 and "config.toml" in screen_text(app)
        await pilot.press("backspace")
        await until(
            pilot, lambda: app.launch.settings.max_retries == 4 and "Retries: 4 (your value removed)" in said(app)
        )
        for key in ("enter", "backspace", "9", "enter"):  # in one burst, too
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: app.launch.settings.max_retries == 9)
        await pilot.press("escape")

        for key in "theme":  # filters as one types, without a key before it
            app.post_message(Key(key, key))
        await until(pilot, lambda: app.screen.query_one("#filter", Input).value == "theme")
        await pilot.press("enter", "down", "down")
        await until(pilot, lambda: app.theme == "co-tui-light")  # seen before it is chosen
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "co-tui-dark")
        await pilot.press("enter", "down", "down", "down", "enter")
        await until(pilot, lambda: app.theme == "high-contrast" and app.launch.settings.theme == "high-contrast")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.chat)


async def test_a_switch_is_one_key_and_the_groups_are_reached_by_arrows(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(60, 16)) as (app, pilot):
        await type_text(pilot, "/settings\n")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen) and "answering" in screen_text(app))
        for key in ("left", "left", "down", "enter"):  # in one burst
            app.post_message(Key(key, None))
        await until(pilot, lambda: app.launch.settings.reduced_motion == "on", 20)
        assert "Stop spinners" in screen_text(app)
        assert app.has_class("-still") and isinstance(app.focused, OptionList)
        await pilot.press("f1")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen" and "Filter" in screen_text(app))
        await pilot.press("escape")
        await pilot.press("right", "right", "right")
        await until(pilot, lambda: "policy" in screen_text(app) and "context  ← 2 of 5" in screen_text(app))
        assert "balanced" in screen_text(app) and "The context policy" in screen_text(app)
        await click_on(app, pilot, "Esc Back")
        await until(pilot, lambda: app.screen is app.chat)
        await type_text(pilot, "/settings silence\n")
        await until(pilot, lambda: "request_timeout_s" in screen_text(app) and "max_retries" not in screen_text(app))
        await click_on(app, pilot, "Enter Edit")
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "300")
        assert "Enter Save" in screen_text(app).splitlines()[-1]
        await pilot.press("enter")
        await until(
            pilot,
            lambda: "limit (s): unchanged" in said(app) and "request_timeout_s" not in written(home),
        )
        await click_on(app, pilot, "Enter Edit")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await click_on(app, pilot, "F1 Help")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        await click_on(app, pilot, "Esc Back")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))


def test_what_a_hint_of_a_key_presses() -> None:
    assert [key_pressed(hint) for hint in ("esc", "ctrl+o", "ctrl+s", "d", "/")] == [
        "escape",
        "ctrl+o",
        "ctrl+s",
        "d",
        "slash",
    ]
    assert not any(map(key_pressed, ("↑ ↓", "1-4", "●", "n N")))


async def test_setting_the_window_forgets_what_was_learned_of_it(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    limits = Limits(launch.paths.state / LIMITS_FILE)
    async with running(launch, size=(100, 30)) as (app, pilot):
        await type_text(pilot, "hello\n")
        await until(pilot, lambda: app.controller.session is not None and app.controller.session.state.usage)
        session = app.controller.session
        assert session is not None
        await until(pilot, lambda: not session.queue.busy)
        limits.learn(session.history.asked, 2_013, "context window exceeds limit")
        await type_text(pilot, "/config context_window 0\n")
        await until(pilot, lambda: "Learned limits were removed." in screen_text(app))
        assert not limits.known(session.history.asked).limit_tokens
        assert session.history.governor.window.tokens == provider.window


@only_in_a_long_run
async def test_the_footer_names_the_one_way_between_groups_and_values(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(120, 30)) as (app, pilot):
        await type_text(pilot, "/settings \n")
        await until(pilot, lambda: type(app.screen).__name__ == "SettingsScreen")

        def footer() -> str:
            return screen_text(app).splitlines()[-1]

        await until(pilot, lambda: "← Groups" in footer() and "Backspace Default" in footer())
        await pilot.press("left")
        await until(pilot, lambda: "→ Values" in footer() and "← Groups" not in footer() and "Default" not in footer())
        await pilot.press("down", "right")
        await until(pilot, lambda: "← Groups" in footer() and app.screen.query_one("#rows").has_focus)
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: "← → Group" in footer() and "Groups" not in footer())
        before = screen_text(app).splitlines()[0]
        await pilot.press("right")
        await until(pilot, lambda: screen_text(app).splitlines()[0] != before)
        await pilot.resize_terminal(43, 30)
        await until(pilot, lambda: "← → Group  Enter Edit  Esc Back" in footer())


@only_in_a_long_run
async def test_settings_name_the_resumed_session_as_a_source(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/policy inkeep\n")
        await until(pilot, lambda: app.launch.settings.policy == "inkeep")
        await type_text(pilot, "hello\n")
        await until(pilot, lambda: app.controller.state.turn and app.controller.idle)
        session_id = app.controller.session_id
    other = {"CO_TUI_MODEL": "", "OPENAI_API_KEY": "sk-test"}
    async with running(launch_for(home, provider, environ=other)) as (app, pilot):
        await type_text(pilot, f"/resume {session_id}\n")
        await until(pilot, lambda: app.controller.session)
        await type_text(pilot, "/settings \n")
        await until(pilot, lambda: "From the resumed session" in screen_text(app))
        assert isinstance(app.screen, SettingsScreen)
        rows = {row.name: row for row in app.screen.rows}
        assert (rows["model"].value, rows["model"].source) == ("openai-chat:scripted", RESUMED)
        assert (rows["policy"].value, rows["policy"].source) == ("inkeep", RESUMED)


@only_in_a_long_run
async def test_a_theme_that_was_only_previewed_does_not_stay(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/settings\n")
        await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await click_on(app, pilot, "looks")
        await until(pilot, lambda: "reduced_motion" in screen_text(app))
        rows = app.screen.query_one("#rows", OptionList)
        rows.highlighted = rows.get_option_index("theme")
        rows.focus()
        await pilot.press("enter", "down", "down")
        await until(pilot, lambda: app.theme == "co-tui-light")
        app.screen.query_one("#groups", OptionList).highlighted = GROUPS.index("context")  # as a click does
        await until(pilot, lambda: rows.get_option_at_index(0).id == "policy")
        rows.highlighted = 0
        rows.focus()
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "co-tui-dark")
        assert app.launch.settings.theme == "auto"
