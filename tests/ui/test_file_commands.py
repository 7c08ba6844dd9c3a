"""Slash commands from files, and hooks, as the user meets them in the app."""

from pathlib import Path

from co_tui.events import BackgroundNews, Event, Fact, HookRun, Message
from co_tui.headless.acp.updates import Updates
from co_tui.headless.run_command import ProsePrinter
from co_tui.session.pending_notes import note_message
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.state.session_state import SessionState
from co_tui.ui.chat.deferred_widgets import Completions
from co_tui.ui.help.help_screen import HelpScreen
from co_tui.ui.help.palette import PaletteScreen
from co_tui.ui.transcript.blocks import BlockBuilder
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, transcript_text, type_text, until


def own_command(home: Path, name: str, text: str) -> None:
    file = home / "config" / "commands" / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def test_a_file_s_command_is_completed_listed_and_sent(home: Path, provider: Provider) -> None:
    own_command(
        home, "git/tidy", "---\ndescription: Tidy \x1b[31mup\nargument-hint: [path]\n---\nTidy $ARGUMENTS well."
    )
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "/")
        await until(pilot, lambda: app.chat.own_commands)
        await type_text(pilot, "git")
        await until(pilot, lambda: app.chat.query(Completions) and app.chat.query_one(Completions).display)
        assert "/git:tidy [path]" in screen_text(app) and "(yours)" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.prompt.text == "/git:tidy ")  # it takes arguments
        await type_text(pilot, "src\n")
        await until(pilot, lambda: provider.requests)
        assert "Tidy src well." in str(provider.requests[-1])
        await until(pilot, lambda: "/git:tidy src" in transcript_text(app))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await type_text(pilot, "tidy")
        await until(pilot, lambda: "(yours)" in screen_text(app))
        await pilot.press("escape")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await type_text(pilot, "tidy")
        await until(pilot, lambda: "/git:tidy" in screen_text(app) and "yours" in screen_text(app))
        assert "\x1b" not in screen_text(app)


async def test_a_file_added_later_is_offered_even_if_its_name_arrives_at_once(home: Path, provider: Provider) -> None:
    name = "a-rather-long-name-for-a-command"
    async with running(launch_for(home, provider)) as (app, pilot):
        skill = home / "config" / "skills" / name / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\ndescription: x\n---\nDo it.")
        app.chat.prompt.text = "/a-rather"
        await until(pilot, lambda: f"/{name}" in screen_text(app) and "(your skill)" in screen_text(app))
        app.chat.prompt.text = ""
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await type_text(pilot, "rather")
        await until(pilot, lambda: f"/{name}" in screen_text(app))


async def test_hooks_lists_each_with_its_last_outcome_and_a_refused_prompt_comes_back(
    home: Path, provider: Provider
) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text(
        "[hooks]\nstop = '''echo '{\"systemMessage\": \"tea is ready\"}'\n'''\n"
        "UserPromptSubmit = 'grep -q secret && { echo not that >&2; exit 2; }; exit 0'\n"
    )
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, "a secret\n")
        await until(pilot, lambda: "hook refused the prompt: not that" in transcript_text(app))
        await until(pilot, lambda: app.chat.prompt.text == "a secret")
        assert provider.requests == []
        app.chat.prompt.text = ""
        await type_text(pilot, "/hooks\n")
        await until(pilot, lambda: "Refused: not that" in transcript_text(app))
        assert "stop  echo" in transcript_text(app) and "not run yet" in transcript_text(app)
        assert "set in" in transcript_text(app)
        await type_text(pilot, "hello\n")
        await until(pilot, lambda: "stop hook: tea is ready" in transcript_text(app))


def test_a_note_for_the_model_and_news_of_a_command_have_their_own_lines() -> None:
    builder = BlockBuilder()
    note = message_json(note_message("a stop hook", "You are not done: run \x1b[2Jthe tests.\nAll of them."))
    builder.add(event(Message(turn=1, message=note)))
    builder.add(event(BackgroundNews(what="Background command", where="make", outcome="ended with exit code 2")))
    shown, news = builder.blocks
    assert (shown.tool_name, shown.text, shown.folded) == ("note", "a stop hook", True)
    assert shown.status == "You are not done: run ␛[2Jthe tests." and shown.result.endswith("All of them.")
    assert news.text == "Background command ended with exit code 2: make"


def test_what_a_hook_says_to_the_user_is_shown_wherever_it_ran() -> None:
    quiet, says = HookRun(what="stop hook"), HookRun(what="stop hook", notice="tea\x1b is\nready", agent="self 1")
    builder = BlockBuilder()
    for each in (quiet, says):
        builder.add(event(each))
    assert [block.text for block in builder.blocks] == ["stop hook: tea␛ is ready"]
    printed = [piece.text for each in (quiet, says) for piece in ProsePrinter().show(event(each))]
    assert [text.strip() for text in printed] == ["co-tui: stop hook: tea␛ is ready"]
    updates = Updates(Path(), list)
    assert [len(list(updates.of(event(each), SessionState()))) for each in (quiet, says)] == [0, 1]


def event(fact: Fact) -> Event:
    return Event(session_id="s", seq=1, timestamp="2026-11-16T10:00:00+00:00", fact=fact)
