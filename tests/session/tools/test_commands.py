"""Commands that misbehave: each ends, is bounded, and leaves nothing behind."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.tool_names import CHANGING_TOOLS, COMMAND_TOOLS, FREE_TOOLS
from co_tui.inert import inert
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import left
from tests.support.long_run import LONG_RUN, only_in_a_long_run
from tests.support.sandbox import KINDS
from tests.support.waiting import PATIENCE_S, until
from tests.support.working import Working, repository, working_in

LET = Unattended(yes=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


async def result_of(folder: Path, home: Path, command: str, **more: Any) -> str:
    """What the model is told of a command."""
    limit, kind = more.pop("command_timeout_s", 20.0), more.pop("kind", "off")
    model = Working(("run_command", {"command": command, **more}))
    environment = working_in(folder, home, model, LET, command_timeout_s=limit, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    await left(environment, session)
    return model.returned[-1]


def runs(argument: str) -> bool:
    """Whether a process has this among its arguments; the number that it has in its sandbox says nothing outside."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if argument.encode() in file.read_bytes().split(b"\0"):
                return True
    return False


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.parametrize("kind", KINDS if LONG_RUN else KINDS[:1])
async def test_one_that_never_ends_is_stopped_at_its_time_limit(folder: Path, home: Path, kind: str) -> None:
    line = f"echo begun; tail -f {folder}/login.py"
    stopped = result_of(folder, home, line, command_timeout_s=3, timeout_seconds=10_000, kind=kind)
    told = await asyncio.wait_for(stopped, PATIENCE_S)
    assert "begun" in told and "timed out after 3s" in told
    assert not runs(f"{folder}/login.py")


@only_in_a_long_run
@pytest.mark.parametrize("kind", KINDS if LONG_RUN else KINDS[:1])
async def test_one_that_prints_12_megabytes_is_bounded(folder: Path, home: Path, kind: str) -> None:
    told = await result_of(folder, home, "echo begun; head -c 12000000 /dev/zero | tr '\\0' x; echo ended", kind=kind)
    assert len(told) <= 51_000 and "begun" in told and "ended" in told and "12,000,012 bytes" in told
    told = await result_of(folder, home, "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end", kind=kind)
    assert len(told) <= 51_000 and "the end" in told


@pytest.mark.parametrize("kind", KINDS if LONG_RUN else KINDS[:1])
async def test_what_is_no_text_is_kept_and_shown_inert(folder: Path, home: Path, kind: str) -> None:
    told = await result_of(folder, home, r"printf '\033[2J\033]0;owned\007\377\000\r\n'; echo after", kind=kind)
    assert "after" in told and "\x1b[2J" in told, "the model sees what there was"
    assert "\x1b" not in inert(told)


@pytest.mark.parametrize("kind", KINDS if LONG_RUN else KINDS[1:])
async def test_one_that_wants_a_terminal_gets_none(folder: Path, home: Path, kind: str) -> None:
    asks = (
        "test -t 0 || echo none; cat; (: < /dev/tty) 2>&1 || echo no tty; echo $TERM; python3 -c 'input()' || echo EOF"
    )
    told = await result_of(folder, home, asks, kind=kind)
    assert "none" in told and "no tty" in told and "dumb" in told and "EOF" in told


async def test_no_key_is_in_its_environment(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret")
    monkeypatch.setenv("MY_TOKEN", "hidden-hidden")
    told = await result_of(folder, home, "env")
    assert "PATH=" in told and "secret" not in told and "hidden" not in told


async def test_stopping_the_turn_stops_the_command(folder: Path, home: Path) -> None:
    model = Working(("run_command", {"command": "echo $$ > pid; exec sleep 600"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    file = folder / "pid"
    await until(lambda: file.exists() and file.read_text().strip())
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    await until(lambda: is_gone(int(file.read_text())))
    await left(environment, session)


async def test_what_runs_in_the_background_ends_with_the_session(folder: Path, home: Path) -> None:
    model = Working(("start_command", {"command": "echo $$ > pid; echo serving; exec sleep 600"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    file = folder / "pid"
    await until(lambda: file.exists() and file.read_text().strip())
    command_id = model.returned[-1].rpartition("ID: ")[2].strip()
    model.steps = [("check_command", {"command_id": command_id})]
    await session.submit("how is it going?")
    assert "serving" in model.returned[-1] and "[status: running]" in model.returned[-1]
    os.kill(int(file.read_text()), 0)
    await left(environment, session)
    await until(lambda: is_gone(int(file.read_text())))


async def test_a_child_that_stays_behind_does_not_hold_the_turn(folder: Path, home: Path) -> None:
    told = await asyncio.wait_for(result_of(folder, home, "sleep 600 & echo $! > child; echo on"), PATIENCE_S)
    assert "on" in told
    await until(lambda: is_gone(int((folder / "child").read_text())))  # it ends with the session


async def test_every_tool_there_is_has_its_rule(folder: Path, home: Path) -> None:
    skill = folder / ".agents" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: How to greet\n---\nSay it in French.\n")
    (folder / "AGENTS.md").write_text("Use tabs.")
    model = Working(("load_capability", {"id": "greet"}))
    environment = working_in(folder, home, model, LET)
    environment.paths.agents.mkdir(parents=True)
    (environment.paths.agents / "writer.md").write_text("---\nname: writer\n---\nYou write.\n")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    known = [
        FREE_TOOLS,
        COMMAND_TOOLS,
        CHANGING_TOOLS,
        {"request_compaction", "recall", "read_artifact"},
        {"web_fetch"},
    ]
    assert len(model.offered) == sum(len(each) for each in known) and set(model.offered) == frozenset().union(*known)
    assert "Say it in French." in str(model.requests[-1]) and "How to greet" in model.instructions
    assert "Use tabs." in model.instructions and str(folder) in model.instructions
    (folder / "AGENTS.md").write_text("Use spaces.")
    await session.submit("and now?")
    assert "Use spaces." in model.instructions and "Use tabs." not in model.instructions
    await left(environment, session)
