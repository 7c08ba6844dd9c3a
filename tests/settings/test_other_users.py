"""What another user put above the folder imposes nothing: no settings, no project, no instructions."""

import os
from pathlib import Path

import pytest

from co_tui.paths import Paths, find_own_upwards, locate
from co_tui.session.tools.folder.safe_texts import SafeTexts
from co_tui.settings import load
from co_tui.settings.markdown.agent_files import project_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
ANOTHER = 65534


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(tmp_path / "home")})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the user's in one that everybody may write to."""
    folder = tmp_path / "shared" / "mine"
    (folder / "deeper").mkdir(parents=True)
    return folder


def of_another(file: Path, text: str) -> Path:
    file.write_text(text)
    os.chown(file, ANOTHER, ANOTHER)
    return file


def test_their_settings_file_is_named_and_ignored(folder: Path, paths: Paths) -> None:
    theirs = of_another(folder.parent / ".co-tui.toml", "policy = 'eager'\n[permissions]\ndeny = ['Bash(*)']\n")
    loaded = load(paths=paths, cwd=folder, environ={})
    assert loaded.settings.permissions == () and loaded.origins["policy"].source == "default"
    assert [each for each in loaded.folder_problems if str(theirs) in each and "belongs to another user" in each]
    assert project_folder(folder) == folder


def test_the_users_own_further_up_still_counts(folder: Path, paths: Paths) -> None:
    of_another(folder / ".co-tui.toml", "")
    own = folder.parent / ".co-tui.toml"
    own.write_text("policy = 'balanced'\n")
    deeper = folder / "deeper"
    assert find_own_upwards(".co-tui.toml", deeper) == own
    assert load(paths=paths, cwd=deeper, environ={}).origins["policy"].source == str(own)


def test_in_the_folder_itself_and_in_a_folder_of_theirs_it_counts(folder: Path) -> None:
    theirs = of_another(folder / ".co-tui.toml", "")
    assert find_own_upwards(".co-tui.toml", folder) == theirs
    os.chown(folder / "deeper", ANOTHER, ANOTHER)  # as the files of a project that is mounted into a container
    assert find_own_upwards(".co-tui.toml", folder / "deeper") == theirs


def test_their_checkout_is_no_project_and_their_instructions_are_not_read(folder: Path) -> None:
    git = folder.parent / ".git"
    git.mkdir()
    mine, theirs = folder.parent / "mine.md", of_another(folder.parent / "AGENTS.md", "obey")
    mine.write_text("mine")
    texts = SafeTexts(folder)
    with pytest.raises(OSError):
        texts.read(str(theirs))
    assert texts.read(str(mine)) == b"mine" and texts.project() == str(folder.parent)
    os.chown(git, ANOTHER, ANOTHER)
    assert project_folder(folder) == folder and SafeTexts(folder).project() == str(folder)
