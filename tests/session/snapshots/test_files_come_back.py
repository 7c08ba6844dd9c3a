"""Files come back byte for byte, whatever they are, and nothing else is touched (T7)."""

import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from co_tui.paths import locate
from co_tui.session.snapshots import folder_scan, folder_snapshots, storage
from co_tui.session.snapshots.entries import FOLDER, FileEntry, details_text, read_details
from co_tui.session.snapshots.file_restores import Consent, RestoreRefused
from co_tui.session.snapshots.git_objects import GitObjects
from co_tui.session.snapshots.objects import ChangedFile
from co_tui.session.snapshots.open_folder import OpenFolder
from tests.support.kept_folders import PATH, KeptFolder, content_of, git, remove, write
from tests.support.long_run import LONG_RUN


@pytest.fixture(params=["git", "no git"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> KeptFolder:
    return KeptFolder(tmp_path, path=PATH if request.param == "git" else "/nonexistent")


@pytest.fixture
def kept_without_git(tmp_path: Path) -> KeptFolder:
    return KeptFolder(tmp_path, path="/nonexistent")


def _replaced_by_folder(folder: Path) -> None:
    (folder / "a").unlink()
    write("a/b/c")(folder)


def _replaced_by_file(folder: Path) -> None:
    shutil.rmtree(folder / "d")
    write("d")(folder)


def _relinked(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to("elsewhere")


def _renamed_in_case(folder: Path) -> None:
    (folder / "a").rename(folder / "A")


def _linked_out(folder: Path) -> None:
    shutil.rmtree(folder / "d")
    (folder / "d").symlink_to("/etc")


CHANGES: dict[str, Callable[[Path], object]] = {
    "new": write("new/deep/file"),
    "changed": write("a", "other"),
    "deleted": remove("a"),
    "line ends": write("crlf", "a\nb\n"),
    "odd names": lambda folder: [write(name, "now")(folder) for name in ODD_NAMES],
    "executable": lambda folder: (folder / "a").chmod(0o755),
    "private": lambda folder: (folder / "secret").unlink(),
    "folder for file": _replaced_by_folder,
    "file for folder": _replaced_by_file,
    "link": _relinked,
    "link out of the folder": _linked_out,
    "case": _renamed_in_case,
    "empty folder gone": lambda folder: (folder / "empty").rmdir(),
    "empty folder new": lambda folder: (folder / "d" / "more").mkdir(),
    "everything gone": lambda folder: [shutil.rmtree(folder), folder.mkdir()],
}
ODD_NAMES = ("with\nline", "ünïcode", 'quo"te\\', ".gitmodules", "=x", ".GIT", " a ", os.fsdecode(b"\xff\xfe"))


def _prepare(folder: Path) -> None:
    write("a", "first")(folder)
    write("crlf", "a\r\nb\r\n")(folder)
    write("d/inner", b"\0\1binary")(folder)
    write("secret")(folder)
    (folder / "secret").chmod(0o600)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("../outside")
    (folder / "broken").symlink_to("/nonexistent/\n")
    for name in ODD_NAMES:
        write(name, "before")(folder)


WITH_GIT = ("changed", "executable", "link", "odd names", "empty folder new")
"""In the suite; without git each change is tried."""


@pytest.mark.parametrize("change", CHANGES)
async def test_what_a_turn_changed_comes_back_and_goes_again(kept_without_git: KeptFolder, change: str) -> None:
    await comes_back_and_goes_again(kept_without_git, change)


@pytest.mark.parametrize("change", CHANGES if LONG_RUN else WITH_GIT)
async def test_what_a_turn_changed_comes_back_with_git(tmp_path: Path, change: str) -> None:
    await comes_back_and_goes_again(KeptFolder(tmp_path, path=PATH), change)


async def comes_back_and_goes_again(kept: KeptFolder, change: str) -> None:
    _prepare(kept.folder)
    before = kept.content
    turn = await kept.turn(CHANGES[change])
    after = kept.content
    assert after != before and len(kept.changed) == 1

    restored = await kept.rewind(turn)

    assert restored is not None and not restored.failed
    assert kept.content == before
    assert not (await kept.undo()).failed
    assert kept.content == after


def test_the_repository_knows_links_and_programs(tmp_path: Path) -> None:
    modes = {"a": stat.S_IFREG | 0o644, "run": stat.S_IFREG | 0o755, "link": stat.S_IFLNK | 0o777}
    objects = GitObjects(tmp_path / "git", tmp_path, PATH)
    written = objects.write(
        "", [ChangedFile(name, FileEntry(mode), b"x") for name, mode in modes.items()], lambda: b"{}"
    )
    entries, _ = objects.read(written)
    assert {name: f"{each.mode:o}" for name, each in entries.items()} == {
        "a": "100644",
        "run": "100755",
        "link": "120000",
    }


def test_what_a_tree_cannot_hold_comes_back_from_the_details() -> None:
    modes = {"a": 0o644, "b": 0o644, "secret": 0o600, "run": 0o755}
    entries = {name: FileEntry(stat.S_IFREG | mode) for name, mode in modes.items()} | {"empty": FileEntry(FOLDER)}
    plain = {name: FileEntry(stat.S_IFREG | (0o755 if name == "run" else 0o644)) for name in modes}
    found, _ = read_details(details_text(entries, {}), plain)
    assert found == entries


async def test_each_turn_has_its_own_way_back(kept: KeptFolder) -> None:
    states, turns = [], []
    for n in range(4):
        states.append(kept.content)
        turns.append(await kept.turn(write("a", f"{n}"), write(f"b{n}")))
    for turn, state in reversed(list(zip(turns, states, strict=True))):
        await kept.rewind(turn)
        assert kept.content == state
    assert await kept.rewind(turns[3]) is not None  # forward, to a turn that was rewound
    assert kept.content == states[3]


async def test_events_name_the_files_and_the_snapshot_before(kept: KeptFolder) -> None:
    write("a", "1")(kept.folder)
    turn = await kept.turn(write("a", "2"), write("n/b"), lambda folder: None)
    await kept.rewind(turn)
    one, two, back = kept.facts
    assert (one.TYPE, one.turn, one.paths) == ("files.changed", turn, ("a",))
    assert (two.turn, two.paths) == (turn, ("n/b",))
    assert (back.TYPE, back.turn, back.paths) == ("files.restored", turn, ("a", "n/b"))
    assert back.snapshot == one.snapshot != two.snapshot


async def test_a_turn_that_changed_nothing_has_nothing_to_restore(kept: KeptFolder) -> None:
    await kept.turn(write("a"))
    assert await kept.rewind(await kept.turn()) is None


# Changed by others


async def test_files_changed_by_hand_since_are_named_and_stay_until_the_user_agrees(kept: KeptFolder) -> None:
    write("mine", "1")(kept.folder)
    before = kept.content
    turn = await kept.turn(write("a", "tool"))
    write("mine", "2")(kept.folder)  # by hand, and the session never touches it
    await kept.turn(write("b"))
    write("a", "hand")(kept.folder)
    now = kept.content

    with pytest.raises(RestoreRefused) as refused:
        await kept.rewind(turn)
    assert refused.value.by_others == ("a",)
    assert "Changed by others since then: a. Nothing was restored." in str(refused.value)
    assert kept.content == now

    restored = await kept.rewind(turn, Consent(keep=True))
    assert restored is not None and (list(restored.kept), list(restored.paths)) == (["a"], ["b"])
    assert kept.content == {**before, "a": now["a"], "mine": now["mine"]}
    await kept.undo()
    assert kept.content == now

    await kept.rewind(turn, Consent(overwrite=refused.value.by_others))
    assert kept.content == {**before, "mine": now["mine"]}


async def test_what_was_changed_by_hand_before_the_turn_is_part_of_it(kept: KeptFolder) -> None:
    await kept.turn(write("a", "1"))
    write("a", "by hand")(kept.folder)
    before = kept.content
    turn = await kept.turn(write("a", "2"))
    await kept.rewind(turn)
    assert kept.content == before


async def test_a_kept_file_keeps_its_folder(kept: KeptFolder) -> None:
    turn = await kept.turn(write("new/tool"))
    write("new/hand")(kept.folder)
    await kept.rewind(turn, Consent(keep=True))
    assert set(kept.content) == {"new", "new/hand"}
    assert kept.facts[-1].paths == ("new/tool",)


async def test_undo_names_what_was_changed_since(kept: KeptFolder) -> None:
    turn = await kept.turn(write("a", "1"))
    await kept.rewind(turn)
    await kept.turn(write("a", "2"))
    with pytest.raises(RestoreRefused) as refused:
        await kept.undo()
    assert refused.value.by_others == ("a",)
    await kept.undo(Consent(overwrite=["a"]))
    assert kept.content["a"][2] == b"1"


async def test_calls_at_the_same_time_are_the_sessions_own(kept: KeptFolder) -> None:
    turn = await kept.prompt()
    before = kept.content
    async with kept.files.around():
        write("a")(kept.folder)
        async with kept.files.around():
            write("b")(kept.folder)
        write("c")(kept.folder)
    await kept.rewind(turn)
    assert kept.content == before
    assert kept.changed == [("a", "b"), ("c",)]


# What is not covered


async def test_ignored_files_stay_even_if_the_rules_change(kept: KeptFolder) -> None:
    (kept.folder / ".git").mkdir()
    write(".gitignore", ".env\nbuilt/\n")(kept.folder)
    write(".env", "KEY")(kept.folder)
    before = kept.content

    def change(folder: Path) -> None:
        write(".gitignore", "a\n")(folder)
        write("built/x")(folder)
        write("a", "now ignored")(folder)

    turn = await kept.turn(change)
    write(".env", "KEY 2")(kept.folder)
    restored = await kept.rewind(turn)
    assert restored is not None
    assert kept.content[".gitignore"] == before[".gitignore"]
    assert kept.content[".env"][2] == b"KEY 2" and set(kept.content) == {".env", ".gitignore", "a"}


async def test_a_large_file_is_left_alone_and_named(kept: KeptFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_scan, "MOST_FILE_BYTES", 100)
    write("large", "x" * 101)(kept.folder)
    turn = await kept.turn(write("large", "y" * 101), write("small"))
    restored = await kept.rewind(turn)
    assert restored is not None and list(restored.not_covered) == ["large"]
    assert "Not covered by snapshots: large." in restored.sentence()
    assert set(kept.content) == {"large"} and kept.content["large"][2] == b"y" * 101


@pytest.mark.parametrize(("name", "most"), [("MOST_FILES", 3), ("MOST_BYTES", 3)])
async def test_a_folder_that_is_too_large_is_said_to_be_not_covered_once(
    kept: KeptFolder, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(folder_scan, name, most)
    for n in range(4):
        write(f"f{n}")(kept.folder)
    turn = await kept.turn(write("a"), write("b"))
    (said,) = kept.facts
    assert said.what.startswith("No snapshots of this folder: it") and said.outcome == "/rewind cannot restore files"
    assert await kept.restores.plan_rewind(turn) is None
    kept.open()
    await kept.tool(write("c"))
    assert kept.facts == [said]


async def test_our_own_folders_are_left_out(tmp_path: Path) -> None:
    kept = KeptFolder(tmp_path)
    kept.home = kept.folder / ".co-tui"
    kept.open()
    turn = await kept.turn(write("a"))
    await kept.rewind(turn)
    assert (kept.files.kept_in / "journal.jsonl").exists() and not (kept.folder / "a").exists()


async def test_an_unreadable_folder_loses_nothing(kept: KeptFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write("d/inner")(kept.folder)
    closed = os.scandir

    def scandir(path: str) -> object:
        if str(path).rstrip("/").endswith("folder/d"):
            raise PermissionError(13, "Permission denied", path)
        return closed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    turn = await kept.turn(write("a"))
    monkeypatch.setattr(os, "scandir", closed)
    await kept.rewind(turn, Consent(overwrite=["d/inner"]))
    assert set(kept.content) == {"d", "d/inner"}


# Repositories


async def test_no_repository_is_touched_and_nested_ones_are_covered(kept: KeptFolder) -> None:
    for place in (kept.folder, kept.folder / "nested"):
        place.mkdir(exist_ok=True)
        write("tracked", "1")(place)
        for arguments in (["init", "-q"], ["add", "."]):
            git(place, *arguments)
    kept_by_git = [content_of(place / ".git") for place in (kept.folder, kept.folder / "nested")]
    before = kept.content
    turn = await kept.turn(write("tracked", "2"), write("nested/tracked", "2"), write("nested/new"))
    await kept.rewind(turn)
    assert kept.content == before
    assert [content_of(place / ".git") for place in (kept.folder, kept.folder / "nested")] == kept_by_git


async def test_a_hostile_folder_runs_nothing(tmp_path: Path) -> None:
    kept = KeptFolder(tmp_path)
    ran = tmp_path / "ran"
    program = kept.folder / "git"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    kept._path = f"{kept.folder}:.:{PATH}"
    kept.open()
    write(".gitattributes", "* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\n")(kept.folder)
    write("a", "$Id$ é\r\n\n")(kept.folder)
    git(kept.folder, "init", "-q")
    for key in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "core.hooksPath"):
        git(kept.folder, "config", key, str(program))
    before = kept.content
    turn = await kept.turn(remove("a"))
    await kept.rewind(turn)
    assert kept.content == before
    assert not ran.exists()
    attributes = kept.files.kept_in / "git" / "info" / "attributes"
    assert attributes.read_text() == "* -text -ident -filter -working-tree-encoding\n"


async def test_a_pipe_blocks_nothing_and_stays(kept: KeptFolder) -> None:
    os.mkfifo(kept.folder / "pipe")
    turn = await kept.turn(write("a"))
    await kept.rewind(turn)
    assert set(kept.content) == {"pipe"}


async def test_a_link_put_where_a_folder_was_is_never_followed(kept: KeptFolder, tmp_path: Path) -> None:
    write("d/inner", "1")(kept.folder)
    outside = tmp_path / "outside"
    outside.mkdir()
    write("inner", "theirs")(outside)

    def swap(folder: Path) -> None:
        shutil.rmtree(folder / "d")
        (folder / "d").symlink_to(outside)

    turn = await kept.turn(swap)
    await kept.rewind(turn)
    assert kept.content["d/inner"][2] == b"1" and (outside / "inner").read_bytes() == b"theirs"


def test_a_link_put_where_a_folder_was_while_a_snapshot_is_taken_is_not_read(
    kept: KeptFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("d/e/inner", "ours")(kept.folder)
    write("outside/e/inner", "theirs")(tmp_path)

    def scan_then_swap(*given: Any) -> folder_scan.Scan:
        found = folder_scan.scan_folder(*given)
        shutil.rmtree(kept.folder / "d")
        (kept.folder / "d").symlink_to(tmp_path / "outside")
        return found

    monkeypatch.setattr(folder_snapshots, "scan_folder", scan_then_swap)
    taken = kept.files.snapshots.take()
    assert "d/e/inner" not in taken.snapshot.entries


async def test_everything_kept_is_for_its_owner_only(kept: KeptFolder) -> None:
    await kept.turn(write("a"))
    assert [str(each) for each in kept.home.rglob("*") if each.lstat().st_mode & 0o077] == []


async def test_what_a_call_left_is_not_the_sessions_if_no_snapshot_was_taken_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptFolder(tmp_path)
    turn = await kept.turn(write("a", "1"))
    with monkeypatch.context() as too_large:
        too_large.setattr(folder_scan, "MOST_FILES", 0)
        await kept.tool(write("a", "2"))
    write("a", "by hand")(kept.folder)
    await kept.tool(write("b"))  # not tried again so soon
    assert kept.changed == [("a",)]
    plan = await kept.restores.plan_rewind(turn)
    assert plan is not None and plan.by_others == ("a",) and "b" not in plan.changes


async def test_damaged_snapshots_are_said_to_be_damaged_and_stop_nothing(kept: KeptFolder) -> None:
    turn = await kept.turn(write("a", "1"))
    stored = "git/objects" if (kept.files.kept_in / "git").exists() else "plain"
    for file in (kept.files.kept_in / stored).rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(b"{}")
    kept.open()
    with pytest.raises(RestoreRefused, match="Files cannot be restored"):
        await kept.rewind(turn)
    await kept.tool(write("a", "2"))
    assert kept.content["a"][2] == b"2" and kept.facts[-1].kind == "snapshots"


async def test_a_new_process_reads_only_what_changed(kept: KeptFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_snapshots, "WORTH_KEEPING", 1)
    later = time.time_ns() + 60_000_000_000
    monkeypatch.setattr(folder_snapshots.time, "time_ns", lambda: later)  # all files are old
    for n in range(5):
        write(f"f{n}", "1")(kept.folder)
    turn = await kept.turn(write("f0", "2"))
    kept.open()
    read = []
    original = OpenFolder.content
    monkeypatch.setattr(
        OpenFolder, "content", lambda opened, path, status: [read.append(path), original(opened, path, status)][1]
    )
    write("f1", "by hand")(kept.folder)
    await kept.rewind(turn)
    assert {Path(each).name for each in read} == {"f0", "f1"}, "the one that changed, then the one that was restored"
    found = {name: content for name, (_, _, content) in kept.content.items()}
    assert found == {**{f"f{n}": b"1" for n in range(5)}, "f1": b"by hand"}
    (kept.files.kept_in / "known.jsonl").write_text("[]")
    kept.open()
    await kept.turn(write("f3", "4"))
    assert kept.changed[-1] == ("f3",)


async def test_the_oldest_snapshots_go_when_all_take_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptFolder(tmp_path)
    await kept.turn(write("a", os.urandom(5_000)))
    paths = locate({"CO_TUI_HOME": str(kept.home)})
    (stored,) = storage.stored_snapshots(paths)
    assert stored.session_id == "s" and stored.size_bytes > 5_000
    assert storage.bound_snapshots(paths, ()) == ""
    monkeypatch.setattr(storage, "MOST_BYTES", 1_000)
    assert storage.bound_snapshots(paths, {"s"}) == "" and paths.snapshots("s").exists()
    assert "those of 1 old session were deleted" in storage.bound_snapshots(paths, ())
    assert not paths.snapshots("s").exists()
