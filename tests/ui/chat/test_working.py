"""Work in a folder, seen on the screen: what is asked, what it would do, and how far the plan has come."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from co_tui.exchange.exporters import exported
from co_tui.session.slash.conversation_commands import CONTINUE_PROMPT, FINISHED
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.transcript.block_rendering import BlockLayout
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, transcript_text, until, write_answer


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=(tool, json.dumps(arguments)))


def plan(*states: str) -> Reply:
    texts = ("read it", "mend it")
    return call("write_plan", items=[{"content": t, "status": s} for t, s in zip(texts, states, strict=True)])


@pytest.fixture
def folder(home: Path, provider: Provider) -> Path:
    """The folder the app is started in."""
    provider.window = 60_000
    place = home.parent
    (place / "login.py").write_text("def greeting():\n    return 'helo'\n")
    return place


async def asked(app: CoTui, pilot: Pilot[Any], words: str) -> str:
    await until(pilot, lambda: app.chat.query(QuestionPanel) and words in screen_text(app))
    app.chat.query_one(QuestionPanel).focus()
    await pilot.pause()
    return screen_text(app)


async def test_a_change_and_a_command_are_shown_before_they_happen(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [
        plan("in_progress", "pending"),
        call("read_file", path="login.py"),
        call("edit_file", path="login.py", old_text="helo", new_text="hello"),
        call("write_file", path="new.py", content="a = 1\nb = 2\n"),
        call("run_command", command="cat login.py && exit 3"),
        call("run_command", command="rm login.py"),
        plan("completed", "completed"),
    ]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("mend the greeting")
        seen = await asked(app, pilot, "Change login.py? +1 −1")
        assert "1 approval pending · " in seen and "waiting for your answer" in seen
        assert (
            "-    return 'helo'" in seen
            and "+    return 'hello'" in seen
            and "p  Always allow edits of top-level files in this project" in seen
        )
        assert "Plan  0 of 2" in seen and "▶ read it" in seen and "○ mend it" in seen
        assert "read  login.py" in seen and "2 lines" in seen
        await pilot.press("space")
        await until(pilot, lambda: "1 │  def greeting():" in screen_text(app))
        await pilot.press("escape")
        await asked(app, pilot, "Change login.py?")
        await pilot.press("y")
        await asked(app, pilot, "Create new.py? +2")
        await pilot.press("n")
        seen = await asked(app, pilot, "Run this command?")
        assert "cat login.py && exit 3" in seen and "not sandboxed" in seen and "new here: exit 3" in seen
        assert "hello" in (folder / "login.py").read_text()
        await pilot.press("y")
        seen = await asked(app, pilot, "rm login.py")
        assert "Warning: deletes files." in seen and "y  Allow once (y, then Enter)" in seen and "❯ n  Deny" in seen
        assert "this session" not in seen
        await pilot.press("up", "enter")
        await until(pilot, lambda: "Deny, because…" in screen_text(app)), "Enter reaches no choice that allows it"
        await pilot.press("escape")
        await asked(app, pilot, "rm login.py")
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.controller.idle)
        seen = screen_text(app)
        assert "exit 3" in seen and "+1 −1" in seen and "✓ read it   ✓ mend it" in seen and "pending" not in seen
        assert seen.count("Plan  ") == 1 and "Plan  2 of 2" in seen, "the plan is one checklist that changes in place"
        assert "2 │ -    return 'helo'" in seen and "2 │ +    return 'hello'" in seen
        assert (folder / "login.py").exists()
        assert provider.requests[-2]["messages"][-1]["content"] == "The user denied it."


async def test_a_change_that_is_another_by_now_is_shown_again_with_why(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [call("edit_file", path="login.py", old_text="helo", new_text="hello")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("mend the greeting")
        await asked(app, pilot, "Change login.py? +1 −1")
        (folder / "login.py").write_text("# by somebody else\ndef greeting():\n    return 'helo'\n")
        await pilot.press("y")
        seen = await asked(app, pilot, "The file has changed")
        assert " # by somebody else" in seen and "+    return 'hello'" in seen and "y  Allow once" in seen
        await pilot.press("y")
        await until(pilot, lambda: app.controller.idle)
        assert (folder / "login.py").read_text() == "# by somebody else\ndef greeting():\n    return 'hello'\n"


async def test_the_model_asks_and_is_answered(home: Path, provider: Provider, folder: Path) -> None:
    which = {
        "header": "Word",
        "question": "Which spelling?",
        "options": [{"label": "hello"}, {"label": "hallo", "description": "German"}],
    }
    provider.script = [call("ask_user_question", questions=[which])]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("mend it")
        seen = await asked(app, pilot, "Which spelling?")
        assert "1  hello" in seen and "2  hallo · German" in seen
        assert seen.count("hallo") == 1, "each option once"
        await pilot.press("2")
        await until(pilot, lambda: app.controller.idle)
        assert json.loads(provider.requests[-1]["messages"][-1]["content"]) == {"Word": ["hallo"]}


async def test_a_turn_that_used_up_its_steps_is_continued_by_a_key(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [call("read_file", path="login.py"), call("read_file", path="login.py"), Reply(text="all done")]
    launch = launch_for(home, provider, environ={"CO_TUI_AGENT_MAX_STEPS": "2", "CO_TUI_KEYS": "continue=f11"})
    async with running(launch) as (app, pilot):
        await pilot.press("f11")
        await until(pilot, lambda: "Nothing to continue" in screen_text(app))
        app.send("look")
        await until(pilot, lambda: "Stopped after 2 steps" in screen_text(app) and app.controller.idle)
        assert "F11 continues." in " ".join(screen_text(app).split()), "the key in force"
        await pilot.press("f11")
        await until(pilot, lambda: "all done" in screen_text(app) and app.controller.idle)
        assert provider.requests[-1]["messages"][-1]["content"] == CONTINUE_PROMPT
        await pilot.press("f11")
        await until(pilot, lambda: FINISHED in " ".join(transcript_text(app).split()))
        assert len(provider.requests) == 3, "nothing was sent"


async def test_a_turn_that_failed_is_retried_by_the_key_it_names(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [Reply(status=500, body="down"), Reply(text="here again")]
    async with running(launch_for(home, provider, environ={"CO_TUI_MAX_RETRIES": "0"})) as (app, pilot):
        app.send("are you there?")
        await until(pilot, lambda: "F9 retries" in " ".join(screen_text(app).split()) and app.controller.idle)
        await pilot.press("f9")
        await until(pilot, lambda: "here again" in screen_text(app) and app.controller.idle)
        assert provider.requests[0]["messages"] == provider.requests[1]["messages"]
        assert CONTINUE_PROMPT not in transcript_text(app) and app.controller.state.turn == 1


async def test_what_goes_with_every_request_can_be_read(home: Path, provider: Provider, folder: Path) -> None:
    (folder / "AGENTS.md").write_text("Use tabs in this folder.")
    async with running(launch_for(home, provider)) as (app, pilot):
        app.run_command("context", "instructions")
        await until(pilot, lambda: "Nothing sent yet" in screen_text(app))
        app.send("hello")
        await until(pilot, lambda: app.controller.state.turn == 1 and app.controller.idle)
        app.run_command("context", "instructions")
        await until(pilot, lambda: "edit_file" in transcript_text(app))
        told = transcript_text(app)
        assert "Use tabs in this folder." in told and "run_command" in told and f"You work in {folder}" in told


def drawn(app: CoTui) -> str:
    """The whole chat as it is drawn, without hints."""
    layouts = [BlockLayout(block, LOOK, 100) for block in app.chat.transcript.blocks if block.kind != "note"]
    return "\n".join(layout.text_of(line) for layout in layouts for line in range(layout.height))


LOOK = TextRenderer(palette_of(DARK))
LINES = [f"line {n}" for n in range(119)]


def written(*lines: str) -> Reply:
    return call("write_file", path="big.py", content="\n".join(lines) + "\n")


async def test_a_change_has_the_same_figures_in_question_chat_and_export_and_after_resuming(
    home: Path, provider: Provider, folder: Path
) -> None:
    (folder / "big.py").write_text("\n".join(LINES) + "\n")
    one = [*LINES[:60], "line sixty", *LINES[61:]]
    provider.script = [written(*one), written(*one), written(*("new " + line for line in LINES))]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("write it anew")
        seen = await asked(app, pilot, "Change big.py? +1 −1")
        assert "61 │ -line 60" in seen and "61 │ +line sixty" in seen
        await pilot.press("y")
        await asked(app, pilot, "No changes to big.py")
        await pilot.press("y")
        await asked(app, pilot, "Change big.py? +119 −119")
        await pilot.press("y")
        await until(pilot, lambda: app.controller.idle)
        session_id = app.controller.session_id
        first = drawn(app)
        assert "write  big.py" in first and "+1 −1" in first and "no changes" in first and "+119 −119" in first
        assert "61 │ -line 60" in first and "… 226 more changed lines · Ctrl+O shows all" in first
        with app.launch.store.reading() as reading:
            page = "".join(exported(reading.events(session_id), "html"))
        assert page.count("· +1 −1") == page.count("· +119 −119") == page.count("· no changes") == 1
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        await until(pilot, lambda: "+119 −119" in screen_text(app))
        assert drawn(app) == first
        assert app.chat.prompt.has_focus
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "119 │ +new line 118" in drawn(app))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "119 │ +new line 118" not in drawn(app))
        app.chat.transcript.focus()
        await pilot.press("left_square_bracket", "space")
        await until(pilot, lambda: "119 │ +new line 118" in drawn(app))


def batch(*calls: tuple[str, dict[str, Any]]) -> Reply:
    return Reply(text="", tools=tuple((tool, json.dumps(arguments)) for tool, arguments in calls))


FIVE = (
    ("edit_file", {"path": "login.py", "old_text": "helo", "new_text": "hello"}),
    ("write_file", {"path": "docs/a.md", "content": "a\n"}),
    ("run_command", {"command": "touch b.txt"}),
    ("run_command", {"command": "rm login.py"}),
    ("run_command", {"command": "touch c.txt"}),
)


async def test_each_call_of_a_batch_shows_its_state_and_the_rest_is_allowed_at_once(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [batch(*FIVE)]
    async with running(launch_for(home, provider), size=(100, 40)) as (app, pilot):
        app.send("go")
        seen = await asked(app, pilot, "1 of 5")
        rows = [line.split("│")[1].split() for line in seen.splitlines() if " ▸ " in line]
        assert [row[-2:] if row[-1] == "below" else row[-1:] for row in rows] == [
            ["asked", "below"],
            *[["waits"]] * 4,
        ]
        assert "y  Allow once     b  Allow the rest of this batch…" in seen
        await pilot.press("y")
        seen = await asked(app, pilot, "2 of 5")
        assert "+1 −1" in seen and "Create docs/a.md? +1" in seen and "s  Allow edits in docs/ this" in seen
        await pilot.press("b")
        seen = await asked(app, pilot, "Allow these 3 calls?")
        for line in ("write  docs/a.md", "run  touch b.txt", "run  touch c.txt"):
            assert f"│ {line} " in seen
        assert "rm login.py" not in seen.partition("Allow these")[2]
        assert "docs/a.md" in seen and "+a" in seen.partition("Allow these")[2], "the diff of each change"
        assert "1 more call is asked about separately." in seen
        await pilot.press("n")
        await asked(app, pilot, "2 of 5")
        await pilot.press("b")
        await asked(app, pilot, "Allow these 3 calls?")
        await pilot.press("b")
        seen = await asked(app, pilot, "3 of 3")
        assert "Warning: deletes files." in seen and "b  Allow the rest" not in seen
        assert (folder / "b.txt").exists() and not (folder / "c.txt").exists()
        await pilot.press("r")
        await write_answer(app, pilot, "it is needed")
        await until(pilot, lambda: app.controller.idle)
        assert (folder / "c.txt").exists() and (folder / "login.py").exists()
        assert "denied: it is needed" in screen_text(app)


async def test_all_edits_of_a_session_are_allowed_by_its_mode(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [batch(FIVE[0], FIVE[1], FIVE[2])]
    async with running(launch_for(home, provider), size=(100, 40)) as (app, pilot):
        app.send("go")
        assert "A  Allow all edits this session (mode: edits)" in await asked(app, pilot, "Change login.py?")
        await pilot.press("A")
        seen = await asked(app, pilot, "touch b.txt")
        assert "A  Allow all edits" not in seen, "only for edits"
        await until(pilot, lambda: " edits ─╯" in screen_text(app) and "edits files here" in screen_text(app))
        assert (folder / "docs/a.md").exists() and app.controller.state.mode == "edits"
        await pilot.press("n")
        await until(pilot, lambda: app.controller.idle)


@only_in_a_long_run
@pytest.mark.parametrize("size", [(43, 30), (60, 16)])
async def test_a_question_of_a_batch_fits_a_small_screen(
    home: Path, provider: Provider, folder: Path, size: tuple[int, int]
) -> None:
    provider.script = [batch(*FIVE)]
    async with running(launch_for(home, provider), size=size) as (app, pilot):
        app.send("go")
        seen = await asked(app, pilot, "y Allow once")
        for key in "ybspAnr":
            assert re.search(rf"[ ❯]{key} {{1,2}}(Allow|Always|Deny)", seen), key
        assert "+    return 'hello'" in seen and "1 of 5" in seen
        await pilot.press("r")
        await until(pilot, lambda: "Deny, because" in screen_text(app))
        assert "+    return 'hello'" in screen_text(app) and "Esc stop" not in screen_text(app)
        await pilot.press("escape", "n")
