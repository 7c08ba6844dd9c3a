"""Which repository a folder is a checkout of, the same on every machine.

Only reads a file: neither git nor anything its configuration names or includes is used. It is a claim of the folder's
own files: good for finding what belongs together, never a reason to allow something.
"""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Final

from co_tui.paths import is_inside, path_text, read_small_text, recorded_path
from co_tui.session.checkout import git_folder_of, repository_of
from co_tui.store.port import Reading

LIMIT_BYTES: Final = 256_000
"""Of a configuration that is read."""
MOST_CHARS: Final = 300
MOST_FOLDERS: Final = 100
_SECTION: Final = re.compile(r"\s*\[([^\]]*)\]")
_ORIGIN: Final = re.compile(r'remote\s+"origin"', re.IGNORECASE)
_URL: Final = re.compile(r"\s*url\s*=\s*(.*)", re.IGNORECASE)
_WITH_SCHEME: Final = re.compile(
    r"(?:https?|ssh|git|git\+ssh|ssh\+git)://(?:[^/@]*@)?([^/:@]+)(?::\d*)?/(.+)", re.IGNORECASE
)
_AS_SCP: Final = re.compile(r"(?:[^/@:]+@)?([^/:@]{2,}):(?!//)(.+)")
"""`user@host:path`; one letter before the colon is a drive of Windows."""
_HOST: Final = re.compile(r"[a-z0-9][a-z0-9.\-]*")
_PATH: Final = re.compile(r"[^\s\x00-\x1f\x7f?#\\]+")


def repository_id_of(folder: Path) -> str:
    """Where the checkout of a folder comes from, as `host/path`: its remote `origin`, without user, password and port.

    Empty outside of a checkout, and for one without such a remote, or whose remote is a folder of this machine.
    """
    git = git_folder_of(folder)
    if git is None:
        return ""
    try:
        config = read_small_text(git / "config", LIMIT_BYTES, errors="replace", inside=Path(os.path.realpath(git)))
    except (OSError, ValueError):
        return ""
    return repository_id(_origin_url(config))


def same_folders(reading: Reading, cwd: Path) -> tuple[str, ...]:
    """The folders of sessions from other machines that are this one: at the same place of the same repository.

    One that is on this machine too, as another worktree, is a folder of its own.
    """
    repository, _ = repository_of(cwd)
    if not repository or not (known := repository_id_of(cwd)):
        return ()
    place, here = place_within(path_text(cwd), repository), path_text(cwd)
    found = (each.cwd for each in reading.folders(known) if place_within(*each) == place and each.cwd != here)
    return tuple(each for each in found if not recorded_path(each).is_dir())[:MOST_FOLDERS]


def folder_here(cwd: str, repository: str, known: str, here: Path) -> Path | None:
    """Where a session's folder is in the checkout that contains `here`, if that is of the session's repository."""
    own, _ = repository_of(here)
    place = place_within(cwd, repository)
    if not known or not own or place is None or repository_id_of(here) != known:
        return None
    root = Path(os.path.realpath(own))
    target = Path(own, place)
    return target if target.is_dir() and is_inside(target, root) else None


def place_within(cwd: str, repository: str) -> str | None:
    """The path of a folder inside of its checkout, with `/`; None if it is not inside, or leads out of it."""
    below = cwd.removeprefix(repository)
    if not repository or not cwd.startswith(repository) or (below and below[0] not in "/\\"):
        return None
    parts = [each for each in re.split(r"[/\\]", below) if each]
    return None if ".." in parts else "/".join(parts)


def repository_id(url: str) -> str:
    """The address of a repository in the one form that all its spellings share; empty for what is none."""
    found = _WITH_SCHEME.fullmatch(url) or _AS_SCP.fullmatch(url)
    if found is None:
        return ""
    host, path = found[1].lower(), found[2].lower().strip("/").removesuffix(".git").rstrip("/")
    is_usual = _HOST.fullmatch(host) and _PATH.fullmatch(path) and ".." not in PurePosixPath(path).parts
    return f"{host}/{path}" if is_usual and len(host) + len(path) < MOST_CHARS else ""


def _origin_url(config: str) -> str:
    """The first address of remote `origin`; empty without one."""
    is_origin = False
    for line in config.splitlines():
        if section := _SECTION.match(line):
            is_origin = _ORIGIN.fullmatch(section[1].strip()) is not None
            line = line[section.end() :]
        if is_origin and (url := _URL.match(line)):
            return url[1].strip().strip('"')
    return ""
