"""How each call ended, what it read and what it wrote are in the log, as the machine saw it (E14)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from co_tui.context.journal.work_state import CHANGED_LATER, LAST_GOOD
from co_tui.events import CallOutcome, Event, FilesChanged, Message
from co_tui.session.approvals.questions import Approval, Unattended
from co_tui.session.call_facts import CallOutcomes
from co_tui.session.session import Session
from co_tui.session.snapshots.entries import FileEntry
from co_tui.session.snapshots.line_counts import MOST_COUNTED_BYTES, LineCount, line_counts
from co_tui.session.state.derive import replay
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from tests.support.approving import Person, log_of
from tests.support.environments import facts
from tests.support.hook_scripts import hook, specific, worked
from tests.support.stores import replayed, stored_events
from tests.support.waiting import until
from tests.support.working import Working, working_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    place.mkdir()
    (place / "a.py").write_text("one = 1\ntwo = 2\n")
    return place


def run(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command, **more}


async def outcomes_of(folder: Path, home: Path, *steps: Any, person: Unattended | None = None, **settings: Any) -> Any:
    """The outcomes of the calls of one turn."""
    log, _ = await worked(folder, home, Working(*steps), person or Unattended(yes=True), **settings)
    return facts(log, CallOutcome)


async def test_a_command_is_recorded_with_its_exit_code_and_what_it_changed(folder: Path, home: Path) -> None:
    made = run("printf 'three = 3\\n' >> a.py; printf 'x\\n' > new.py; exit 3")
    first, second, third = await outcomes_of(folder, home, made, run("rm new.py; printf 'one = 1\\ntwo = 2\\n' > a.py"),
                                             run("cat a.py || true"))  # fmt: skip
    assert (first.exit_code, first.ended, first.is_complete) == (3, "failed", True)
    assert first.written == (
        {"path": "a.py", "added": 1, "removed": 0},
        {"path": "new.py", "added": 1, "removed": 0, "now": "new"},
    )
    assert (second.exit_code, second.ended) == (0, "done")
    assert second.written == (
        {"path": "a.py", "added": 0, "removed": 1, "now": "as before"},
        {"path": "new.py", "added": 0, "removed": 1, "now": "as before"},
    )
    assert (third.exit_code, third.written, third.is_complete) == (0, (), True)


async def test_file_tools_are_recorded_with_the_lines_they_showed_and_changed(folder: Path, home: Path) -> None:
    (folder / "empty").write_text("")
    read, part, none, missing, edited, wrote, refused = await outcomes_of(
        folder,
        home,
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": f"{folder}/a.py", "offset": 1, "limit": 1}),
        ("read_file", {"path": "empty"}),
        ("read_file", {"path": "no.py"}),
        ("edit_file", {"path": "a.py", "old_text": "two = 2\n", "new_text": "two = 3\nfour = 4\n"}),
        ("write_file", {"path": "b.py", "content": "x\n"}),
        ("edit_file", {"path": "a.py", "old_text": "not there", "new_text": "x"}),
    )
    assert read.read == ({"path": "a.py", "first": 1, "last": 2},) and read.is_complete
    assert part.read == ({"path": "a.py", "first": 2, "last": 2},)
    assert none.read == ({"path": "empty"},) and missing.read == ()
    assert edited.written == ({"path": "a.py", "added": 2, "removed": 1},)
    assert wrote.written == ({"path": "b.py", "added": 1, "removed": 0, "now": "new"},)
    assert (refused.ended, refused.written, refused.is_complete) == ("failed", (), True)


async def state_of_work(session: Session) -> str:
    """Where the work stands once all messages have left the request."""
    history = session._runtime.history
    sources = await history.sources_without([entry.ref for entry in history.entries])
    return sources.work.state_text(20_000, sources.gone, sources.files)


async def test_what_file_tools_do_to_ignored_files_is_recorded_and_doubted_after_a_command(
    folder: Path, home: Path
) -> None:
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("local.cfg\nmade.cfg\nbuilt/\n")
    (folder / "local.cfg").write_text("server = alpha\nretries = 5\n")
    changed = {"path": "./local.cfg", "old_text": "server = alpha\n", "new_text": "server = omega\nport = 8080\n"}
    model = Working(
        ("edit_file", changed),
        ("write_file", {"path": f"{folder}/made.cfg", "content": "first_line = 1\nsecond_line = 2\n"}),
        ("write_file", {"path": "built/out.cfg", "content": "third_line = 3\n"}),
        ("edit_file", {"path": "made.cfg", "old_text": "first_line = 1\n", "new_text": "first_line = 7\n"}),
        ("write_file", {"path": "a.py", "content": "covered_line = 1\n"}),
    )
    environment = working_in(folder, home, model, Unattended(yes=True))
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    local, made, built, again, covered = facts(log_of(environment, session), CallOutcome)
    assert local.written == ({"path": "local.cfg", "added": 2, "removed": 1, "is_covered": False},)
    assert made.written == ({"path": "made.cfg", "added": 2, "removed": 0, "now": "new", "is_covered": False},)
    assert built.written == ({"path": "built/out.cfg", "added": 1, "removed": 0, "now": "new", "is_covered": False},)
    assert again.written == ({"path": "made.cfg", "added": 1, "removed": 1, "now": "new", "is_covered": False},)
    assert covered.written == ({"path": "a.py", "added": 1, "removed": 2},) and covered.is_complete
    before = await state_of_work(session)
    assert "Files changed: a.py, local.cfg\nNew files: made.cfg, built/out.cfg\n" in before
    for head in ("a.py", "local.cfg", "made.cfg", "built/out.cfg"):
        assert f"Changed in {head}:\n" in before
    assert "+port = 8080" in before

    model.steps[:] = [run("cat a.py")]
    await session.submit("look")
    assert "Changed in local.cfg:\n" in await state_of_work(session), "it only reads"
    model.steps[:] = [run("rm made.cfg; git checkout local.cfg; true")]
    await session.submit("clean")
    *_, ran = facts(log_of(environment, session), CallOutcome)
    assert (ran.is_complete, ran.doubt, ran.written) == (True, "uncovered", ())
    after = await state_of_work(session)
    assert "made.cfg (perhaps)" in after and "local.cfg (perhaps)" in after and "New files" not in after
    assert f"Changed in made.cfg{CHANGED_LATER}:\n" in after and f"Changed in local.cfg{CHANGED_LATER}:\n" in after
    assert "Changed in a.py:\n" in after, "snapshots show that it is as it was"
    await session.close()
    environment.store.close()
    assert replayed(home, session.id) == session.state


async def test_while_a_background_command_runs_any_file_is_in_doubt(folder: Path, home: Path, tmp_path: Path) -> None:
    begins, ended = tmp_path / "begins", tmp_path / "ended"
    script = f"until [ -e {begins} ]; do sleep 0.02; done\nprintf 'two = 2\\n' > a.py\nrm b.py\ntouch {ended}\nexit 3\n"
    (folder / "check.sh").write_text(f"#!/bin/sh\n{script}")
    (folder / "check.sh").chmod(0o755)
    model = Working(
        ("edit_file", {"path": "a.py", "old_text": "one = 1\n", "new_text": "one = 7\nadded_line = True\n"}),
        ("start_command", {"command": "./check.sh"}),
        ("write_file", {"path": "b.py", "content": "new_line = 1\n"}),
        ("read_file", {"path": "b.py"}),
    )
    environment = working_in(folder, home, model, Unattended(yes=True), command_sandbox="off")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await session.run_command("true")
    outcomes = facts(log_of(environment, session), CallOutcome)
    assert [(each.is_complete, each.doubt) for each in outcomes] == [(True, ""), *[(False, "all")] * 4]
    begins.touch()
    await until(ended.exists)
    state = await state_of_work(session)
    assert "Files changed: b.py (perhaps), a.py (perhaps)\n" in state and "New files" not in state
    assert f"Changed in b.py{CHANGED_LATER}:\n" in state and f"Changed in a.py{CHANGED_LATER}:\n" in state
    assert LAST_GOOD not in state, "it has not ended yet"

    await until(lambda: not session.commands.in_background().runs)
    model.steps[:] = [("write_file", {"path": "c.py", "content": "later_line = 1\n"})]
    await session.submit("more")
    *_, last = facts(log_of(environment, session), CallOutcome)
    assert last.is_complete and [each["path"] for each in last.written] == ["c.py"]
    state = await state_of_work(session)
    assert "New files: c.py\n" in state and "Changed in c.py:\n" in state
    assert f"Changed in a.py{CHANGED_LATER}:\n" in state
    await session.close()
    environment.store.close()
    assert replayed(home, session.id) == session.state


async def test_a_background_command_that_ended_during_a_call_leaves_a_doubt(folder: Path, home: Path) -> None:
    quick = ("start_command", {"command": "true"})
    first, edited = await outcomes_of(folder, home, quick, ("write_file", {"path": "b.py", "content": "x\n"}))
    assert not first.is_complete and first.doubt == "all" and edited.written


async def test_without_snapshots_only_what_a_file_tool_reports_is_recorded(folder: Path, home: Path) -> None:
    model = Working(
        ("edit_file", {"path": "a.py", "old_text": "two", "new_text": "2 * one"}),
        ("write_file", {"path": "b.py", "content": "x\n"}),
        run("printf x > c.py"),
        ("read_file", {"path": "a.py"}),
    )
    environment = working_in(folder, home, model, Unattended(yes=True))
    environment.private = True
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    edited, wrote, ran, read = facts(log_of(environment, session), CallOutcome)
    await session.close()
    assert edited.written == ({"path": "a.py", "added": 1, "removed": 1},) and not edited.is_complete
    assert wrote.written == ({"path": "b.py", "added": 1, "removed": 0, "now": "new"},)
    assert (ran.exit_code, ran.written, ran.is_complete) == (0, (), False)
    assert read.is_complete
    assert {path: each.now for path, each in session.state.files.items()} == {"a.py": "", "b.py": "new"}


async def test_refused_stopped_late_and_replaced_calls_are_recorded_as_that(folder: Path, home: Path) -> None:
    late = run("printf 'late\\n'; sleep 60", timeout_seconds=0.2)
    (timed_out,) = await outcomes_of(folder, home, late)
    assert (timed_out.ended, timed_out.exit_code) == ("timed out", None)
    rules = (RuleInForce("deny", parse_rule("Bash(touch made)")),)
    (refused,) = await outcomes_of(folder, home / "2", run("touch made"), permissions=rules)
    assert (refused.ended, refused.written, refused.exit_code) == ("refused", (), None)
    instead = specific(permissionDecision="allow", updatedInput={"command": "printf y > other; exit 4"})
    hooks = {"preToolUse": hook(folder, instead, "Bash")}
    (replaced,) = await outcomes_of(folder, home / "3", run("make deploy"), hooks=hooks)
    assert (replaced.ended, replaced.exit_code) == ("replaced by a hook", 4)
    assert [each["path"] for each in replaced.written if each["path"] == "other"] == ["other"]


async def test_a_call_that_the_user_stops_is_recorded_as_stopped(folder: Path, home: Path) -> None:
    environment = working_in(folder, home, Working(run("touch begun; sleep 60")), Unattended(yes=True))
    session = await Session.start(environment, "scripted")
    going = asyncio.create_task(session.submit("go"))
    await until(lambda: (folder / "begun").exists())
    session.interrupt()
    await going
    (stopped,) = facts(log_of(environment, session), CallOutcome)
    await session.close()
    assert (stopped.ended, stopped.exit_code) == ("stopped", None)
    assert [each["path"] for each in stopped.written] == ["begun"]


async def test_what_a_delegate_wrote_counts_for_its_own_call_and_for_the_one_that_asked(
    folder: Path, home: Path
) -> None:
    delegate = ("delegate_task", {"agent_name": "self", "task": "Do the part"})
    wrote, edited = ("write_file", {"path": "b.py", "content": "x\n"}), run("printf 'y\\n' >> b.py; false")
    first, second, asked = await outcomes_of(folder, home, delegate, wrote, edited)
    assert (first.agent, second.agent, asked.agent) == ("self 1", "self 1", "")
    assert (second.exit_code, asked.exit_code, asked.ended) == (1, None, "done")
    assert asked.written == ({"path": "b.py", "added": 2, "removed": 0, "now": "new"},) and asked.is_complete


async def test_the_users_own_command_is_recorded_right_before_its_message(folder: Path, home: Path) -> None:
    environment = working_in(folder, home, Working(), Unattended(yes=True))
    session = await Session.start(environment, "scripted")
    await session.run_command("printf 'x\\n' > made; exit 7")
    await session.run_command("rm made")
    events = log_of(environment, session)
    await session.close()
    first, second = facts(events, CallOutcome)
    assert (first.call_id, first.exit_code, first.ended) == ("", 7, "failed")
    assert first.written == ({"path": "made", "added": 1, "removed": 0, "now": "new"},)
    assert second.written == ({"path": "made", "added": 0, "removed": 1, "now": "as before"},)
    kinds = [type(event.fact) for event in events if isinstance(event.fact, CallOutcome | FilesChanged | Message)]
    assert kinds == [FilesChanged, CallOutcome, Message] * 2
    assert [entry.outcomes[0].fact for entry in session.state.history] == [first, second]
    environment.store.close()
    assert replayed(home, session.id) == session.state


async def test_a_log_without_outcomes_replays_and_one_with_odd_ones_too(folder: Path, home: Path) -> None:
    environment = working_in(folder, home, Working(run("printf x > made")), Unattended(yes=True))
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await session.close()
    environment.store.close()
    events = stored_events(home, session.id)
    assert replay(events) == session.state
    old = [event for event in events if not isinstance(event.fact, CallOutcome)]
    assert replay(old).history == replay(old).history and not any(each.outcomes for each in replay(old).history)
    odd = CallOutcome(call_id="c", ended="done", written=({"path": 3}, {}, {"path": "x", "now": 7}))
    state = replay([*events, Event(session_id=session.id, seq=99, timestamp="", fact=odd)])
    assert list(state.files) == ["made", "x"] and state.files["x"].now == ""


def test_results_of_calls_that_no_one_saw_are_recorded_by_their_own_outcome() -> None:
    parts = [
        ToolReturnPart("look", "Operation cancelled.\n[exit code: 2]", tool_call_id="1"),
        ToolReturnPart("look", "no", tool_call_id="2", outcome="denied"),
        ToolReturnPart("look", "", tool_call_id="3", outcome="interrupted"),
        ToolReturnPart("look", "wrong input", tool_call_id="4", outcome="retried"),
    ]
    found = CallOutcomes().take("", ModelRequest(parts=parts), replay(()))
    assert [(each.call_id, each.ended, each.exit_code) for each in found] == [
        ("1", "done", None), ("2", "refused", None), ("3", "stopped", None), ("4", "failed", None),
    ]  # fmt: skip
    assert [each.is_complete for each in found] == [False, True, True, True] and not any(each.written for each in found)


def test_lines_are_counted_for_text_alone_and_not_without_end() -> None:
    texts = {"1": b"a\nb\nb\n", "2": b"b\nc\n", "bin": b"\0\1", "big": b"x\n" * (MOST_COUNTED_BYTES // 2)}
    entries = {oid: FileEntry(0o100644, oid) for oid in texts}
    changed = {
        "both": (entries["1"], entries["2"]), "new": (None, entries["2"]), "gone": (entries["1"], None),
        "binary": (entries["1"], entries["bin"]), "folder": (FileEntry(0o040000), None),
        "big": (None, entries["big"]), "after": (None, entries["1"]),
    }  # fmt: skip
    counted = line_counts(changed, lambda wanted: iter([texts[each.oid] for each in wanted]))
    assert counted == {"both": LineCount(1, 2), "new": LineCount(2, 0), "gone": LineCount(0, 3), "folder": LineCount()}


async def test_calls_of_a_person_who_says_no_are_refused(folder: Path, home: Path) -> None:
    (refused,) = await outcomes_of(folder, home, run("touch made"), person=Person(Approval(approved=False, by="user")))
    assert refused.ended == "refused" and not (folder / "made").exists()
