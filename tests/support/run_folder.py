"""A folder for all processes of one run of the tests, for what is made once a run. It goes with what started them."""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
shared: Path | None = None
"""None in a run that has only one process."""


def new_folder(prefix: str) -> Path:
    """Where files are kept in memory, if there is such a place."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=IN_MEMORY if IN_MEMORY.is_dir() else None))


def make_run_folder() -> tuple[Path, Callable[[], object]]:
    """The folder, and what removes it; that also happens when this process is killed."""
    folder = new_folder("tests-")
    removing = subprocess.Popen(
        ["sh", "-c", 'read -r _; rm -rf "$1"', "remove", str(folder)], stdin=subprocess.PIPE, start_new_session=True
    )
    return folder, removing.communicate
