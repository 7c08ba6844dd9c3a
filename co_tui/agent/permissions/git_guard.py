"""Run git without running anything that a folder names (X7).

Git runs programs that its configuration, attributes and layout name, even for `git status`. Two measures together keep
it from that: an environment that overrides what can be overridden, and a check of every key of the repository's own
configuration. Any key not known to be harmless makes the command ask. The user's and the system's configuration are
trusted.
"""

import os
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import translate
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

from co_tui.late_pattern import late_pattern

TIMEOUT_S: Final = 5.0
READING_S: Final = 20.0
MOST_SUBMODULES: Final = 100
DEEPEST_SUBMODULE: Final = 5
MOST_GIT_FILES: Final = 100_000
MOST_FOLDERS: Final = 20_000
"""Of a work tree, searched for pipes that would block git; outermost first."""
MOST_KEYS: Final = 100_000
MOST_CONFIG_BYTES: Final = 1_000_000
"""A repository with more configuration is not checked."""
MOST_BYTES: Final = 4_096
"""Read from git's small files, which have a line or two."""

_OVERRIDES: Final = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "log.showSignature": "false",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    "diff.autoRefreshIndex": "false",
}
GUARDED_ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_SSH_COMMAND": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "RIPGREP_CONFIG_PATH": "",  # its file may name a program
    "GIT_CONFIG_COUNT": str(len(_OVERRIDES)),
    **{f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(_OVERRIDES)},
    **{f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(_OVERRIDES.values())},
}
"""For every command that runs without approval: git has no network, no hooks, no monitor, and writes nothing."""

HARMLESS_KEYS: Final = (
    # Overridden by the environment above.
    "core.fsmonitor", "core.hookspath", "core.sshcommand", "core.pager", "core.askpass",
    # Repository format.
    "core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
    "core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.safecrlf", "core.eol", "core.whitespace",
    "core.quotepath", "core.abbrev", "core.commentchar", "core.untrackedcache", "core.preloadindex", "core.fscache",
    "core.longpaths", "core.protecthfs", "core.protectntfs", "core.sharedrepository", "core.compression",
    "core.bigfilethreshold", "core.hidedotfiles", "core.sparsecheckout", "core.sparsecheckoutcone", "core.splitindex",
    "core.multipackindex", "core.commitgraph", "core.trustctime", "core.checkstat", "core.editor", "core.fsync",
    "core.fsyncmethod", "core.packedgitlimit", "core.packedgitwindowsize", "core.deltabasecachelimit",
    "extensions.objectformat", "extensions.worktreeconfig", "extensions.partialclone", "extensions.preciousobjects",
    "extensions.noop", "extensions.refstorage", "feature.*", "index.version", "index.threads", "index.sparse",
    "index.skiphash", "pack.*", "repack.*", "gc.*", "maintenance.*", "fsck.*", "transfer.*",
    # Used by commands that always need approval.
    "user.*", "author.*", "committer.*", "branch.*", "push.*", "pull.*", "fetch.*", "rebase.*", "rerere.*", "commit.*",
    "tag.*", "checkout.*", "clone.*", "init.*", "stash.*", "merge.ff", "merge.conflictstyle", "merge.renames",
    "merge.stat", "merge.tool", "merge.log", "difftool.*", "mergetool.*", "receive.*", "credential.*", "http.*",
    "https.*", "url.*", "sendemail.*", "alias.*", "gui.*", "gitk.*", "instaweb.*", "notes.*",
    "remote.pushdefault", "remote.*.url", "remote.*.pushurl", "remote.*.fetch", "remote.*.push", "remote.*.tagopt",
    "remote.*.prune", "remote.*.prunetags", "remote.*.mirror", "remote.*.skipdefaultupdate", "remote.*.promisor",
    "remote.*.partialclonefilter", "remote.*.gh-resolved", "remote.*.lfsurl", "remote.*.followremotehead",
    "submodule.active", "submodule.fetchjobs", "submodule.*.url", "submodule.*.active", "submodule.*.branch",
    "submodule.*.path", "submodule.*.ignore", "submodule.*.shallow", "submodule.*.fetchrecursesubmodules",
    # Display.
    "color.*", "column.*", "advice.*", "help.*", "status.*", "log.abbrevcommit", "log.date", "log.decorate",
    "log.follow", "log.graphcolors", "diff.algorithm", "diff.renames", "diff.renamelimit", "diff.colormoved",
    "diff.colormovedws", "diff.mnemonicprefix", "diff.noprefix", "diff.context", "diff.interhunkcontext",
    "diff.wserrorhighlight", "diff.indentheuristic", "diff.statgraphwidth", "diff.ignoresubmodules", "diff.tool",
    "diff.guitool", "diff.*.xfuncname", "diff.*.funcname", "diff.*.binary", "diff.*.wordregex", "diff.*.algorithm",
    "blame.coloring", "blame.date", "blame.showroot", "blame.blankboundary", "blame.showemail", "grep.linenumber",
    "grep.column", "grep.patterntype", "grep.extendedregexp", "grep.fullname", "tar.umask", "versionsort.*",
    # Other programs keep these in git's files; git ignores them. (Of git-lfs only what names no program.)
    "lfs.url", "lfs.repositoryformatversion", "lfs.locksverify", "lfs.fetchinclude", "lfs.fetchexclude",
    "lfs.http*.access", "lfs.http*.locksverify",
    "gh-resolved.*", "github.*", "gitlab.*", "hub.*", "gitflow.*", "vscode.*", "codespaces.*", "pr.*", "oh-my-zsh.*",
    "svn-remote.*", "git-p4.*", "husky.*", "jj.*", "gerrit.*", "bugtraq.*",
)  # fmt: skip
"""Patterns of configuration keys that never make a reading git command run anything."""
_HARMLESS: Final = {
    section: late_pattern("|".join(map(translate, keys)))
    for section, keys in groupby(sorted(HARMLESS_KEYS), key=lambda key: key.partition(".")[0])
}
"""By section: a folder's configuration may have very many keys."""
_NAMES_FILE: Final = ("blame.ignorerevsfile", "diff.orderfile")
"""Keys that name a file to read, which must be in the work tree."""


