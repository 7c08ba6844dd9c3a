"""What a command in the sandbox cannot change: names that make other programs run things, outside of it."""

import asyncio
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from co_tui.agent.permissions.sandbox import can_hide_processes
from co_tui.events import SessionError
from co_tui.session.approvals.created_files import REASON
from co_tui.session.approvals.questions import Approval, ApprovalQuestion
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import YES, Person, left
from tests.support.long_run import LONG_RUN, also_in_a_long_run, only_in_a_long_run
from tests.support.sandbox import needs_bwrap
from tests.support.waiting import until
from tests.support.working import Call, Working, repository, working_in

pytestmark = needs_bwrap
IDENTITY = ("-c", "user.name=me", "-c", "user.email=me@example.com")
GIT = "git -c user.name=me -c user.email=me@example.com"


class KeepsNothing(Person):
    """Allows commands, and keeps nothing that they create under protected names."""

    async def approve(self, question: ApprovalQuestion) -> Approval:
        if question.reason == REASON:
            return Approval(approved=False, by="user")
        return await super().approve(question)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "shop")
    git(folder, "commit", "-qm", "first")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def every(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def aside(home: Path) -> list[Path]:
    """What was moved away."""
    return sorted(home.glob("state/set-aside/*/*/*"))


async def after(folder: Path, home: Path, *steps: Call) -> tuple[str, list[str]]:
    """What the model is told of its last call, and the user of what was moved away."""
    model, person = Working(*steps), KeepsNothing(*[YES] * len(steps))
    environment = working_in(folder, home, model, person, command_sandbox="bwrap", command_timeout_s=60.0)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    reported = [event.fact.what for event in session.state.timeline if isinstance(event.fact, SessionError)]
    await left(environment, session)
    return model.returned[-1], reported


async def run(folder: Path, home: Path, command: str) -> tuple[str, list[str]]:
    return await after(folder, home, ("run_command", {"command": command}))


EXISTING = {
    ".mcp.json": "{}",
    ".co-tui.toml": "",
    ".gitmodules": "",
    ".claude/settings.json": "{}",
    ".agents/skills/a/SKILL.md": "a",
    ".codex/config.toml": "",
    ".vscode/tasks.json": "{}",
    "deep/er/.claude/settings.json": "{}",
    "deep/er/.git/config": "",
    "deep/er/.git/hooks/pre-commit": "",
    ".git/modules/lib/HEAD": "ref: refs/heads/main\n",
    ".git/modules/lib/config": "",
    ".git/objects/info/alternates": "",
    ".husky/pre-commit": "",
    "scripts/hook.sh": "true\n",
}
ATTACK = r"""
tree() { find .mcp.json .co-tui.toml .gitmodules .claude .agents .codex .vscode .husky \
  deep .git/modules scripts/hook.sh .git/config .git/hooks .git/objects/info; }
for file in $(tree); do
  echo evil >> $file; echo evil > $file/evil
  rm -rf $file; mv $file moved; mv -T login.py $file; ln -f $file hard && echo evil >> hard; chmod 777 $file
done 2> /dev/null
mv .git g && cp -r g .git && echo evil > .git/hooks/post-commit
mv deep d && cp -r d deep && echo evil > deep/er/.git/config
mv .claude c && mkdir .claude && echo evil > .claude/settings.json
git config core.fsmonitor evil; git config --file deep/er/.git/config core.fsmonitor evil
python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None)
os.makedirs("decoy/er/.git", exist_ok=True)
for name in (".git", ".claude", "deep", "deep/er", "deep/er/.git", ".mcp.json", ".git/config", ".git/hooks", ".husky"):
    if libc.renameat2(-100, name.encode(), -100, b"decoy", 2) == 0:
        print("exchanged", name)
END
echo end
"""


def protected_content(folder: Path) -> dict[str, bytes]:
    # HEAD changes with every checkout.
    files = [
        *(name for name in EXISTING if not name.endswith("HEAD")),
        ".git/config",
        *(f".git/hooks/{each.name}" for each in (folder / ".git/hooks").iterdir()),
    ]
    return {name: (folder / name).read_bytes() for name in files}


async def test_what_is_there_cannot_be_changed_moved_or_replaced(folder: Path, home: Path) -> None:
    for name, text in EXISTING.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "config", "core.hooksPath", ".husky")
    (folder / ".git" / "hooks" / "pre-push").symlink_to("../../scripts/hook.sh")
    before, inode = protected_content(folder), (folder / ".git").stat().st_ino
    said, reported = await run(folder, home, ATTACK)
    assert "end" in said and "exchanged" not in said
    assert protected_content(folder) == before and (folder / ".git").stat().st_ino == inode
    assert {each.name for each in (folder / ".claude").iterdir()} == {"settings.json"}
    assert "evil" not in [path.name for path in every(folder)] and reported == [] and aside(home) == []


