"""`/rewind`, `/undo` and `/diff` on the screen: what is offered, what is asked, and what the chat says."""

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from co_tui.session.snapshots.commits import commits_sentence
from co_tui.session.snapshots.entries import Snapshot, named_paths
from co_tui.session.snapshots.restore import RestorePlan
from co_tui.ui.app import CoTui
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen
from co_tui.ui.files.changes_screen import ChangesScreen
from co_tui.ui.files.choice_screen import ChoiceScreen, rewind_question
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, until


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=(tool, json.dumps(arguments)))


@pytest.fixture
def folder(home: Path, provider: Provider) -> Path:
    """The folder the app is started in."""
    provider.window = 60_000
    place = home.parent
    (place / "login.py").write_text("def greeting():\n    return 'helo'\n")
    return place


async def worked(app: CoTui, pilot: Pilot[Any], provider: Provider) -> None:
    """A turn that changed two files."""
    provider.script = [
        call("edit_file", path="login.py", old_text="helo", new_text="hello"),
        call("write_file", path="new.py", content="a = 1\n"),
    ]
    app.run_command("mode", "edits")
    await until(pilot, lambda: "edits" in screen_text(app))
    app.send("mend it")
    await until(pilot, lambda: app.controller.idle and app.controller.state.turn == 1)


async def question(app: CoTui, pilot: Pilot[Any]) -> str:
    await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
    await pilot.pause()
    return screen_text(app)


async def test_rewind_offers_conversation_files_or_both_and_asks_about_others_changes(
    home: Path, provider: Provider, folder: Path
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.run_command("diff", "")
        await until(pilot, lambda: "No session yet." in transcript_text(app))
        await worked(app, pilot, provider)
        (folder / "new.py").write_text("mine\n")
        app.run_command("rewind", "1")
        seen = await question(app, pilot)
        assert "Rewind to before turn 1" in seen and "2 files changed since then:" in seen
        assert "❯ b  Conversation and files" in seen and "c  Conversation only" in seen and "f  Files only" in seen
        await pilot.press("enter")
        await until(pilot, lambda: "Overwrite this file?" in screen_text(app))
        seen = screen_text(app)
        assert "1 file changed by you or others since then:" in seen and "new.py" in seen
        assert "❯ k  Keep it, restore the rest" in seen and "o  Overwrite it, too" in seen
        assert "hello" in (folder / "login.py").read_text()
        await pilot.press("k")
        await until(
            pilot, lambda: "Rewound to before turn 1. 1 file restored. Left as they are," in transcript_text(app)
        )
        assert "changed by others since: new.py. /undo goes back." in " ".join(transcript_text(app).split())
        assert "helo" in (folder / "login.py").read_text() and (folder / "new.py").read_text() == "mine\n"
        assert app.chat.prompt.text == "mend it" and not app.controller.state.history

        app.run_command("undo", "")
        await until(pilot, lambda: "Rewind undone. 1 file restored." in transcript_text(app))
        assert "hello" in (folder / "login.py").read_text() and app.controller.state.history


async def test_diff_and_rewind_show_what_changed_and_esc_restores_nothing(
    home: Path, provider: Provider, folder: Path
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await worked(app, pilot, provider)
        app.run_command("diff", "")
        await until(pilot, lambda: isinstance(app.screen, ChangesScreen) and "return 'hello'" in screen_text(app))
        seen = screen_text(app)
        assert "Changes in this session" in seen and "2 files · +2 −1" in seen and "~ login.py  +1 −1" in seen
        await pilot.press("down")
        await until(pilot, lambda: "+a = 1" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ChangesScreen))

        await ask(app, pilot, "and now?")
        app.run_command("rewind", "")
        await until(pilot, lambda: isinstance(app.screen, ChooseMessageScreen) and "mend it" in screen_text(app))
        rows = [line for line in screen_text(app).splitlines() if " you " in line]
        assert "mend it" in rows[0] and "± login.py, new.py" in rows[0]
        assert "and now?" in rows[1] and "±" not in rows[1]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)

        app.run_command("rewind", "1")
        await question(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ChoiceScreen))
        assert "hello" in (folder / "login.py").read_text()
        (folder / "login.py").write_text("mine\n")
        app.run_command("rewind", "1 files")
        assert "Overwrite this file?" in await question(app, pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "Nothing was restored." in transcript_text(app))
        assert (folder / "login.py").read_text() == "mine\n" and app.controller.state.history

        app.chat.transcript.focus()
        await pilot.press("home", "e")
        seen = await question(app, pilot)
        assert "Edit the prompt and send it again" in seen and "2 files changed since then:" in seen
        assert "❯ c  Keep them as they are" in seen and "b  Restore them, too" in seen and "Files only" not in seen
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.prompt.text == "mend it")
        assert (folder / "login.py").read_text() == "mine\n" and not app.controller.state.history


def test_the_question_names_what_is_left_as_it_is() -> None:
    now = Snapshot("2", {}, {})
    plan = RestorePlan(2, "1", now, {}, {}, kept=("mine.py",), not_covered=("large.bin",), commits=("abc1234 Fix",))
    lines = [line.strip() for line in rewind_question(plan)._text.plain.splitlines()]
    assert lines[lines.index("Left as they are, because of what others changed:") + 1] == "mine.py"
    assert lines[lines.index("Not covered by snapshots, and so not restored:") + 1] == "large.bin"
    assert commits_sentence(plan.commits) in lines


def test_caches_come_after_sources() -> None:
    sources, caches = ["src/cart.py", "z.py"], ["__pycache__/a.pyc", "src/__pycache__/b.pyc"]
    assert named_paths([*caches, *sources]) == [*sources, *caches]
