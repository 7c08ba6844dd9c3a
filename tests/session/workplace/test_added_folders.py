"""Folders that a user adds to a session: file tools, commands, rules, instructions and snapshots cover them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import Verdict
from co_tui.events import FilesChanged, FoldersChanged
from co_tui.events.decisions import Source, undecided
from co_tui.folders import FolderRefused, Folders, folder_to_add, folders_to_add
from co_tui.paths import locate
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.snapshots.file_restores import Consent
from co_tui.session.snapshots.journal import Journal, Line, folder_name
from co_tui.session.snapshots.several_folders import folders_of_log, stored_changes
from co_tui.session.snapshots.touched import lines_elsewhere
from co_tui.settings.permission_rules import RuleInForce, parse_rule
from co_tui.settings.trust_requests import added_folder_request
from co_tui.settings.trust_texts import waiting_instructions_text
from co_tui.trust import Trust
from tests.support.approving import log_of
from tests.support.environments import facts
from tests.support.kept_folders import content_of
from tests.support.sandbox import needs_bwrap
from tests.support.working import Working, repository, working_in


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def folder(tmp_path: Path, user_home: Path) -> Path:
    return repository(tmp_path / "shop")


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    """A folder to add, a repository with instructions of its own."""
    made = repository(tmp_path / "lib")
    (made / "AGENTS.md").write_text("Library rule: tabs.\n")
    (made / "deep").mkdir()
    (made / "deep" / "AGENTS.md").write_text("Deep rule: spaces.\n")
    (made / "deep" / "a.py").write_text("one\n")
    return made


def test_what_cannot_be_added_is_refused_in_a_sentence(folder: Path, lib: Path, user_home: Path) -> None:
    paths = locate({"CO_TUI_HOME": str(user_home / "own")})
    (user_home / "own" / "data").mkdir(parents=True)
    (folder / "inner").mkdir()
    (folder.parent / "way").symlink_to(user_home)
    (folder.parent / "a\n\x1b[2J").mkdir()
    for written, why in {
        str(user_home): "is your home folder",
        "../way": "is your home folder",
        "~": "is your home folder",
        "/": "contains your home folder",
        "..": "contains your home folder",
        ".": "is the folder of this session",
        "inner": "is already part of this session's folder",
        "../lib/login.py": "is a file",
        "../nothing": "There is no folder",
        "../lib/login.py/x": "There is no folder",
        "a\0b": "Cannot open",
        "/proc/self": "belongs to the system",
        "/usr/bin": "belongs to the system",
        "/usr/local/bin": "belongs to the system",
        "": "Name a folder",
        "../a\n\x1b[2J": "has characters that cannot be shown",
        "~/own/data": "holds co-tui's own files",
        "~/own": "contains co-tui's own files",
        "../lib": "is added already",
        "../lib/deep": "is inside of",
    }.items():
        with pytest.raises(FolderRefused, match=why):
            folder_to_add(written, folder, [lib], paths)
    with pytest.raises(FolderRefused, match="above this session's folder"):
        folder_to_add("..", folder / "inner", [], paths)
    with pytest.raises(FolderRefused, match=r"contains .*/deep, which is added"):
        folder_to_add("../lib", folder, [lib / "deep"], paths)
    (folder / "link").symlink_to(lib)
    assert folder_to_add("link", folder, [], paths) == lib
    assert folders_to_add(["link", "../lib/", "../lib"], folder, paths) == (str(lib),)


def test_another_case_of_a_name_is_the_same_folder(
    folder: Path, lib: Path, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = locate({"CO_TUI_HOME": str(user_home / "own")})
    monkeypatch.setattr(Path, "samefile", lambda one, other: str(one).lower() == str(other).lower())
    for each, why in {
        user_home: "is your home folder",
        folder / "inner": "is already part of this session's",
        lib: "is added already",
    }.items():
        other_case = each.parent.parent / each.parent.name.upper() / each.name.upper()
        other_case.mkdir(parents=True)
        with pytest.raises(FolderRefused, match=why):
            folder_to_add(str(other_case), folder, [lib], paths)


def judged(folder: Path, lib: Path, tool: str, what: str, *rules: str, mode: str = "edits") -> Verdict:
    folders = Folders(folder)
    folders.use([lib])
    written = [RuleInForce(effect, parse_rule(rule), "") for effect, _, rule in (each.partition(" ") for each in rules)]  # type: ignore[arg-type]
    judge = Judge(folder=folder, home=Path.home(), environ={"PATH": os.environ["PATH"]}, folders=folders)
    name = "command" if tool == "run_command" else "path"
    return judge.verdict(tool, {name: what}, mode, written)


def test_rules_and_modes_hold_in_an_added_folder_as_in_the_first(folder: Path, lib: Path, tmp_path: Path) -> None:
    def verdict(*given: str, mode: str = "edits") -> Verdict:
        return judged(folder, lib, *given, mode=mode)

    for free in (f"cat {lib}/login.py", "cat ../lib/login.py", f"cd {lib} && ls *.py", f"cd {lib} && git status"):
        assert verdict("run_command", free).only_reads, free
    assert verdict("write_file", f"{lib}/new.py").action == "run"
    assert verdict("run_command", f"cat {tmp_path}/other").action == "ask"
    assert verdict("write_file", f"{tmp_path}/other").action == "ask"
    for obeyed in (f"{lib}/.git/config", f"{lib}/.claude/x", "../lib/deep/../.git/hooks/x"):
        assert verdict("write_file", obeyed).protected, obeyed
    asked = verdict("write_file", f"{lib}/deep/a.py", mode="ask")
    assert [str(rule) for rule in asked.rules] == [f"Edit(/{lib}/deep/**)"]
    # What restricts holds in every folder; a path that is allowed is one of the first.
    assert verdict("read_file", f"{lib}/.env", "deny Read(.env)").action == "refuse"
    assert verdict("write_file", f"{lib}/deep/a.py", "ask Edit(deep/**)").action == "ask"
    assert verdict("write_file", f"{lib}/deep/a.py", "allow Edit(deep/**)", mode="ask").action == "ask"
    assert verdict("write_file", f"{lib}/deep/a.py", f"allow Edit(/{lib}/deep/**)", mode="ask").action == "run"


def test_the_first_folders_obeyed_names_protect_what_they_link_to(folder: Path, lib: Path) -> None:
    (folder / ".claude").symlink_to(lib / "deep")
    assert judged(folder, lib, "write_file", f"{lib}/deep/a.py").protected


def test_an_added_folder_that_programs_obey_is_protected_as_a_whole(folder: Path, lib: Path) -> None:
    for obeyed, file in {".claude": "settings.json", ".git/hooks": "pre-commit"}.items():
        (lib / obeyed).mkdir(exist_ok=True)
        assert judged(folder, lib / obeyed, "write_file", f"{lib}/{obeyed}/{file}").protected
        assert judged(folder, lib / obeyed, "run_command", f"echo x > {lib}/{obeyed}/{file}").action == "ask"
    tree = repository(lib / ".claude" / "tree")
    assert judged(folder, tree, "write_file", f"{tree}/login.py").action == "run"


def test_git_of_an_added_folder_runs_nothing_it_configures(folder: Path, lib: Path) -> None:
    subprocess.run(["git", "config", "filter.x.clean", "touch ran; cat"], cwd=lib, check=True)
    (lib / ".gitattributes").write_text("* filter=x\n")
    assert judged(folder, lib, "run_command", f"cd {lib} && git status").action == "ask"
    assert not (lib / "ran").exists()


def test_a_folder_that_became_a_link_does_not_count(folder: Path, lib: Path, tmp_path: Path) -> None:
    folders = Folders(folder)
    folders.use([lib])
    assert folders.added == (lib,)
    lib.rename(tmp_path / "moved")
    lib.symlink_to("/etc")
    assert folders.added == ()
    assert judged(folder, lib, "write_file", f"{lib}/passwd").action == "ask"


def test_a_log_from_elsewhere_adds_no_folder() -> None:
    fact = FoldersChanged(added=("/etc",), removed=("/srv",))
    assert undecided(fact, Source.OWN) == undecided(fact, Source.OTHERS) == FoldersChanged(removed=("/srv",))


async def started(folder: Path, home: Path, *steps: Any, **settings: Any) -> tuple[Session, Working]:
    model = Working(*steps)
    return await Session.start(working_in(folder, home, model, Unattended(), **settings), "scripted"), model


async def test_the_tools_work_in_an_added_folder_and_its_files_come_back(folder: Path, lib: Path, home: Path) -> None:
    before = content_of(lib), content_of(folder)
    steps = [
        ("read_file", {"path": str(lib / "login.py")}),
        ("edit_file", {"path": "../lib/login.py", "old_text": "helo", "new_text": "hello"}),
        ("write_file", {"path": f"{lib}/made/new.py", "content": "a = 1\n"}),
        ("write_file", {"path": "own.py", "content": "b = 1\n"}),
        ("create_directory", {"path": f"{lib}/empty"}),
        ("edit_files", {"files": [{"path": path, "content": "c\n"} for path in (f"{lib}/two.py", "three.py")]}),
        ("list_directory", {"path": str(lib)}),
        ("search_files", {"path": str(lib), "pattern": "hello"}),
        ("find_files", {"path": str(lib), "pattern": "**/a.py"}),
        ("write_file", {"path": f"{lib.parent}/outside.py", "content": "x"}),
    ]
    session, model = await started(folder, home, *steps, mode="edits")
    assert await session.folders.add("../lib") == lib
    await session.submit("work in both")
    read, edited, made, _, _, several, listed, searched, found, outside = model.returned
    assert "helo" in read and "Edited" in edited and "Wrote" in made
    assert f"{lib}/two.py" in several and "three.py" in several
    assert f"{lib}/login.py" in listed and f"{lib}/login.py:2:" in searched and found == f"{lib}/deep/a.py"
    assert "outside" in outside and not (lib.parent / "outside.py").exists()
    assert str(lib) in model.instructions

    changed = [path for fact in facts(log_of(session._environment, session), FilesChanged) for path in fact.paths]
    assert changed == [f"{lib}/login.py", f"{lib}/made/new.py", "own.py", f"{lib}/empty", f"{lib}/two.py", "three.py"]
    shown = (await session.edits.restores.changes()).files
    assert [each.path for each in shown] == [
        "own.py", "three.py", f"{lib}/login.py", f"{lib}/made/new.py", f"{lib}/two.py",
    ]  # fmt: skip
    paths, folders = session._environment.paths, folders_of_log(str(folder), session.state.folders)
    assert stored_changes(paths, session.id, folders, {"PATH": os.environ["PATH"]}).files == shown

    (lib / "by_hand").write_text("others'")
    restored = (await session.edits.rewind_files(1, Consent(), conversation=False)).restored
    assert "6 files restored" in restored.sentence()
    (lib / "by_hand").unlink()
    assert (content_of(lib), content_of(folder)) == before
    await session.close()


async def test_a_removed_folder_comes_back_with_its_files(folder: Path, lib: Path, home: Path, tmp_path: Path) -> None:
    before = content_of(lib / "deep")
    model = Working(("run_command", {"command": f"rm -rf {lib}/deep"}))
    environment = working_in(folder, home, model, Unattended(yes=True), mode="edits", command_sandbox="off")
    session = await Session.start(environment, "scripted")
    await session.folders.add(f"{lib}/deep")
    await session.submit("remove it")
    assert not (lib / "deep").exists()
    (tmp_path / "other").mkdir()
    await session.folders.add("../other")
    changed = [path for fact in facts(log_of(environment, session), FilesChanged) for path in fact.paths]
    assert changed == [f"{lib}/deep/AGENTS.md", f"{lib}/deep/a.py"]
    assert [each.what for each in (await session.edits.restores.changes()).files] == ["deleted", "deleted"]
    await session.edits.rewind_files(1, Consent(), conversation=False)
    assert content_of(lib / "deep") == before
    assert session.folders.now == (lib / "deep", tmp_path / "other")
    await session.folders.remove("../other")
    assert session.folders.now == (lib / "deep",), "no tool reaches it any more"
    await session.close()


def test_what_another_session_changed_in_a_folder_added_to_it_is_known(tmp_path: Path) -> None:
    lib, (first, added) = (
        tmp_path / "lib",
        (tmp_path / "one" / folder_name(tmp_path / each) for each in ("shop", "lib")),
    )
    added.mkdir(parents=True)
    Journal(first).add(Line("end", 1, 1, "id", ("own.py", f"{lib}/login.py"), at=2.0))
    for session in ("one", "two"):
        found = lines_elsewhere(tmp_path / session / folder_name(lib), [Line("begin", 1, 1, "id", at=1.0)], lib)
        assert [line.paths for line in found] == ([("login.py",)] if session == "two" else [])


async def test_added_folders_are_there_again_when_it_is_resumed_or_forked(
    folder: Path, lib: Path, home: Path, tmp_path: Path
) -> None:
    gone, moved = tmp_path / "gone", tmp_path / "moved"
    for each in (gone, moved):
        each.mkdir()
    session, _ = await started(folder, home, ("write_file", {"path": f"{lib}/new.py", "content": "a\n"}), mode="edits")
    for each in (lib, gone, moved):
        await session.folders.add(str(each))
    await session.submit("write")
    fork = await session.fork()
    await session.close()
    for each in (gone, moved):
        each.rmdir()
    (tmp_path / "elsewhere").mkdir()
    moved.symlink_to(tmp_path / "elsewhere")
    for session_id in (session.id, fork):
        again = await Session.resume(session._environment, session_id)
        assert again.folders.now == (lib,)
        no_folder, is_link = f"There is no folder {gone}.", f"{moved} is a link now."
        assert again.folders.problems == [f"Not added again: {no_folder}", f"Not added again: {is_link}"]
        for each in (gone, moved):
            await again.folders.remove(str(each))
        await again.close()
    forked = await Session.resume(session._environment, fork)
    assert forked.folders.problems == [] and forked.state.folders == (str(lib),)
    await forked.edits.rewind_files(1, Consent(), conversation=False)
    assert not (lib / "new.py").exists()
    await forked.close()


async def test_folders_of_the_settings_are_added_when_a_session_starts(folder: Path, lib: Path, home: Path) -> None:
    session, _ = await started(folder, home, add_dirs=(str(lib), "../lib", "../nothing", str(Path.home())))
    assert session.folders.now == (lib,)
    first, second = session.folders.problems
    assert first == "There is no folder ../nothing." and "is your home folder" in second
    await session.folders.remove(str(lib))
    await session.close()
    again = await Session.resume(session._environment, session.id)
    assert again.folders.now == ()
    await again.close()


async def test_its_instructions_count_once_it_is_trusted(folder: Path, lib: Path, home: Path) -> None:
    look = ("read_file", {"path": str(lib / "deep" / "a.py")})
    (lib / ".claude" / "rules").mkdir(parents=True)
    (lib / ".claude" / "rules" / "python.md").write_text("---\npaths: deep/*.py\n---\nPython rule: types.\n")
    (lib / "CLAUDE.local.md").write_text("Local rule: short.\n")
    session, model = await started(folder, home, look)
    await session.folders.add(str(lib))
    assert [request.folder for request in session.folders.untrusted()] == [str(lib)]
    await session.submit("look")
    assert "rule: " not in model.instructions + model.returned[0]

    request = added_folder_request(lib)
    assert request is not None
    assert request.instructions == ("AGENTS.md", ".claude/rules/python.md (for deep/*.py)", "CLAUDE.local.md")
    Trust(session._environment.paths.trust_file).remember(request, trusted=True)
    model.steps[:] = [look]
    await session.submit("look again")
    assert session.folders.untrusted() == []
    assert "Library rule" in model.instructions and "Local rule" in model.instructions
    assert "Deep rule" in model.returned[-1] and "Python rule" in model.returned[-1]
    await session.close()


def test_the_line_that_trusts_it_can_be_typed(tmp_path: Path) -> None:
    (tmp_path / "my lib").mkdir()
    (tmp_path / "my lib" / "AGENTS.md").touch()
    request = added_folder_request(tmp_path / "my lib")
    assert request is not None and f"`co-tui trust '{tmp_path}/my lib'`" in waiting_instructions_text(request)


@pytest.fixture
def outside_tmp() -> Iterator[Path]:
    """Not below /tmp, of which the sandbox has its own."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)


