"""Why the sandbox blocked a command, read from its output."""

import os
from pathlib import Path

import pytest

from co_tui.agent.permissions.sandbox import refusal_in

ON_PATH = "it changes .venv/bin, a folder on PATH that the sandbox keeps read-only"
OUTSIDE = "it writes outside this folder"
HIDDEN = "it uses a file of the home folder, which the sandbox hides"


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("Could not install: [Errno 30] Read-only file system: '{folder}/.venv/bin/cowsay'", ON_PATH),
        ("touch: cannot touch '.venv/bin/x': Read-only file system", ON_PATH),
        ("sh: 1: cannot create .venv/bin/x: Read-only file system", ON_PATH),
        (
            "touch: cannot touch 'src/hook': Read-only file system",
            "it changes src/hook, which the sandbox keeps read-only",
        ),
        ("touch: cannot touch '{home}/x': Read-only file system", OUTSIDE),
        ("touch: cannot touch '../x': Read-only file system", OUTSIDE),
        ("{folder}/.venv/bin/pip: Read-only file system: '/usr/lib/x'", OUTSIDE),
        ("touch: Read-only file system", OUTSIDE),
        ("npm error enoent ENOENT: no such file or directory, mkdir '{home}/.npm'", HIDDEN),
        ("[ERROR] Could not create local repository at {home}/.m2/repository", HIDDEN),
        ("cat: ~/.boto: No such file or directory", HIDDEN),
        ("cat: {folder}/none: No such file or directory", ""),
        ("cat: none: No such file or directory", ""),
        ("{home}/.local/bin/tool: 2 tests failed", ""),
    ],
)
def test_the_reason_names_what_was_blocked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, why: str
) -> None:
    home, folder = tmp_path, tmp_path / "shop"
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "src").mkdir()
    monkeypatch.setenv("PATH", f"{folder}/.venv/bin{os.pathsep}{os.defpath}")
    assert refusal_in(output.format(home=home, folder=folder), home, [folder]) == why
