"""Every action of the one table, by slash, by key and by palette."""

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from co_tui.actions import COMMANDS
from co_tui.settings import load
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.approvals_screen import ApprovalsScreen
from co_tui.ui.chat.deferred_widgets import Completions
from co_tui.ui.commands.host import function_of
from co_tui.ui.help.palette import found_commands
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.transcript.block import Block
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
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
from tests.support.stores import listed


def test_every_command_is_done_by_someone() -> None:
    assert all(function_of(command) for command in COMMANDS)
    keys = [command.key for command in COMMANDS if command.key]
    assert len(keys) == len(set(keys))


async def test_history_context_and_config(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "one")
        await type_text(pilot, "/history \n")
        await until(pilot, lambda: "1 turn. The model sees 2 of 2 messages." in transcript_text(app))
        await type_text(pilot, "/context \n")
        await until(pilot, lambda: "110 of 4,096 tokens" in transcript_text(app))
        await type_text(pilot, "/config \n")
        await until(pilot, lambda: "tool_output_trim_chars" in transcript_text(app))
        await type_text(pilot, "/config theme light\n")
        await until(pilot, lambda: "Theme: light (saved)" in transcript_text(app))
        assert "light" in app.launch.paths.config_file.read_text()
        await type_text(pilot, "/config theem\n")
        await until(pilot, lambda: "Did you mean theme" in transcript_text(app))
        await type_text(pilot, "/context nonsense\n")
        await until(pilot, lambda: "/context takes nothing, `instructions` or `clear`" in transcript_text(app))
        await type_text(pilot, "/clear now\n")
        await until(pilot, lambda: "/clear takes no arguments: leave out 'now'." in transcript_text(app))
        await type_text(pilot, "/context clear\n")
        await until(pilot, lambda: "above are cleared" in transcript_text(app))
        assert len(app.controller.state.transcript) == 2, "commands are not part of the conversation"
        await app.controller.switch_session(app.controller.session_id)
        await until(pilot, lambda: "above are cleared" in transcript_text(app))  # also when it is read again


