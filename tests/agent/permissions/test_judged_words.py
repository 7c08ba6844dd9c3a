"""What is judged is what runs: free lines are run from the words that were judged, whatever files appear meanwhile.

`CO_TUI_LONG_RUN=500 uv run pytest tests/agent/permissions/test_judged_words.py` draws 500 pairs of line and file.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_tui.agent.permissions.git_guard import guarded_environment
from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.verdict import Verdict
from co_tui.settings.permission_rules import Rule, RuleInForce
from tests.support.cases import each_case
from tests.support.git_checks import git_checked_once
from tests.support.hostile_folders import HOSTILE_REPOSITORIES, repository
from tests.support.long_run import drawn

ENVIRON = {"PATH": os.environ["PATH"]}
OUTPUT = "written.log"
"""Where drawn lines may write."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("race") / "shop")


def made(folder: Path) -> Path:
    repository(folder, {"a.txt": "b\na\n", "src/a.py": "x = 1\n", "src/deep/b.py": "y\n", "src/c.txt": "z\n"})
    (folder / "a.txt").write_text("changed\n")
    return folder


def judged(folder: Path, line: str, mode: str = "edits", path: str = ENVIRON["PATH"]) -> Verdict:
    judge = Judge(folder=folder, home=folder.parent / "home", environ={"PATH": path})
    return judge.verdict("run_command", {"command": line}, mode, ())


def run(folder: Path, line: str) -> str:
    environ = guarded_environment(ENVIRON, folder)
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    return (done.stdout + done.stderr).decode(errors="replace")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


readers = st.sampled_from(
    ("sort", "cat", "head -n 2", "wc -l", "grep x", "grep -rn x", "find", "find src", "ls -la", "stat", "file", "uniq",
     "od -c", "git diff", "git log -p -1", "git show", "git ls-files", "git status -s", "git blame", "tree", "xxd",
     "sed -n '1,3p'", "sed -n", "rg x", "date", "tail -n 1", "diff a.txt", "comm a.txt", "du", "timeout 5 sort",
     "nice sort", "find . -type f -exec cat {} +", "sha256sum", "paste", "cut -c1-3", "tac", "nl", "test -f")
)  # fmt: skip
patterns = st.sampled_from(("*", "*/*", "src/*", "-*", "*.txt", "*/*.py", "?*", "*.*", "--*", "./*", "-- *", "*=*"))
joints = st.sampled_from((" | ", "; ", " && ", " || ", "\n"))
created = st.sampled_from(
    ("-o.git/config", "-oa.txt", "--output=a.txt", "-osrc/a.py", "--output=src", "-exec", "-delete", "-fprint", "-R",
     "--compress-program=sh", "-S1b", "-ia.txt", "-i", "-e1wplanted", "--pre=sh", "-C", "-s2030-01-01", "-d", "-f",
     "src/-o", "src/--output=x", "src/zz;touch planted", "$(touch planted)", "`touch planted`", "b c.txt", "1wplanted",
     "planted\n", "--files0-from=a.txt", "--no-index", "--ext-diff", "-Oplanted", "-r", "--textconv", "*", "x*")
)  # fmt: skip


traps = st.sampled_from(
    (("sort *.txt", "-oa.txt"), ("sort -u *.txt", "--output=a.txt"), ("sort */c*", "-o.git/config"),
     ("git diff *.txt", "--output=a.txt"), ("git log -p -1 *.txt", "--output=a.txt"), ("file *", "-C"),
     ("sed -n 1p *.txt", "-i.txt"), ("sed -n '1,3p' *.txt", "-i.txt"), ("rg x *", "--pre=sh"),
     ("git show *.txt", "--output=a.txt"),
     ("nice sort *.txt", "-oa.txt"), ("timeout 5 sort a.txt *.txt", "-oa.txt"), ("sort a.txt -- *.txt", "-oa.txt"),
     ("cat *.txt | sort *.txt", "-oa.txt"), ("git diff HEAD *.txt", "--output=a.txt"))
)  # fmt: skip
"""A line, and a name that would change what it does."""


