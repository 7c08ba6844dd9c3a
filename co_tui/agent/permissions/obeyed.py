"""What makes programs run later without being asked to (X9): the one place that knows it.

These are files that a program obeys when git looks at a folder, a shell starts, an editor opens a folder, or a package
manager runs. What people run on purpose (`Makefile`, `package.json`, `conftest.py`) is not among them, nor what asks
its user by itself (`.envrc`).
"""

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from co_tui.agent.permissions.git_folders import (
    GIT,
    GIT_NAMES,
    HEAD,
    HEAD_WITH,
    common_folder,
    git_folder_of,
    is_git_layout,
    named_by_git,
)

_NAMES: Final = {
    "repositories": (GIT, ".gitmodules", ".hg/hgrc"),
    "agents": (
        ".co-tui.toml", ".mcp.json", ".claude", ".agents", ".codex", ".cursor", ".gemini", ".qwen", ".windsurf",
        ".roo", ".kilocode", ".clinerules", ".continue", ".kiro", ".amazonq", ".opencode", "opencode.json",
        "opencode.jsonc", ".crush.json", "crush.json", ".aider.conf.yml", ".factory", ".augment", ".trae", ".junie",
    ),
    "editors": (
        ".vscode/tasks.json", ".vscode/settings.json", ".vscode/mcp.json", ".idea", ".zed", ".fleet", ".helix", ".exrc",
        ".devcontainer", ".devcontainer.json",
    ),
    "package managers": (
        ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs", "bunfig.toml",
        "pip.conf", "pip.ini", ".condarc", ".cargo/config", ".cargo/config.toml", ".mvn",
    ),
}  # fmt: skip
NAMES: Final = frozenset(name for names in _NAMES.values() for name in names)
"""At any depth, in lower case; a name with `/` is an entry of a folder with that name."""
_WITH_ENTRIES: Final = frozenset(name.partition("/")[0] for name in NAMES if "/" in name)
SUFFIX: Final = ".code-workspace"
_IN_HOME: Final = frozenset((
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
    ".oh-my-zsh", ".config/fish", ".config/nushell", ".config/powershell", ".pam_environment", ".xprofile",
    ".xinitrc", ".xsession", ".xsessionrc", ".xserverrc", ".config/autostart", ".config/autostart-scripts",
    ".config/plasma-workspace", ".config/environment.d", ".config/systemd", ".local/share/systemd",
    ".local/share/dbus-1", ".local/share/applications", ".config/i3", ".i3", ".config/sway", ".config/hypr",
    "library/launchagents", ".crontab", ".config/cron", ".gitconfig", ".config/git", ".direnvrc",
    ".config/direnv", ".tmux.conf", ".config/tmux", ".screenrc", ".gdbinit", ".lldbinit", ".vimrc", ".vim",
    ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".config/code/user", ".config/zed", ".config/helix",
    ".cargo/env", ".config/pip", ".pip", ".config/pnpm", ".config/yarn", ".gemrc", ".m2/settings.xml",
    ".gradle/init.gradle", ".gradle/init.d", ".config/opencode", ".config/crush",
))  # fmt: skip
"""Below a home folder, in lower case."""
DEEPEST_IN_HOME: Final = 5
_ENTRIES_IN_HOME: Final = frozenset((
    ".ssh", ".gnupg", ".local/bin", "bin", ".bin", ".cargo/bin", "go/bin", ".bun/bin", ".deno/bin", ".npm-global/bin",
    ".yarn/bin", ".volta/bin", ".dotnet/tools", ".pyenv/shims", ".rbenv/shims", ".asdf/shims", ".nix-profile/bin",
    ".local/share/mise/shims",
))  # fmt: skip
"""Folders of which each entry is obeyed, but not what is deeper: keys, and the commands in folders of `PATH`."""
_OF_SYSTEM: Final = re.compile(
    r"/(?:private)?/?(?:var/spool/cron|var/at|etc/(?:cron|anacrontab|crontab|profile|bash|zsh|environment|ld\.so"
    r"|systemd|init|rc|xdg/autostart|gitconfig|sudoers|pam))"
)
MOST_LISTED: Final = 500
_ON_DISK: Final = ("HEAD", *HEAD_WITH)
_IGNORABLE: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that macOS ignores in file names."""


def obeyed_name(
    path: str | Path, folder: Path, home: Path, *, written: bool = False, others: Sequence[Path] = ()
) -> str | None:
    """The name by which a program obeys the file at `path`, with links and `..` resolved; None for an ordinary file.

    `path` may be relative to the folder. Names above the folder do not count: one can work in `.claude/worktrees/x`.
    With `written`, the file is surely written, and several may be at the same time: each part of a git folder counts
    that others could complete. `others` are real paths of further folders to work in, whose own names count.
    """
    given, root = folder.absolute(), Path(os.path.realpath(folder))
    named, real = Path(os.path.normpath(given / path)), Path(os.path.realpath(root / path))
    for each in dict.fromkeys((named, real)):
        start = next((start for start in (given, root, *others) if each.is_relative_to(start)), Path(each.anchor))
        parts = each.relative_to(start).parts
        if (
            name := (obeyed_folder(start) if start in others else None)
            or _name_in(parts, start.name)
            or _in_git_layout(start, parts, written=written)
            or name_in_home(each, home)
        ):
            return name
        if _OF_SYSTEM.match(str(each)):
            return str(each)
    holder = next((each for each in others if real.is_relative_to(each)), root)
    from_others = (name for each in (root, *others) if each != holder for name in _links(str(each), real, holder))
    return _reached_by_link(real, holder, home) or _named_by_repository(real, holder) or next(from_others, None)


def obeyed_folder(folder: Path) -> str | None:
    """The name by which programs obey all that is in a folder, such as `.claude`; None for a work tree inside of it."""
    return None if os.path.lexists(folder / GIT) else _name_in(folder.parts)


def holds_obeyed(path: Path) -> bool:
    """Whether some entries of a folder with this name are obeyed: a command that names it may put them there."""
    return normalised_name(path.name) in _WITH_ENTRIES


def is_obeyed_entry(name: str, parent: str, *, is_link: bool = False) -> bool:
    """Whether an entry of a folder is obeyed wherever that is; `parent` is the folder's normalised name."""
    plain = normalised_name(name)
    if plain in NAMES or plain.endswith(SUFFIX) or (parent in _WITH_ENTRIES and f"{parent}/{plain}" in NAMES):
        return True
    return is_link and plain in _WITH_ENTRIES  # what it leads to may have any content


