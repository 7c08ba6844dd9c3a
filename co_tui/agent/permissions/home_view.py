"""What the sandbox shows of the home folder: the programs on `PATH` and the toolchains these lead to, and no key."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from co_tui.agent.permissions.git_folders import GIT, common_folder, git_folder_of
from co_tui.paths import find_upwards

MOST_ENTRIES: Final = 1_000
"""Of one folder, looked at for links and scripts."""
MOST_TOOLCHAINS: Final = 200
SHEBANG_BYTES: Final = 256
MOST_GIT_BYTES: Final = 100_000
_PROGRAMS: Final = frozenset(("bin", "sbin", "shims"))
_PARTS: Final = ("lib", "libexec", "pkg", "jmods", "packages", "pyvenv.cfg")
"""A folder around one of programs is a toolchain if it is hidden or has one of these."""
_SHARED: Final = (
    "", ".local", ".local/share", ".local/state", ".local/opt", ".config", ".cache", ".docker", ".gemini", ".claude",
    ".codex", ".azure", ".aws", ".kube", ".ssh", ".gnupg", "Library", "Documents", "Downloads", "Desktop",
)  # fmt: skip
"""Folders of a home that hold more than one toolchain: of these, only the folder of programs is shown."""
_ENVIRONMENTS: Final = (".venv", "venv", "env")
_FURTHER: Final = {".cargo": (".rustup",)}
"""Where a toolchain keeps the rest of itself."""
_LIBRARIES: Final = (".local/lib",)
"""Of programs that were installed for this user."""
_GIT_FILES: Final = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_KEY_IN_GIT: Final = re.compile(r"extraheader|token|passw|secret|://[^/\s]*@|\bpat\b", re.IGNORECASE)
_KEY_FILE: Final = re.compile(
    r"\.?credentials?(\.\w+)?|.*tokens?(\.\w+)?|\.?auth(\.\w+)?|\.?secrets?(\.\w+)?|\.?npmrc|\.?netrc|\.?pypirc"
    r"|pip\.(conf|ini)|\.?condarc|\.?git-credentials|\.yarnrc(\.yml)?|config\.json|hosts\.ya?ml|\.env(\..*)?|\.pgpass"
    r"|id_\w+|keys?\.\w+|.*\.(key|p12|pfx|jks|keystore|kdbx)",
    re.IGNORECASE,
)
_DEEPER_KEY_FILE: Final = re.compile(
    r"\.?credentials?(\.\w+)?|tokens?(\.\w+)?|\.?auth\.\w+|\.?npmrc|\.netrc|pip\.conf|\.condarc", re.IGNORECASE
)
"""In the folders of a toolchain, where other files have such names, too."""


def home_arguments(home: Path, folder: Path, path: str, named: Sequence[Path] = ()) -> tuple[str, ...]:
    """The bubblewrap arguments that hide a home, except what commands in `folder` need, which is read-only. Empty if
    the home is the folder or in it. `named` is what the user's own command line names, which is shown, too. Reads
    files: call it in a thread."""
    home, folder = Path(os.path.realpath(home)), Path(os.path.realpath(folder))
    if home.is_relative_to(folder):
        return ()
    programs = (str(each.parent) for each in named if each.parent.name in _PROGRAMS)
    toolchains = _toolchains(home, folder, os.pathsep.join((path, *programs)))
    also = [each for each in named if _is_below(each, home) and not folder.is_relative_to(each)]
    shown = sorted({*toolchains, *also, *_of_git(home, folder)}, key=lambda each: len(each.parts))
    real = [(os.path.realpath(each), str(each)) for each in shown]
    bound = (argument for pair in real if os.path.lexists(pair[0]) for argument in ("--ro-bind", *pair))
    masks = (argument for each in toolchains for key in _key_files(each) for argument in _masked(key))
    return ("--tmpfs", str(home), *bound, *masks)


def _toolchains(home: Path, folder: Path, path: str) -> list[Path]:
    """Folders and files of the home, in the order in which they are found: one leads to another."""
    entries = [Path(each) for each in path.split(os.pathsep) if each.startswith("/")]
    entries += [folder / each / "bin" for each in _ENVIRONMENTS]
    found: dict[Path, None] = {home / each: None for each in _LIBRARIES}
    waiting = [*entries, *(Path(os.path.realpath(each)) for each in entries)]
    seen = set[Path]()
    while waiting and len(found) < MOST_TOOLCHAINS:
        place = waiting.pop(0)
        if place in seen:
            continue
        seen.add(place)
        if _is_below(place, home) and not place.is_relative_to(folder):
            root = _root_of(place, home)
            found |= dict.fromkeys((root, *(home / more for more in _FURTHER.get(_name(root, home), ()))))
            waiting.append(root / "bin")
        for program in _led_to(place):
            if not _is_below(program, home) or program.is_relative_to(folder):
                continue
            if _name(program.parent, home) in _SHARED:
                found[program] = None
            else:
                waiting.append(program.parent)
    return list(found)


def _root_of(programs: Path, home: Path) -> Path:
    """The toolchain of a folder of programs."""
    around = programs.parent
    if programs.name not in _PROGRAMS or (name := _name(around, home)) in _SHARED:
        return programs
    is_hidden = any(part.startswith(".") for part in Path(name).parts)
    return around if is_hidden or any(os.path.lexists(around / each) for each in _PARTS) else programs


def _name(path: Path, home: Path) -> str:
    """A path as it is called in the home."""
    name = str(path.relative_to(home)) if path.is_relative_to(home) else str(path)
    return "" if name == "." else name


def _is_below(path: Path, home: Path) -> bool:
    return path != home and path.is_relative_to(home)


def _led_to(programs: Path) -> Iterator[Path]:
    """What the links in a folder of programs lead to, and the interpreters of its scripts."""
    with suppress(OSError), os.scandir(programs) as entries:
        for entry in islice(entries, MOST_ENTRIES):
            with suppress(OSError, ValueError):
                if entry.is_symlink():
                    yield Path(os.path.realpath(entry.path))
                elif entry.is_file():
                    with open(entry.path, "rb") as file:
                        first = file.read(SHEBANG_BYTES).partition(b"\n")[0]
                    if first.startswith(b"#!/"):
                        yield Path(os.fsdecode(first[2:].split()[0]))
                        yield Path(os.path.realpath(os.fsdecode(first[2:].split()[0])))


def _of_git(home: Path, folder: Path) -> Iterator[Path]:
    """The checkout around the folder, its git folder, and git's own settings, unless these may hold a key."""
    for name in _GIT_FILES:
        with suppress(OSError), open(home / name, "rb") as file:
            if not _KEY_IN_GIT.search(file.read(MOST_GIT_BYTES).decode(errors="replace")):
                yield home / name
    dot_git = find_upwards(GIT, folder)
    if dot_git is None or not _is_below(dot_git.parent, home):
        return
    yield dot_git.parent
    if (git := git_folder_of(dot_git)) is not None:
        yield from (each for each in {git, common_folder(git)} if _is_below(each, home))


def _key_files(root: Path) -> Iterator[Path]:
    """Files of a toolchain that can hold keys, and folders named so."""
    for place, name in ((root, _KEY_FILE), *((each, _DEEPER_KEY_FILE) for each in _folders_in(root))):
        with suppress(OSError), os.scandir(place) as entries:
            yield from (Path(entry.path) for entry in islice(entries, MOST_ENTRIES) if name.fullmatch(entry.name))


def _folders_in(root: Path) -> Sequence[Path]:
    with suppress(OSError), os.scandir(root) as entries:
        return [Path(entry.path) for entry in islice(entries, MOST_ENTRIES) if entry.is_dir(follow_symlinks=False)]
    return []


def _masked(path: Path) -> tuple[str, ...]:
    """Shown as empty. A link is shown as what it leads to, if that is shown."""
    if path.is_symlink():
        return ()
    return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))