_NO_CONFIGURATION: Final[Mapping[str, str]] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}


def start_own_git(git_folder: Path, folder: Path, path: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start git on a repository of our own, with pipes: guarded, and without the user's or the system's configuration.

    `path` is where programs are; none of the working folder's are used.
    """
    environment = {**GUARDED_ENVIRONMENT, **_NO_CONFIGURATION, "PATH": safe_path(path, folder)}
    return subprocess.Popen(
        ("git", f"--git-dir={git_folder}", *arguments),
        cwd=git_folder.parent, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def finds_git(path: str, folder: Path) -> bool:
    """Whether there is a git outside of the working folder."""
    return shutil.which("git", path=safe_path(path, folder)) is not None


def guarded_environment(environ: Mapping[str, str], *folders: Path) -> dict[str, str]:
    """The environment for a command that only reads: git guarded, and no program of these folders on the PATH."""
    # Sort names as we do, whatever the user's locale.
    locale = {"LC_ALL": "", "LANG": environ["LC_ALL"]} if environ.get("LC_ALL") else {}
    path = safe_path(environ.get("PATH", os.defpath), *folders)
    return {**environ, **GUARDED_ENVIRONMENT, **locale, "LC_COLLATE": "C", "PATH": path}


def safe_path(path: str, *folders: Path) -> str:
    """The PATH without entries inside the folders that a session works in."""
    roots = [folder.resolve() for folder in folders]
    entries = [each for each in path.split(os.pathsep) if each.startswith("/")]
    kept = [each for each in entries if not any(_is_inside(Path(each), root) for root in roots)]
    return os.pathsep.join(kept) or os.defpath


def git_only_reads(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether git, run in `folder` with the guarded environment, runs nothing that the folder names and reads no other
    repository."""
    try:
        return _Repository(folder.resolve(), environ).is_harmless(DEEPEST_SUBMODULE)
    except (OSError, ValueError, RuntimeError, subprocess.SubprocessError):
        return False  # unreadable: not known to be harmless


def git_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables git needs: where programs are, and whose configuration to read."""
    return {name: environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in environ}


class GitUnsafe(Exception):
    """Git is not run here: it might run what the folder names."""


class GitReader:
    """Runs git commands that only read, for ourselves. Slow: use it in a thread."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Raises `GitUnsafe`."""
        self._folder = folder
        self._environ = guarded_environment(git_variables(environ), folder)
        if not git_only_reads(folder, git_variables(environ)):
            raise GitUnsafe

    def output(self, *arguments: str, most_bytes: int = 1_000_000) -> str | None:
        """The beginning of what a reading command prints; None when it fails or takes too long."""
        with subprocess.Popen(
            ("git", *arguments),
            cwd=self._folder, env=self._environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            late = threading.Timer(READING_S, process.kill)
            late.start()
            try:
                data = process.stdout.read(most_bytes)
                if is_cut := bool(process.stdout.read(1)):
                    process.kill()
                code = process.wait()
            finally:
                late.cancel()
        return data.decode("utf-8", "replace") if is_cut or code == 0 else None


class _Repository:
    """The repository git finds from a folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ

    def is_harmless(self, depth: int) -> bool:
        if _would_block(self._folder):
            return False
        found = self._run("rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
        if not found.stdout:  # git finds no repository here
            return not any(os.path.lexists(each / ".git") for each in (self._folder, *self._folder.parents))
        lines = _text(found.stdout).split("\n")
        if found.returncode or len(lines) != 4:  # no work tree, or names with line breaks
            return False
        git_folder, common, work_tree = Path(lines[0]), (self._folder / lines[1]).resolve(), Path(lines[2])
        return (
            self._belongs(work_tree, git_folder, common)
            and _owns_objects(git_folder, common)
            and self._has_harmless_configuration(work_tree)
            and all(
                _Repository(each, self._environ).is_harmless(depth - 1) for each in self._submodules(work_tree, depth)
            )
        )

    def _belongs(self, work_tree: Path, git_folder: Path, common: Path) -> bool:
        """Whether `.git` of the work tree points to the repository, and a repository elsewhere points back."""
        here = work_tree / ".git"
        if here.is_symlink() or not self._folder.is_relative_to(work_tree.resolve()):
            return False
        if here.is_dir():
            return here.resolve() == git_folder.resolve() == common
        named = _text_of(here).partition("\n")[0].removeprefix("gitdir:").strip()
        if (work_tree / named).resolve() != git_folder.resolve():
            return False
        if (git_folder / "commondir").exists():  # a linked work tree
            back = git_folder / _text_of(git_folder / "gitdir").strip()
            return git_folder.parent == common / "worktrees" and back.resolve() == here.resolve()
        # A submodule: its repository names the work tree.
        tree = self._git("config", "--file", str(git_folder / "config"), "--no-includes", "--get", "core.worktree")
        return tree is not None and (git_folder / tree.rstrip("\n")).resolve() == work_tree.resolve()

    def _has_harmless_configuration(self, work_tree: Path) -> bool:
        listed = self._git("config", "--list", "--show-scope", "--no-includes", "-z")
        fields = (listed or "").split("\0")
        own = {
            entry.partition("\n")
            for scope, entry in zip(fields[::2], fields[1::2], strict=False)
            if scope not in ("system", "global", "command")
        }
        files = [value for key, _, value in own if key in _NAMES_FILE]
        keys = {key for key, _, _ in own if key not in _NAMES_FILE}
        return (
            0 < len(keys) <= MOST_KEYS
            and all(map(_is_harmless_key, keys))
            and all(map(partial(_is_in, work_tree), files))
        )

    def _submodules(self, work_tree: Path, depth: int) -> list[Path]:
        """The nested repositories git visits. Raises ValueError when there are too many to check."""
        listed = self._git("ls-files", "--stage", "--full-name", "-z", ":/")
        if listed is None:
            raise ValueError("an unreadable index")
        paths = [entry.partition("\t")[2] for entry in listed.split("\0") if entry.startswith("160000 ")]
        present = [work_tree / path for path in paths if os.path.lexists(work_tree / path / ".git")]
        if len(present) > MOST_SUBMODULES or (present and depth == 0):
            raise ValueError("too many submodules")
        return [each.resolve() for each in present]

    def _git(self, *arguments: str) -> str | None:
        """git's output; None when it fails."""
        done = self._run(*arguments)
        return _text(done.stdout) if done.returncode == 0 else None

    def _run(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            ("git", *arguments),
            cwd=self._folder, env=guarded_environment(self._environ, self._folder), stdin=subprocess.DEVNULL,
            capture_output=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip


def _owns_objects(git_folder: Path, common: Path) -> bool:
    """Whether it has its own objects and references: no links, no other repository's objects."""
    if not all(map(_is_plain, dict.fromkeys((git_folder, common)))):
        return False
    return not os.path.lexists(common / "objects" / "info" / "alternates")


def _is_plain(git_folder: Path) -> bool:
    """Whether it contains only regular files and folders: no links that lead out, no pipes that block."""
    waiting, seen = [git_folder], 0
    while waiting:
        for entry in _entries(waiting.pop()):
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False) or seen > MOST_GIT_FILES:
                return False
    return True


def _would_block(folder: Path) -> bool:
    """Whether one of the files that git reads is a pipe or a device, which would block git, or far too large."""
    found = next((each / ".git" for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)
    if found is None:
        return False
    read = [found, found.parent / ".mailmap", found.parent / ".gitmodules"]
    if found.is_dir() and not found.is_symlink():
        read += [Path(entry.path) for entry in _entries(found)]
        if any(each.name.startswith("config") and each.stat().st_size > MOST_CONFIG_BYTES for each in read):
            return True
    return any(map(_is_special, read)) or any(map(_is_special, _files_in_folders(found.parent)))


def _is_special(file: Path) -> bool:
    return file.exists() and not file.is_file() and not file.is_dir()


def _files_in_folders(work_tree: Path) -> Iterator[Path]:
    """What git reads in each folder of a work tree, if it is there and not a plain file."""
    waiting, seen = deque([str(work_tree)]), 0
    while waiting and seen < MOST_FOLDERS:
        seen += 1
        with suppress(OSError), os.scandir(waiting.popleft()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".git":
                        waiting.append(entry.path)
                elif entry.name in (".gitignore", ".gitattributes") and not entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    if folder.is_symlink():
        raise OSError("a link instead of a git folder")
    if folder.is_dir():
        with os.scandir(folder) as entries:
            yield from entries


def _is_harmless_key(key: str) -> bool:
    """Whether a key is harmless; section and name are in lower case, as git prints them."""
    # The location of the work tree was already checked.
    harmless = _HARMLESS.get(key.partition(".")[0])
    return key == "core.worktree" or (harmless is not None and harmless.match(key) is not None)


def _is_in(work_tree: Path, named: str) -> bool:
    """Whether a file that a key names is in the work tree."""
    inside = (work_tree / named).resolve().is_relative_to(work_tree.resolve())
    return inside and not named.startswith(("~", "%"))


def _text_of(file: Path) -> str:
    """The beginning of a regular file. Raises OSError for a link, and never blocks on a pipe."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return os.read(handle, MOST_BYTES).decode("utf-8", "surrogateescape")
    finally:
        os.close(handle)


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return True
