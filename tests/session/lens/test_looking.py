"""Looking at a hostile folder: nothing of it runs, nothing outside is read, nothing is waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.workspaces import LocalWorkspaceBackend

from co_tui.session.checkout import repository_branch_of, repository_of
from co_tui.session.session import Session
from co_tui.session.tools.folder.folder_tools import FolderFiles
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.listed_files import find_files
from co_tui.settings.markdown.agent_files import read_project_agents
from tests.support.approving import YES, Person, left
from tests.support.harmless_folders import HARMLESS
from tests.support.hostile_folders import HOSTILE, HOSTILE_FILES, HOSTILE_REPOSITORIES, SECRET, repository
from tests.support.long_run import also_in_a_long_run
from tests.support.programs_run import programs_run
from tests.support.working import Working, working_in

LONGEST_S = 60.0
"""For what ends at once unless it hangs."""


def tool(folder: Path, name: str, **arguments: Any) -> Awaitable[str]:
    toolset: Any = FolderFiles(content_hashes=False).get_toolset()
    return asyncio.wait_for(getattr(toolset, name)(workspace=LocalWorkspaceBackend(folder), **arguments), LONGEST_S)


async def in_thread(look: Callable[[], Any]) -> str:
    return str(await asyncio.wait_for(asyncio.to_thread(look), LONGEST_S))


async def or_refused(result: Awaitable[str]) -> str:
    try:
        return await result
    except ModelRetry as refused:
        return str(refused)


async def looked_at(folder: Path) -> dict[str, str]:
    """All that is shown of a folder without a question."""
    return {
        "search": await tool(folder, "search_files", pattern=SECRET),
        "search hidden": await tool(folder, "search_files", pattern=SECRET, include_glob="**/.*"),
        "search one": await or_refused(tool(folder, "search_files", pattern=SECRET, path="notes.txt")),
        "search all": await tool(folder, "search_files", pattern="."),
        "find": await tool(folder, "find_files", pattern="**/*"),
        "find hidden": await tool(folder, "find_files", pattern="**/.*/**"),
        "list": await tool(folder, "list_directory"),
        "list git": await or_refused(tool(folder, "list_directory", path=".git")),
        "@": "\n".join(await asyncio.wait_for(asyncio.to_thread(find_files, folder), LONGEST_S)),
        "checkout": await in_thread(lambda: (repository_of(folder), repository_branch_of(folder))),
        "agents": await in_thread(lambda: read_project_agents(folder)),
    }


LOOKED_AT = [*[*HOSTILE_REPOSITORIES][::3], *HOSTILE_FILES]
"""Looking runs no git, so that repositories differ little; links, pipes and folders in place of files all differ."""


@pytest.mark.parametrize("name", also_in_a_long_run(LOOKED_AT, [each for each in HOSTILE if each not in LOOKED_AT]))
async def test_a_look_runs_nothing_and_shows_nothing_from_outside(tmp_path: Path, name: str) -> None:
    folder, marker, outside = tmp_path / "project", tmp_path / "ran", tmp_path / "outside"
    HOSTILE[name](folder, marker, outside)
    with programs_run() as programs:
        shown = await looked_at(folder)
    assert programs == [] and not marker.exists()
    private = (SECRET, "secret.txt", "more/", "stolen")
    assert not [(what, text) for what, text in shown.items() for word in private if word in text], shown
    present = "notes.txt" if (folder / "notes.txt").is_file() and name != "links_out" else "login.py"
    if "bare" not in name and name != "devices_and_sockets":
        for what in ("find", "@", "search all"):
            assert present in shown[what], (what, shown)


@pytest.mark.parametrize(
    "name",
    also_in_a_long_run(
        ["fsmonitor", "linked_head", "links_out", "pipes"],
        [
            *(each for each in HOSTILE_FILES if each not in ("links_out", "pipes")),
            "worktree_outside",
            "git_file_to_private",
        ],
    ),
)
async def test_a_turn_in_a_hostile_folder_works_and_sends_nothing_from_outside(
    tmp_path: Path, home: Path, name: str
) -> None:
    folder, marker, outside = tmp_path / "project", tmp_path / "ran", tmp_path / "outside"
    HOSTILE[name](folder, marker, outside)
    model = Working(("search_files", {"pattern": SECRET}), ("find_files", {"pattern": "**/*"}))
    environment = working_in(folder, home, model, Person())
    session = await Session.start(environment, "scripted")
    with programs_run() as programs:
        assert await asyncio.wait_for(session.submit("look around"), LONGEST_S) is Outcome.DONE
    assert programs == [] and not marker.exists()
    sent = f"{model.instructions}{model.returned}"
    assert SECRET not in sent and "stolen" not in sent and "Traceback" not in sent
    await left(environment, session)


@pytest.mark.parametrize("name", HARMLESS)
async def test_a_harmless_repository_shows_its_files_and_its_branch(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "project"
    HARMLESS[name](folder)
    with programs_run() as programs:
        shown = await looked_at(folder)
    assert programs == [] and "notes.txt" in shown["find"] and "notes.txt" in shown["@"]
    branch = repository_of(folder)[1]
    if name == "detached_head":
        assert len(branch) == 12
    else:
        assert branch in ("main", "master", "feature/x")
    if name == "submodule":
        assert repository_of(folder / "library")[1] == "main"


async def test_instructions_skills_and_agents_of_the_project_are_read_and_the_users_links_followed(
    tmp_path: Path, home: Path
) -> None:
    folder = repository(tmp_path / "project", {"AGENTS.md": "Use tabs.", "sub/AGENTS.md": "Use spaces.", "big/x": ""})
    (folder / "CLAUDE.md").write_text("x" * 100_000)
    skill = "---\nname: {0}\ndescription: How to {0}\n---\nSay it.\n"
    for place, name in ((folder / "shared", "greet"), (tmp_path / "dotfiles", "mine")):
        (place / name).mkdir(parents=True)
        (place / name / "SKILL.md").write_text(skill.format(name))
    (folder / "sub" / ".agents").mkdir()
    (folder / "sub" / ".agents" / "skills").symlink_to(folder / "shared")
    model = Working()
    environment = working_in(folder / "sub", home, model, Person())
    environment.paths.skills.mkdir(parents=True)
    (environment.paths.skills / "mine").symlink_to(tmp_path / "dotfiles" / "mine")
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    for words in ("Use tabs.", "Use spaces.", "How to greet", "How to mine"):
        assert words in model.instructions
    assert "xxx" not in model.instructions
    await left(environment, session)


async def test_a_file_is_written_into_folders_that_are_missing(tmp_path: Path, home: Path) -> None:
    folder = repository(tmp_path / "project")
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "nowhere").symlink_to(tmp_path / "outside" / "new")
    calls = [
        ("write_file", {"path": path, "content": "hello\n"})
        for path in ("docs/a/b.md", "out/x/y.md", "nowhere/y.md", "notes.txt/x/y.md", ".git/x/y.md")
    ]
    model, person = Working(*calls), Person(YES)
    environment = working_in(folder, home, model, person)
    session = await Session.start(environment, "scripted")
    assert await session.submit("write") is Outcome.DONE
    (asked,) = person.asked
    assert asked.what.startswith("--- new file") and "+hello" in asked.what
    assert (folder / "docs" / "a" / "b.md").read_text() == "hello\n"
    assert list((tmp_path / "outside").iterdir()) == [] and not (folder / ".git" / "x").exists()
    told = model.returned
    assert "Wrote 6 chars" in told[0] and "outside" in told[1] and "outside" in told[2]
    assert "not a directory" in told[3] and "protected" in told[4]
    await left(environment, session)
