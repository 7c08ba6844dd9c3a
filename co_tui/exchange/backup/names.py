"""What a backup holds, by name: logs of sessions, and files of an installation in the folder they belong to."""

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from co_tui.paths import Paths

MAX_NAME_CHARS: Final = 1_000
MAX_PART_BYTES: Final = 250
MAX_PARTS: Final = 20
SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
FOLDERS: Final = (
    *("data/sessions", "data/memory", "data/boards"),
    *("config/policies", "config/skills", "config/agents", "config/commands"),
    *("state/drafts", "state/snapshots"),
)
SNAPSHOTS: Final = "state/snapshots"
SETTINGS: Final = "config/config.toml"
APPROVALS: Final = "state/approvals.json"
FILES: Final = (
    *(SETTINGS, APPROVALS),
    *("state/learnt-limits.json", "state/token-ratios.json", "state/hints.json", "state/recent-models.json"),
)
"""Keys, locks, answers about trusting folders and fetched models are in no backup."""
_OF_A_PROCESS: Final = ("restoring.json",)
"""What a process left to be done: nothing of a backup may begin by itself."""
_LOCK: Final = ".lock"
_LOG: Final = re.compile(r"sessions/(.+)\.jsonl")
_REPLY: Final = re.compile(r"replies/(.+)\.jsonl")


def log_name(session_id: str) -> str:
    return f"sessions/{session_id}.jsonl"


def reply_name(session_id: str) -> str:
    return f"replies/{session_id}.jsonl"


def session_of_log(name: str) -> str:
    """The session whose log has that name; empty for anything else."""
    found = _LOG.fullmatch(name)
    return found[1] if found and SAFE_ID.fullmatch(found[1]) else ""


def session_of_reply(name: str) -> str:
    """The session whose partial reply has that name; empty for anything else."""
    found = _REPLY.fullmatch(name)
    return found[1] if found and SAFE_ID.fullmatch(found[1]) else ""


def is_known_name(name: str) -> bool:
    return bool(session_of_log(name) or session_of_reply(name)) or is_file_name(name)


def is_file_name(name: str) -> bool:
    """Whether it names a file of an installation that a backup may hold; it leads to no other place."""
    parts = name.split("/")
    is_plain = len(name) <= MAX_NAME_CHARS and len(parts) <= MAX_PARTS and not any(map(_why_not, parts))
    in_folder = "/".join(parts[:2]) in FOLDERS and len(parts) > 2
    return is_plain and (in_folder or name in FILES) and parts[-1] not in _OF_A_PROCESS


def _why_not(part: str) -> str:
    """Why no file or folder of a backup has that name; empty for most."""
    if part.startswith("."):
        return "its name begins with a dot"
    if part.endswith(_LOCK):
        return f"its name ends in {_LOCK}"
    if any("\ud800" <= char <= "\udfff" for char in part):
        return "its name is not in UTF-8"
    if not part.isprintable() or "\\" in part:
        return "its name has characters that no backup takes"
    return "" if 0 < len(part.encode()) <= MAX_PART_BYTES else "its name is too long"


class HomeFile(NamedTuple):
    """A file of an installation."""

    name: str
    path: Path


class LeftOut(NamedTuple):
    """A file or folder in a folder that a backup has, which is not in it."""

    path: Path
    why: str


def home_files(paths: Paths, *, snapshots: bool) -> Iterator[HomeFile | LeftOut]:
    """The files that a backup has, of one folder after the other; a link to a file counts as that file."""
    for name in FILES:
        if (file := path_of(paths, name)).is_file():
            yield HomeFile(name, file)
    for folder in FOLDERS:
        if folder != SNAPSHOTS or snapshots:
            yield from _in_folder(folder, path_of(paths, folder))


def _in_folder(folder: str, path: Path) -> Iterator[HomeFile | LeftOut]:
    unreadable: list[OSError] = []
    for above, folders, files in os.walk(path, onerror=unreadable.append):
        for name in sorted(folders):
            found = Path(above, name)
            if why := "it is a link to a folder" if found.is_symlink() else _why_not(name):
                folders.remove(name)
                yield LeftOut(found, why)
        folders.sort()
        for file in sorted(files):
            found = Path(above, file)
            name = f"{folder}/{found.relative_to(path).as_posix()}"
            if is_file_name(name) and found.is_file():
                yield HomeFile(name, found)
            elif not _is_own_lock(found):
                yield LeftOut(found, _why_not(file) or _why_no_file(found))
    yield from (
        LeftOut(Path(os.fsdecode(error.filename)), error.strerror or str(error))
        for error in unreadable
        if not isinstance(error, FileNotFoundError)
    )


def _is_own_lock(path: Path) -> bool:
    """Whether it is an empty file to be locked, which says nothing."""
    return path.name.endswith(_LOCK) and path.is_file() and not path.stat().st_size


def _why_no_file(path: Path) -> str:
    if path.is_file():
        return "it says what a process left to be done" if path.name in _OF_A_PROCESS else "its path is too long"
    return "its link leads nowhere" if path.is_symlink() and not path.exists() else "it is not a regular file"


def path_of(paths: Paths, name: str) -> Path:
    """Where the file of that name is here."""
    root, *rest = PurePosixPath(name).parts
    return {"data": paths.data, "config": paths.config, "state": paths.state}[root].joinpath(*rest)
