"""What a restore leaves as it is, and what it says about that."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from co_tui.session.snapshots import session_snapshots
from co_tui.session.snapshots.file_restores import Consent, RestoreRefused
from co_tui.session.snapshots.journal import JOURNAL_FILE
from co_tui.session.snapshots.open_folder import OpenFolder
from tests.support.kept_folders import KeptFolder, git, remove, write


@pytest.fixture
def kept(tmp_path: Path) -> KeptFolder:
    return KeptFolder(tmp_path, path="/nonexistent")


def _replaced(folder: Path) -> None:
    (folder / "a").unlink()
    write("a/b", "tool")(folder)


@pytest.mark.parametrize("consent", [Consent(keep=True), Consent(overwrite=["a/b"])])
@pytest.mark.parametrize("theirs", ["a/c", "a/b"])
async def test_a_file_of_others_in_a_folder_that_replaced_a_file_stays(
    kept: KeptFolder, theirs: str, consent: Consent
) -> None:
    write("a", "first")(kept.folder)
    turn = await kept.turn(_replaced)
    write(theirs, "hand")(kept.folder)
    restored = await kept.rewind(turn, consent)
    assert restored is not None and not restored.failed
    if theirs == "a/b" and not consent.keep:
        assert kept.content["a"][2] == b"first"
    else:
        assert kept.content[theirs][2] == b"hand" and "a" in restored.kept


async def test_a_file_of_others_where_a_folder_was_stays(kept: KeptFolder) -> None:
    write("d/x", "1")(kept.folder)
    write("d/y", "1")(kept.folder)
    turn = await kept.turn(remove("d/x"))
    shutil.rmtree(kept.folder / "d")
    write("d", "hand")(kept.folder)
    restored = await kept.rewind(turn, Consent(overwrite=["d/x"]))
    assert restored is not None and list(restored.kept) == ["d/x"] and kept.content["d"][2] == b"hand"


async def test_what_others_changed_before_the_session_did_is_what_comes_back(kept: KeptFolder) -> None:
    write("b", "1")(kept.folder)
    turn = await kept.turn(write("a"))
    write("b", "hand")(kept.folder)
    await kept.turn(write("b", "tool"))
    await kept.rewind(turn)
    assert kept.content["b"][2] == b"hand" and "a" not in kept.content


async def test_a_folder_that_others_removed_is_made_for_a_file_of_the_session(kept: KeptFolder) -> None:
    write("d/x", "1")(kept.folder)
    turn = await kept.turn(write("d/x", "2"))
    shutil.rmtree(kept.folder / "d")
    await kept.rewind(turn, Consent(overwrite=["d/x"]))
    assert kept.content["d/x"][2] == b"1"


async def test_what_cannot_be_written_is_listed_and_asked_about_the_next_time(
    kept: KeptFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a", "1")(kept.folder)
    write("b", "1")(kept.folder)
    turn = await kept.turn(write("a", "2"), write("b", "2"), write("c", "2"), write("d", "2"))
    original, removed = OpenFolder.write, OpenFolder.remove

    def refuses(opened: OpenFolder, path: str, *given: Any, **more: Any) -> None:
        if path in ("a", "c"):
            raise PermissionError(13, "Permission denied")
        (original if given or more else removed)(opened, path, *given, **more)

    plan = await kept.restores.plan_rewind(turn)
    assert plan is not None
    write("d", "hand")(kept.folder)  # after the plan was made
    with monkeypatch.context() as denied:
        denied.setattr(OpenFolder, "write", refuses)
        denied.setattr(OpenFolder, "remove", refuses)
        restored = await kept.restores.restore(plan, Consent())
    assert (list(restored.failed), restored.done) == (["a", "c", "d"], ["b"])
    assert "1 file restored. Not restored (just changed, or not writable): a, c, d." in restored.sentence()
    plan = await kept.restores.plan_rewind(turn)
    assert plan is not None and plan.by_others == ("d",) and plan.paths == ["a", "c", "d"]


async def test_a_file_put_into_a_folder_that_a_file_would_replace_is_a_failure(kept: KeptFolder) -> None:
    write("a", "first")(kept.folder)
    turn = await kept.turn(_replaced)
    plan = await kept.restores.plan_rewind(turn)
    assert plan is not None
    write("a/c", "hand")(kept.folder)  # after the plan was made
    restored = await kept.restores.restore(plan, Consent())
    assert list(restored.failed) == ["a"] and kept.content["a/c"][2] == b"hand"


async def test_a_restore_that_broke_off_is_completed_and_names_what_changed_since(
    kept: KeptFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        write(name, "1")(kept.folder)
    turn = await kept.turn(write("a", "2"), write("b", "2"), write("c", "2"))
    with monkeypatch.context() as broken, pytest.raises(RestoreRefused, match="Reopen the session"):
        broken.setattr(session_snapshots, "carry_out", lambda *_: Path("/nowhere").stat())
        await kept.rewind(turn)
    write("a", "hand")(kept.folder)
    kept.open()
    assert await kept.restores.recover() == (
        "An interrupted restore is now complete. Changed since then and left as they are: a."
    )
    assert {name: content[2] for name, content in kept.content.items()} == {"a": b"hand", "b": b"1"}
    assert await kept.restores.recover() == ""


async def test_what_two_sessions_change_in_the_same_time_is_asked_about(kept: KeptFolder) -> None:
    turn = await kept.prompt()
    async with kept.files.around():
        write("a", "ours or theirs")(kept.folder)
        write("b", "ours")(kept.folder)
    own = kept.files.kept_in
    other = own.parent.parent / "other" / own.name
    other.mkdir(parents=True)
    lines = (own / JOURNAL_FILE).read_text().replace('"paths": ["a", "b"]', '"paths": ["a"]')
    (other / JOURNAL_FILE).write_text(lines)
    plan = await kept.restores.plan_rewind(turn)
    assert plan is not None and plan.by_others == ("a",)
    shutil.copy(own / JOURNAL_FILE, other / JOURNAL_FILE)  # a fork has the same lines
    plan = await kept.restores.plan_rewind(turn)
    assert plan is not None and plan.by_others == ()


@pytest.mark.parametrize(("in_git", "rules", "covered"), [(False, "", False), (True, "", False), (True, "*.log", True)])
async def test_generated_folders_are_left_out_where_no_rules_say_what_to_ignore(
    kept: KeptFolder, in_git: bool, rules: str, covered: bool
) -> None:
    if in_git:
        git(kept.folder, "init", "-q")
    if rules:
        write(".gitignore", rules)(kept.folder)
    made = ["__pycache__/a.pyc", "node_modules/x/i.js", ".venv/bin/python", "mine/pyvenv.cfg"]
    turn = await kept.turn(*(write(name) for name in (*made, "build/kept")))
    shown = {change.path for change in (await kept.restores.changes()).files}
    assert shown == {"build/kept", *(made if covered else ())}
    await kept.rewind(turn)
    assert not (kept.folder / "build").exists()
    assert all((kept.folder / name).exists() is not covered for name in made)


async def test_restores_of_older_versions_can_be_undone(kept: KeptFolder) -> None:
    write("a", "1")(kept.folder)
    await kept.rewind(await kept.turn(write("a", "2"), write("n")))
    journal = kept.files.kept_in / JOURNAL_FILE
    lines = kept.files.journal.lines
    old = [line._replace(paths=(), was=()) if line.kind == "restore" else line for line in lines]
    journal.unlink()
    kept.open()
    for line in old:
        kept.files.journal.add(line)
    await kept.undo()
    assert kept.content["a"][2] == b"2" and "n" in kept.content
