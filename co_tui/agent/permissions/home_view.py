"""What the sandbox shows of the home folder: the programs on `PATH` and the toolchains these lead to, and no key."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_folders import (
    GIT,
    LIMIT_BYTES,
    MOST_INCLUDED,
    common_folder,
    git_folder_of,
    is_git_layout,
    is_include,
    understood_entries,
)
from co_tui.agent.permissions.protected_files import ENVIRONMENT
from co_tui.paths import find_upwards, read_small_text, replaced_atomically

CACHE: Final = "/tmp/cache"
"""In the sandbox's own /tmp: tools cannot write to their cache in the user's home."""
MOST_ENTRIES: Final = 1_000
"""Of one folder, looked at for links and scripts."""
MOST_TOOLCHAINS: Final = 200
MOST_STEPS: Final = 200
"""Of one path with the links in it."""
SHEBANG_BYTES: Final = 256
_PROGRAMS: Final = frozenset(("bin", "sbin", "shims"))
_PARTS: Final = ("lib", "libexec", "pkg", "jmods", "packages", ENVIRONMENT)
"""A folder around one of programs is a toolchain if it is hidden or has one of these."""
_SHARED: Final = (
    "", ".local", ".local/share", ".local/state", ".local/opt", ".config", ".cache", ".docker", ".gemini", ".claude",
    ".codex", ".azure", ".aws", ".kube", ".ssh", ".gnupg", "Library", "Documents", "Downloads", "Desktop",
)  # fmt: skip
"""Folders of a home that hold more than one toolchain: of these, only the folder of programs is shown."""
_ENVIRONMENTS: Final = (".venv", "venv", "env")
MOST_ENVIRONMENTS: Final = 50
_MADE_WITH: Final = re.compile(r"^home\s*=\s*(/.*?)\s*$", re.MULTILINE)
_FURTHER: Final = {".cargo": (".rustup",)}
"""Where a toolchain keeps the rest of itself."""
_LIBRARIES: Final = (".local/lib",)
"""Of programs that were installed for this user."""
_CACHES: Final = {
    "npm_config_cache": "npm",
    "YARN_CACHE_FOLDER": "yarn",
    "UV_CACHE_DIR": "uv",
    "UV_TOOL_DIR": "uv-tools",
    "PIP_CACHE_DIR": "pip",
    "GOCACHE": "go-build",
}
"""By variable: folders of tools that only keep what they can get again, by name in the sandbox's own cache."""
_GO_MODULES: Final = ("GOMODCACHE", "go-modules")
_GO: Final = "go"
"""Its modules can be read there, also without network, if it is shown."""
_GIT_SETTINGS: Final = (".gitconfig", ".config/git/config")
_GIT_LISTS: Final = (".config/git/ignore", ".config/git/attributes")
_FILES_NAMED_TO_GIT: Final = frozenset(("core.excludesfile", "core.attributesfile", "commit.template", "mailmap.file"))
_HOOKS: Final = "core.hookspath"
_TEMPLATES: Final = "init.templatedir"
_LINE_OF_GIT: Final = re.compile(r"[ \t]*[#;].*\n?|(?:.*\\\n)*.*\n?")
"""One line of git's settings, with those that continue it."""
_KEY_IN_GIT: Final = re.compile(
    r"extraheader|authorization|token|passw|smtppass|secret|\A[^=]*\bpat\b|https?://[^/\s]*@|://[^/\s@]*:[^/\s]*@",
    re.IGNORECASE,
)
"""A user without a password is a key only where it can be a token."""
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


class _OfGit(NamedTuple):
    """What git's own settings need."""

    files: dict[Path, str]
    """By where they are: what is shown there, which is a copy if the file can hold a key."""
    hooks: list[Path]
    templates: list[Path]


