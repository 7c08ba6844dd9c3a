"""The hostile folders bite: a plain command in each runs its program or shows what is outside."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.harmless_folders import HARMLESS
from tests.support.hostile_folders import HOSTILE, HOSTILE_FILES, NO_SETTINGS, SECRET, UNGUARDED


@pytest.mark.parametrize("name", UNGUARDED)
def test_without_a_guard_each_repository_runs_its_program_or_shows_the_secret(tmp_path: Path, name: str) -> None:
    folder, marker, outside = tmp_path / "project", tmp_path / "ran", tmp_path / "outside"
    HOSTILE[name](folder, marker, outside)
    assert not marker.exists(), "building it runs nothing"
    seen = subprocess.run(
        UNGUARDED[name].split(), cwd=folder, env={**os.environ, **NO_SETTINGS}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    # The command line itself may have the secret, as a name to look for.
    shown = SECRET in (seen.stdout + seen.stderr).replace(f"\t{SECRET}", "")
    assert marker.exists() or shown, (seen.stdout, seen.stderr)


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_folders_with_odd_files_can_be_made(tmp_path: Path, name: str) -> None:
    HOSTILE[name](tmp_path / "project", tmp_path / "ran", tmp_path / "outside")


@pytest.mark.parametrize("name", HARMLESS)
def test_in_a_harmless_repository_git_works(tmp_path: Path, name: str) -> None:
    HARMLESS[name](tmp_path / "project")
    seen = subprocess.run(
        ["git", "status", "--short"], cwd=tmp_path / "project", env={**os.environ, **NO_SETTINGS},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert seen.stdout or name == "remotes_and_branches"
