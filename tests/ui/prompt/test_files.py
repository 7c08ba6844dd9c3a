"""Files named in the prompt with `@`: which are offered, in which order, and what the keys do."""

import os
import subprocess
from pathlib import Path

import pytest

from co_tui.session.workplace.host.address import host_address
from co_tui.session.workplace.host.host_workplace import connect
from co_tui.session.workplace.listed_files import find_files
from co_tui.ui.app import CoTui
from co_tui.ui.chat.deferred_widgets import Completions
from co_tui.ui.prompt.completion import MAX_FOUND, CompletionOffer, FileNames
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, until
from tests.support.ssh_host import stand_in_host
from tests.ui.prompt.test_prompt import at_once


def made(folder: Path, *paths: str) -> Path:
    """Files in this order, the last one the most recent."""
    for age, path in enumerate(paths):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
        os.utime(file, (1_000_000 + age, 1_000_000 + age))
    return folder


def git(folder: Path, *arguments: str) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=environ)


def test_ignored_files_are_left_out_and_nothing_of_the_folder_runs(tmp_path: Path) -> None:
    folder = made(
        tmp_path, "kept.py", "gone.py", "\x1b[31mred.py", "sub/new é.py", "out/ignored.o", ".hidden/x", "secret.log"
    )
    folder.joinpath(".gitignore").write_text("out/\n*.log\n")
    os.utime(folder / ".gitignore", (1, 1))
    git(folder, "init", "-q")
    git(folder, "add", "kept.py", "gone.py")
    folder.joinpath("gone.py").unlink()
    mark = tmp_path.parent / "it-ran"
    git(folder, "config", "core.fsmonitor", f"touch {mark}")
    assert find_files(folder) == [".hidden/x", "sub/new é.py", "kept.py", ".gitignore", ".hidden/", "sub/"]
    assert find_files(folder / "sub") == ["new é.py"]
    assert not mark.exists()


def test_without_git_hidden_and_built_folders_are_passed_by(tmp_path: Path) -> None:
    folder = made(tmp_path, "a.py", "sub/deep/b.py", ".git-less/c.py", "node_modules/d.js", "sub/__pycache__/e.pyc")
    folder.joinpath("round").symlink_to(folder)
    folder.joinpath("\x1b[31mred.py").touch()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.py")).touch()
    assert find_files(folder) == ["sub/deep/b.py", "a.py", "sub/", "sub/deep/"]
    assert find_files(folder / "not there") == []


@pytest.mark.parametrize(
    ("letters", "best"),
    [
        ("", ["app/prompt.py", "docs/prompt.md"]),
        ("prompt.py", ["app/prompt.py", "tests/test_prompt.py"]),
        ("prompt", ["app/prompt.py", "docs/prompt.md", "tests/test_prompt.py", "prompt/other.txt"]),
        ("tpro", ["tests/test_prompt.py"]),
        ("tests/", ["tests/test_prompt.py"]),
        ("APP", ["app/prompt.py"]),
        ("docs/prompt.md", []),
        ("zzz", []),
        ("[^(", []),
    ],
)
def test_the_best_match_comes_first(letters: str, best: list[str]) -> None:
    names = FileNames(["app/prompt.py", "docs/prompt.md", "prompt/other.txt", "tests/test_prompt.py"])
    assert names.matching(letters)[: len(best)] == best
    if not best:
        assert names.matching(letters) == []


def test_a_search_no_one_waits_for_ends_and_many_matches_are_cut() -> None:
    names = FileNames([f"file{n}" for n in range(5_000)])
    assert len(names.matching("f")) == MAX_FOUND
    assert names.matching("f", wanted=lambda: False) == []


@pytest.mark.parametrize(
    ("before", "pending_search"),
    [
        ("see @re", "re"),
        ("@", ""),
        ("(@a/b", "a/b"),
        ('@"my fi', "my fi"),
        ("me@re", None),
        ("see @re and", None),
        ('@"my file" ', None),
        ("@`re", None),
    ],
)
def test_where_a_file_is_being_named(before: str, pending_search: str | None) -> None:
    offer = CompletionOffer()
    offer.update("some\ntext", before)
    assert (offer.pending_search.typed.letters if offer.pending_search else None) == pending_search


async def files_known(app: CoTui, pilot) -> None:
    """The list of files is there, as after the first `@`."""
    await pilot.press("@")
    await until(pilot, lambda: app.chat.query_one(Completions).display)
    await pilot.press("backspace")
    await until(pilot, lambda: not app.chat.query_one(Completions).display)


async def test_a_file_is_chosen_from_the_list(home: Path, provider: Provider) -> None:
    made(home.parent, "sub/read me.md", "README.md", "src/reader.py")
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.insert("look at  now")
        app.chat.prompt.move_cursor((0, 8))
        await pilot.press("@", "r", "e", "a")
        await until(pilot, lambda: "README.md" in screen_text(app) and "src" in screen_text(app))
        await pilot.press("d", "m", "e")
        await until(pilot, lambda: [each.title for each in app.chat.prompt.offer.found][:1] == ["README.md"])
        await pilot.press("tab")
        assert app.chat.prompt.text == "look at @README.md  now"
        await until(pilot, lambda: not app.chat.query_one(Completions).display)
        await pilot.press("@", "m", "e", ".", "m", "down", "enter")
        assert app.chat.prompt.text == 'look at @README.md @"sub/read me.md"  now' and not provider.requests
        await pilot.press("@", "r")
        await until(pilot, lambda: app.chat.query_one(Completions).display)
        await pilot.press("escape")
        await until(pilot, lambda: not app.chat.query_one(Completions).display)
        await pilot.press("e", "enter")
        await until(pilot, lambda: len(provider.requests) == 1)


async def test_keys_in_one_burst_choose_what_they_would_one_by_one(home: Path, provider: Provider) -> None:
    made(home.parent, "notes.md", "other.md")
    async with running(launch_for(home, provider)) as (app, pilot):
        await files_known(app, pilot)
        at_once(app, ["@", *"note", "tab", *"and", "space", "@", *"oth", "enter", *"x"])
        await until(pilot, lambda: app.chat.prompt.text == "@notes.md and @other.md x")
        app.chat.prompt.text = ""
        at_once(app, [*"see", "space", "@", *"notes.md", "enter", *"next"])
        await until(pilot, lambda: len(provider.requests) == 1 and app.chat.prompt.text == "next")
        assert provider.requests[0]["messages"][-1]["content"][0]["text"] == "see @notes.md", "nothing to complete"


@only_in_a_long_run
async def test_files_of_another_host_are_offered_and_attached(home: Path, provider: Provider, tmp_path: Path) -> None:
    host = stand_in_host(tmp_path / "box")
    made(host.home / "project", "src/there.py")
    launch = launch_for(home, provider)
    workplace = connect(host_address("box", "project"), host.environ, launch.paths)
    async with running(launch.but(workplace=workplace)) as (app, pilot):
        await pilot.press("@", "t", "h", "e")
        await until(pilot, lambda: "there.py" in screen_text(app))
        await pilot.press("tab", "o", "k", "enter")
        await until(pilot, lambda: len(provider.requests) == 1)
        assert app.chat.prompt.text == ""
    workplace.close()
    assert "## Attached file: src/there.py" in str(provider.requests[0])
