"""Commands in the sandbox: what they can do, what they cannot, and what is said of it."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from co_tui.agent.permissions.sandbox import Sandbox, can_hide_processes, sandbox_problem
from co_tui.paths import locate
from co_tui.session.session import Session
from co_tui.session.tools.folder.session_folder import LocalFolder
from co_tui.session.tools.running_commands import RunningCommands
from co_tui.session.turns.turn import Outcome
from tests.support.approving import YES, Person, left
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.sandbox import needs_bwrap
from tests.support.working import Call, Working, repository, working_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


@pytest.fixture
def user_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of a user who has keys; not below /tmp, of which the sandbox has its own."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        yield _with_keys(Path(made), monkeypatch)


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder that the sandbox shows."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)


def _with_keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text("PRIVATE KEY")
    (home / ".netrc").write_text("machine example login me password PRIVATE")
    (home / "notes.txt").write_text("to be read")
    monkeypatch.setenv("HOME", str(home))
    return home


async def told(folder: Path, home: Path, *steps: Call, kind: str = "bwrap") -> tuple[list[str], Person]:
    """What the model is told of its calls, all of which are allowed, and what the person was asked."""
    model, person = Working(*steps), Person(*[YES] * len(steps))
    environment = working_in(folder, home, model, person, command_sandbox=kind, command_timeout_s=20.0)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    await left(environment, session)
    return model.returned, person


async def told_of(command: str, folder: Path, home: Path, kind: str = "bwrap") -> str:
    returned, _ = await told(folder, home, ("run_command", {"command": command}), kind=kind)
    return returned[-1]


@needs_bwrap
async def test_a_command_writes_in_the_folder_and_nowhere_else(folder: Path, home: Path, user_home: Path) -> None:
    outside = folder.parent / "outside"
    command = f"echo in > inside; cat ~/notes.txt; echo home > ~/planted; echo a > {outside} && echo a /tmp of its own"
    said = await told_of(command, folder, home)
    assert (folder / "inside").read_text() == "in\n" and "to be read" not in said
    assert "Read-only file system" in said and not (user_home / "planted").exists()
    assert "a /tmp of its own" in said and not outside.exists()


@needs_bwrap
async def test_a_command_runs_the_tests_of_the_repository(folder: Path, home: Path) -> None:
    (folder / "login.py").write_text("def greeting():\n    return 'hello'\n")
    assert "ok" in await told_of("python3 check.py && git status --short", folder, home)


@needs_bwrap
async def test_a_command_finds_no_key(folder: Path, user_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-PRIVATE")
    said = await told_of(
        "cat ~/.ssh/id_ed25519 ~/.netrc ~/notes.txt; ls -A ~/.ssh; env; "
        f"tr '\\0' '\\n' < /proc/{os.getpid()}/environ; echo end",
        folder,
        user_home / "co-tui",
    )
    assert "PRIVATE" not in said and "to be read" not in said and "end" in said


@needs_bwrap
@pytest.mark.parametrize("kept", also_in_a_long_run(["config"], ["data", "state"]))
async def test_a_command_finds_none_of_our_own_files(folder: Path, shown: Path, kept: str) -> None:
    """They are in a folder that the sandbox shows: files next to them can be read."""
    ours = shown / kept
    (ours / "inner").mkdir(parents=True)
    for file in (ours / "top.txt", ours / "inner" / "deep.txt"):
        file.write_text("PRIVATE")
    (shown / "notes.txt").write_text("to be read")
    look = f"cat {ours}/top.txt {ours}/inner/deep.txt 2>/dev/null; ls -AR {ours}"
    said = await told_of(f"cat {shown}/notes.txt; {look}; echo end", folder, shown)
    assert "to be read" in said and "end" in said
    assert not [found for found in ("PRIVATE", "top.txt", "inner", "co-tui.db") if found in said]


@needs_bwrap
@pytest.mark.parametrize(("kind", "reaches"), [("bwrap", False), ("bwrap+network", True)])
async def test_only_one_of_the_sandboxes_has_a_network(folder: Path, home: Path, kind: str, reaches: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        said = await told_of(f'python3 -c "{connect}" && echo reached', folder, home, kind)
    assert ("reached" in said) is reaches


@needs_bwrap
async def test_the_question_and_the_model_are_told(folder: Path, home: Path) -> None:
    model, person = Working(("run_command", {"command": "touch x"})), Person(YES)
    environment = working_in(folder, home, model, person, command_sandbox="bwrap")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    words = "sandboxed: writes only in this folder, no network, home folder and keys hidden"
    assert (person.asked[0].what, person.asked[0].where) == ("touch x", f"{folder} · sandboxed")
    assert f"They run {words}." in model.instructions
    await left(environment, session)


@only_in_a_long_run
@needs_bwrap
async def test_files_are_changed_in_the_sandbox_as_without_it(folder: Path, home: Path) -> None:
    (folder / "check.py").chmod(0o755)
    returned, _ = await told(
        folder,
        home,
        ("create_directory", {"path": "new"}),
        ("write_file", {"path": "new/a.txt", "content": "hello\n"}),
        ("edit_file", {"path": "check.py", "old_text": "print('ok')", "new_text": "print('fine')"}),
        ("read_file", {"path": "new/a.txt"}),
    )
    assert (folder / "new" / "a.txt").read_text() == "hello\n" and "hello" in returned[-1]
    assert "fine" in (folder / "check.py").read_text() and stat.S_IMODE((folder / "check.py").stat().st_mode) == 0o755


@needs_bwrap
async def test_the_project_may_lie_among_what_is_hidden(home: Path, user_home: Path) -> None:
    folder = repository(user_home / ".ssh" / "shop")
    assert "helo" in await told_of("cat login.py && touch y", folder, home)
    assert (folder / "y").exists()


@pytest.mark.parametrize("command", also_in_a_long_run(["cat login.py"], ["touch planted"]))
async def test_without_bwrap_no_command_runs(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """Neither one that is asked about, nor one that only reads."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "touch", "base64"):
        (tools / name).symlink_to(Path("/bin") / name)
    monkeypatch.setenv("PATH", str(tools))
    returned, person = await told(folder, home, ("run_command", {"command": command}))
    assert "command_sandbox = bwrap" in returned[-1] and "command_sandbox = off" in returned[-1]
    assert "helo" not in returned[-1] and not (folder / "planted").exists() and person.asked == []