def home_arguments(
    home: Path,
    folder: Path,
    path: str,
    named: Sequence[Path] = (),
    environments: Sequence[str] = (),
    *,
    copies: Path,
    writable: Sequence[Path] = (),
) -> tuple[str, ...]:
    """The bubblewrap arguments that hide a home, except what commands in `folder` need, which is read-only. Empty if
    the home is the folder or in it. `named` is what the user's own command line names, which is shown, too.
    `environments` are the Python environments in the folders that commands can change; `writable` are those besides
    `folder`. Copies of git's settings without keys are written to `copies`. Reads files: call it in a thread."""
    own_home, home, folder = home, Path(os.path.realpath(home)), Path(os.path.realpath(folder))
    if home.is_relative_to(folder):
        return ()
    writable = (folder, *writable)
    git = _of_git(own_home, home, writable, copies)
    programs = (str(each.parent) for each in named if each.parent.name in _PROGRAMS)
    environments = [*(str(folder / each) for each in _ENVIRONMENTS), *sorted(environments)[:MOST_ENVIRONMENTS]]
    toolchains = _toolchains(home, writable, os.pathsep.join((path, *programs, *map(str, git.hooks))), environments)
    also = [each for each in named if _is_below(each, home) and not folder.is_relative_to(each)]
    sources = {each: os.path.realpath(each) for each in (*toolchains, *also, *git.templates, *_checkout(home, folder))}
    shown = list[Path]()
    bound = list[str]()
    for each, source in sorted((sources | git.files).items(), key=lambda pair: len(pair[0].parts)):
        is_shown = any(each.is_relative_to(above) for above in shown)
        if not os.path.lexists(source) or (is_shown and (each.is_symlink() or source == os.path.realpath(each))):
            continue  # nothing can be mounted on a link
        shown.append(each)
        bound += ("--ro-bind", source, str(each))
    masks = (
        argument for each in (*toolchains, *git.templates) for key in _key_files(each) for argument in _masked(key)
    )
    caches = (*_CACHES.items(), *(() if home / _GO in sources else (_GO_MODULES,)))
    set_up = (argument for name, cache in caches for argument in ("--setenv", name, f"{CACHE}/{cache}"))
    return ("--tmpfs", str(home), *bound, *masks, *set_up)


def _toolchains(home: Path, writable: Sequence[Path], path: str, environments: Sequence[str]) -> list[Path]:
    """Folders and files of the home, in the order in which they are found: one leads to another. What leads there from
    a writable folder can be a command's, so that it must lead to a program."""

    def is_own(place: Path) -> bool:
        return any(place.is_relative_to(each) for each in writable)

    entries = [Path(each) for each in path.split(os.pathsep) if each.startswith("/")]
    entries += [Path(each, "bin") for each in environments]
    real = [(each, Path(os.path.realpath(each))) for each in entries]
    waiting = [*entries, *(to for each, to in real if not is_own(each) or is_own(to) or _has_python(to))]
    waiting += [made_with for each in environments for made_with in _made_with(Path(each)) if _has_python(made_with)]
    found: dict[Path, None] = {home / each: None for each in _LIBRARIES}
    seen = set[Path]()
    while waiting and len(found) < MOST_TOOLCHAINS:
        place = waiting.pop(0)
        if place in seen:
            continue
        seen.add(place)
        if _is_below(place, home) and not is_own(place):
            root = _root_of(place, home)
            found |= dict.fromkeys((root, *(home / more for more in _FURTHER.get(_name(root, home), ()))))
            waiting.append(root / "bin")
        for program in _led_to(place):
            if not _is_below(program, home) or is_own(program) or (is_own(place) and not _is_program(program)):
                continue
            alone = is_own(place) and program.parent.name not in _PROGRAMS
            if alone or _name(program.parent, home) in _SHARED:
                found[program] = None
            else:
                waiting.append(program.parent)
    return list(found)


def _made_with(environment: Path) -> Iterator[Path]:
    """The folder of programs with the Python that an environment was made with."""
    with suppress(OSError, ValueError):
        text = read_small_text(environment / ENVIRONMENT, LIMIT_BYTES, inside=environment)
        yield from (Path(os.path.normpath(each)) for each in _MADE_WITH.findall(text)[:1])


def _has_python(programs: Path) -> bool:
    with suppress(OSError):
        return programs.name in _PROGRAMS and any(map(_is_program, programs.glob("python*")))
    return False


def _is_program(path: Path) -> bool:
    """Whether it is a file that can be run, as far as its start shows."""
    with suppress(OSError):
        if path.is_file() and os.access(path, os.X_OK):
            with path.open("rb") as file:
                return file.read(4).startswith((b"#!", b"\x7fELF"))
    return False


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
                    yield Path(os.path.normpath(programs / Path(entry.path).readlink()))
                    yield Path(os.path.realpath(entry.path))
                elif entry.is_file():
                    with open(entry.path, "rb") as file:
                        first = file.read(SHEBANG_BYTES).partition(b"\n")[0]
                    if first.startswith(b"#!/"):
                        yield Path(os.fsdecode(first[2:].split()[0]))
                        yield Path(os.path.realpath(os.fsdecode(first[2:].split()[0])))


