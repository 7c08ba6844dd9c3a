"""`co-tui import --all`: the sessions of all programs on this machine."""

from pathlib import Path
from typing import Any

import pytest

from co_tui.exchange.importers.default_folders import files_of_all
from co_tui.exchange.intake import import_files
from tests.support.command import CliCommand
from tests.support.foreign import claude_row, codex_row, codex_said, write_lines
from tests.support.here import Here
from tests.support.stores import listed
from tests.support.waiting import PATIENCE_S

NOTHING = {"new": 0, "grown": 0, "forks": 0, "known": 0, "refused": 0, "better": 0}


@pytest.fixture
def user_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has worked with two other programs, and has one file that is none."""
    home = tmp_path / "user"
    monkeypatch.setattr(Path, "home", lambda: home)
    claude, codex = home / ".claude/projects/-work", home / ".codex/sessions/2025/03/01"
    claude.mkdir(parents=True)
    codex.mkdir(parents=True)
    for name in ("a", "b"):
        write_lines(claude / f"{name}.jsonl", [claude_row("user", f"talk {name}", 1, sessionId=name, uuid=name)])
    (claude / "bad.jsonl").write_text("Dear diary,\n")
    write_lines(codex / "rollout-1.jsonl", [codex_row("session_meta", id="t"), codex_said("user", "hi", 1)])
    return home


def test_all_programs_sessions_come_in_and_a_second_run_takes_only_what_is_new(here: Here, user_home: Path) -> None:
    done = here("import", "--all")
    assert done.code == 0 and len(done.out.splitlines()) == 3
    assert "3 sessions imported, 1 file not imported." in done.err and "bad.jsonl" in done.err
    file = user_home / ".claude/projects/-work/a.jsonl"
    write_lines(file, [claude_row("user", f"talk {name}", 1, sessionId="a", uuid=name) for name in ("a", "c")])
    done = here("import", "--all")
    assert "0 sessions imported, 1 continued, 2 already imported, 1 file not imported." in done.err


def test_a_dry_run_counts_by_program_and_writes_nothing(here: Here, user_home: Path) -> None:
    assert here("import", "--all", "--dry-run", "--json").objects == [
        {"program": "claude-code", "files": 3, "sessions": 2, **NOTHING, "new": 2, "refused": 1},
        {"program": "codex", "files": 1, "sessions": 1, **NOTHING, "new": 1},
    ]
    assert listed(here.home) == []
    here("import", "--from", "codex")
    rollout = user_home / ".codex/sessions/2025/03/01/rollout-1.jsonl"
    rows = [codex_row("session_meta", id="t"), codex_said("user", "hi", 1), codex_said("assistant", "ho", 2)]
    write_lines(rollout, rows)
    plan = here("import", "--all", "--dry-run")
    assert plan.out.splitlines()[-1].split() == ["codex", "1", "1", "0", "1", "0", "0", "0", "0"]
    assert "dry run" in plan.err and len(listed(here.home)) == 1
    (row,) = here("import", str(rollout), "--dry-run", "--json").objects
    assert (row["program"], row["grown"]) == (None, 1)


def test_ctrl_c_says_how_far_it_came_and_the_next_run_continues(
    here: Here, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    load = import_files.load

    def interrupted(file: Path) -> Any:
        loaded.append(file)
        if len(loaded) == 3:
            raise KeyboardInterrupt
        return load(file)

    monkeypatch.setattr(import_files, "load", interrupted)
    done = here("import", "--all")
    assert done.code == 130
    assert "Stopped after 2 of 4 files: 2 sessions imported. The same command continues." in done.err
    done = here("import", "--all")
    assert done.code == 0 and "1 session imported, 2 already imported" in done.err


def test_a_reader_that_fails_does_not_stop_the_rest(
    here: Here, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = import_files.load

    def failing(file: Path) -> Any:
        if file.name == "a.jsonl":
            raise LookupError("not foreseen")
        return load(file)

    monkeypatch.setattr(import_files, "load", failing)
    done = here("import", "--all")
    assert done.code == 0 and "2 sessions imported, 2 files not imported." in done.err
    assert "LookupError: not foreseen" in done.err


def test_links_out_of_a_programs_folder_are_not_followed(user_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_lines(elsewhere / "c.jsonl", [claude_row("user", "not yours")])
    projects = user_home / ".claude/projects"
    (projects / "-linked").symlink_to(elsewhere)
    (projects / "-work/d.jsonl").symlink_to(elsewhere / "c.jsonl")
    names = [file.name for file in files_of_all({}, user_home)["claude-code"]]
    assert names == ["a.jsonl", "b.jsonl", "bad.jsonl"]
    (user_home / ".claude").rename(tmp_path / "moved")
    (user_home / ".claude").symlink_to(tmp_path / "moved")
    assert len(files_of_all({}, user_home)["claude-code"]) == 3, "the folder itself may be a link of the user's"


def test_a_machine_without_other_programs_has_nothing_to_import(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    done = here("import", "--all")
    assert (done.code, done.out) == (0, "") and "No sessions of other programs found" in done.err


@pytest.mark.parametrize(
    "arguments", [("--all", "x.jsonl"), ("--all", "--from", "codex"), (), ("--permissions", "--all")]
)
def test_options_that_do_not_go_together_are_refused(here: Here, arguments: tuple[str, ...]) -> None:
    assert here("import", *arguments).code == 2


def test_two_imports_of_the_same_folder_at_once_both_end_well(co_tui: CliCommand, tmp_path: Path) -> None:
    """First all is new, then all has grown; each session is stored once, with all of its messages."""
    folder = tmp_path / "talks"
    folder.mkdir()
    for messages in (300, 600):
        for name in ("a", "b"):
            rows = [claude_row("user", f"{number} of {name}", number, sessionId=name) for number in range(messages)]
            write_lines(folder / f"{name}.jsonl", [{**row, "uuid": row["message"]["content"]} for row in rows])
        both = [co_tui.start_loaded("import", str(folder)) for _ in range(2)]
        for process in both:
            out, err = process.communicate(PATIENCE_S)
            assert (process.wait(), len(out.splitlines())) == (0, 2), err
        assert [row["messages"] for row in co_tui("sessions", "--json").objects] == [messages] * 2
