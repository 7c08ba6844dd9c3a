"""Find git folders in any layout and what in them makes git run programs; check whether a new one is harmless."""

import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.paths import read_small_text

GIT: Final = ".git"
HEAD: Final = "head"
HEAD_WITH: Final = frozenset(("objects", "refs", "commondir"))
GIT_CONTROL_FILES: Final = ("config", "config.worktree", "commondir", "hooks", "objects/info/alternates")
"""Hooks and settings name programs; the others point git to settings and objects elsewhere.

`info/attributes` only chooses among programs that a configuration names, as any `.gitattributes` does.
"""
GIT_NAMES: Final = frozenset(
    (HEAD, *HEAD_WITH, *(each for each in GIT_CONTROL_FILES if "/" not in each), "modules", "worktrees")
)
"""What makes a folder a git folder or controls it, in lower case."""
LIMIT_BYTES: Final = 256_000
MOST_FOLDERS: Final = 2_000
MOST_INCLUDED: Final = 20
_OWN_PARTS: Final = ("config", "commondir", "hooks", "objects", "objects/info", "modules", "worktrees")
_SECTION: Final = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?)\s*)?$")
_COMMENT: Final = re.compile(r"\s+[#;][^\"]*$")
_HARMLESS: Final = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree)"
    r"|remote\.[^.]+\.(?:url|fetch)|branch\..+\.(?:remote|merge)|submodule\..+\.(?:url|active)|submodule\.active"
    r"|user\.(?:name|email)|init\.defaultbranch|extensions\.objectformat"
    r"|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)"
)


def is_git_layout(names: Collection[str]) -> bool:
    """Whether git takes a folder with these names in it for a repository, whatever the folder is called."""
    plain = {each.lower() for each in names}
    return HEAD in plain and ("commondir" in plain or {"objects", "refs"} <= plain)


class ConfigEntry(NamedTuple):
    key: str
    """As `section.subsection.name`; section and name in lower case."""
    value: str


def git_folder_of(dot_git: Path) -> Path | None:
    """The git folder that a `.git` is, links to, or names in its content."""
    if dot_git.is_dir():
        return dot_git.resolve()
    try:
        named = read_small_text(dot_git, LIMIT_BYTES, errors="surrogateescape").partition("gitdir:")[2].strip()
    except (OSError, ValueError):
        return None
    return Path(os.path.realpath(dot_git.parent / named)) if named else None


def common_folder(git: Path) -> Path:
    """The git folder with the settings: for a worktree, the main one."""
    try:
        named = read_small_text(git / "commondir", LIMIT_BYTES, errors="surrogateescape").strip()
    except (OSError, ValueError):
        return git
    return Path(os.path.realpath(git / named))


def inner_git_folders(git: Path) -> Iterator[Path]:
    """The git folders of submodules and worktrees inside this one, recursively."""
    waiting = [(git / "modules", False), (git / "worktrees", False)]
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return
        folder, is_git = waiting.pop()
        if is_git:
            yield folder
            waiting += [(folder / "modules", False), (folder / "worktrees", False)]
            continue
        waiting += [(each, _is_git_folder(each)) for each in _folders_in(folder)]


def config_entries(file: Path) -> list[ConfigEntry] | None:
    """The entries of a configuration file; None when they cannot be read reliably."""
    try:
        entries = list(_entries(file))
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return None
    readable = [each for each in entries if each is not None]
    return readable if len(readable) == len(entries) else None


def understood_entries(file: Path) -> list[ConfigEntry]:
    """The entries of a configuration file that are understood; none if it cannot be read."""
    with suppress(OSError, ValueError):
        return [each for each in _entries(file) if each is not None]
    return []


def _entries(file: Path) -> Iterator[ConfigEntry | None]:
    """The entries of a configuration file, with None for each line that is not understood."""
    section = ""
    for line in read_small_text(file, LIMIT_BYTES, errors="surrogateescape").splitlines():
        if found := _SECTION.match(line):
            section = found[1].lower() + (f".{found[2]}" if found[2] is not None else "")
            line = line[found.end() :]
        if not line.strip() or line.lstrip()[0] in "#;":
            continue
        key = _KEY.match(line)
        if key is None or not section or line.endswith("\\"):
            yield None
        else:
            value = _COMMENT.sub("", key[2] or "").strip('"')
            yield ConfigEntry(f"{section}.{key[1].lower()}", value)


def is_include(key: str) -> bool:
    """Whether an entry names a further configuration file."""
    return key == "include.path" or (key.startswith("includeif.") and key.endswith(".path"))


def named_by_git(git: Path, work_tree: Path) -> Iterator[Path]:
    """What a git folder makes git obey elsewhere: hook folders and included files that its configuration names, and
    targets of links in it."""
    yield from (git / name for name in GIT_CONTROL_FILES if (git / name).is_symlink())
    yield from _links_in(git / "hooks")
    files = [git / "config", git / "config.worktree"]
    for file in files:
        with suppress(OSError, ValueError):
            for key, value in filter(None, _entries(file)):
                if key == "core.hookspath":
                    yield (hooks := work_tree / _expanded(value))
                    yield from _links_in(hooks)
                elif is_include(key):
                    yield (included := file.parent / _expanded(value))
                    if included not in files and len(files) < MOST_INCLUDED:
                        files.append(included)


def _links_in(folder: Path) -> Iterator[Path]:
    return (folder / name for name in _names_in(folder) if (folder / name).is_symlink())


def _expanded(path: str) -> Path:
    with suppress(RuntimeError):  # no such user
        return Path(path).expanduser()
    return Path(path)


def is_harmless(git: Path, folder: Path) -> bool:
    """Whether a new git folder and those inside it run nothing and point nowhere outside `folder`."""
    return all(_runs_nothing(each, folder) for each in (git, *inner_git_folders(git)))


def _runs_nothing(git: Path, folder: Path) -> bool:
    if git.is_symlink() or any(map(_is_linked_or_hidden, _OWN_PARTS, repeat(git))):
        return False
    if any(os.path.lexists(git / name) for name in ("config.worktree", "objects/info/alternates")):
        return False
    if (git / "commondir").exists() and not _leads_to_main(git):
        return False
    hooks = git / "hooks"
    if any(not name.endswith(".sample") for name in _names_in(hooks)):
        return False
    entries = config_entries(git / "config")
    return entries is not None and all(_is_harmless(entry, git, folder) for entry in entries)


def _is_harmless(entry: ConfigEntry, git: Path, folder: Path) -> bool:
    if _HARMLESS.fullmatch(entry.key) is None or re.search(r'::|^-|["\\]', entry.value):
        return False  # quotes inside could hide what git reads
    if entry.key == "core.worktree":
        return Path(os.path.realpath(git / entry.value)).is_relative_to(folder)
    return True


def _leads_to_main(git: Path) -> bool:
    """Whether a worktree's git folder uses the settings of the repository it is in, which is checked as well."""
    main = git.parent.parent.resolve()
    return git.parent.name == "worktrees" and common_folder(git) == main and (main / "HEAD").exists()


def _is_linked_or_hidden(name: str, git: Path) -> bool:
    """Whether a part of a git folder can be changed by a name outside of it, or cannot be read."""
    try:
        status = os.lstat(git / name)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if not os.access(git / name, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        return True
    return stat.S_ISLNK(status.st_mode) or (not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1)


def _is_git_folder(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in ("HEAD", *GIT_CONTROL_FILES))


def _folders_in(folder: Path) -> list[Path]:
    return [
        folder / name for name in _names_in(folder) if (folder / name).is_dir() and not (folder / name).is_symlink()
    ]


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