@st.composite
def races(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A line, and files that appear once it was judged."""
    parts, names = [], draw(st.lists(created, max_size=2, unique=True))
    for _ in range(draw(st.integers(1, 3))):
        line, name = draw(traps) if draw(st.booleans()) else (f"{draw(readers)} {draw(patterns)}", "")
        names += [name] if name and name not in names else []
        parts.append(f"{line} {draw(st.sampled_from(('', '', '', '2>/dev/null', f'> {OUTPUT}')))}".rstrip(" "))
    line = parts[0]
    for part in parts[1:]:
        line += draw(joints) + part
    return draw(st.sampled_from(("{}", "{}", "{}", "cd src && {}", "cd src; {}", "sleep 0; {}"))).format(line), names


@settings(max_examples=drawn(20), suppress_health_check=list(HealthCheck))
@given(races())
def test_files_that_appear_change_nothing_about_a_free_line(shop: Path, race: tuple[str, list[str]]) -> None:
    line, names = race
    with git_checked_once():
        verdict = judged(shop, line)
    if verdict.action != "run":
        return
    before = content(shop)
    new = [shop / name for name in names]
    for path in new:
        path.parent.mkdir(exist_ok=True)
        path.write_text("touch planted\n")
    run(shop, verdict.judged_line)
    for path in shop.rglob(OUTPUT):
        path.unlink()
    for path in new:
        shutil.rmtree(path.parent) if path.parent not in (shop, shop / "src") else path.unlink()
    assert content(shop) == before, verdict.judged_line


def test_the_race_would_be_noticed(tmp_path: Path) -> None:
    shop = made(tmp_path / "shop")
    verdict = judged(shop, "sort */c*")
    (shop / "-o.git").mkdir()
    (shop / "-o.git/config").write_text("[core]\n\tfsmonitor = touch planted\n")
    config = (shop / ".git/config").read_bytes()
    run(shop, verdict.judged_line)
    assert verdict.action == "run" and (shop / ".git/config").read_bytes() == config
    run(shop, "sort */c*")
    assert (shop / ".git/config").read_bytes() != config


@each_case(
    ("line", "shown"),
    [
        ("cat src/*.txt|sort", "{cat} src/c.txt|{sort}"),
        ("cd src && head -n1 *.py 2>/dev/null", "cd ./src && {head} -n1 a.py 2>/dev/null"),
        ("echo 'a  b' \"c\"; true", "echo 'a  b' c; true"),
        ("timeout 5 nice cat a.txt", "{timeout} 5 {nice} {cat} a.txt"),
        ("command echo *.txt", "command echo a.txt"),
        ("timeout 5 echo x", "{timeout} 5 {echo} x"),
        ("find src -type f -exec grep x {} +", "{find} src -type f -exec {grep} x '{}' +"),
        ("cat -n <<'E'\n$x *\nE", "{cat} -n <<'E'\n$x *\nE"),
        ("cat no*where", "{cat} 'no*where'"),
        ("echo */ s*/*/", "echo src/ src/deep/"),
        ("cd .git && echo x", "cd ./.git && echo x"),
        ("find . -name -exec", "{find} . -name -exec"),
        ("find . -name -exec -print", "{find} . -name -exec -print"),
        ("command -v -- cat", "command -v -- cat"),
        ("command -- touch planted", None),
        ("command -- -v touch", None),
        ("sort a.txt -''\\oplanted", None),
        ('rg x -""\\-pre=sh .', None),
        ("cat .''\\./outside", None),
        ("head a.txt -1>/dev/null", None),
        ("head -n1 a.txt 1>/dev/null", "{head} -n1 a.txt 1>/dev/null"),
        ("git branch --sort=-signature:key", None),
        ("git tag --sort=signature", None),
        ("git for-each-ref --sort=-v:signature", None),
        ("no-such-reader-here; tree é", None),
    ],
)
def test_the_line_that_is_run(shop: Path, line: str, shown: str | None) -> None:
    found = judged(shop, line)
    programs = {name: shutil.which(name) for name in ("cat", "sort", "head", "timeout", "nice", "find", "grep", "echo")}
    assert found.judged_line == ("" if shown is None else shown.replace("'{}'", "'{{}}'").format(**programs))
    assert (found.action == "run") == (shown is not None)


def test_what_reads_is_run_as_judged_beside_what_is_allowed(shop: Path, tmp_path: Path) -> None:
    assert f"{shutil.which('sort')} src/c.txt > {OUTPUT}" == judged(shop, f"sort src/*.txt > {OUTPUT}").judged_line
    assert judged(shop, "touch x; sort */*").action == "ask"
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "python3").touch(0o755)
    judge = Judge(folder=shop, home=shop.parent / "home", environ={"PATH": f"{shims}:/usr/bin:/bin"})
    rules = [RuleInForce("allow", Rule("Bash", "source:*"))]
    for line, shown in (
        ("source env; cat 'a.txt'", "source env; cat a.txt"),  # may change where programs are
        ("cat *.txt; source env", "cat a.txt; source env"),
        ("source env; cat src/*.txt 'a.txt'", "source env; cat src/*.txt a.txt"),  # may make files
        ("source env; grep -r --include=*.py x", "source env; grep -r '--include=*.py' x"),
        ("source env; cat *.txt", None),
        ("source env; python3 --version", None),
    ):
        found = judge.verdict("run_command", {"command": line}, "ask", rules)
        assert (found.action, found.judged_line) == (("ask", "") if shown is None else ("run", shown)), line


def test_git_is_guarded_in_a_line_that_also_writes(tmp_path: Path) -> None:
    folder, marker = tmp_path / "folder", tmp_path / "ran"
    HOSTILE_REPOSITORIES["fsmonitor"](folder, marker, tmp_path / "outside")
    for guarded in (True, False):
        marker.unlink(missing_ok=True)
        line = judged(folder, f"git status > {OUTPUT}").judged_line if guarded else "git status"
        subprocess.run(["sh", "-c", line], cwd=folder, env=ENVIRON, check=True, capture_output=True)
        assert marker.exists() is not guarded


def test_names_that_differ_by_folder_are_asked_about(shop: Path) -> None:
    assert judged(shop, "cd src; cat *.txt").action == "ask"
    assert judged(shop, "cd src; cat c.txt").action == "run"


def test_programs_of_the_folder_and_of_version_managers_are_not_free(tmp_path: Path) -> None:
    shop = made(tmp_path / "shop")
    own, shims = shop / "bin", tmp_path / "shims"
    for folder in (own, shims):
        folder.mkdir()
        for name in ("python3", "cat"):
            (folder / name).write_text("#!/bin/sh\ntouch planted\n")
            (folder / name).chmod(0o755)
    path = ENVIRON["PATH"]
    assert str(own) not in judged(shop, "cat a.txt", path=f"{own}:{path}").judged_line
    assert judged(shop, "python3 --version", path="/usr/bin:/bin").action == "run"
    assert judged(shop, "python3 --version", path=f"{shims}:{path}").action == "ask"
    assert judged(shop, "cat a.txt", path=f"{shims}:{path}").action == "ask"


@each_case("mode", ["edits", "auto"])
def test_a_new_name_like_an_option_is_asked_about(shop: Path, mode: str) -> None:
    judge = Judge(folder=shop, home=shop.parent / "home", environ=ENVIRON)
    for path in ("-o", "src/-o", "-o.git/config", "./-x"):
        for tool in ("write_file", "edit_file", "create_directory"):
            found = judge.verdict(tool, {"path": path}, mode, ())
            assert found.action == "ask" and "begins with -" in found.reason and not found.rules, path
    assert judge.verdict("write_file", {"path": "a-b/c-.txt"}, mode, ()).action == "run"
    assert judged(shop, "echo x > ./-o").action == "ask"