def name_in_home(path: Path, home: Path) -> str | None:
    """The file or folder of a home that `path` is or is inside, if a program obeys it."""
    if path == home or not path.is_relative_to(home):
        return None
    parts = [normalised_name(part) for part in path.relative_to(home).parts[:DEEPEST_IN_HOME]]
    above = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
    if found := next((each for each in above if each in _IN_HOME), None):
        return f"~/{found}"
    is_entry = len(path.relative_to(home).parts) == len(parts) and "/".join(parts[:-1]) in _ENTRIES_IN_HOME
    return f"~/{above[-1]}" if is_entry else None


def normalised_name(name: str) -> str:
    """A file name normalised for file systems that ignore case, trailing dots and invisible characters."""
    plain = name.lower() if name.isascii() else _IGNORABLE.sub("", name).casefold()
    plain = plain.partition(":")[0].rstrip(" .")
    return GIT if plain == "git~1" else plain


def _name_in(parts: Sequence[str], above: str = "") -> str | None:
    parent = normalised_name(above)
    for part in parts:
        plain = normalised_name(part)
        if is_obeyed_entry(part, parent):
            return f"{parent}/{plain}" if f"{parent}/{plain}" in NAMES else plain
        parent = plain
    return None


def _in_git_layout(start: Path, parts: Sequence[str], *, written: bool) -> str | None:
    """A folder is a git folder by its content, whatever its name: files that make it one, or that control it."""
    for n, part in enumerate(parts):
        if (plain := normalised_name(part)) in GIT_NAMES:
            folder = start.joinpath(*parts[:n])
            if plain == HEAD and part != "HEAD" and not _ignores_case(folder):
                continue
            there = {each for each in _ON_DISK if os.path.lexists(folder / each)}
            completes = is_git_layout({*there, plain})
            if completes or (written and _is_part(plain, there, is_last=n == len(parts) - 1)):
                return f"{part} of a git folder"
    return None


def _is_part(plain: str, there: Collection[str], *, is_last: bool) -> bool:
    """Whether it and other files that are written at the same time could make a git folder."""
    return is_last if plain == HEAD else plain in HEAD_WITH and "HEAD" in there


def _ignores_case(folder: Path) -> bool:
    try:
        return folder.name.swapcase() != folder.name and folder.samefile(folder.with_name(folder.name.swapcase()))
    except OSError:
        return False


def _reached_by_link(real: Path, root: Path, home: Path) -> str | None:
    """The obeyed name that is a link to this file or to a folder above it."""
    for above in real.parents:
        if not above.is_relative_to(root):
            break
        for name in _links(str(above), real, root):
            return name
    return next((f"~/{name}" for name in _linked(str(home), _IN_HOME, real, root)), None)


def _links(folder: str, real: Path, root: Path) -> Iterator[str]:
    """The obeyed names in any folder that are links to `real` or above it, but not to all of `root`."""
    for name in _linked(folder, (*NAMES, f"{GIT}/hooks"), real, root):
        yield name.partition("/")[0] if name.startswith(f"{GIT}/") else name


def _linked(folder: str, names: Collection[str], real: Path, root: Path) -> Iterator[str]:
    """The names in a folder that are links to `real` or above it, but not to all of `root`."""
    try:
        with os.scandir(folder) as entries:
            present = {entry.name for entry in islice(entries, MOST_LISTED)}
        if len(present) < MOST_LISTED:  # in a large folder it is faster to look for each name
            names = [name for name in names if name.partition("/")[0] in present]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        pass  # it cannot be listed, but names in it can be reached
    for name in names:
        with suppress(OSError):
            if stat.S_ISLNK(os.lstat(f"{folder}/{name}").st_mode):
                target = os.path.realpath(f"{folder}/{name}")
                if real.is_relative_to(target) and not root.is_relative_to(target):
                    yield name


def _named_by_repository(real: Path, root: Path) -> str | None:
    """Whether the configuration of the repository around a file makes git obey it: a hook, or more configuration."""
    dot_git = next((each / GIT for each in real.parents if os.path.lexists(each / GIT)), None)
    if dot_git is None or (git := git_folder_of(dot_git)) is None:
        return None
    for named in named_by_git(common_folder(git), dot_git.parent):
        target = os.path.realpath(named)
        if real.is_relative_to(target) and not root.is_relative_to(target):
            return f"{real.name}, named by git's configuration,"
    return None
