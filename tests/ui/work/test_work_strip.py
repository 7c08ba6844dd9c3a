"""What runs in the background, what was delegated and the plan are in sight above the prompt."""

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from co_tui.ui.app import CoTui
from co_tui.ui.work.session_work import WorkRow
from co_tui.ui.work.work_strip import WorkStrip
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import answer, launch_for, running, screen_text, type_text, until
from tests.ui.chat.test_working import asked, call

STEPS = ({"content": "Read the tests", "status": "completed"}, {"content": "Run the tests", "status": "in_progress"})
DONE = tuple({**step, "status": "completed"} for step in STEPS)
CANNOT_MOVE = "No running command can be moved to the background."
WAIT = "until test -e go; do sleep 0.01; done"


@pytest.fixture
def folder(home: Path, provider: Provider) -> Path:
    """The folder the app is started in."""
    provider.window = 60_000
    return home.parent


def strip(app: CoTui) -> WorkStrip:
    return app.chat.query_one(WorkStrip)


def shown(app: CoTui) -> str:
    return str(strip(app).render()) if strip(app).display else ""


async def serving(app: CoTui, pilot: Pilot[Any]) -> None:
    app.send("serve")
    await answer(app, pilot, "y")
    await until(pilot, lambda: "It serves." in screen_text(app) and app.controller.idle)