async def test_git_works_as_before(folder: Path, home: Path) -> None:
    (folder / ".claude").mkdir()
    command = (
        f"set -e; echo a > a; git add a; {GIT} commit -qm second; git checkout -q -b other; echo b > b; git add b; "
        f"{GIT} commit -qm third; git checkout -q main; {GIT} merge -q --no-ff -m merged other; echo c >> a; "
        f"{GIT} stash -q; {GIT} stash pop -q; git checkout -q -- a; git mv b c; {GIT} commit -qm moved; {GIT} tag v1; "
        f"{GIT} rebase -q HEAD~1; git branch -q copy; git reset -q --hard HEAD; git gc -q; "
        "git status --short; echo all well"
    )
    said, reported = await run(folder, home, command)
    assert "all well" in said and reported == []
    assert git(folder, "log", "--format=%s", "-1").strip() == "moved" and git(folder, "fsck", "--no-dangling") == ""


async def test_nothing_is_left_behind_by_looking(folder: Path, home: Path) -> None:
    before = every(folder)
    await run(folder, home, "true")
    assert every(folder) == before


CREATED = {
    "settings and repositories": {
        ".mcp.json": "echo '{}' > .mcp.json",
        ".claude": "mkdir -p .claude && echo '{}' > .claude/settings.json",
        ".codex": "ln -s /etc .codex",
        ".co-tui.toml": "ln -s nowhere .co-tui.toml",
        "a/b/.agents": "mkdir -p a/b/.agents",
        ".vscode/tasks.json": "mkdir .vscode && echo '{}' > .vscode/tasks.json",
        ".gitmodules": "touch .gitmodules",
        ".hooks": "mkdir -p .hooks && echo true > .hooks/pre-commit",
        "src/HEAD": "mkdir src && git init -q --bare src && echo true > src/hooks/pre-commit",
        "bare/HEAD": "git init -q --bare bare && git -C bare config core.fsmonitor /bin/true",
        "hook/.git": "git init -q hook && echo true > hook/.git/hooks/pre-commit",
        "watch/.git": "git init -q watch && git -C watch config core.fsmonitor /bin/true",
        "remote/.git": "git init -q remote && printf '[remote \"o\"]url = ext::sh' >> remote/.git/config",
        ".git/config.worktree": "printf '[core]\\nfsmonitor = x\\n' > .git/config.worktree",
        ".git/modules/x": "mkdir -p .git/modules/x/hooks && echo x > .git/modules/x/hooks/post-checkout",
    },
    "copies": {
        "linked/.git": "mkdir linked && cp -r .git linked/g && ln -s g linked/.git",
        "lib/.git": "cp -r .git g && mkdir lib && echo 'gitdir: ../g' > lib/.git",
    },
    "another repository": {".git/commondir": "cp -r .git g && echo ../g > .git/commondir"},
    "a worktree": {
        ".git/worktrees/wt": "git worktree add -q wt && cp -r .git g && echo ../../../g > .git/worktrees/wt/commondir"
    },
}
"""Commands by what they create; those of one group run as one."""


