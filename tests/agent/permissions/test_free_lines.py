"""Command lines drawn from a grammar: what is called free is run in a sandbox over canaries, and does nothing.

`CO_TUI_LONG_RUN=500 uv run pytest tests/agent/permissions/test_free_lines.py` draws 2,000 lines.
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
from tests.support.long_run import drawn
from tests.support.sandbox import needs_bwrap
from tests.support.waiting import PATIENCE_S

SECRET = "canary-outside-51c7"
LINES = 4
"""In each example, all over the same folder."""
ODD_NAMES = (
    "a.txt", "b c.txt", "-n", "-o", "-exec", "--output=planted", "--help", "-R", "-delete", ".hidden", "*", "?", "[x]",
    "$(touch planted)", "`touch planted`", ";touch planted", "&", "|", "é", "{a,b}", "~", "#x", "'", '"', "a\nb", "\\",
    "-fprint", "--pre=sh", "-i", "w planted", "e touch planted", "--", "a--", "5", "git", "cd",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("canaries"))


def made(root: Path) -> Path:
    """A folder with canaries of every kind, and what is outside of it."""
    folder, outside = root / "folder", root / "outside"
    (folder / "src/deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_text(f"{SECRET}\n")
    for name in ODD_NAMES:
        (folder / name).write_text(f"text of a file\nsecond line {len(name)}\n")
    (folder / "src/a.py").write_text("def f():\n    return 1\n")
    (folder / "src/deep/b.py").write_text("x = 2\n")
    (folder / "out").symlink_to(outside)
    (folder / "src/link").symlink_to(outside / "secret.txt")
    (folder / "link.txt").symlink_to("../outside/secret.txt")
    (folder / "loop").symlink_to("loop")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=folder, check=True, capture_output=True)
    (folder / "a.txt").write_text("changed\n")
    return root


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            is_file = path.is_file() and not path.is_symlink()
            found[str(path)] = (path.lstat().st_mode, path.read_bytes() if is_file else b"")
    return found


names = st.sampled_from(
    ("a.txt", "src/a.py", "src", ".", "src/deep", "src/link", "link.txt", "out", "out/secret.txt",
     "../outside/secret.txt", "..", "/etc/hostname", "~", "~/x", "*", "*.txt", "src/*", "?.txt", "-*", "-n",
     "--output=planted", "'b c.txt'", '"b c.txt"', "b\\ c.txt", "'$(touch planted)'", '"$(touch planted)"', "$(ls)",
     "`ls`", "{a,b}.txt", "nowhere", "HEAD", "HEAD~1", "main", "--", "-", "'*'", "[a]*", "loop", "$HOME", "${x}",
     "a\\\nb", "é", "'é'", "src/../a.txt", "out/../a.txt", "./-n", "<(ls)")
)  # fmt: skip
options = st.sampled_from(
    ("-n", "-l", "-la", "-R", "-r", "-L", "-LR", "-rn", "-i", "-v", "-c", "-e", "-f", "-o", "-5", "-n 2", "-A1",
     "--stat", "--output=planted", "--outp=planted", "--output planted", "-p", "-z", "-exec touch planted \\;",
     "-delete", "-type f", "-name '*.py'", "-fprint planted", "-exec cat {} \\;", "-type f -exec cat {} +",
     "-follow", "--no-index", "--ext-diff", "--textconv", "-w", "-x", "-S x", "--pre=sh", "-k 2",
     "--files0-from=a.txt", "--format=%h", "--format=%G?", "-u", "--color", "-1", "'1,3p'", "'1w planted'", "-s",
     "-d: -f1", "-T", "-C")
)  # fmt: skip
programs = st.sampled_from(
    ("ls", "cat", "head", "tail", "wc", "grep x", "grep -r text", "find", "find .", "sort", "uniq", "cut -c1-3",
     "tr a b", "diff", "cmp", "stat", "file", "du", "git status", "git diff", "git log", "git show", "git ls-files",
     "git blame", "git grep text", "git branch", "git tag", "git stash list", "echo", "printf '%s'", "pwd", "true",
     "sed -n '1,3p'", "sed", "test -f", "realpath", "readlink", "basename", "nl", "tac", "od", "xxd", "sha256sum",
     "comm", "paste", "date", "rg text", "tree", "command -v", "which", "timeout 5 cat", "nice ls", "env", "xargs",
     "tee planted", "touch planted", "rm", "sh -c", "eval", "python3 -c", "awk 1", "cp a.txt", "mv a.txt",
     "alias x=touch;x", "git -C src status")
)  # fmt: skip
redirections = st.sampled_from(
    ("", "", "", "2>/dev/null", "2>&1", ">/dev/null", "> planted", ">> planted", "2> planted", "&> planted", "<a.txt",
     "< out/secret.txt", "<<'E'\n$(touch planted)\nE\n", "<<E\n$(touch planted)\nE\n", "<<< x", ">| planted", ">&2",
     "> $(echo planted)", "3> planted")
)  # fmt: skip
variables = st.sampled_from(("", "", "", "", "A=1 ", "PATH=. ", "GIT_EXTERNAL_DIFF='touch planted' ", "LC_ALL=C "))
joints = st.sampled_from((" | ", " && ", " || ", "; ", "\n", " & ", " |& ", ";; ", " ; ", "\\\n"))


@st.composite
def commands(draw: st.DrawFn) -> str:
    program = draw(programs)
    words = [draw(st.one_of(names, options)) for _ in range(draw(st.integers(0, 3)))]
    return f"{draw(variables)}{' '.join([program, *words])} {draw(redirections)}".rstrip(" ")


@st.composite
def lines(draw: st.DrawFn) -> str:
    parts = [draw(commands()) for _ in range(draw(st.integers(1, 3)))]
    line = parts[0]
    for part in parts[1:]:
        line += draw(joints) + part
    shape = draw(
        st.sampled_from(
            ("{}", "{}", "{}", "{}", "cd src && {}", "cd src; {}", "cd out && {}", "cd ..; {}", "echo $({})",
             'echo "$({})"', "cat $({})", "`{}`", "({})", "{{ {}; }}", "if true; then {}; fi", "f() {{ {}; }}; f",
             "! {}",
             "for x in *; do {}; done", "eval '{}'", "# x\n{}", "{} # x", "alias ls='touch planted'\n{}")
        )
    )  # fmt: skip
    return shape.format(line)


readers = st.sampled_from(
    ("ls", "ls -la", "ls -R", "cat", "cat -n", "head -2", "tail -n 2", "wc -l", "grep -n text", "grep -rn text",
     "find .",
     "find src -type f", "sort -u", "uniq -c", "cut -c1-3", "stat -c %s", "file", "du -a", "nl", "tac", "od -c", "xxd",
     "sha256sum", "sed -n '1,3p'", "sed -n '/text/p'", "git status -s", "git diff", "git diff HEAD --", "git log -p -1",
     "git show", "git ls-files", "git blame", "git grep -n text", "git ls-tree -r HEAD", "echo", "test -f", "realpath",
     "basename", "timeout 5 cat", "diff a.txt", "cmp a.txt", "comm a.txt", "paste", "git cat-file -p", "tree -a")
)  # fmt: skip
inside = st.sampled_from(
    ("a.txt", "src/a.py", "src", ".", "src/deep/b.py", "src/*.py", "*.txt", "?.txt", "src/*", "-- *", "'b c.txt'", "*",
     "\\*", "'*'", ".hidden", "./-n", "-- -n", "--output=planted", "src/deep/*", "HEAD", "link.txt", "src/link", "-*",
     "'$(touch planted)'", "e*", "w*", "'-exec'", ".*", ".?", "-S", "--pretty", "-e1p", "?-- -o planted", "5")
)  # fmt: skip


@st.composite
def likely_free(draw: st.DrawFn) -> str:
    """Lines that mostly only read."""
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        words = [draw(readers), *(draw(inside) for _ in range(draw(st.integers(0, 2))))]
        parts.append(" ".join([*words, draw(st.sampled_from(("", "", "2>/dev/null", "2>&1", "</dev/null", "<a.txt")))]))
    line = parts[0]
    for part in parts[1:]:
        line += draw(st.sampled_from((" | ", " && ", "; ", " || ", "\n"))) + part
    return draw(
        st.sampled_from(
            ("{}", "{}", "cd src && {}", 'echo "$({})"', "cd src; {}", "command cd src && {}", "cd src && cd x; {}")
        )
    ).format(line)


def ran_alone(line: str, root: Path) -> str:
    """What a line says in a sandbox in which the folder and what is outside of it can be written."""
    done = subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(root), str(root),
         "--unshare-net", "--die-with-parent", "--chdir", str(root / "folder"), "sh", "-c", line],
        env=guarded_environment({"PATH": os.environ["PATH"], "HOME": str(root / "outside")}, root / "folder"),
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    return (done.stdout + done.stderr).decode(errors="replace")


@needs_bwrap
@settings(max_examples=drawn(12), suppress_health_check=list(HealthCheck))
@given(st.lists(lines() | likely_free() | likely_free(), min_size=LINES, max_size=LINES))
def test_what_is_free_writes_nothing_and_reads_nothing_outside(root: Path, drawn_lines: list[str]) -> None:
    judge = Judge(folder=root / "folder", home=root / "outside", environ={"PATH": os.environ["PATH"]})
    before = snapshot(root)
    for line in drawn_lines:
        verdict = judge.verdict("run_command", {"command": line}, "ask", ())
        if verdict.action == "run":
            assert SECRET not in ran_alone(verdict.judged_line, root), line
            assert snapshot(root) == before, line


@needs_bwrap
@pytest.mark.parametrize(
    "line", ["echo x > planted", "cat out/secret.txt", "cd src && cat link", "sort -o planted a.txt"]
)
def test_the_canaries_notice(tmp_path: Path, line: str) -> None:
    """What is asked about would have been noticed, had it been free."""
    root = made(tmp_path)
    judge = Judge(folder=root / "folder", home=root / "outside", environ={"PATH": os.environ["PATH"]})
    assert judge.verdict("run_command", {"command": line}, "ask", ()).action == "ask"
    before = snapshot(root)
    assert SECRET in ran_alone(line, root) or snapshot(root) != before


@pytest.mark.skipif(shutil.which("rg") is None, reason="needs ripgrep")
def test_a_configuration_of_ripgrep_names_no_program(tmp_path: Path) -> None:
    (tmp_path / "rc").write_text("--pre=./evil\n")
    (tmp_path / "evil").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "evil").chmod(0o700)
    (tmp_path / "a.txt").write_text("word\n")
    environ = {"PATH": os.environ["PATH"], "RIPGREP_CONFIG_PATH": str(tmp_path / "rc")}
    found = subprocess.run(
        ("rg", "word", "."), cwd=tmp_path, env=guarded_environment(environ, tmp_path), capture_output=True, check=True
    )
    assert b"word" in found.stdout and not (tmp_path / "ran").exists()
