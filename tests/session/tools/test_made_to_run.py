"""What a session leaves that would make programs run later: asked about, set aside, or impossible (X9)."""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from co_tui.session.approvals.questions import Approval, ApprovalQuestion
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import Person, left
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.sandbox import needs_bwrap
from tests.support.waiting import until
from tests.support.ways_to_run import COMMANDS, HARMFUL, WAYS, write
from tests.support.working import Call, Working, repository, working_in

DISGUISE = {"src/HEAD": "ref: refs/heads/main\n", "src/config": HARMFUL, "src/objects/x": "", "src/refs/x": ""}


class Denies(Person):
    """Allows nothing that is asked about."""

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        return Approval(approved=False, by="user")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "shop")
    write(folder, {"src/a.py": "a", "README.md": "a"})
    subprocess.run(
        ["git", "-c", "user.name=m", "-c", "user.email=m@e.org", "commit", "-qm", "a"], cwd=folder, check=True
    )
    return folder


@pytest.fixture(autouse=True)
def watched_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("co_tui.session.tools.running_commands.WATCH_S", 0.05)


async def done(folder: Path, home: Path, mode: str, *steps: Call) -> Denies:
    person = Denies()
    environment = working_in(folder, home, Working(*steps), person, mode=mode, command_timeout_s=60.0)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    await left(environment, session)
    return person


def git_runs(folder: Path, marker: Path) -> bool:
    """Whether git, used by a person in this folder, runs what was written there."""
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True)
    return marker.exists()


def files(of: Mapping[str, str], marker: Path) -> dict[str, str]:
    return {name: text.replace("{marker}", str(marker)) for name, text in of.items()}


def making(of: Mapping[str, str]) -> str:
    """A command that writes these files."""
    lines = [f"mkdir -p {Path(name).parent}; printf %s {shlex.quote(text)} > {name}" for name, text in of.items()]
    return "\n".join(lines)


def test_the_disguise_works_without_us(folder: Path, tmp_path: Path) -> None:
    write(folder, files(DISGUISE, tmp_path / "ran"))
    assert git_runs(folder / "src", tmp_path / "ran")


@pytest.mark.parametrize("order", also_in_a_long_run([list(DISGUISE)], [list(reversed(DISGUISE))]))
async def test_file_tools_make_no_repository_in_disguise(
    folder: Path, home: Path, tmp_path: Path, order: list[str]
) -> None:
    given = files(DISGUISE, tmp_path / "ran")
    steps = [("write_file", {"path": name, "content": given[name]}) for name in order]
    person = await done(folder, home, "edits", *steps)
    assert [question.arguments["path"] for question in person.asked] == ["src/HEAD"]
    assert "can make programs run" in person.asked[0].reason
    assert not git_runs(folder / "src", tmp_path / "ran")


@needs_bwrap
async def test_a_sandboxed_command_makes_no_repository_in_disguise(folder: Path, home: Path, tmp_path: Path) -> None:
    person = await done(folder, home, "auto", ("run_command", {"command": making(files(DISGUISE, tmp_path / "ran"))}))
    assert [question.arguments["path"] for question in person.asked] == ["src/HEAD"]
    assert not git_runs(folder / "src", tmp_path / "ran") and (folder / "src" / "a.py").exists()


@only_in_a_long_run
@needs_bwrap
async def test_a_file_tool_and_a_command_make_none_together(folder: Path, home: Path, tmp_path: Path) -> None:
    """The command completes the repository while the file tool writes a file that was harmless when it was judged."""
    waiting = "mkdir -p src/objects src/refs; until test -e src/config; do sleep 0.01; done; "
    person = await done(
        folder,
        home,
        "auto",
        ("start_command", {"command": waiting + "echo 'ref: refs/heads/main' > src/HEAD; touch done; sleep 60"}),
        ("write_file", {"path": "src/config", "content": files(DISGUISE, tmp_path / "ran")["src/config"]}),
        ("run_command", {"command": "until test -e done; do sleep 0.01; done"}),
    )
    assert not git_runs(folder / "src", tmp_path / "ran")
    assert {question.arguments["path"] for question in person.asked} <= {"src/HEAD"}, "unless the watch came first"


def made(place: str) -> dict[str, str]:
    """The files of each way, in a folder of its own."""
    return {f"{place}/{n}/{name}": text for n, files in enumerate(WAYS.values()) for name, text in files.items()}


STRAIGHT = making(made("w"))
ENTRIES = sorted({f"{n}/{Path(name).parts[0]}" for n, files in enumerate(WAYS.values()) for name in files})
STAGED = making(made("node_modules/w"))
LINKED = "".join(f"\nmkdir -p {Path('w', e).parent}; ln -s ../../node_modules/w/{e} w/{e}" for e in ENTRIES)
VEHICLES = {
    "a command": ("run_command", STRAIGHT),
    "a background command": ("start_command", STRAIGHT + "\ntouch done; sleep 60"),
    "a link": ("run_command", STAGED + LINKED),
    "a rename of a folder": ("run_command", STAGED + "\nmv node_modules/w w"),
}


def present(folder: Path) -> list[str]:
    """The ways of which all files are there."""
    return [way for n, (way, of) in enumerate(WAYS.items()) if all((folder / f"w/{n}" / name).exists() for name in of)]


@needs_bwrap
@pytest.mark.parametrize(
    "vehicle", also_in_a_long_run(["a background command"], ["a link", "a command", "a rename of a folder"])
)
async def test_nothing_that_a_sandboxed_command_makes_runs_later(
    folder: Path, home: Path, tmp_path: Path, vehicle: str
) -> None:
    (tool, command), marker = VEHICLES[vehicle], tmp_path / "ran"
    command = command.replace("{marker}", str(marker))
    person = Denies()
    environment = working_in(folder, home, Working((tool, {"command": command})), person, mode="auto")
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    if tool == "start_command":
        await until(lambda: (folder / "done").exists())
        await until(lambda: present(folder) == [])
    await left(environment, session)
    assert (folder / "w").is_dir() and present(folder) == []
    ran = [way for n, way in enumerate(WAYS) if (folder / f"w/{n}").is_dir() and git_runs(folder / f"w/{n}", marker)]
    assert ran == []
    assert not any(question.tool == "run_command" for question in person.asked)


@needs_bwrap
async def test_ordinary_commands_ask_nothing(folder: Path, home: Path) -> None:
    lines = [f"({command}) || echo 'failed: {job}'" for job, command in COMMANDS.items()]
    model, person = Working(("run_command", {"command": "\n".join(lines)})), Denies()
    environment = working_in(folder, home, model, person, mode="auto")
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    await left(environment, session)
    assert [question.new for question in person.asked] == [] and "failed" not in model.returned[-1]
