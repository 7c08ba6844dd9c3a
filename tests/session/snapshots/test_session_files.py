"""Files come back in a session: with the conversation or without it, after undo, and in a fork."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.permissions.verdict import RUN, Verdict
from co_tui.events import CompactionUndone, FilesChanged, FilesRestored, Rewind
from co_tui.events.stored_messages import note_source, pieces
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.snapshots import session_snapshots
from co_tui.session.snapshots.file_restores import NOT_KEPT, Consent, RestoreRefused
from co_tui.store.housekeeping import CleanUp, clean_up, move_to_trash
from tests.support.approving import log_of
from tests.support.environments import facts
from tests.support.kept_folders import content_of
from tests.support.long_run import only_in_a_long_run
from tests.support.working import Working, repository, working_in

FIX = ("edit_file", {"path": "login.py", "old_text": "helo", "new_text": "hello"})
LOOK = ("run_command", {"command": "git status --short"})
MAKE = ("run_command", {"command": "mkdir -p out && printf x > out/made && rm check.py"})
NEW = ("write_file", {"path": "new.py", "content": "a = 1\n"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


async def started(folder: Path, home: Path, *steps: Any, **changes: Any) -> Session:
    made = working_in(folder, home, Working(*steps), Unattended(yes=True))
    for name, value in changes.items():
        setattr(made, name, value)
    return await Session.start(made, "scripted")


async def test_a_rewind_with_files_goes_back_in_both_and_undo_returns(folder: Path, home: Path) -> None:
    session = await started(folder, home, FIX, LOOK)
    repository_before = content_of(folder / ".git")
    await session.submit("mend it")
    first, said = content_of(folder), list(session.state.history)
    more: Any = session._runtime.model_handle
    more.steps[:] = [MAKE, NEW]
    await session.submit("make it")
    second, both = content_of(folder), list(session.state.history)

    rewound = await session.edits.rewind_files(2, Consent(), conversation=True)

    assert rewound.prompt == "make it" and "3 files restored." in rewound.restored.sentence()
    assert content_of(folder) == first and list(session.state.history) == said
    assert content_of(folder / ".git") == repository_before

    restore = session.edits.undoable_restore()
    assert restore is not None
    await session.edits.undo_restore(restore, Consent())
    assert content_of(folder) == second and list(session.state.history) == both

    log = log_of(session._environment, session)
    changed = facts(log, FilesChanged)
    assert [(fact.turn, fact.paths) for fact in changed] == [
        (1, ("login.py",)),
        (2, ("check.py", "out/made")),
        (2, ("new.py",)),
    ]
    back, again = facts(log, FilesRestored)
    assert back.paths == ("check.py", "new.py", "out/made") and back.snapshot == changed[1].snapshot
    assert again.snapshot != back.snapshot
    assert len(facts(log, Rewind)) == len(facts(log, CompactionUndone)) == 1
    await session.close()


async def test_files_alone_leave_the_conversation_and_a_resumed_session_knows_the_way(folder: Path, home: Path) -> None:
    before = content_of(folder)
    session = await started(folder, home, FIX, MAKE)
    await session.submit("mend it")
    said = len(session.state.history)
    await session.close()
    again = await Session.resume(session._environment, session.id)
    await again.edits.rewind_files(1, Consent(), conversation=False)
    assert content_of(folder) == before and len(again.state.history) == said
    changes = await again.edits.restores.changes()
    assert changes.files == []
    await again.close()


async def test_diff_shows_what_the_session_changed_and_nothing_else(folder: Path, home: Path) -> None:
    session = await started(folder, home, FIX, MAKE, NEW)
    (folder / "mine").write_text("by hand\n")
    await session.submit("mend it")
    (folder / "new.py").write_text("a = 1\nb = 2\n")
    found = (await session.edits.restores.changes()).files
    assert [(each.path, each.what, each.added, each.removed) for each in found] == [
        ("check.py", "deleted", 0, 3),
        ("login.py", "changed", 1, 1),
        ("new.py", "new", 2, 0),
        ("out/made", "new", 1, 0),
    ]
    assert "-    return 'helo'\n+    return 'hello'" in found[1].text
    await session.close()


async def test_the_users_own_command_is_covered_and_its_changes_come_back(folder: Path, home: Path) -> None:
    session = await started(folder, home)
    await session.submit("hello")
    before = content_of(folder)
    await session.run_command("rm login.py")
    assert [fact.paths for fact in facts(log_of(session._environment, session), FilesChanged)] == [("login.py",)]
    await session.edits.rewind_files(1, Consent(), conversation=False)
    assert content_of(folder) == before
    await session.close()


async def test_a_fork_has_the_snapshots_of_its_source(folder: Path, home: Path) -> None:
    before = content_of(folder)
    session = await started(folder, home, FIX)
    await session.submit("mend it")
    copy = await session.fork()
    await session.close()
    fork = await Session.resume(session._environment, copy)
    await fork.edits.rewind_files(1, Consent(), conversation=True)
    assert content_of(folder) == before
    await fork.close()


@pytest.mark.parametrize("without", [{"private": True}, {"read_only": True}])
async def test_where_nothing_is_kept_nothing_is_written(folder: Path, home: Path, without: dict[str, bool]) -> None:
    session = await started(folder, home, LOOK, **without)
    await session.submit("look")
    with pytest.raises(RestoreRefused, match=NOT_KEPT):
        await session.edits.rewind_files(1, Consent(), conversation=True)
    assert not session._environment.paths.all_snapshots.exists()
    await session.close()


async def test_a_command_that_only_reads_takes_no_snapshot(folder: Path, home: Path) -> None:
    session = await started(folder, home, LOOK, ("read_file", {"path": "login.py"}))
    await session.submit("look")
    assert not session._environment.paths.all_snapshots.exists()
    await session.close()


MAY_CHANGE = [
    ("write_file", RUN, True),
    ("run_command", RUN, True),
    ("start_command", RUN, True),
    ("mcp__docs__search", RUN, True),
    ("unknown", RUN, True),
    ("run_command", Verdict("run", only_reads=True), False),
    ("read_file", RUN, False),
    ("delegate_task", RUN, False),
    ("recall", RUN, False),
]


async def test_whatever_is_not_known_to_be_harmless_may_change_files(folder: Path, home: Path) -> None:
    session = await started(folder, home)
    for tool, verdict, may in MAY_CHANGE:
        assert session._factory.tools.files.may_change(tool, verdict) is may, tool
    await session.close()


async def test_a_new_session_in_the_folder_completes_what_another_was_restoring(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content_of(folder)
    session = await started(folder, home, FIX, MAKE)
    await session.submit("mend it")

    def killed(*_: Any) -> None:
        raise RuntimeError("as good as a kill")

    with monkeypatch.context() as at_once:
        at_once.setattr(session_snapshots, "carry_out", killed)
        with pytest.raises(RuntimeError):
            await session.edits.rewind_files(1, Consent(), conversation=False)
    assert content_of(folder) != before
    await session.close()
    other = await Session.start(session._environment, "scripted")
    assert other.restore_note == "An interrupted restore is now complete."
    assert content_of(folder) == before
    await other.close()


async def test_a_deleted_session_leaves_no_snapshot_behind(folder: Path, home: Path) -> None:
    session = await started(folder, home, FIX)
    await session.submit("mend it")
    await session.close()
    made = session._environment
    kept = made.paths.snapshots(session.id)
    assert kept.exists()
    move_to_trash(made.store, session.id)
    with made.store.reading() as reading:
        row = reading.session(session.id)
    await asyncio.to_thread(clean_up, made.store, CleanUp(deleted=(row,)))
    assert not kept.exists()


async def test_what_the_model_saw_in_rewound_turns_counts_as_never_seen(folder: Path, home: Path) -> None:
    more = ("write_file", {"path": "login.py", "content": "# TODO\n"})
    session = await started(folder, home, FIX)
    await session.switcher.apply_settings(session.settings.but(after_edit={"*.py": ("grep TODO {file}",)}))
    model: Any = session._runtime.model_handle
    await session.submit("mend it")
    for _ in range(2):
        model.steps[:] = [more]
        await session.submit("note it")
        assert "changed since" not in model.returned[-1] and "\n# TODO" in model.returned[-1], "told as new"
        assert (folder / "login.py").read_text() == "# TODO\n"
        await session.edits.rewind_files(session.state.turn, Consent(), conversation=True)
    restore = session.edits.undoable_restore()
    assert restore is not None
    await session.edits.undo_restore(restore, Consent())
    (folder / "login.py").write_text("by hand\n")
    model.steps[:] = [more]
    await session.submit("once more")
    assert "login.py changed since you last saw it" in model.returned[-1], "with the turn, what it saw is back"
    await session.close()


async def test_the_plan_goes_back_with_the_conversation_and_returns_with_undo(folder: Path, home: Path) -> None:
    def plan(text: str) -> Any:
        return "write_plan", {"items": [{"content": text, "status": "pending"}]}

    session = await started(folder, home, plan("first"))
    model: Any = session._runtime.model_handle
    await session.submit("plan it")
    before = session.state.plan
    model.steps[:] = [plan("second")]
    await session.submit("plan again")
    after = session.state.plan
    await session.edits.rewind(2)
    assert [step["text"] for step in (*before, *after)] == ["first", "second"] and session.state.plan == before
    await session.edits.undo()
    assert session.state.plan == after
    await session.edits.rewind(1)
    assert session.state.plan == ()
    await session.close()


async def test_what_a_slash_command_changes_before_its_prompt_comes_back_with_its_turn(
    folder: Path, home: Path
) -> None:
    session = await started(folder, home, NEW)
    commands = session._environment.paths.slash_commands
    commands.mkdir(parents=True)
    (commands / "make.md").write_text("Made: !`printf x > made` and !`printf y > made`")
    await session.submit("first")
    first = content_of(folder)
    await session.submit("/make")
    second = content_of(folder)
    await session.submit("nothing")

    assert (await session.edits.rewind_files(3, Consent(), conversation=True)).restored.paths == ()
    assert content_of(folder) == second, "the turn before it keeps its files"
    await session.edits.rewind_files(2, Consent(), conversation=True)
    assert content_of(folder) == first
    await session.close()


async def test_what_a_check_after_an_edit_changes_is_the_session_s_own_change(folder: Path, home: Path) -> None:
    before = content_of(folder)
    made = working_in(folder, home, Working(FIX), Unattended(yes=True), after_edit={"*.py": ("cp {file} copy",)})
    session = await Session.start(made, "scripted")
    await session.submit("mend it")
    assert (folder / "copy").exists()
    await session.edits.rewind_files(1, Consent(), conversation=True)
    assert content_of(folder) == before
    await session.close()


COMMIT = ("run_command", {"command": "git add -A && git -c user.name=a -c user.email=a@b commit -q -m 'Greet people'"})


async def test_a_rewind_names_the_commits_that_stay(folder: Path, home: Path) -> None:
    session = await started(folder, home, FIX, COMMIT)
    await session.submit("mend it")
    rewound = await session.edits.rewind_files(1, Consent(), conversation=True)
    (commit,) = rewound.restored.commits
    assert commit.endswith(" Greet people")
    assert f"1 file restored. 1 commit made since then stays: {commit}." in rewound.restored.sentence()
    await session.close()


def _commit_by_hand(folder: Path) -> None:
    earlier = {**os.environ, "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    by_hand = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "By hand")
    subprocess.run(by_hand, cwd=folder, env=earlier, check=True)


@only_in_a_long_run
async def test_commits_by_hand_and_those_that_are_gone_are_not_named(folder: Path, home: Path) -> None:
    undo = ("run_command", {"command": "git reset -q --soft HEAD~1"})
    _commit_by_hand(folder)
    session = await started(folder, home, FIX, COMMIT, undo)
    await session.submit("mend it")
    plan = await session.edits.restores.plan_rewind(1)
    assert plan is not None and plan.commits == ()
    await session.close()


async def test_the_model_learns_which_files_went_back(folder: Path, home: Path) -> None:
    session = await started(folder, home, FIX, NEW)
    await session.submit("mend it")
    await session.edits.rewind_files(1, Consent(), conversation=False)
    await session.close()
    again = await Session.resume(session._environment, session.id)
    await again.submit("and now?")
    await again.submit("once more")
    notes = [entry for entry in again.state.history if note_source(entry.message) == "co-tui"]
    (note,) = [text for entry in notes for _, text, _ in pieces(entry.message)]
    assert "The user restored earlier versions of these files in the working folder: login.py, new.py." in note
    await again.edits.rewind(again.state.turn - 1)
    await again.submit("what about now?")
    assert sum(note_source(entry.message) == "co-tui" for entry in again.state.history) == 1, "it was rewound, too"
    await again.close()


@only_in_a_long_run
async def test_files_that_went_back_with_the_conversation_need_no_note(folder: Path, home: Path) -> None:
    session = await started(folder, home, FIX)
    await session.submit("mend it")
    await session.edits.rewind_files(1, Consent(), conversation=True)
    await session.submit("and now?")
    assert not any(note_source(entry.message) for entry in session.state.history)
    await session.close()


async def test_the_model_learns_that_a_restore_was_undone_and_nothing_of_one_it_never_heard_of(
    folder: Path, home: Path
) -> None:
    session = await started(folder, home, FIX)
    await session.submit("mend it")

    async def restore_and_undo() -> None:
        await session.edits.rewind_files(1, Consent(), conversation=False)
        await undo()

    async def undo() -> None:
        restore = session.edits.undoable_restore()
        assert restore is not None
        await session.edits.undo_restore(restore, Consent())

    def notes() -> list[str]:
        entries = (entry for entry in session.state.history if note_source(entry.message) == "co-tui")
        return [text for entry in entries for _, text, _ in pieces(entry.message)]

    await restore_and_undo()
    await session.submit("and now?")
    assert notes() == []
    assert session.state.files["login.py"].now == "" and "hello" in (folder / "login.py").read_text()
    await session.edits.rewind_files(1, Consent(), conversation=False)
    assert session.state.files["login.py"].now == "as before"
    await session.submit("and now?")
    await undo()
    await session.submit("and now?")
    first, second = notes()
    assert "The user restored earlier versions" in first
    assert "The user undid an earlier restore of these files in the working folder: login.py." in second
    await session.close()
