"""Why a call failed is read without opening it, live and after a resume."""

from pathlib import Path

import pytest

from co_tui.events.tool_wording import FAILED_LINES, failed_part
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, until
from tests.ui.chat.test_working import asked, call

LINES = "\n".join(map(str, range(30)))


async def test_a_failed_command_shows_its_last_lines_and_a_failed_edit_its_reason(
    home: Path, provider: Provider
) -> None:
    provider.window = 60_000
    (home.parent / "login.py").write_text("def greeting():\n    return 'helo'\n")
    provider.script = [
        call("edit_file", path="login.py", old_text="hullo", new_text="hello"),
        call("run_command", command="echo first; seq 10; echo '[b]assert 1 == 2'; exit 3"),
        Reply(text="It failed."),
    ]
    async with running(launch_for(home, provider)) as (app, pilot):
        app.send("go")
        await asked(app, pilot, "Run this command?")
        await pilot.press("y")
        await until(pilot, lambda: "It failed." in screen_text(app) and app.controller.idle)
        live = [line[:60].strip("│ ") for line in screen_text(app).splitlines()]
        at = next(n for n, line in enumerate(live) if "run  echo first" in line)
        assert live[at + 1 : at + 5] == ["8", "9", "10", "[b]assert 1 == 2"]
        assert "old_text not found in login.py. No changes were written." in live
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "│   first " in screen_text(app))
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        stored = [line[:60].strip("│ ") for line in screen_text(app).splitlines()]
        assert live[at : at + 5] == stored[stored.index(live[at]) :][:5]


@pytest.mark.parametrize("text", ["I plan.", ""])
async def test_a_plan_that_failed_has_its_event_and_its_turn(home: Path, provider: Provider, text: str) -> None:
    provider.script = [Reply(text=text, tool=("write_plan", "{}")), Reply(text="It failed.")]
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "go")
        (call,) = (block for block in app.chat.transcript.blocks if block.kind == "tool")
        reply = next(entry for entry in app.controller.state.transcript if entry.seq == call.seq)
        assert (reply.turn, call.turn) == (1, 1)


@pytest.mark.parametrize(
    ("tool", "result", "shown"),
    [
        ("run_command", "(no output)\n[exit code: 1]", ""),
        ("run_command", f"[stdout]\n{LINES}\n\n[exit code: 1]\n[took 2.0 s]", "26\n27\n28\n29"),
        ("run_command", "[stderr]\nslow\n[Command timed out after 5s]", "slow"),
        ("edit_file", "No such text.\n\nFix the errors and try again.", "No such text."),
        ("edit_file", LINES, "0\n1\n2\n3"),
    ],
)
def test_the_part_that_says_why(tool: str, result: str, shown: str) -> None:
    assert failed_part(tool, result) == shown and shown.count("\n") < FAILED_LINES
