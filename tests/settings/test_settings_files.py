"""Anything named like a settings file: never blocks, no traceback, one sentence."""

import os
from pathlib import Path

import pytest

from co_tui.paths import PROJECT_FILE, Paths, locate, read_small_text
from co_tui.session.checkout import repository_of
from co_tui.settings import Loaded, SettingsError, load
from co_tui.settings.writing import write
from co_tui.store.learned_numbers import LearnedNumbers

pytestmark = pytest.mark.timeout(60)
"""Waiting for a pipe, or reading a device, would last forever."""


@pytest.fixture
def paths(home: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "cloned"
    folder.mkdir()
    return folder


def loaded(paths: Paths, project: Path, **environ: str) -> Loaded:
    return load(paths=paths, cwd=project, environ=environ)


def pipe(file: Path) -> None:
    os.mkfifo(file)


def device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def loop(file: Path) -> None:
    file.symlink_to(file.name)


def folder(file: Path) -> None:
    file.mkdir()


def endless(file: Path) -> None:
    with open(file, "wb") as stream:
        stream.truncate(3 << 30)


KINDS = [pipe, device, loop, folder, endless]


@pytest.mark.parametrize("make", KINDS)
def test_a_settings_file_of_another_kind_is_named_and_not_waited_for(paths: Paths, project: Path, make) -> None:
    make(project / PROJECT_FILE)
    (problem,) = loaded(paths, project).folder_problems
    assert problem.startswith(f"Cannot read {project / PROJECT_FILE}: ") and problem.endswith(".")


@pytest.mark.parametrize("make", KINDS)
def test_a_policy_of_another_kind_too(paths: Paths, project: Path, make) -> None:
    paths.policies.mkdir(parents=True)
    make(paths.policies / "mine.toml")
    problems = loaded(paths, project, CO_TUI_POLICY="mine").problems
    assert len(problems) == 1 and "mine" in problems[0]


@pytest.mark.parametrize("make", KINDS)
def test_a_repository_of_another_kind_has_no_branch(project: Path, make) -> None:
    make(project / ".git")
    assert repository_of(project) == (str(project), "")


@pytest.mark.parametrize("make", KINDS)
def test_a_head_of_another_kind_is_no_branch(project: Path, make) -> None:
    (project / ".git").mkdir()
    make(project / ".git" / "HEAD")
    assert repository_of(project) == (str(project), "")


@pytest.mark.parametrize("text", ["gitdir: \0", "gitdir: " + "x/" * 1000, "gitdir: ../.git", "\xff\xfe", ""])
def test_a_worktree_that_points_nowhere_has_no_branch(project: Path, text: str) -> None:
    (project / ".git").write_bytes(text.encode("latin-1"))
    assert repository_of(project) == (str(project), "")


def test_a_branch_is_found_from_below_and_through_a_worktree(project: Path) -> None:
    real = project / "real"
    (real / ".git").mkdir(parents=True)
    (real / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (real / "src").mkdir()
    assert repository_of(real / "src") == (str(real), "main")
    (project / ".git").write_text("gitdir: real/.git\n")
    assert repository_of(project) == (str(project), "main")


@pytest.mark.parametrize("make", KINDS)
def test_learnt_numbers_of_another_kind_are_done_without(project: Path, make) -> None:
    make(project / "numbers.json")
    assert LearnedNumbers(project / "numbers.json").get("x") is None


def test_learnt_numbers_that_are_nested_without_end_are_done_without(project: Path) -> None:
    (project / "numbers.json").write_text("[" * 100_000)
    assert LearnedNumbers(project / "numbers.json").get("x") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("context_window = " + "[" * 30_000, "nested too deeply"),
        ("context_window = " + "{a = " * 3_000, "nested too deeply"),
        (".".join(["a"] * 30_000) + " = 1", "line 1 has more than 100 dots"),
        (".".join(["a"] * 50_000) + " = 1", "over"),
        ("[" + ".".join(["a"] * 5_000) + "]", "line 1 has more than 100 dots"),
        ("context_window = " + "9" * 5_000, "context_window = 99999"),
        ("context_window = 0x" + "f" * 5_000, "context_window = a value too large to show"),
        ("context_window = " + "9" * 25, "from 0 to 1,000,000,000"),
        ("summary_share = " + "9" * 2_000, "summary_share = 999"),
        ("summary_share = 1e999", "summary_share = inf"),
        ("summary_share = nan", "summary_share = nan"),
        ("context_window = 2026-11-15", "context_window = datetime.date"),
    ],
)
def test_what_no_person_writes_is_a_sentence(paths: Paths, project: Path, text: str, words: str) -> None:
    (project / PROJECT_FILE).write_text(text)
    (problem,) = loaded(paths, project).folder_problems
    assert words in problem and str(project / PROJECT_FILE) in problem and len(problem) < 400


def test_the_slowest_file_that_is_let_in_takes_no_seconds(paths: Paths, project: Path) -> None:
    part = ".".join(["a"] * 100)
    lines = [f"[{part}]", *(f"{part}{number} = 1" for number in range(290))]
    (project / PROJECT_FILE).write_text("\n".join(lines))
    assert loaded(paths, project).problems == ()


def test_thousands_of_odd_keys_are_reported_in_a_few_lines(paths: Paths, project: Path) -> None:
    (project / PROJECT_FILE).write_text("\n".join(f"k{number}=1" for number in range(8_000)))
    found = loaded(paths, project)
    assert len(found.warnings) == 6 and "7,995 more" in found.warnings[-1]


def test_policy_settings_that_are_no_table_are_a_sentence(paths: Paths, project: Path) -> None:
    paths.policies.mkdir(parents=True)
    (paths.policies / "mine.toml").write_text("settings = 5\n")
    (problem,) = load(paths=paths, cwd=project, environ={"CO_TUI_POLICY": "mine"}).problems
    assert "must be a table" in problem


@pytest.mark.parametrize("make", [kind for kind in KINDS if kind is not loop])
def test_a_setting_is_not_written_over_what_cannot_be_read(paths: Paths, make) -> None:
    paths.config.mkdir(parents=True)
    make(paths.config_file)
    with pytest.raises(SettingsError, match="nothing was saved"):
        write("theme", "dark", paths)


def test_a_small_file_is_read_whole_and_no_byte_more(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12345")
    assert read_small_text(tmp_path / "a", 5) == "12345"
    with pytest.raises(OSError, match="over 4 bytes"):
        read_small_text(tmp_path / "a", 4)