@pytest.mark.parametrize(
    "group", [each for each in CREATED if LONG_RUN or each not in ("copies", "another repository")]
)
async def test_what_a_command_creates_is_moved_away(folder: Path, home: Path, group: str) -> None:
    git(folder, "config", "core.hooksPath", ".hooks")
    created = CREATED[group]
    said, reported = await run(folder, home, " && ".join(created.values()))
    for name in created:
        assert folder / name not in every(folder)
        kept = [each for each in aside(home) if each.name == Path(name).name]
        assert f"created {folder / name}, " in said and any(f"It was moved to {each}." in said for each in kept)
    assert reported[0] in said and git(folder, "log", "--format=%s").strip() == "first"


async def test_new_repositories_that_run_nothing_stay(folder: Path, home: Path) -> None:
    command = (
        "git init -q new && git init -q --bare bare/.git && git init -q --bare bare/a.git && git clone -q . cloned"
        " && git worktree add -q tree && mkdir -p lib/node_modules/x/.vscode lib/.git2"
    )
    said, reported = await run(folder, home, command)
    assert "moved" not in said and reported == [] and aside(home) == []
    made = (*(f"{name}/.git" for name in ("new", "bare", "cloned", "tree")), "bare/a.git", "lib/node_modules/x/.vscode")
    assert {folder / name for name in made} <= set(every(folder))


async def test_a_link_is_put_back_and_what_it_leads_to_is_protected(folder: Path, home: Path) -> None:
    (folder / "dot").mkdir()
    (folder / "dot" / "settings.json").write_text("{}")
    (folder / ".claude").symlink_to("dot")
    (folder / ".agents").symlink_to("dot")
    command = (
        "echo evil > dot/settings.json; rm .agents .claude; mkdir .claude; echo evil > .claude/settings.json; mv dot d"
    )
    said, reported = await run(folder, home, command)
    assert (folder / ".claude").readlink() == (folder / ".agents").readlink() == Path("dot")
    assert (folder / "dot" / "settings.json").read_text() == "{}"
    assert (
        [each.name for each in aside(home)] == [".claude"]
        and "The previous version is restored" in said
        and len(reported) == 1
    )


async def test_a_second_name_of_a_protected_file_does_not_help(folder: Path, home: Path) -> None:
    config = folder / ".git" / "config"
    before = config.read_text()
    (folder / "second").hardlink_to(config)
    said, _ = await run(folder, home, "echo '[core] fsmonitor = evil' >> second")
    assert config.read_text() == before and "evil" in aside(home)[0].read_text() and f"replaced {config}" in said


async def test_what_the_user_made_between_two_commands_is_theirs(folder: Path, home: Path) -> None:
    model, person = Working(("run_command", {"command": "touch a"})), KeepsNothing(YES, YES)
    environment = working_in(folder, home, model, person, command_sandbox="bwrap")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    (folder / ".mcp.json").write_text("{}")
    model.steps = [("run_command", {"command": "touch b; echo evil > .mcp.json"})]
    await session.submit("again")
    (folder / ".claude").mkdir()
    await left(environment, session)
    assert (folder / ".mcp.json").read_text() == "{}" and (folder / ".claude").is_dir() and aside(home) == []


@only_in_a_long_run
async def test_a_file_tool_changes_what_the_user_allowed(folder: Path, home: Path) -> None:
    (folder / ".mcp.json").write_text("{}")
    (folder / "innocent").symlink_to(".git/config")
    await after(
        folder,
        home,
        ("start_command", {"command": "sleep 600"}),
        ("write_file", {"path": ".mcp.json", "content": "changed"}),
        ("create_directory", {"path": ".claude"}),
        ("write_file", {"path": ".claude/settings.json", "content": "{}"}),
        ("run_command", {"command": "touch a"}),
    )
    assert (folder / ".mcp.json").read_text() == "changed" and (folder / ".claude" / "settings.json").exists()
    assert aside(home) == []


@pytest.fixture
def watched_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.tools.running_commands.WATCH_S", 0.05)


