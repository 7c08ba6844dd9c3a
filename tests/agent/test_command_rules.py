"""Commands held against the tables: which run without asking, which ask, and which ask every time."""

from pathlib import Path

import pytest
from co_tui.agent.approvals import AllowedCalls, asks_first, is_allowed
from co_tui.agent.command_rules import ASKED_EVERY_TIME, READING_COMMANDS, is_asked_every_time, only_reads
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    (place / "src").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("secret")
    (place / "link").symlink_to(tmp_path / "outside.txt")
    (place / "inner").symlink_to(place / "src")
    return place


@pytest.mark.parametrize(
    "command",
    ["git status", "git status -s", "git diff HEAD~1 -- src/a.py", "git log --oneline -5",
     "git show HEAD", "git branch", "git branch -a", "git stash list", "git tag --list", "ls", "ls -la src",
     "cat src/a.py", "cat inner/a.py", "cat 'a b.txt'", "head -n 5 README.md", "wc -l src/a.py", "pwd",
     "grep -rn 'def .*(x|y)$' src", 'grep "a;b" README.md', "find . -name '*.py'", "rg -n todo src"],
)  # fmt: skip
def test_what_only_reads_runs_without_asking(command: str, folder: Path) -> None:
    assert only_reads(command, folder)
    assert not asks_first("run_command", {"command": command}, folder)
    assert asks_first("start_command", {"command": command}, folder), "what goes on by itself is asked about"


@pytest.mark.parametrize(
    "command",
    ["", "   ", "pytest", "pytest --collect-only", "python x.py", "make", "./ls", "/bin/ls",
     # operators, substitutions, redirections, wildcards, several lines
     "git status; id", "git status && id", "git log | sh", "ls > x", "cat < x", "ls &", "echo $HOME", "echo `id`",
     "echo $(id)", 'echo "$(id)"', 'cat "a`id`"', "ls *.py", "ls\nid", "ls (a)", "cat {a,b}", "cat \\a", "ls # x",
     # quotes that hide where they end
     "ls \"it's\" ; id 'x'", "ls 'a\"' ; id \"b'", "ls 'x", 'ls "x',
     # out of the folder
     "cat /etc/passwd", "cat ../outside.txt", "cat src/../../outside.txt", "cat link", "ls ~", "cat ~/x", "ls -I/x/y",
     "grep -f../outside.txt x", "diff README.md /etc/passwd",
     # options that write, run or leave the folder
     "find . -exec id", "find . -delete", "find . -fprint x", "git diff --output=x", "git diff --outp=x",
     "git log --output x", "git -c core.pager=id log", "git --paginate log", "git branch new", "git branch -D x",
     "git tag v1", "git diff --no-index a b", "grep -Rn x .", "rg --pre id x", "rg --pre=id x", "tail -f x",
     "tail -nf x", "git stash list --output=x", "git remote add x y", "git config --list",
     "A=1 ls", "env ls", "xargs cat", "sh -c ls"],
)  # fmt: skip
def test_everything_else_asks(command: str, folder: Path) -> None:
    assert not only_reads(command, folder)
    assert asks_first("run_command", {"command": command}, folder)


@pytest.mark.parametrize(
    ("config", "free"),
    [
        ('[core]\n\tbare = false\n[remote "origin"]\n\turl = https://host/shop.git\n', True),
        ("[core]\n\tfsmonitor = ./evil\n", False),
        ("[core] FSMonitor=./evil\n", False),
        ("[diff]\n\texternal = ./evil\n", False),
        ('[filter "x"]\n\tclean = ./evil\n', False),
        ("[include]\n\tpath = ../evil\n", False),
        ("[core]\n\thooksPath = hooks\n", False),
        (None, False),
    ],
)
def test_git_reads_freely_only_where_it_runs_nothing_of_the_checkouts(folder: Path, config, free: bool) -> None:
    git = folder / ".git"
    git.mkdir()
    if config is not None:
        (git / "config").write_text(config)
    assert only_reads("git status", folder) is free and only_reads("ls", folder)
    assert only_reads("git status", folder / "src") is free
    worktree = folder.parent / "worktree"
    worktree.mkdir()
    own = git / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (worktree / ".git").write_text(f"gitdir: {own}\n")
    assert only_reads("git status", worktree) is free


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "rm x", "/bin/rm x", "cd src && rm -r x", "ls; rm x", "sh -c 'rm -rf x'", 'bash -c "rm x"',
     "r''m x", "\\rm x", "echo $(rm x)", "echo `rm x`", "ls | xargs rm", "find . -delete", "find . -exec rm {} +",
     "sudo ls", "git push", "git push --force origin main", "git -C src push", "git reset --hard HEAD", "git clean -fd",
     "git checkout -- .", "git checkout .", "git restore x", "git branch -D x", "chmod -R 777 .", "dd if=a of=b",
     "npm publish", "uv publish", "mkfs.ext4 /dev/x", "kill 1", "x" * 3000],
)  # fmt: skip
def test_what_cannot_be_taken_back_asks_under_always_too(command: str) -> None:
    everything = [AllowedCalls("run_command"), AllowedCalls("run_command", "*")]
    assert is_asked_every_time(command)
    assert not is_allowed(everything, "run_command", {"command": command})


@pytest.mark.parametrize(
    "command",
    ["git commit -m x", "git add .", "git checkout main", "git branch", "uv run pytest", "npm test", "make", "mv a b",
     "pip install x", "git stash", "docker build .", "chmod +x a", "git reset HEAD x"],
)  # fmt: skip
def test_ordinary_work_can_be_allowed_for_good(command: str) -> None:
    assert is_allowed([AllowedCalls("run_command")], "run_command", {"command": command})


def test_nothing_that_is_asked_about_every_time_is_among_what_only_reads(folder: Path) -> None:
    assert not [rule for rule in ASKED_EVERY_TIME if only_reads(rule, folder)]
    assert not [command for command in READING_COMMANDS if is_asked_every_time(command)]


@given(st.text(st.sampled_from("ls cat'\"; &|$`()<>\\\n*~-/.a"), max_size=24))
def test_no_sign_of_the_shell_gets_past_its_quotes(tail: str) -> None:
    """Whatever runs without asking is, to a shell, one command with exactly the words we looked at."""
    import shlex
    import subprocess

    command = f"echo {tail}"
    if only_reads(command, Path("/nowhere")):
        words = shlex.split(command)[1:]
        said = subprocess.run(
            ["sh", "-c", command.replace("echo", "printf '%s\\0'", 1)], capture_output=True, text=True
        )
        assert said.stdout == "".join(f"{word}\0" for word in words or [""])
