"""Modes in a session that works with real tools: what runs, what is asked, and what the log says."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from co_tui.events import ApprovalDecided, ModeChange, PlanChanged
from co_tui.session.approvals.modes import ModeRefused, begin_in_mode, switch_mode
from co_tui.session.approvals.questions import PLAN_NOT_ACCEPTED, Approval, Unattended
from co_tui.session.session import Session
from tests.support.approving import YES, Person, left, log_of
from tests.support.environments import facts
from tests.support.kept_folders import KeptFolder
from tests.support.long_run import also_in_a_long_run
from tests.support.sandbox import needs_bwrap
from tests.support.working import Working, repository, working_in

WRITE = ("write_file", {"path": "new/a.txt", "content": "x"})
PLAN = ("present_plan", {"steps": ["read", "mend"], "summary": "why"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def run(command: str) -> tuple[str, dict[str, str]]:
    return "run_command", {"command": command}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def changes(environment, session) -> list[tuple[str, str]]:
    return [(each.from_, each.to) for each in facts(log_of(environment, session), ModeChange)]


async def test_edits_changes_files_and_asks_about_commands(folder: Path, home: Path) -> None:
    protected = ("write_file", {"path": ".claude/x", "content": "y"})
    model, person = Working(WRITE, run("echo y > new/b.txt"), run("make"), protected), Person(YES, YES)
    environment = working_in(folder, home, model, person, mode="edits")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert (folder / "new/a.txt").read_text() == "x" and (folder / "new/b.txt").read_text() == "y\n"
    assert [question.tool for question in person.asked] == ["run_command", "write_file"]
    assert ".claude" in person.asked[1].reason
    assert changes(environment, session) == [("ask", "edits")]
    await left(environment, session)


async def test_plan_refuses_changes_and_ends_in_an_accepted_plan(folder: Path, home: Path) -> None:
    model = Working(run("git status && ls"), WRITE, run("touch x"), PLAN, WRITE)
    person = Person(Approval(approved=True, by="user", mode="edits"))
    environment = working_in(folder, home, model, person, mode="plan")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert [question.is_plan for question in person.asked] == [True]
    assert [text.startswith("Plan mode") for text in model.returned] == [False, True, True, False, False]
    assert "accepted the plan" in model.returned[3] and "`edits`" in model.returned[3]
    assert (folder / "new/a.txt").exists() and not (folder / "x").exists()
    assert changes(environment, session) == [("ask", "plan"), ("plan", "edits")]
    [plan] = facts(log_of(environment, session), PlanChanged)
    assert [step["text"] for step in plan.steps] == ["read", "mend"]
    await left(environment, session)


async def test_a_plan_is_sent_back_with_words_or_left(folder: Path, home: Path) -> None:
    back, leave = Approval(approved=False, by="user", reason="too long"), Approval(approved=False, by="user")
    model = Working(PLAN, PLAN)
    environment = working_in(folder, home, model, Person(back, leave), mode="plan")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert model.returned[0] == "The user sent the plan back: too long"
    assert model.returned[1].startswith("The user did not accept the plan.")
    assert session.state.mode == "plan" and session.state.plan == ()
    await left(environment, session)


async def test_the_plan_tool_is_there_in_plan_mode_only(folder: Path, home: Path) -> None:
    model = Working()
    environment = working_in(folder, home, model, Person())
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert "present_plan" not in model.offered and "Plan mode" not in model.instructions
    await session.switcher.switch_mode("plan")
    await session.submit("go")
    assert "present_plan" in model.offered and "Plan mode" in model.instructions
    await left(environment, session)


async def test_without_a_person_no_one_accepts_a_plan(folder: Path, home: Path) -> None:
    model = Working(PLAN)
    environment = working_in(folder, home, model, Unattended(), mode="plan")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert model.returned == [PLAN_NOT_ACCEPTED]
    await left(environment, session)


async def test_a_resumed_session_starts_in_ask(folder: Path, home: Path) -> None:
    environment = working_in(folder, home, Working(), Person())
    session = await Session.start(environment, "scripted")
    await session.switcher.switch_mode("edits")
    await session.submit("go")
    await left(environment, session)
    environment = working_in(folder, home, Working(), Person())
    resumed = await Session.resume(environment, session.id)
    assert resumed.state.mode == "ask"
    assert changes(environment, resumed) == [("ask", "edits"), ("edits", "ask")]
    await left(environment, resumed)


@needs_bwrap
async def test_auto_runs_commands_in_the_sandbox(folder: Path, home: Path) -> None:
    line = 'echo "cache: $XDG_CACHE_HOME"; echo "touch: Read-only file system"; exit 1'
    model = Working(run("touch inside"), run(line), run(line), run("rm inside"), WRITE)
    person = Person(YES, Approval(approved=False, by="user"))
    environment = working_in(folder, home, model, person, mode="auto")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    outer, dangerous = person.asked
    assert "The sandbox seems to have blocked it: it writes outside this folder" in outer.reason and outer.rules == ()
    assert outer.where.endswith("not sandboxed") and dangerous.where.endswith(" sandboxed")
    assert dangerous.danger == "deletes files"
    assert "cache: /tmp/cache" in model.returned[1] and "[The sandbox blocked this: it writes" in model.returned[1]
    assert "cache: \n" in model.returned[2] and "The sandbox blocked" not in model.returned[2], "it ran outside"
    assert (folder / "inside").exists() and (folder / "new/a.txt").exists()
    assert len(facts(log_of(environment, session), ApprovalDecided)) == 2
    await left(environment, session)


@needs_bwrap
async def test_auto_asks_about_a_command_that_missed_a_file_of_the_hidden_home(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    line = "cat ~/notes.txt"
    made = TemporaryDirectory(dir="/var/tmp")  # not below /tmp, of which the sandbox has its own
    request.addfinalizer(made.cleanup)
    user_home = Path(made.name)
    monkeypatch.setenv("HOME", made.name)
    (user_home / "notes.txt").write_text("to be read")
    model, person = Working(run(line), run(line)), Person(YES)
    environment = working_in(folder, home, model, person, mode="auto")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert "[The sandbox blocked this: it uses a file of the home folder" in model.returned[0]
    assert "Run the same command again to ask the user.]" in model.returned[0]
    assert len(person.asked) == 1 and person.asked[0].where.endswith("not sandboxed")
    assert "to be read" in model.returned[1]
    await left(environment, session)


@needs_bwrap
async def test_what_is_dangerous_and_refused_by_the_sandbox_can_be_allowed_outside(folder: Path, home: Path) -> None:
    line = "rm -r nowhere; echo could not resolve host; exit 1"
    model, person = Working(run(line), run(line)), Person(YES, YES)
    environment = working_in(folder, home, model, person, mode="auto")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert [question.where.rpartition(" · ")[2] for question in person.asked] == ["sandboxed", "not sandboxed"]
    assert [question.danger for question in person.asked] == ["deletes files"] * 2
    await left(environment, session)


@needs_bwrap
async def test_auto_keeps_the_network_out(folder: Path, home: Path) -> None:
    line = "python3 -c \"import socket; socket.create_connection(('127.0.0.1', 9))\""
    model = Working(run(line), run("getent hosts example.invalid || curl http://example.invalid"))
    environment = working_in(folder, home, model, Person(), mode="auto")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert "blocked" in model.returned[0].lower() or "unreachable" in model.returned[0].lower()
    await left(environment, session)


async def test_auto_is_refused_where_no_sandbox_starts(folder: Path, home: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    environment = working_in(folder, home, Working(), Person(), mode="auto")
    session = await Session.start(environment, "scripted")
    assert session.state.mode == "ask" and "bwrap is not installed" in session.mode_refused
    with pytest.raises(ModeRefused, match="sandbox"):
        await session.switcher.switch_mode("auto")
    await left(environment, session)


async def test_what_only_looks_is_run_with_git_guarded(folder: Path, home: Path) -> None:
    """A monitor that the repository names is overridden, although the check allows the key."""
    marker = folder.parent / "ran"
    (folder / "monitor").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (folder / "monitor").chmod(0o755)
    git(folder, "config", "core.fsmonitor", f"{folder}/monitor")
    git(folder, "status")
    assert marker.exists(), "git alone runs it"
    marker.unlink()
    model = Working(run("git status -s"), run("git diff | head -3"))
    environment = working_in(folder, home, model, Person())
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert not marker.exists() and "A  login.py" in model.returned[0]
    await left(environment, session)


@needs_bwrap
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_protected_name_that_a_command_creates_is_asked_about(folder: Path, home: Path, keeps: bool) -> None:
    person = Person(Approval(approved=keeps, by="user"))
    model = Working(run("mkdir -p .claude && echo '{}' > .claude/settings.json"))
    environment = working_in(folder, home, model, person, mode="auto")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    [question] = person.asked
    assert question.arguments == {"path": ".claude"} and "+{}" in question.what and "sandbox" in question.reason
    assert (folder / ".claude/settings.json").exists() is keeps
    assert ("It was moved to" in model.returned[0]) is not keeps
    await left(environment, session)


@pytest.mark.parametrize("above", also_in_a_long_run([False], [True]))
async def test_neither_edits_nor_auto_in_the_home_folder(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, above: bool
) -> None:
    monkeypatch.setenv("HOME", str(folder / "me" if above else folder))
    (folder / "me").mkdir()
    model, person = Working(PLAN, WRITE), Person(Approval(approved=True, by="user", mode="edits"), YES)
    environment = working_in(folder, home, model, person, mode="edits")
    session = await Session.start(environment, "scripted")
    assert session.state.mode == "ask" and "not offered in the home folder" in session.mode_refused
    for mode in ("edits", "auto"):
        with pytest.raises(ModeRefused, match="home folder"):
            await session.switcher.switch_mode(mode)
    await session.switcher.switch_mode("plan")
    await session.submit("go")
    plan, write = person.asked
    assert plan.modes == ("ask", "plan") and write.tool == "write_file", "an accepted plan goes on in mode ask"
    assert changes(environment, session) == [("ask", "plan"), ("plan", "ask")]
    await left(environment, session)


async def test_a_session_whose_mode_is_refused_on_return_continues_in_ask(tmp_path: Path) -> None:
    recorder = KeptFolder(tmp_path).recorder
    await switch_mode(recorder, "edits", at_home=False)
    assert "home folder" in await begin_in_mode(recorder, "edits", at_home=True)
    assert recorder.state.mode == "ask"


async def test_a_folder_below_the_home_folder_has_all_modes(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    environment = working_in(folder, home, Working(), Person(), mode="edits")
    session = await Session.start(environment, "scripted")
    assert session.state.mode == "edits" and session.mode_refused == ""
    await left(environment, session)


@needs_bwrap
async def test_the_sandbox_leaves_nothing_in_the_home_folder(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    (folder / ".bashrc").write_text("true\n")
    before = names_in(folder)
    line = "mkdir -p .ssh .local/bin; for x in .bashrc .ssh/authorized_keys .local/bin/ls; do echo evil >> $x; done"
    model, person = Working(run("true"), run(line)), Person(YES, *[Approval(approved=False, by="user")] * 3)
    environment = working_in(folder, home, model, person, command_sandbox="bwrap")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await left(environment, session)
    assert (folder / ".bashrc").read_text() == "true\n"
    assert names_in(folder) == sorted([*before, ".ssh", ".local"])
    assert names_in(folder / ".ssh") == names_in(folder / ".local/bin") == []
