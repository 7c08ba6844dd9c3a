"""Kept rules admit commands that do no more than the one that was shown."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.older_answers import read_rule
from co_tui.agent.permissions.program_options import KINDS, read_words
from co_tui.agent.permissions.program_table import PROGRAMS
from co_tui.agent.permissions.verdict import Verdict
from co_tui.settings.permission_rules import Rule, RuleInForce, rules_text
from tests.support.cases import each_case
from tests.support.git_checks import git_checked_once
from tests.support.kept_rules import second_commands
from tests.support.long_run import LONG_RUN


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "shop"
    for name in ("src/a.py", "src/b.py", "tests/test_a.py", "package.json", "requirements.txt", "src/data.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def judged(folder: Path, line: str, *rules: Rule) -> Verdict:
    judge = Judge(folder=folder, home=folder.parent / "home", environ={"PATH": os.environ["PATH"]})
    kept = [RuleInForce("allow", rule, "this project") for rule in rules]
    return judge.verdict("run_command", {"command": line}, "ask", kept)


def test_bad_second_commands_ask_and_few_good_ones_do(folder: Path) -> None:
    pairs = second_commands()[:: 1 if LONG_RUN else 3]
    with git_checked_once():
        offered = {first: judged(folder, first).rules for first in {pair.first for pair in pairs}}
        assert [first for first, rules in offered.items() if not rules] == []
        ran = {pair: judged(folder, pair.second, *offered[pair.first]).action == "run" for pair in pairs}
    good = [pair for pair in pairs if pair.should_run]
    assert [pair for pair in pairs if not pair.should_run and ran[pair]] == []
    assert len([pair for pair in good if not ran[pair]]) <= len(good) / 10


@each_case(
    ("older", "runs", "asks"),
    [
        ("Bash(pytest:*)", "pytest -x tests", "pytest --basetemp=src"),
        ("Bash(make test:*)", "make test -j4", "make test deploy"),
        ("Bash(git commit *)", "git commit -m x", "git commit --amend"),
        ("Bash(npm install:*)", "npm install --no-audit", "npm install evil"),
        ("Bash(python3 -m pytest:*)", "python3 -m pytest -q", "python3 -m pytest -p evil"),
        ("Bash(python x.py)", "python x.py", "python x.py -v"),
    ],
)
def test_rules_of_earlier_versions_are_read_the_same_way(folder: Path, older: str, runs: str, asks: str) -> None:
    rule = read_rule(older)
    assert rule is not None
    assert (judged(folder, runs, rule).action, judged(folder, asks, rule).action) == ("run", "ask")


def test_a_rule_that_admits_nothing_by_the_table_admits_nothing_else(folder: Path) -> None:
    for older in ("Bash(docker:*)", "Bash(sh:*)", "Bash(find:*)", "Bash(rm:*)", "Bash(git branch:*)"):
        rule = read_rule(older)
        assert rule is not None
        for line in ("docker run x", "sh -c id", "find . -delete", "rm x", "git branch -D x"):
            assert judged(folder, line, rule).action == "ask"


def test_what_people_write_stays_a_prefix(folder: Path) -> None:
    assert judged(folder, "pytest --basetemp=src", Rule("Bash", "pytest:*")).action == "run"
    assert judged(folder, "make test deploy", Rule("Bash", "make test:*")).action == "run"


@each_case(
    ("line", "shown"),
    [
        ("pytest -q tests", "pytest, harmless options"),
        ("npx prettier --check src", "npx prettier --check, harmless options"),
        ("ruff check --fix -q src", "ruff check --fix, harmless options"),
        ("git checkout -b topic", "git checkout -b topic, harmless options"),
        ("pip install 'requests>=2'", "pip install 'requests>=2', harmless options"),
        ("pytest -p evil", "pytest -p evil"),
        ("python x.py", "python x.py"),
    ],
)
def test_a_rule_is_shown_as_what_it_is(folder: Path, line: str, shown: str) -> None:
    rules = judged(folder, line).rules
    assert rules_text(list(map(str, rules))) == shown
    assert [read_rule(str(rule)) for rule in rules] == list(rules), "as it is stored"
    assert judged(folder, line, *rules).action == "run"


@each_case("line", ["pytest *", "pytest -k x *.py", "pytest .*/x", "make 'a b'", "cp src/* tests"])
def test_wildcards_that_may_become_options_or_leave_the_folder_ask(folder: Path, line: str) -> None:
    kept = [Rule("Bash", f"{program}, harmless options") for program in ("pytest", "make a b", "cp")]
    assert judged(folder, line, *kept).action == "ask"
    assert judged(folder, "pytest tests/*.py", *kept).action == "run"


@each_case(
    ("first", "runs", "asks"),
    [
        ("make -n deploy", "make -n -j2 deploy", ("make deploy", "make -j2 deploy")),
        ("npm install --ignore-scripts x", "npm install x --ignore-scripts --no-fund", ("npm install x",)),
        ("pip install --dry-run x", "pip install -q --dry-run x", ("pip install x",)),
        ("git add -n .", "git add -vn src", ("git add .",)),
        ("git commit --dry-run", "git commit -a --dry-run", ("git commit -m x",)),
        ("ruff check --no-fix .", "ruff check --no-fix src", ("ruff check .",)),
        ("go build -n", "go build -n -v", ("go build",)),
        ("pytest", "pytest -k x", ("pytest -k @options", "pytest -m@options", "pytest -n @options")),
        ("mypy src", "mypy --exclude x src", ("mypy --exclude @options src",)),
        ("pip list", "pip list -o", ("pip list -f http://x", "pip list -o -f x", "pip list http://x")),
        ("pip show x", "pip show -f x", ("pip show https://x",)),
        ("gh pr view 1", "gh pr view 2", ("gh pr view https://x/a/b/pull/1",)),
        ("cargo run", "cargo run --release", ("cargo run --example x", "cargo run -p x", "cargo run --package=x")),
        ("go list ./...", "go list -deps ./...", ("go list -m secret.example.com/x@latest",)),
        ("shellcheck src/a.py", "shellcheck src/*.py", ("shellcheck -xa src/a.py", "shellcheck links/*")),
        ("cp src/a.py b", "cp src/a.py src/b.py tests", ("cp src/a.py src/data.json links", "cp config links/")),
    ],
)  # fmt: skip
def test_what_was_shown_is_not_exceeded(folder: Path, first: str, runs: str, asks: tuple[str, ...]) -> None:
    links = folder / "links"
    if not links.exists():
        links.mkdir()
        (links / "config").symlink_to("../.git/config")
        (links / "data.json").symlink_to(folder.parent / "secret")
    rules = judged(folder, first).rules
    assert judged(folder, runs, *rules).action == "run"
    assert {line: judged(folder, line, *rules).action for line in asks} == dict.fromkeys(asks, "ask")


@each_case(
    ("line", "danger"),
    [
        *((line, "discards work") for line in (
            "git branch --delete --force x", "git branch --del x", "git branch -qD x", "git tag --delete v1",
            "git tag -d v1", "git checkout --force main", "git checkout --for main", "git checkout -qf",
            "git checkout -B main", "git checkout -Bmain", "git checkout src/a.py", "git checkout main src/a.py",
            "git checkout -- x", "git checkout ':(top)x'", "git reset --har", "git reset --h HEAD~1",
            "git switch --discard-changes main", "git switch --disc x", "git switch -C x", "git -C src checkout -f",
            "git --git-dir x reset --hard", "git stash -q drop", "docker system prune -f", "docker image prune",
            "docker volume prune", "docker -H x builder prune", "podman network prune", "docker compose down -v",
            "docker compose -f x.yml down --volumes", "git -C src checkout a.py", "kubectl -n x delete pod y",
            "git merge --abort", "git cherry-pick --ab", "git checkout-index -fa", "git read-tree --reset -u HEAD",
            "git submodule deinit -f x", "git submodule foreach git checkout -f", "terraform state rm x")),
        *((line, "changes many permissions") for line in (
            "chmod --recursive 777 .", "chmod --rec 777 .", "chmod -vR 777 .", "chown -R x .")),
        *((line, "publishes or sends to others") for line in (
            "npm unpublish x", "npm --registry x publish", "cargo yank --version 1 x", "gh pr close 1",
            "gh -R a/b pr close 1", "npm run release", "gh api -X DELETE x", "cargo +nightly publish", "npm pub",
            "npm unpubl x", "npm run-script deploy", "npm dist-tag add x y", "docker image push x",
            "git submodule foreach 'git push'", "kubectl set image x y", "gh run delete 1")),
        *((line, "overwrites the remote's history and publishes or sends to others") for line in (
            "git push --forc", "git push -uf", "git push origin +main", "git push origin :main", "git push --del x y")),
        ("git submodule foreach 'rm -rf x'", "deletes files"), ("git bisect run rm x", "deletes files"),
        ("rsync --delete-after a b", "deletes files"), ("rsync --del a b", "deletes files"),
        *((line, "") for line in (
            "git checkout main", "git checkout -b D", "git checkout -b topic origin/main", "git commit -m push",
            "git commit -m '--force'", "git tag -m '-d' v1", "git branch x", "git reset HEAD~1", "git switch main",
            "chmod -- -R", "chmod +x a", "npm run build", "docker compose down", "gh pr view 1", "git stash push",
            "git commit -m 'git checkout -f'", "git merge x", "git checkout-index -a", "npm run kill",
            "git bisect run make", "npm owner ls")),
    ],
)  # fmt: skip
def test_dangers_are_seen_however_they_are_written(folder: Path, line: str, danger: str) -> None:
    found = judged(folder, line)
    assert (found.action, found.danger) == ("ask", danger)
    assert not danger or not found.rules


def test_a_branch_that_became_a_file_asks(folder: Path) -> None:
    rules = judged(folder, "git checkout topic").rules
    assert judged(folder, "git checkout topic", *rules).action == "run"
    (folder / "topic").write_text("work")
    assert judged(folder, "git checkout topic", *rules).danger == "discards work"
    (folder / "topic").unlink()


def test_the_table_can_be_read() -> None:
    for name, program in PROGRAMS.items():
        for use in (program.reads, program.keeps):
            assert use is None or read_words(use, ["x", "--", "y"], strict=False) is not None, name
            for word in use.options.split() if use is not None else ():
                kind = word.partition(":")[2].removeprefix("?")
                re.compile(KINDS.get(kind, kind))
        for when in program.dangers.values():
            assert all(word.startswith(("-", "/", "FILE")) for word in when.split()), name
