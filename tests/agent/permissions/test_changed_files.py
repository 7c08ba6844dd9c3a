"""Verdicts on changes of files: several in one call, and paths that cannot be followed."""

import os
from pathlib import Path

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import PLAN_REFUSAL, Verdict
from co_tui.settings.permission_rules import Effect, RuleInForce, parse_rule
from tests.support.cases import each_case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "repo/src").mkdir(parents=True)
    (tmp_path / "repo/circle").symlink_to("circle")
    return tmp_path / "repo"


def judged(folder: Path, *paths: str, mode: str = "ask", **rules: str) -> Verdict:
    """By rules such as `deny="Edit(src/**)"`."""
    effects: list[Effect] = ["allow", "ask", "deny"]
    written = [RuleInForce(each, parse_rule(rules[each]), "test") for each in effects if each in rules]
    judge = Judge(folder=folder, home=folder.parent / "home", environ={"PATH": os.environ["PATH"]})
    arguments = {"files": [{"path": path} for path in paths]}
    return judge.verdict("edit_files", arguments, mode, written)


def line(folder: Path, command: str, mode: str = "ask") -> Verdict:
    judge = Judge(folder=folder, home=folder.parent / "home", environ={"PATH": os.environ["PATH"]})
    return judge.verdict("run_command", {"command": command}, mode, ())


def test_changes_made_together_offer_the_rules_of_all_or_none(folder: Path) -> None:
    both = judged(folder, "src/a.py", "README.md", "src/b.py")
    assert both.new == ("src/a.py", "README.md", "src/b.py")
    assert [str(rule) for rule in both.rules] == ["Edit(src/**)", "Edit(./*)"]
    outside = judged(folder, "src/a.py", "../outside.txt")
    assert outside.new == ("src/a.py", "../outside.txt") and outside.rules == ()


def test_one_of_several_changes_decides_for_all(folder: Path) -> None:
    assert judged(folder, "src/a.py", "secret/b", deny="Edit(secret/**)").action == "refuse"
    assert judged(folder, "src/a.py", "secret/b", deny="Read(secret/**)").action == "refuse"
    asked = judged(folder, "src/a.py", "secret/b", mode="edits", ask="Read(secret/**)")
    assert (asked.action, asked.new) == ("ask", ("secret/b",)) and "Read(secret/**)" in asked.reason
    protected = judged(folder, "../x", ".git/hooks/pre-commit", mode="edits")
    assert protected.protected and ".git" in protected.reason and protected.rules == ()
    assert judged(folder, "src/a.py", "src/b.py", mode="edits").action == "run"
    assert judged(folder, "src/a.py", mode="plan").reason == PLAN_REFUSAL


@each_case("path", ["circle", "circle/a.py", "a\0b"])
@each_case("mode", ["ask", "edits", "auto"])
def test_a_path_that_cannot_be_followed_is_asked_about_in_every_mode(folder: Path, path: str, mode: str) -> None:
    assert judged(folder, path, mode=mode) == Verdict("ask", new=(path,))


@each_case("command", ["cat circle", "cat < circle/a", "echo x > circle"])
def test_a_command_on_a_path_that_cannot_be_followed_is_asked_about(folder: Path, command: str) -> None:
    for mode in ("ask", "edits"):
        found = line(folder, command, mode)
        assert (found.action, found.only_reads) == ("ask", False)