async def an_unknown_command_suggests_the_nearest(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await type_text(pilot, "/cleer \n")
    await until(pilot, lambda: "Unknown command /cleer. Did you mean /clear?" in transcript_text(app))
    assert app.chat.prompt.text == "", "it does not join what is typed next"
    await pilot.press("up")
    assert app.chat.prompt.text == "/cleer ", "to be mended, not typed again"
    app.chat.prompt.text = ""
    await type_text(pilot, "/xyzzy \n")
    await until(pilot, lambda: "See /help." in transcript_text(app))
    assert provider.requests == []


async def a_prompt_that_begins_with_a_path_is_a_prompt(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await ask(app, pilot, "/etc/hosts is what")
    assert provider.requests[0]["messages"][-1]["content"] == "/etc/hosts is what"


@only_in_a_long_run
async def test_a_key_pressed_twice_neither_stacks_nor_breaks_dialogs(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("f1", "f1", "f1")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("f6")
        await until(pilot, lambda: type(app.screen).__name__ == "ModelScreen")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: app.screen is app.chat)


async def slash_completion_chooses_and_runs(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    await type_text(pilot, "/he")
    await until(pilot, lambda: "/help" in screen_text(app) and "Enter runs it" in screen_text(app))
    await pilot.press("tab")
    assert app.chat.prompt.text == "/help "
    await pilot.press(*["backspace"] * 6)
    await type_text(pilot, "/")
    await pilot.press("down", "up", "enter")
    await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
    await pilot.press("escape")
    await type_text(pilot, "/s")
    await pilot.press("escape")
    assert app.chat.prompt.text == "/s" and not app.chat.query_one(Completions).display


async def test_help_explains_keys_commands_and_the_gauge(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(120, 240)) as (app, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")
        await pilot.pause()
        seen = screen_text(app)
        assert all(command.slash in seen for command in COMMANDS) and "Ctrl+J" in seen
        order = ("First keys", "The gauge", "In the prompt", "In the chat, after Tab", "Commands")
        places = [seen.index(title) for title in order]
        assert places == sorted(places), "what a newcomer looks for comes first"
        await pilot.press("escape")
        assert app.screen is app.chat


async def the_palette_has_the_same_commands_and_hears_what_is_typed_with_its_key(
    app: CoTui, pilot: Pilot[None], provider: Provider
) -> None:
    for key in ("ctrl+p", *"histor"):
        app.post_message(events.Key(key, key if len(key) == 1 else None))
    await until(pilot, lambda: "Count turns and messages" in screen_text(app))
    assert "/compact" not in screen_text(app) and not app.chat.prompt.text
    await pilot.press("enter")
    await until(pilot, lambda: app.screen is app.chat and "0 turns" in transcript_text(app))


async def test_what_begins_with_a_slash_is_completed_corrected_or_a_prompt(home: Path, provider: Provider) -> None:
    await look_in_one_app(
        home,
        provider,
        an_unknown_command_suggests_the_nearest,
        a_prompt_that_begins_with_a_path_is_a_prompt,
        slash_completion_chooses_and_runs,
        the_palette_has_the_same_commands_and_hears_what_is_typed_with_its_key,
    )


def test_the_palette_puts_the_likeliest_command_first() -> None:
    assert [found.command.name for found in found_commands("com")][:2] == ["compact", "commands"]
    assert found_commands("/thm")[0].command.name == "theme"
    assert found_commands("older messages")[0].command.name == "compact"
    assert len(found_commands("")) == len(COMMANDS) and not found_commands("qxq")


async def test_choosing_a_model_before_and_in_a_session(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/model openai-chat:other\n")
        await until(pilot, lambda: "Now using openai-chat:other" in transcript_text(app))
        assert "openai-chat:other" in screen_text(app).splitlines()[0]
        await ask(app, pilot, "hi")
        assert provider.requests[-1]["model"] == "other"
        await type_text(pilot, "/model anthropic:claude-sonnet-5\n")
        await until(pilot, lambda: "Key for anthropic" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "needs a key. The model is unchanged." in transcript_text(app))
        await type_text(pilot, "/model openai-chat:third\n")
        await until(pilot, lambda: app.controller.state.model == "openai-chat:third")
        assert "⇄ model →" in screen_text(app)
        await ask(app, pilot, "hi")
        assert provider.requests[-1]["model"] == "third"


@only_in_a_long_run
async def test_the_model_picker_shows_windows_and_keys(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.press("f6")
        await until(pilot, lambda: "This session" in screen_text(app) and "● embedded" in screen_text(app))
        seen = screen_text(app)
        assert "● embedded" in seen and "8.2k" in seen
        await type_text(pilot, "gpt-6")
        await until(pilot, lambda: "○ gpt-6" in screen_text(app))
        assert "openai · its key goes to 127.0.0.1" in screen_text(app)
        await pilot.press(*["backspace"] * 5)
        await type_text(pilot, "sonnet")
        await until(pilot, lambda: "○ claude-sonnet" in screen_text(app))
        await pilot.press("escape")
        assert app.screen is app.chat


async def test_rename_theme_side_and_new(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/rename nothing yet\n")
        await until(pilot, lambda: "No session yet" in transcript_text(app))
        await ask(app, pilot, "hi")
        await type_text(pilot, "/rename A better name\n")
        await until(pilot, lambda: "co-tui · A better name" in screen_text(app))
        dark = app.current_theme.dark
        await type_text(pilot, "/theme \n")
        await until(pilot, lambda: app.current_theme.dark != dark and "Light for this run only" in transcript_text(app))
        assert "(saved: auto)" in transcript_text(app) and "tokyo-night" in transcript_text(app)
        assert "─ Timeline" in screen_text(app)
        await pilot.press("f4")
        await until(pilot, lambda: "─ Timeline" not in screen_text(app))
        first = app.controller.session_id
        await pilot.press("f7")
        await until(pilot, lambda: app.controller.session_id != first)
        assert "Nothing sent yet" in screen_text(app) or "nothing sent yet" in screen_text(app)
        assert "A better name" not in screen_text(app)


@only_in_a_long_run
async def test_policies_are_shown_and_switched(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/policy \n")
        await until(pilot, lambda: "Choose a policy" in screen_text(app) and "● balanced" in screen_text(app))
        assert "nothing is summarised" in screen_text(app) and "Nothing sent yet: the policies" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await type_text(pilot, "/context \n")
        await until(pilot, lambda: "Nothing sent yet" in transcript_text(app))
        await ask(app, pilot, "hi")
        await type_text(pilot, "/policy co-cli\n")
        await until(pilot, lambda: app.controller.state.policy == "co-cli")
        assert "⇄ policy" in screen_text(app) and "co-cli" in screen_text(app).splitlines()[0]
        await type_text(pilot, "/policy nonsense\n")
        await until(pilot, lambda: "Unknown policy 'nonsense'. Use one of balanced" in transcript_text(app))
        assert app.controller.state.policy == "co-cli"


async def test_the_policy_picker_compares_policies_on_this_conversation(home: Path, provider: Provider) -> None:
    provider.window = 1_800
    async with running(launch_for(home, provider, environ={"CO_TUI_TOOLS": "none", "CO_TUI_POLICY": "off"})) as (
        app,
        pilot,
    ):
        provider.default = Reply(text="words of an answer " * 60, prompt_tokens=-1)
        for n in range(4):
            await ask(app, pilot, f"question {n} " + "and more " * 60)
        await type_text(pilot, "/policy \n")
        await until(pilot, lambda: "Choose a policy" in screen_text(app) and "Comparing…" not in screen_text(app))
        await until(pilot, lambda: "working it out" not in screen_text(app))
        seen = screen_text(app)
        assert "now off" in seen and "The whole conversation: keeps everything" in seen and "% of the window" in seen
        await pilot.press(*"balanced")
        await until(pilot, lambda: "summarises" in screen_text(app) and "tokens" in screen_text(app))
        assert "co-cli" not in screen_text(app), "typing filters"
        await pilot.press("enter")
        await until(pilot, lambda: app.controller.state.policy == "balanced" and app.screen is app.chat)
        assert "Policy is now balanced" in transcript_text(app)


@only_in_a_long_run
async def test_a_policy_chosen_gives_way_to_one_that_is_written(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/policy co-cli\n")
        await until(pilot, lambda: "Policy is now co-cli" in transcript_text(app))
        await type_text(pilot, "/config policy\n")
        await until(pilot, lambda: "policy = co-cli   from this session" in transcript_text(app))
        await type_text(pilot, "/config min_compaction_messages 6\n")
        await until(pilot, lambda: "Fewest messages to compact: 6 (saved)" in transcript_text(app))
        assert app.launch.settings.policy == "co-cli", "another setting leaves it as it is"
        await type_text(pilot, "/config policy inkeep\n")
        await until(pilot, lambda: "Context policy: inkeep (saved)" in transcript_text(app))
        assert "no effect" not in transcript_text(app) and app.launch.settings.policy == "inkeep"
        await type_text(pilot, "/config tools files,plan\n")
        await until(pilot, lambda: "Tool groups: files, plan (saved)" in transcript_text(app))


@only_in_a_long_run
async def test_the_key_that_stops_is_shown_while_there_is_something_to_stop(home: Path, provider: Provider) -> None:
    provider.script = [Reply(text="slow words " * 10, delay_s=0.05, open_end=True)]
    async with running(launch_for(home, provider)) as (app, pilot):
        await pilot.pause()
        assert "Esc Stop" not in screen_text(app) and "Esc Back" not in screen_text(app)
        app.send("talk")
        await until(pilot, lambda: "Esc Stop" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle)
        await until(pilot, lambda: "Esc Stop" not in screen_text(app))
        await pilot.press("tab")
        assert not app.chat.prompt.has_focus
        await pilot.press("escape")
        assert app.chat.prompt.has_focus


@only_in_a_long_run
async def test_another_policy_leaves_the_command_line_s_model_in_force(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    named = {"model": "openai-chat:named"}
    loaded = load(paths=launch.paths, cwd=launch.cwd, environ=launch.environ, command_line=named)
    async with running(launch.but(loaded=loaded)) as (app, pilot):
        await type_text(pilot, "/policy co-cli\n")
        await until(pilot, lambda: "Policy is now co-cli" in transcript_text(app))
        title = screen_text(app).splitlines()[0]
        assert "openai-chat:named" in title and "co-cli" in title
        await ask(app, pilot, "hi")
        assert provider.requests[-1]["model"] == "named"


@only_in_a_long_run
async def test_timeline_entries_open(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "hi")
        app.chat.query_one(Timeline).focus()
        await pilot.press("f", "home", "enter")
        await until(pilot, lambda: type(app.screen).__name__ == "EventScreen")
        await pilot.pause()
        assert "session.start" in screen_text(app) and "openai-chat:scripted" in screen_text(app)
        await pilot.press("escape")


@pytest.mark.parametrize("key", ["ctrl+j"])
async def test_prompts_of_several_lines_and_earlier_prompts(home: Path, provider: Provider, key: str) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "one")
        await pilot.press(key)
        await type_text(pilot, "two\n")
        await until(pilot, lambda: len(provider.requests) == 1)
        assert provider.requests[0]["messages"][-1]["content"] == "one\ntwo"
        await until(pilot, lambda: app.controller.idle)
        await ask(app, pilot, "three")
        await type_text(pilot, "draft")
        await pilot.press("up")
        assert app.chat.prompt.text == "three"
        await pilot.press("up")
        assert app.chat.prompt.text == "one\ntwo"
        await pilot.press("down", "down", "down")
        assert app.chat.prompt.text == "draft"
        await type_text(pilot, "ed\\\n")
        assert app.chat.prompt.text == "drafted\n"


@only_in_a_long_run
async def test_a_draft_is_kept_for_the_next_start(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (_, pilot):
        await type_text(pilot, "half a thought")
    async with running(launch_for(home, provider)) as (app, pilot):
        assert app.chat.prompt.text == "half a thought"
        await pilot.press("enter")
        await until(pilot, lambda: len(app.controller.state.transcript) == 2)
    async with running(launch_for(home, provider)) as (app, pilot):
        assert app.chat.prompt.text == ""


@only_in_a_long_run
async def test_find_and_folds_work_from_the_prompt_and_by_key(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "where is the needle")
        await type_text(pilot, "/find needle\n")
        await until(pilot, lambda: app.chat.transcript.search.needle == "needle")
        await pilot.press("escape")
        await until(pilot, lambda: app.chat.transcript.search.needle == "")
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "Search in this conversation" in screen_text(app))
        await type_text(pilot, "haystack\n")
        await until(pilot, lambda: "nothing found" in screen_text(app))
        await pilot.press("escape")
        app.chat.transcript.append(Block("thinking", "first line\nthe second line of a thought", folded=True))
        await until(pilot, lambda: "▸ thinking" in screen_text(app))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "the second line of a thought" in screen_text(app))
        await type_text(pilot, "/folds \n")
        await until(pilot, lambda: "▸ thinking" in screen_text(app))


async def test_ctrl_q_leaves_and_keeps_everything(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider)
    app = CoTui(launch)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.controller.backend.ready)
        await ask(app, pilot, "hello")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running or app.controller.session is None)
    (row,) = listed(home)
    assert row.messages == 2


@only_in_a_long_run
async def test_the_names_people_try_run_what_exists(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/copy \n")
        await until(pilot, lambda: "Nothing to copy yet." in transcript_text(app))
        await ask(app, pilot, "one")
        for name in ("cost", "usage", "status"):
            before = transcript_text(app).count("110 of 4,096 tokens")
            await type_text(pilot, f"/{name} \n")
            await until(pilot, lambda n=before: transcript_text(app).count("110 of 4,096 tokens") > n)
        await type_text(pilot, "/copy \n")
        await until(pilot, lambda: app.clipboard == "Hello from the provider.")
        await type_text(pilot, "/permissions \n")
        await until(pilot, lambda: isinstance(app.screen, ApprovalsScreen))
        await pilot.press("escape")
        await type_text(pilot, "/exit \n")
        await until(pilot, lambda: not app.is_running)


async def test_other_names_are_completed_and_the_users_own_commands_come_first(home: Path, provider: Provider) -> None:
    commands = home / "config" / "commands"
    commands.mkdir(parents=True)
    (commands / "cost.md").write_text("What does a cup of tea cost?")
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/")
        await until(pilot, lambda: app.chat.own_commands)
        assert "exit" not in [choice.name for choice in app.chat.prompt.offer.found], "all names would be too many"
        await type_text(pilot, "ex")
        offered = {choice.name: choice.help for choice in app.chat.prompt.offer.found}
        assert offered["exit"] == "Quit; everything is saved (/quit)"
        app.chat.prompt.text = ""
        await type_text(pilot, "/cost")
        assert [choice.help for choice in app.chat.prompt.offer.found] == ["What does a cup of tea cost? (yours)"]
        await type_text(pilot, " \n")
        await until(pilot, lambda: "cup of tea" in str(provider.requests))
        assert "tokens" not in transcript_text(app)
