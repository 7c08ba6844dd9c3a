"""Judging many lines over a folder that stays as it is.

Whether git only reads there is asked anew for each line, which starts four processes; the answer is the folder's.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from co_tui.agent.permissions import command_lines
from co_tui.agent.permissions.git_guard import git_only_reads


@contextmanager
def git_checked_once() -> Iterator[None]:
    """Each folder is checked once, in each environment."""
    known: dict[object, bool] = {}

    def checked(folder: Path, environ: Mapping[str, str]) -> bool:
        key = folder, frozenset(environ.items())
        if key not in known:
            known[key] = git_only_reads(folder, environ)
        return known[key]

    with mock.patch.object(command_lines, "git_only_reads", checked):
        yield
