"""Which repository a folder is a checkout of, the same on every machine.

Only reads a file: neither git nor anything its configuration names or includes is used. It is a claim of the folder's
own files: good for finding what belongs together, never a reason to allow something.
"""

import os
import re
from pathlib import Path, PurePosixPath
from typing import Final

from co_tui.paths import read_small_text
from co_tui.session.checkout import git_folder_of

LIMIT_BYTES: Final = 256_000
"""Of a configuration that is read."""
MOST_CHARS: Final = 300
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