async def test_a_background_command_is_in_sight_opens_and_is_stopped(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [call("start_command", command="echo ready [1]; exec sleep 600"), Reply(text="It serves.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        assert not strip(app).display and strip(app)._timer is None
        await serving(app, pilot)
        await until(pilot, lambda: re.search(r"run +echo ready.* \d+ s +ready \[1\] +/tasks opens", shown(app)))
        await pilot.press("x")
        assert app.chat.prompt.text == "x", "it takes no keys without the focus"
        await pilot.press("backspace")
        strip(app).focus()
        await until(pilot, lambda: "Enter opens · x stops" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: re.search(r"Tasks.*running \d+ s +run +echo ready", screen_text(app), re.DOTALL))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("h", "i")
        await until(pilot, lambda: app.chat.prompt.text == "hi" and app.focused is app.chat.prompt)
        await pilot.click(WorkStrip, offset=(10, 0))
        await until(pilot, lambda: "Tasks" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        strip(app).focus()
        await pilot.press("x")
        await until(pilot, lambda: not strip(app).display and app.focused is app.chat.prompt)
        assert strip(app)._timer is None, "nothing is looked at while nothing runs"


async def test_the_running_command_moves_to_the_background(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [call("run_command", command=f"echo building; {WAIT}"), Reply(text="I go on.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("build")
        await asked(app, pilot, "Run this command?")
        await pilot.press("ctrl+b")
        await until(pilot, lambda: CANNOT_MOVE in [each.message for each in app._notifications])
        assert "Ctrl+B background" not in screen_text(app), "it waits for the answer"
        await pilot.press("y")
        await until(pilot, lambda: "… building" in screen_text(app) and "Ctrl+B background" in screen_text(app))
        await pilot.press("ctrl+b")
        await until(pilot, lambda: "I go on." in screen_text(app) and app.controller.idle)
        assert re.search(r"run +echo building.* in the background", screen_text(app))
        assert "Command moved to the background after" in screen_text(app) and "echo building" in shown(app)
        assert "check_command reads its output" in str(provider.requests[-1])
        (folder / "go").touch()
        await until(pilot, lambda: "Background command ended with exit code 0" in screen_text(app))
        assert not strip(app).display


async def test_the_users_own_command_does_not_move(home: Path, provider: Provider, folder: Path) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        await type_text(pilot, f"!echo mine; {WAIT}\n")
        await until(pilot, lambda: re.search("^ *mine|… mine|│ *mine", screen_text(app), re.MULTILINE))
        await pilot.press("ctrl+b")
        await until(pilot, lambda: CANNOT_MOVE in [each.message for each in app._notifications])
        assert "Ctrl+B background" not in screen_text(app)
        (folder / "go").touch()
        await until(pilot, lambda: app.controller.idle)


async def test_a_delegation_is_in_sight_and_stopped_alone(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [
        call("delegate_task", agent_name="self", task="Check the logs"),
        call("run_command", command=WAIT),
        Reply(text="Then without."),
    ]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("check")
        await until(pilot, lambda: re.search(r"agent +Check the logs +\d+ s +approval pending", shown(app)))
        await asked(app, pilot, "Run this command?")
        await pilot.press("y")
        await until(pilot, lambda: re.search(r"agent +Check the logs +\d+ s +run until test", shown(app)))
        strip(app).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "Task: Check the logs" in screen_text(app) and "▸ run" in screen_text(app))
        await pilot.press("x")
        await until(pilot, lambda: re.search(r"stopped +agent +Check the logs", screen_text(app)))
        await pilot.press("escape")
        await until(pilot, lambda: "Then without." in screen_text(app) and not strip(app).display)


async def test_the_plan_is_in_sight_until_it_is_done(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [call("write_plan", items=STEPS), Reply(text="Begun.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.run_command("plan", "")
        await until(pilot, lambda: "No session yet" in screen_text(app) or "No plan." in screen_text(app))
        app.send("plan it")
        await until(pilot, lambda: "Begun." in screen_text(app) and app.controller.idle)
        assert re.search(r"Plan 1/2 · Run the tests +/plan opens", shown(app)) and strip(app)._timer is None
        app.run_command("plan", "")
        await until(pilot, lambda: re.search(r"─ Plan +1 of 2 .*✓ Read the tests.*▶ Run", screen_text(app), re.DOTALL))
        await pilot.press("escape")
        provider.script = [call("write_plan", items=DONE), Reply(text="All done.")]
        app.send("and now")
        await until(pilot, lambda: "All done." in screen_text(app) and not strip(app).display)


async def test_a_plan_leaves_three_turns_after_it_was_last_changed(
    home: Path, provider: Provider, folder: Path
) -> None:
    provider.script = [call("write_plan", items=STEPS), Reply(text="Begun.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        for turn, said in enumerate(("plan it", "another thing", "and another", "and one more")):
            app.send(said)
            await until(pilot, lambda turn=turn: app.controller.state.turn == turn + 1 and app.controller.idle)
            assert strip(app).display is (turn < 3), said
        provider.script = [call("write_plan", items=STEPS[1:]), Reply(text="Changed.")]
        app.send("what is left?")
        await until(pilot, lambda: "Changed." in screen_text(app) and strip(app).display)


@only_in_a_long_run
async def test_on_a_low_screen_the_strip_gives_way_to_a_question(home: Path, provider: Provider, folder: Path) -> None:
    provider.script = [call("write_plan", items=STEPS), call("run_command", command="touch made"), Reply(text="Made.")]
    async with running(launch_for(home, provider), size=(60, 16)) as (app, pilot):
        app.send("plan it")
        await asked(app, pilot, "touch made")
        await until(pilot, lambda: not strip(app).display)
        assert app.chat.max_scroll_y == 0, "everything fits"
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: "Plan 1/2" in shown(app))
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: not strip(app).display)
        await answer(app, pilot, "y")
        await until(pilot, lambda: "Made." in screen_text(app) and "Plan 1/2" in shown(app))


async def test_quitting_asks_while_something_runs_and_leaving_the_session_says_what_it_stops(
    home: Path, provider: Provider, folder: Path
) -> None:
    serve = [call("start_command", command="exec sleep 600"), Reply(text="It serves.")]
    provider.script = [*serve, *serve]
    async with running(launch_for(home, provider)) as (app, pilot):
        await serving(app, pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "1 background command is still running." in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is app.chat)
        assert shown(app), "it still runs"
        app.run_command("new", "")
        said = "Stopped with the session you left: 1 background command."
        await until(pilot, lambda: said in [each.message for each in app._notifications])
        assert not strip(app).display
        await until(pilot, lambda: "It serves." not in screen_text(app))
        await serving(app, pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "1 background command is still running." in screen_text(app))
        await pilot.press("s")
        await until(pilot, lambda: app._exit)


async def test_a_reply_alone_does_not_keep_the_app_open(home: Path, provider: Provider) -> None:
    provider.script = [Reply(text="word " * 50, delay_s=0.05)]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("talk")
        await until(pilot, lambda: "word" in screen_text(app))
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app._exit)


@pytest.mark.parametrize(("rows", "lines"), [(40, 3), (16, 1)])
async def test_few_lines_say_how_many_more_run(home: Path, provider: Provider, rows: int, lines: int) -> None:
    async with running(launch_for(home, provider), size=(100, rows)) as (app, pilot):
        work = strip(app)
        work._commands = lambda: [WorkRow(f"{n}", "run", f"serve {n}", n, "") for n in range(5)]
        work.look()
        work.show_plan([{"text": "Run the tests", "state": "in_progress"}])
        await until(pilot, lambda: work.size.height == lines)
        text = shown(app)
        assert f"+{5 - max(1, lines - 1)} more" in text and "serve 0" in text and ("Plan 0/1" in text) is (lines > 1)
        work.focus()
        await pilot.press(*["down"] * 4)
        assert re.search("❯.*serve 4", shown(app))
        await pilot.press("down")
        assert "❯ Plan 0/1 · Run the tests" in shown(app)
        work.fit(is_asked=True)
        assert work.display is (lines > 1), "on a low screen it gives way to a question"
        work._commands = list