async def test_a_sandbox_that_is_not_permitted_is_reported_with_what_bwrap_says(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (tools / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    returned, person = await told(folder, home, ("run_command", {"command": "touch planted"}))
    assert "No permissions to create new namespace" in returned[-1] and person.asked == []
    assert not (folder / "planted").exists()


@needs_bwrap
async def test_a_link_to_what_is_hidden_leads_nowhere(folder: Path, home: Path, user_home: Path) -> None:
    """As when a command puts it there between the look at a path and its reading."""
    paths = locate({"CO_TUI_HOME": str(home)})
    sandbox = Sandbox(kind="bwrap", folder=folder, home=user_home, paths=paths)
    commands = RunningCommands(lambda _: None, paths.commands("s"), "s")
    workspace = LocalFolder(sandbox, commands).get_workspace(None, ref=None)
    (folder / "key").symlink_to(user_home / ".ssh" / "id_ed25519")
    (folder / "netrc").symlink_to(user_home / ".netrc")
    for link in ("key", "netrc"):
        with pytest.raises(OSError):
            await workspace.read_bytes(link)
    assert await workspace.read_bytes("login.py") == (folder / "login.py").read_bytes()
    with pytest.raises(FileNotFoundError):
        await workspace.read_bytes("missing")
    await commands.close()


@needs_bwrap
async def test_a_bwrap_in_the_folder_is_never_tried(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bwrap").write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    (folder / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert await sandbox_problem("bwrap", folder) == "" and await can_hide_processes(folder) in (True, False)
    assert not (folder / "ran").exists()
