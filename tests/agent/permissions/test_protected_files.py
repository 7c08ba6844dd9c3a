"""Which files a sandbox protects, and what it hides."""

import os
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from co_tui.agent.permissions.protected_files import ProtectedFiles
from co_tui.agent.permissions.sandbox import Sandbox
from co_tui.paths import locate


def test_a_link_into_installed_packages_is_followed(folder: Path, home: Path) -> None:
    """Those are skipped, but a program that is started behind the link obeys what is there."""
    for package in ("linked", "other"):
        (folder / "node_modules" / package / ".claude").mkdir(parents=True)
    (folder / "lib").symlink_to(folder / "node_modules" / "linked")
    assert set(ProtectedFiles(folder, home).find().names) == {"node_modules/linked/.claude"}


def test_a_link_with_the_name_of_a_folder_whose_entries_are_obeyed_is_protected(folder: Path, home: Path) -> None:
    """A command could give it another target, with any entries."""
    (folder / "plain").mkdir()
    (folder / ".vscode").symlink_to("plain")
    assert {name: each.link for name, each in ProtectedFiles(folder, home).find().names.items()} == {".vscode": "plain"}


def test_a_change_in_the_same_moment_as_the_last_search_is_found(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timestamps of folders are coarse: the second change may have that of the first."""
    (folder / "src").mkdir()
    searching, now_ns, status = ProtectedFiles(folder, home), time.time_ns(), os.lstat

    def coarse(path: str) -> object:
        found = status(path)
        fields = {name: getattr(found, name) for name in ("st_mode", "st_nlink", "st_size", "st_uid")}
        return SimpleNamespace(st_ctime_ns=now_ns, **fields)

    monkeypatch.setattr("co_tui.agent.permissions.protected_files.os.lstat", coarse)
    assert searching.find().names == {}
    (folder / "src" / ".claude").mkdir()
    assert set(searching.find().names) == {"src/.claude"}


def test_all_folders_of_our_own_are_hidden(folder: Path, home: Path, tmp_path: Path) -> None:
    paths = locate({"CO_TUI_HOME": str(home)})
    ours = [str(each) for each in (paths.data, paths.config, paths.state)]
    for each in ours:
        Path(each).mkdir(parents=True)
    arguments = Sandbox(kind="bwrap", folder=folder, home=tmp_path, paths=paths).arguments(tmp_path / "none")
    hidden = [path for option, path in pairwise(arguments) if option == "--tmpfs"]
    assert hidden == ours