def _of_git(own_home: Path, home: Path, writable: Sequence[Path], copies: Path) -> _OfGit:
    """Git's own settings, the files that these include, and what they name in the home. Nothing that a file in a
    writable folder names: a command could choose it."""
    found = _OfGit({}, [], [])
    settings, lists = [home / each for each in _GIT_SETTINGS], [home / each for each in _GIT_LISTS]
    for file in settings:
        if _is_led_from(file, writable) or (source := _without_keys(file, copies)) is None:
            continue
        real = Path(os.path.realpath(file))
        found.files.update((each, source) for each in (file, real) if _is_below(each, home))
        if any(real.is_relative_to(each) for each in writable):
            continue
        for key, value in understood_entries(file):
            named = home / value[2:] if value.startswith("~/") else file.parent / value
            place = Path(os.path.normpath(named))
            if place.is_relative_to(own_home):
                place = home / place.relative_to(own_home)
            if is_include(key):
                if place not in settings and len(settings) < MOST_INCLUDED and not _KEY_FILE.fullmatch(place.name):
                    settings.append(place)
            elif key in _FILES_NAMED_TO_GIT:
                lists.append(place)
            elif key in (_HOOKS, _TEMPLATES) and _is_below(place, home) and _name(place, home) not in _SHARED:
                holds = any(each.is_relative_to(place) or place.is_relative_to(each) for each in writable)
                if not holds and not _is_led_from(place, writable):
                    (found.hooks if key == _HOOKS else found.templates).append(place)
    for each in lists:
        is_key = _KEY_FILE.fullmatch(each.name) or _is_led_from(each, writable)
        if _is_below(each, home) and each.is_file() and not is_key:
            found.files[each] = os.path.realpath(each)
    return found


def _is_led_from(path: Path, writable: Sequence[Path]) -> bool:
    """Whether a link in a writable folder decides where a path leads: a command could have made it lead to a key."""
    at, rest = Path("/"), list(path.parts[1:])
    for _ in range(MOST_STEPS):
        if not rest:
            return False
        part = rest.pop(0)
        if part == "..":
            at = at.parent
        elif (at / part).is_symlink():
            if any(at.is_relative_to(each) for each in writable):
                return True
            target = (at / part).readlink()
            at, rest = (Path("/"), [*target.parts[1:], *rest]) if target.is_absolute() else (at, [*target.parts, *rest])
        else:
            at /= part
    return True


def _without_keys(file: Path, copies: Path) -> str | None:
    """The real path of a settings file of git, or of a copy without the entries and sections that can hold a key;
    None if it cannot be read or copied."""
    try:
        text = read_small_text(file, LIMIT_BYTES, errors="surrogateescape")
        if not _KEY_IN_GIT.search(text):
            return os.path.realpath(file)
        kept, keeps = "", True
        for line in _LINE_OF_GIT.findall(text):
            has_key = _KEY_IN_GIT.search(line) is not None
            if line.lstrip().startswith("["):
                keeps = not has_key
            if keeps and not has_key:
                kept += line
        copy = copies / hashlib.sha256(os.fsencode(file)).hexdigest()[:16]
        if not copy.exists() or read_small_text(copy, LIMIT_BYTES, errors="surrogateescape") != kept:
            with replaced_atomically(copy) as stream:
                stream.write(kept.encode(errors="surrogateescape"))
        return os.path.realpath(copy)
    except (OSError, ValueError):
        return None


def _checkout(home: Path, folder: Path) -> Iterator[Path]:
    """The checkout around the folder, and its git folder."""
    dot_git = find_upwards(GIT, folder)
    if dot_git is None or not _is_below(dot_git.parent, home):
        return
    yield dot_git.parent
    if (git := git_folder_of(dot_git)) is not None:
        both = {git, common_folder(git)}
        yield from (each for each in both if _is_below(each, home) and is_git_layout(_names_in(each)))


def _names_in(folder: Path) -> Sequence[str]:
    with suppress(OSError):
        return [each.name for each in folder.iterdir()]
    return ()


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
