"""Hooks, checks and MCP servers that run files of the folder, which the model may have changed: the sandbox holds them,
and their files are changed only with approval."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.session_programs import SessionPrograms, runs_folder
from co_tui.events import HookRun, SessionError
from co_tui.folders import Folders
from co_tui.session.approvals.questions import Approval, Unattended
from co_tui.session.session import Session
from co_tui.session.tools.folder.folder_guard import FolderGuard
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Settings
from co_tui.settings.hook_entries import HookEntry
from co_tui.settings.mcp_servers import McpServer
from tests.support.approving import YES, Person, left, log_of
from tests.support.mcp_talk import ODD, Talk
from tests.support.sandbox import needs_bwrap
from tests.support.waiting import PATIENCE_S
from tests.support.working import Call, Working, working_in

WRITE: Call = ("write_file", {"path": "a.py", "content": "x = 1\n"})


@pytest.fixture
def place() -> Iterator[Path]:
    """Not below /tmp, of which the sandbox has its own."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)


@pytest.fixture
def folder(place: Path) -> Path:
    """A project whose every program leaves a file in the folder, and one outside of it."""
    folder = place / "shop"
    attack = f"touch {folder}/ran; echo escaped > {place}/escaped"
    for name in ("scripts/lint.sh", ".venv/bin/ruff"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(f"#!/bin/sh\n{attack}\n")
        (folder / name).chmod(0o755)
    (folder / "Makefile").write_text(f"all lint:\n\t{attack}\n")
    return folder


async def worked(folder: Path, home: Path, *steps: Call, person: Unattended | None = None, **settings: Any) -> list:
    model = Working(*steps)
    environment = working_in(folder, home, model, person or Unattended(yes=True), **settings)
    environment.environ = dict(os.environ)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    log = log_of(environment, session)
    await environment.mcp_servers.close()
    await left(environment, session)
    return log


def hook(command: str) -> dict[str, Any]:
    return {"hooks": {"postToolUse": (HookEntry(command),)}}


ATTACKS = {
    "a hook's script": hook("./scripts/lint.sh"),
    "a hook's shell": hook("cat > /dev/null; sh scripts/lint.sh"),
    "a hook of a script for Claude Code": hook('"$CLAUDE_PROJECT_DIR"/scripts/lint.sh'),
    "a hook in another folder": hook("cd scripts && ./lint.sh"),
    "a hook's program on PATH": hook("ruff check"),
    "a hook's make": hook("make -s lint"),
    "a check": {"after_edit": {"*.py": ("make -s",)}},
    "a check's script": {"after_edit": {"*.py": ("scripts/lint.sh {file}",)}},
    "a check's program on PATH": {"after_edit": {"*.py": ("ruff check {file}",)}},
}


@needs_bwrap
@pytest.mark.parametrize("settings", ATTACKS.values(), ids=ATTACKS)
async def test_what_runs_files_of_the_folder_runs_in_the_sandbox(
    place: Path, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    monkeypatch.setenv("PATH", f"{folder}/.venv/bin{os.pathsep}{os.environ['PATH']}")
    await worked(folder, home, WRITE, **settings)
    assert (folder / "ran").exists() and not (place / "escaped").exists()


@needs_bwrap
@pytest.mark.parametrize("kind", ["off", "bwrap", "bwrap+network"])
async def test_a_hook_in_the_sandbox_gets_its_input_and_may_refuse(folder: Path, home: Path, kind: str) -> None:
    (folder / "scripts/lint.sh").write_text('#!/bin/sh\ncat > input.json; ls "$1"; echo no >&2; exit 2\n')
    line = "./scripts/lint.sh $(pwd)"
    settings = {"hooks": {"preToolUse": (HookEntry(line),)}, "command_sandbox": kind}
    log = await worked(folder, home, WRITE, **settings)
    given = json.loads((folder / "input.json").read_text())
    assert given["tool_name"] == "Write" and not (folder / "a.py").exists()
    assert [event.fact.reason for event in log if isinstance(event.fact, HookRun)] == ["no"]


@needs_bwrap
async def test_a_hook_that_fails_in_the_sandbox_says_so(folder: Path, home: Path) -> None:
    because = "(It ran in the sandbox because its command names ./scripts/lint.sh of the project.)"
    (folder / "scripts/lint.sh").write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    log = await worked(folder, home, WRITE, **hook("./scripts/lint.sh"))
    outcomes = [event.fact.outcome for event in log if isinstance(event.fact, HookRun)]
    assert outcomes == [f"Failed with exit code 3: broken {because}"]


@needs_bwrap
async def test_a_refusal_for_a_place_that_the_sandbox_hides_says_so(folder: Path, home: Path) -> None:
    (folder / "scripts/lint.sh").write_text("#!/bin/sh\nexit 0\n")
    line = "./scripts/lint.sh; : > /usr/refused"
    log = await worked(folder, home, WRITE, hooks={"preToolUse": (HookEntry(f"({line}) || exit 2"),)})
    (reason,) = [event.fact.reason for event in log if isinstance(event.fact, HookRun)]
    assert "/usr/refused" in reason and "It ran in the sandbox because its command names ./scripts/lint.sh" in reason


async def test_a_hook_of_the_users_own_runs_as_it_is(place: Path, folder: Path, home: Path) -> None:
    (place / "notify.sh").write_text(f"cat > {place}/notified\n")
    await worked(folder, home, WRITE, **hook(f"sh {place}/notify.sh"))
    assert "PostToolUse" in (place / "notified").read_text()


@needs_bwrap
async def test_a_server_of_the_folder_runs_in_the_sandbox_with_the_network(
    place: Path, folder: Path, home: Path
) -> None:
    (folder / "server.py").write_text(f"open({str(place / 'escaped')!r}, 'w')\n{ODD.read_text()}")
    (folder / "safe.py").write_text(ODD.read_text())
    person = Person(*[YES] * 2)
    named = {"safe": ("safe.py", {}), "odd": ("server.py", {})}
    servers = {
        name: McpServer(command=sys.executable, args=("-S", file), start_timeout_s=PATIENCE_S)
        for name, (file, _) in named.items()
    }
    async with Talk(folder, home, ("mcp__safe__echo", {}), person=person, mcp_servers=servers) as talk:
        assert await talk.say("echo") is Outcome.DONE
        states = {report.name: report.text for report in talk.environment.mcp_servers.reports}
    assert "echo" in talk.model.returned[0] and states["safe"].startswith("running")
    assert "Read-only file system" in states["odd"] and not (place / "escaped").exists()
    assert "It runs in the sandbox because its command names server.py of the project" in states["odd"]


@needs_bwrap
async def test_a_server_in_the_sandbox_has_writable_caches(folder: Path, home: Path) -> None:
    names = ("npm_config_cache", "UV_CACHE_DIR", "UV_TOOL_DIR")
    making = f"import os\nfor name in {names}: os.makedirs(os.environ[name])\n"
    (folder / "server.py").write_text(making + ODD.read_text())
    server = McpServer(command=sys.executable, args=("-S", "server.py"), start_timeout_s=PATIENCE_S)
    async with Talk(folder, home, ("mcp__odd__echo", {}), mcp_servers={"odd": server}) as talk:
        assert await talk.say("echo") is Outcome.DONE
        assert [report.stage for report in talk.environment.mcp_servers.reports] == ["running"]


PROTECTED = {
    "scripts/lint.sh": hook("./scripts/lint.sh"),
    "scripts/missing.sh": {"after_edit": {"*.py": ("sh scripts/missing.sh {file}",)}},
    "tools/server.py": {"mcp_servers": {"odd": McpServer(command="python3", args=("tools/server.py",), enabled=True)}},
    ".venv/bin/ruff": {},  # a folder of PATH
    ".env3/lib/python3.11/site-packages/attack.pth": {},  # of co-tui's own interpreter
    "sitecustomize.py": {},
}


@pytest.mark.parametrize("mode", ["edits", "auto"])
@pytest.mark.parametrize(("path", "settings"), PROTECTED.items(), ids=PROTECTED)
async def test_a_file_that_is_run_unasked_is_changed_only_with_approval(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, settings: dict[str, Any], mode: str
) -> None:
    programs = installed_in(folder, monkeypatch)
    programs.use(Settings(**settings))
    judge = Judge(folder=folder, home=folder.parent / "home", programs=lambda: programs.paths)
    for each in (path, str(folder / path)):
        verdict = judge.verdict("write_file", {"path": each, "content": ""}, mode, [])
        assert verdict.action == "ask" and verdict.protected
    assert judge.verdict("write_file", {"path": "scripts/other.sh", "content": ""}, mode, []).action == "run"


def installed_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> SessionPrograms:
    """co-tui is installed in the folder, and started from an active environment."""
    (folder / ".env3/lib/python3.11/site-packages").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder / ".env3"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    monkeypatch.setenv("PATH", f".venv/bin{os.pathsep}{os.environ['PATH']}")
    return SessionPrograms(Folders(folder), dict(os.environ))


@needs_bwrap
async def test_a_command_in_the_sandbox_changes_nothing_that_is_run_unasked(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_in(folder, monkeypatch)
    before = (folder / "scripts/lint.sh").read_text()
    lines = [
        "echo x >> scripts/lint.sh; rm scripts/lint.sh; mv scripts other; mv .venv old; echo x > .venv/bin/sh",
        "echo 'import os' > .env3/lib/python3.11/site-packages/attack.pth; mv .env3 old",
        "echo x > scripts/missing.sh; echo x > sitecustomize.py; mkdir usercustomize; echo fine > fine.txt",
    ]
    steps = [("run_command", {"command": line}) for line in lines]
    settings = {**hook("./scripts/lint.sh; ./scripts/missing.sh"), "command_sandbox": "bwrap"}
    person = Person(*[YES] * 3, *[Approval(approved=False, by="user")] * 10)
    await worked(folder, home, *steps, person=person, **settings)
    assert (folder / "scripts/lint.sh").read_text() == before and (folder / "fine.txt").exists()
    names = ("scripts/missing.sh", "sitecustomize.py", "usercustomize", ".venv/bin/sh", "other", "old")
    assert not [name for name in names if (folder / name).exists()]
    assert list((folder / ".env3").rglob("*.pth")) == []


@needs_bwrap
async def test_what_the_user_allows_is_changed(folder: Path, home: Path) -> None:
    write = ("write_file", {"path": "scripts/lint.sh", "content": "true\n"})
    person = Person(YES)
    await worked(folder, home, write, person=person, mode="auto", **hook("./scripts/lint.sh"))
    assert (folder / "scripts/lint.sh").read_text() == "true\n"
    assert "which a hook, a check or an MCP server uses" in person.asked[0].reason


@needs_bwrap
async def test_a_hook_that_is_configured_while_commands_run_leaves_its_file_in_place(folder: Path) -> None:
    programs = SessionPrograms(Folders(folder), {})
    guard = FolderGuard(folder, folder.parent / "aside", folder.parent / "home", lambda: programs.paths)
    await guard.begin(others_run=False)
    programs.use(Settings(**hook("./scripts/lint.sh")))
    assert await guard.end() is None and (folder / "scripts/lint.sh").exists()


async def test_without_a_sandbox_it_is_said_once(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = folder.parent / "bin"
    tools.mkdir()
    for name in ("sh", "touch", "head", "cat"):
        (tools / name).symlink_to(f"/usr/bin/{name}")
    monkeypatch.setenv("PATH", str(tools))
    settings = {**hook("./scripts/lint.sh"), "after_edit": {"*.py": ("cat {file}",)}}
    log = await worked(folder, home, WRITE, WRITE, **settings)
    said = [event.fact.what for event in log if isinstance(event.fact, SessionError)]
    assert len(said) == 1 and "not sandboxed here" in said[0] and "bwrap is not installed" in said[0]
    assert (folder / "ran").exists()


def test_what_runs_the_folder_and_what_does_not(place: Path, folder: Path) -> None:
    outside = place / "mine.sh"
    lines = {
        "notify-send done": False,
        f"sh {outside} done": False,
        "jq -r .tool_name >> /dev/null": False,
        "jq -c . >> ~/.claude/log.jsonl": False,
        "cat > /dev/null; echo tests asked >> ~/notes.txt": False,
        "cd tests; curl -s http://127.0.0.1/": False,
        "echo make pytest scripts": False,
        "cat Makefile": False,
        f"curl -s https://example.com -d @{outside}": False,
        "sed -n 's/a/b/p'": False,
        "npx -y @scope/server": False,
        "npx mcp-remote https://example.com/mcp": False,
        f"npx -y server-filesystem {folder}": False,
        "uvx mcp-server-time": False,
        "uv tool run mcp-server-time": False,
        f"uv --directory {place} run server": False,
        f"{place}/.venvs/x/bin/python -m srv": False,
        f"cd {place}/servers && ./run": False,
        f"bash -c 'cd {place}/servers && make && ./run'": False,
        f"cd {place}/missing; ./run": True,
        f"(cd {place}/servers); ./run": True,
        f"cd {place}/servers && ../shop/run": True,
        f"cd {place}/servers && cd {folder} && ./run": True,
        "cd tests && ./run": True,
        f"sh -c 'cd {place}/servers'; ./run": True,
        f"cd {place}/servers | cat; ./run": True,
        f"false && cd {place}/servers; ./run": True,
        f"uv --directory {folder} run server": True,
        "uv run server": True,
        "uvx --from . server": True,
        "node .": True,
        "npx planted@1.2": True,
        "npm exec planted": True,
        f"{place}/.venvs/x/bin/python -m tests": True,
        "python3 -m tests.server": True,
        "python3 -um pytest": True,
        "python3 -c 'import json'": True,
        "npm test": True,
        "MODE=1 npm test": True,
        "timeout 5 npm test": True,
        "if true; then make; fi": True,
        'echo "$(make)"': True,
        "cat > /dev/null\nmake": True,
        f"cd {'x' * 5000}; sh ~nobody-here/x {'y' * 5000}/z a\0b": False,
        "sh -c 'make lint'": True,
        "sh -c './scripts/lint.sh'": True,
        "sh <scripts/lint.sh": True,
        "cat Makefile | sh scripts/lint.sh": True,
        "sh scripts": True,
        "echo 'one": False,
        "./scripts/lint.sh 'one": True,
        f"sh {place}/link/lint.sh": True,
    }
    (place / "link").symlink_to(folder / "scripts")
    (place / "servers").mkdir()
    (folder / "tests").mkdir()
    (folder / "node_modules/.bin/planted").mkdir(parents=True)
    environ = {"PATH": "/usr/bin:/bin"}
    assert {line: bool(runs_folder(line, folder, [folder], environ)) for line in lines} == lines


def test_a_file_named_like_a_module_of_python_is_imported_from_the_folder(folder: Path) -> None:
    assert not runs_folder("python3 -m srv", folder, [folder], {"PATH": "/usr/bin:/bin"})
    (folder / "json.py").write_text("")
    assert runs_folder("python3 -m srv", folder, [folder], {"PATH": "/usr/bin:/bin"}) == "json.py"


@needs_bwrap
async def test_what_a_hook_names_in_the_home_is_shown_to_it(
    place: Path, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place))
    (place / "rules.txt").write_text("rules")
    (place / "other.txt").write_text("other")
    (folder / "scripts/lint.sh").write_text(f"#!/bin/sh\ncat ~/rules.txt ~/other.txt > {folder}/shown; exit 0\n")
    await worked(folder, home, WRITE, **hook("./scripts/lint.sh ~/rules.txt"))
    assert (folder / "shown").read_text() == "rules"


@needs_bwrap
async def test_a_hook_writes_to_the_files_that_it_names_itself(folder: Path, home: Path) -> None:
    (folder / "old.txt").write_text("old")
    log = await worked(folder, home, WRITE, WRITE, **hook("touch new.txt; cp a.py old.txt; cat a.py >> log.txt"))
    assert (folder / "new.txt").exists() and (folder / "old.txt").read_text() == "x = 1\n"
    assert (folder / "log.txt").read_text() == "x = 1\n" * 2
    assert not [event for event in log if isinstance(event.fact, SessionError)]
