"""Run a program as an ordinary user: root may read everything, so a test run by root proves nothing about keys."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65534
_CHECKOUT = Path(__file__).parents[2]
needs_ordinary_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not (shutil.which("bwrap") and shutil.which("setpriv")),
    reason="takes root, bwrap and setpriv to become another user",
)


def as_ordinary_user(*command: str) -> list[str]:
    """The command line that runs `command` as that user, who can reach the checkout and its Python."""
    needed = [Path(sys.prefix), Path(sys.base_prefix), _CHECKOUT]
    closed = sorted(
        {each for path in needed for each in path.parents if not _open_to_all(each)}, key=lambda p: len(p.parts)
    )
    outermost = [each for each in closed if not any(other in each.parents for other in closed)]
    emptied = [argument for each in outermost for argument in ("--tmpfs", str(each))]
    inside = [path for path in needed if any(each in path.parents for each in outermost)]
    brought = [argument for path in inside for argument in ("--ro-bind", str(path), str(path))]
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return ["bwrap", "--dev-bind", "/", "/", *emptied, *brought, "--cap-add", "ALL", *user, *command]


@contextmanager
def folder_of_ordinary_user() -> Iterator[Path]:
    """An empty folder that the user owns."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        os.chown(made, NOBODY, NOBODY)
        yield Path(made)


def _open_to_all(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)