@pytest.mark.usefixtures("watched_often")
async def test_what_the_user_allowed_is_not_changed_by_a_command_that_runs(folder: Path, home: Path) -> None:
    changes = "echo evil > .claude/evil; echo evil > .npmrc; echo evil > .mcp.json"
    waits = f"until test -e go; do sleep 0.02; done; {changes}; sleep 600"
    model = Working(
        ("start_command", {"command": waits}),
        ("write_file", {"path": ".npmrc", "content": "a=b"}),
        ("write_file", {"path": ".codex/config.toml", "content": ""}),
        ("write_file", {"path": ".claude/settings.json", "content": "{}"}),
        ("run_command", {"command": "touch a"}),
    )
    environment = working_in(folder, home, model, KeepsNothing(*[YES] * 5), command_sandbox="bwrap")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert (folder / ".npmrc").exists() and (folder / ".claude" / "settings.json").exists() and aside(home) == []
    (folder / "go").touch()
    await until(lambda: {each.name for each in aside(home)} == {".claude", ".npmrc", ".mcp.json"})
    await left(environment, session)
    assert not (folder / ".npmrc").exists() and (folder / ".codex" / "config.toml").exists()


@pytest.mark.usefixtures("watched_often")
@pytest.mark.parametrize("left_by", also_in_a_long_run(["start_command"], ["run_command"]))
async def test_what_runs_on_is_watched(folder: Path, home: Path, left_by: str) -> None:
    """While it runs, and once more when it ends with the session."""
    loop = "until test -e go; do sleep 0.05; done; echo '{}' > .mcp.json; "
    loop += "trap 'mkdir .claude; exit' TERM; sleep 600 & wait"
    command = loop if left_by == "start_command" else f'setsid sh -c "{loop}" > /dev/null 2>&1 &'
    model, person = Working((left_by, {"command": command})), KeepsNothing(YES)
    environment = working_in(folder, home, model, person, command_sandbox="bwrap")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    (folder / "go").touch()
    await until(lambda: [each.name for each in aside(home)] == [".mcp.json"])
    await until(lambda: any(isinstance(event.fact, SessionError) for event in session.state.timeline))
    await left(environment, session)
    assert {each.name for each in aside(home)} == {".mcp.json", ".claude"}
    assert not (folder / ".mcp.json").exists() and not (folder / ".claude").exists()


@pytest.mark.parametrize("tool", also_in_a_long_run(["start_command"], ["run_command", "a process left running"]))
async def test_outside_processes_are_hidden_and_background_commands_are_stopped(
    folder: Path, home: Path, tool: str
) -> None:
    if not await can_hide_processes():
        pytest.skip("this machine does not allow it")
    bystander = await asyncio.create_subprocess_exec("sleep", "600")
    line = (
        f"kill {bystander.pid}; ls /proc | grep -x {bystander.pid} || echo hidden > found; trap 'echo end > ended' TERM"
    )
    if tool == "run_command":
        await run(folder, home, line)
    elif tool == "start_command":
        await started_and_stopped(folder, home, f"{line}; setsid sleep 601.5 & sleep 600 & wait")
    else:
        left_running = f'setsid sh -c "{line}; sleep 600 & touch runs; wait" > /dev/null 2>&1 &'
        await run(folder, home, f"{left_running}\nuntil test -e runs; do sleep 0.02; done")
        assert (folder / "runs").exists()
    assert (folder / "found").exists() and bystander.returncode is None
    assert (folder / "ended").exists() is (tool != "run_command")
    bystander.kill()
    await bystander.wait()


async def started_and_stopped(folder: Path, home: Path, command: str) -> None:
    """The model stops it, after it has begun."""
    model, person = Working(("start_command", {"command": command})), KeepsNothing(YES)
    environment = working_in(folder, home, model, person, command_sandbox="bwrap")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    (started,) = session.commands.background()
    await until(lambda: (folder / "found").exists())
    assert started.running
    model.steps = [("stop_command", {"command_id": started.id})]
    await session.submit("stop")
    assert "[stopped]" in model.returned[-1] and not session.commands.background()
    assert (folder / "ended").exists()
    await until(lambda: not any(map(is_daemon, Path("/proc").glob("[0-9]*/cmdline"))))
    await left(environment, session)


def is_daemon(arguments: Path) -> bool:
    """Whether it is what the command left in a session of its own."""
    with suppress(OSError):
        return arguments.read_bytes() == b"sleep\x00601.5\x00"
    return False