@needs_bwrap
async def test_sandboxed_commands_write_there_and_leave_nothing_that_runs(
    folder: Path, outside_tmp: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib, other = repository(outside_tmp / "lib"), outside_tmp / "other"
    other.mkdir()
    (lib / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{lib}/bin:{os.environ['PATH']}")
    planted = f"printf '#!/bin/sh\\ntouch {other}/ran\\n' | tee {lib}/bin/bwrap {lib}/bin/base64; chmod +x {lib}/bin/*"
    line = f"touch {lib}/written {lib}/.mcp.json; touch {other}/no; echo x >> {lib}/.git/config; echo $PATH"
    steps = [("run_command", {"command": each}) for each in (planted, line)]
    session, model = await started(folder, home, ("start_command", {"command": "sleep 100"}), mode="auto")
    await session.submit("begin something that runs on")
    await session.folders.add(str(lib))
    model.steps[:] = steps
    config = (lib / ".git" / "config").read_bytes()
    await session.submit("try")
    assert (lib / "written").exists() and not (lib / ".mcp.json").exists()
    assert (lib / ".git" / "config").read_bytes() == config
    assert list(other.iterdir()) == []
    assert (lib / "bin" / "bwrap").exists()
    assert f"{lib}/bin:" in model.returned[-1] and f"{lib}/.mcp.json" in model.returned[-1]
    await session.close()


@needs_bwrap
async def test_sandboxed_commands_only_read_a_folder_that_programs_obey(
    folder: Path, outside_tmp: Path, home: Path
) -> None:
    obeyed = outside_tmp / ".claude"
    obeyed.mkdir()
    model = Working(
        ("run_command", {"command": f"touch {obeyed}/settings.json"}),
        ("write_file", {"path": f"{obeyed}/allowed.json", "content": "{}"}),
    )
    environment = working_in(folder, home, model, Unattended(yes=True), mode="auto")
    session = await Session.start(environment, "scripted")
    await session.folders.add(str(obeyed))
    await session.submit("try")
    assert [each.name for each in obeyed.iterdir()] == ["allowed.json"]
    await session.close()
