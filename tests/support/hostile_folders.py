"""Folders that try to run a program, show files from outside, or block, when they are only read.

Each builder makes `folder`. Its files name a program that writes `marker`, or lead to files below `outside`, all of
which contain `SECRET`. `UNGUARDED` has a plain command for each repository that runs the program or shows the secret,
which proves that the folder is hostile.
"""

import os
import shlex
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

SECRET: Final = "canary-7f3a9d1e"
Builder = Callable[[Path, Path, Path], None]
"""Called with the folder to make, the marker file, and a folder outside of it."""
NO_SETTINGS: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.com",
}
"""Git as it comes, whatever the machine's settings are."""


def git(folder: Path, *arguments: str, text: str = "") -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder, env={**environ, **NO_SETTINGS}, input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def repository(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, text in (files or {"notes.txt": "one\n", "src/login.py": "def greeting(): ...\n"}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def change(folder: Path, name: str = "notes.txt", *, size: bool = True) -> None:
    """Change a tracked file. With the same size, git must read it to compare."""
    (folder / name).write_text("one\ntwo, changed\n" if size else "two\n")
    os.utime(folder / name, (1, 1))


def private_repository(outside: Path) -> Path:
    """Another repository of the user, which is not for the agent."""
    return repository(outside / "private", {"secret.txt": f"{SECRET}\n", "notes.txt": f"{SECRET}\n"})


def secret_file(outside: Path, name: str = "secret.txt") -> Path:
    outside.mkdir(parents=True, exist_ok=True)
    (outside / name).write_text(f"{SECRET}\n")
    return outside / name


def marking(marker: Path) -> str:
    """A shell command that leaves the marker, whatever arguments follow it."""
    return f"echo ran >>{shlex.quote(str(marker))}; false #"


def program(file: Path, marker: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho ran >>{shlex.quote(str(marker))}\n")
    file.chmod(0o755)
    return file


# Programs that git's configuration names.


def fsmonitor(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    git(folder, "config", "core.fsmonitor", marking(marker))
    change(folder)


def fsmonitor_script(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    git(folder, "config", "core.fsmonitor", str(program(folder / ".tools" / "watch", marker)))


def fsmonitor_in_submodule(folder: Path, marker: Path, outside: Path) -> None:
    """As `git submodule add` leaves it: the submodule's repository is in `.git/modules`."""
    library = repository(folder.parent / f"{folder.name}-library")
    repository(folder)
    git(folder, "submodule", "--quiet", "add", str(library), "library")
    git(folder, "commit", "-q", "-m", "library")
    git(folder / "library", "config", "core.fsmonitor", marking(marker))
    change(folder / "library")


def fsmonitor_in_inner_repository(folder: Path, marker: Path, outside: Path) -> None:
    """A submodule with a `.git` folder of its own, known to the index only."""
    repository(folder)
    repository(folder / "vendor" / "library")
    git(folder, "add", "vendor/library")
    git(folder, "commit", "-q", "-m", "library")
    git(folder / "vendor" / "library", "config", "core.fsmonitor", marking(marker))
    change(folder / "vendor" / "library")


def fsmonitor_in_submodule_of_submodule(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    middle = repository(folder / "middle")
    inner = repository(middle / "inner")
    for each, name in ((middle, "inner"), (folder, "middle")):
        git(each, "add", name)
        git(each, "commit", "-q", "-m", name)
    git(inner, "config", "core.fsmonitor", marking(marker))
    change(inner)


def fsmonitor_in_bare_layout(folder: Path, marker: Path, outside: Path) -> None:
    """No `.git` at all: a folder one level down has the files of a repository."""
    inner = repository(folder / "data")
    git(inner, "config", "core.fsmonitor", marking(marker))
    git(inner, "config", "core.worktree", "..")
    for each in (inner / ".git").iterdir():
        each.rename(inner / each.name)
    (inner / ".git").rmdir()


def fsmonitor_behind_commondir(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    common = folder / "docs" / "common"
    (folder / "docs").mkdir()
    subprocess.run(["cp", "-r", str(folder / ".git"), str(common)], check=True)
    (folder / ".git" / "commondir").write_text("../docs/common\n")
    subprocess.run(["git", "config", "-f", str(common / "config"), "core.fsmonitor", marking(marker)], check=True)


def fsmonitor_included(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    subprocess.run(["git", "config", "-f", str(folder / "more.ini"), "core.fsmonitor", marking(marker)], check=True)
    git(folder, "config", "include.path", "../more.ini")


def fsmonitor_included_if(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    subprocess.run(["git", "config", "-f", str(folder / "more.ini"), "core.fsmonitor", marking(marker)], check=True)
    git(folder, "config", "includeIf.onbranch:main.path", "../more.ini")


def fsmonitor_in_worktree_config(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    git(folder, "config", "extensions.worktreeConfig", "true")
    git(folder, "config", "--worktree", "core.fsmonitor", marking(marker))


def clean_filter(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder, {"notes.txt": "one\n", ".gitattributes": "*.txt filter=tidy\n"})
    git(folder, "config", "filter.tidy.clean", marking(marker))
    change(folder, size=False)


def process_filter(folder: Path, marker: Path, outside: Path) -> None:
    """The attribute is in the repository's own file, and the filter is a process."""
    repository(folder)
    (folder / ".git" / "info" / "attributes").write_text("*.txt filter=tidy\n")
    git(folder, "config", "filter.tidy.process", marking(marker))
    change(folder, size=False)


def attributes_from_config(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    (folder / "names").write_text("*.txt filter=tidy\n")
    git(folder, "config", "core.attributesFile", str(folder / "names"))
    git(folder, "config", "filter.tidy.clean", marking(marker))
    change(folder, size=False)


def textconv(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder, {"notes.txt": "one\n", ".gitattributes": "*.txt diff=words\n"})
    git(folder, "config", "diff.words.textconv", marking(marker))
    change(folder)


def external_diff(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    git(folder, "config", "diff.external", str(program(folder / ".tools" / "differ", marker)))
    change(folder)


def diff_driver(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder, {"notes.txt": "one\n", ".gitattributes": "*.txt diff=words\n"})
    git(folder, "config", "diff.words.command", str(program(folder / ".tools" / "differ", marker)))
    change(folder)


def hook(folder: Path, marker: Path, outside: Path) -> None:
    """`git status` writes the refreshed index, and then this runs."""
    repository(folder)
    program(folder / ".git" / "hooks" / "post-index-change", marker)
    os.utime(folder / "notes.txt", (1, 1))


def hooks_folder(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    program(folder / ".hooks" / "post-index-change", marker)
    git(folder, "config", "core.hooksPath", ".hooks")
    os.utime(folder / "notes.txt", (1, 1))


def signature_program(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    tree, parent = git(folder, "rev-parse", "HEAD^{tree}"), git(folder, "rev-parse", "HEAD")
    who = "Ann <ann@example.com> 1700000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"
    text = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n{signature}\n\nsigned\n"
    commit = git(folder, "hash-object", "-t", "commit", "-w", "--stdin", text=text)
    git(folder, "update-ref", "HEAD", commit)
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "gpg.program", str(program(folder / ".tools" / "gpg", marker)))


def alias(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    git(folder, "config", "alias.st", f"!{marking(marker)}")


# A promisor remote: git asks it for an object that is missing.


def _missing_object(folder: Path, name: str) -> None:
    missing = git(folder, "rev-parse", name)
    (folder / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    git(folder, "config", "core.repositoryFormatVersion", "1")
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "remote.origin.promisor", "true")


def promisor_over_ssh(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    change(folder)
    _missing_object(folder, "HEAD:notes.txt")
    git(folder, "config", "remote.origin.url", "ssh://git@example.invalid/shop.git")
    git(folder, "config", "core.sshCommand", marking(marker))


def promisor_upload_pack(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    change(folder)
    _missing_object(folder, "HEAD:notes.txt")
    git(folder, "config", "remote.origin.url", str(folder))
    git(folder, "config", "remote.origin.uploadpack", marking(marker))


def promisor_ext_url(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    change(folder)
    _missing_object(folder, "HEAD:notes.txt")
    git(folder, "config", "remote.origin.url", f"ext::{program(folder / '.tools' / 'fetch', marker)}")
    git(folder, "config", "protocol.ext.allow", "always")


def promisor_in_sparse_index(folder: Path, marker: Path, outside: Path) -> None:
    """Even a list of the files needs the missing tree."""
    repository(folder, {"notes.txt": "one\n", "docs/a.txt": "a\n", "src/login.py": "pass\n"})
    git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "src")
    _missing_object(folder, "HEAD:docs")
    git(folder, "config", "remote.origin.url", str(folder))
    git(folder, "config", "remote.origin.uploadpack", marking(marker))


# Content from outside.


def worktree_outside(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    secret_file(outside, "notes.txt")
    git(folder, "config", "core.worktree", str(outside))


def alternates(folder: Path, marker: Path, outside: Path) -> None:
    """Objects are borrowed from the private repository, and HEAD is one of its commits."""
    private = private_repository(outside)
    repository(folder)
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{private / '.git' / 'objects'}\n")
    git(folder, "update-ref", "HEAD", git(private, "rev-parse", "HEAD"))


def linked_objects(folder: Path, marker: Path, outside: Path) -> None:
    private = private_repository(outside)
    repository(folder)
    objects = folder / ".git" / "objects"
    objects.rename(folder / ".git" / "objects.old")
    objects.symlink_to(private / ".git" / "objects")
    git(folder, "update-ref", "HEAD", git(private, "rev-parse", "HEAD"))


def linked_object_folder(folder: Path, marker: Path, outside: Path) -> None:
    """One level deeper: only the folders of single objects are links."""
    private = private_repository(outside)
    repository(folder)
    for each in (private / ".git" / "objects").iterdir():
        mine = folder / ".git" / "objects" / each.name
        if not mine.exists():
            mine.symlink_to(each)
            continue
        for file in each.iterdir():  # both repositories have objects whose names begin alike
            if not (mine / file.name).exists():
                (mine / file.name).symlink_to(file)
    git(folder, "update-ref", "HEAD", git(private, "rev-parse", "HEAD"))


def linked_head(folder: Path, marker: Path, outside: Path) -> None:
    """What is in the file would show as the branch."""
    repository(folder)
    (folder / ".git" / "HEAD").unlink()
    (folder / ".git" / "HEAD").symlink_to(secret_file(outside))


def git_file_to_private(folder: Path, marker: Path, outside: Path) -> None:
    private = private_repository(outside)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notes.txt").write_text("one\n")
    (folder / ".git").write_text(f"gitdir: {private / '.git'}\n")


def git_link_to_private(folder: Path, marker: Path, outside: Path) -> None:
    private = private_repository(outside)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notes.txt").write_text("one\n")
    (folder / ".git").symlink_to(private / ".git")


def commondir_to_private(folder: Path, marker: Path, outside: Path) -> None:
    private = private_repository(outside)
    repository(folder)
    (folder / ".git" / "commondir").write_text(f"{private / '.git'}\n")


def submodule_of_private(folder: Path, marker: Path, outside: Path) -> None:
    """The submodule's `.git` names the private repository."""
    private = private_repository(outside)
    repository(folder)
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{git(private, 'rev-parse', 'HEAD')},library")
    git(folder, "commit", "-q", "-m", "library")
    (folder / "library").mkdir()
    (folder / "library" / ".git").write_text(f"gitdir: {private / '.git'}\n")


def ignored_revisions_outside(folder: Path, marker: Path, outside: Path) -> None:
    """`git blame` quotes the file's first line when it is no revision."""
    repository(folder)
    git(folder, "config", "blame.ignoreRevsFile", str(secret_file(outside)))


def excludes_file_outside(folder: Path, marker: Path, outside: Path) -> None:
    """`git check-ignore -v` quotes the line that matches."""
    repository(folder)
    git(folder, "config", "core.excludesFile", str(secret_file(outside)))


def mailmap_outside(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    outside.mkdir(parents=True, exist_ok=True)
    (outside / "mailmap").write_text(f"{SECRET} <ann@example.com>\n")
    git(folder, "config", "mailmap.file", str(outside / "mailmap"))


def included_from_outside(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    outside.mkdir(parents=True, exist_ok=True)
    (outside / "settings").write_text(f"[user]\n\tname = {SECRET}\n")
    git(folder, "config", "include.path", str(outside / "settings"))


# Files that lead out, turn in circles, or never end.

NAMES_READ: Final = ("AGENTS.md", "CLAUDE.md", ".gitignore", ".ignore", "notes.txt", ".agents/skills/tidy/SKILL.md")
"""Files that co-tui reads by itself, and an ordinary one."""


def _skill(folder: Path, text: str = "Tidy up.") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {text}\n---\n{text}\n")


def links_out(folder: Path, marker: Path, outside: Path) -> None:
    """Every file that is read, and a folder, are links to what is outside."""
    secret = secret_file(outside)
    (outside / "more").mkdir(exist_ok=True)
    secret_file(outside / "more")
    _skill(outside / "skills" / "stolen", SECRET)
    repository(folder, {"src/login.py": "pass\n"})
    for name in NAMES_READ:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(secret)
    (folder / "latest").symlink_to(outside / "more")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "skills").symlink_to(outside / "skills")
    (folder / ".agents" / "skills" / "stolen").symlink_to(outside / "skills" / "stolen")
    (outside / "agents").mkdir()
    (outside / "agents" / "spy.md").write_text(f"---\nname: spy\ndescription: {SECRET}\n---\n{SECRET}\n")
    (folder / ".agents" / "agents").symlink_to(outside / "agents")
    (folder / ".claude" / "agents").mkdir()
    (folder / ".claude" / "agents" / "spy.md").symlink_to(outside / "agents" / "spy.md")


def link_loops(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    (folder / "up").symlink_to(".")
    (folder / "src" / "root").symlink_to("..")
    (folder / "itself").symlink_to("itself")
    (folder / "ping").symlink_to("pong")
    (folder / "pong").symlink_to("ping")
    (folder / "AGENTS.md").symlink_to("AGENTS.md")
    (folder / "gone").symlink_to("nowhere")
    (folder / ".agents").symlink_to(".")
    (folder / ".claude").symlink_to(".claude")


def pipes(folder: Path, marker: Path, outside: Path) -> None:
    """Opening a pipe to read waits for a writer, who never comes."""
    repository(folder, {"src/login.py": "pass\n"})
    (folder / ".git" / "info" / "exclude").unlink()
    for name in (*NAMES_READ, "src/queue", ".git/info/exclude", ".claude/agents/spy.md", "src/.gitignore"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / name)


def pipes_in_git(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder)
    for name in ("HEAD", "config", "index"):
        (folder / ".git" / name).unlink(missing_ok=True)
        os.mkfifo(folder / ".git" / name)


def pipe_as_git(folder: Path, marker: Path, outside: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notes.txt").write_text("one\n")
    os.mkfifo(folder / ".git")


def devices_and_sockets(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder, {"src/login.py": "pass\n"})
    for name in NAMES_READ:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to("/dev/zero")
    bound = socket.socket(socket.AF_UNIX)
    # The path of a socket may have about a hundred bytes only.
    place = os.open(folder, os.O_RDONLY)
    bound.bind(f"/proc/self/fd/{place}/talk")
    os.close(place)
    bound.close()


def folders_as_files(folder: Path, marker: Path, outside: Path) -> None:
    repository(folder, {"src/login.py": "pass\n"})
    for name in NAMES_READ:
        (folder / name).mkdir(parents=True, exist_ok=True)


def unreadable(folder: Path, marker: Path, outside: Path) -> None:
    """For an ordinary user; an administrator reads it all the same."""
    repository(folder)
    (folder / "locked").mkdir()
    (folder / "locked" / "a.txt").write_text("a\n")
    for name in ("AGENTS.md", ".gitignore"):
        (folder / name).write_text("a\n")
        (folder / name).chmod(0)
    (folder / "locked").chmod(0)


def odd_names(folder: Path, marker: Path, outside: Path) -> None:
    """Names like options, with control characters, and bytes that are no text."""
    repository(folder)
    for name in (b"--output=x", b"-rf", b"two\nlines.txt", b"\x1b[2J.txt", b"\xff\xfe.txt", b"a b;c.txt", b"$(x).txt"):
        (folder / os.fsdecode(name)).write_text("one\n")


HOSTILE_REPOSITORIES: Final[dict[str, Builder]] = {
    each.__name__: each
    for each in (
        fsmonitor, fsmonitor_script, fsmonitor_in_submodule, fsmonitor_in_inner_repository,
        fsmonitor_in_submodule_of_submodule, fsmonitor_in_bare_layout, fsmonitor_behind_commondir, fsmonitor_included,
        fsmonitor_included_if, fsmonitor_in_worktree_config, clean_filter, process_filter, attributes_from_config,
        textconv, external_diff, diff_driver, hook, hooks_folder, signature_program, alias, promisor_over_ssh,
        promisor_upload_pack, promisor_ext_url, promisor_in_sparse_index, worktree_outside, alternates, linked_objects,
        linked_object_folder, linked_head, git_file_to_private, git_link_to_private, commondir_to_private,
        submodule_of_private, ignored_revisions_outside, excludes_file_outside, mailmap_outside, included_from_outside,
    )
}  # fmt: skip
HOSTILE_FILES: Final[dict[str, Builder]] = {
    each.__name__: each
    for each in (
        links_out, link_loops, pipes, pipes_in_git, pipe_as_git, devices_and_sockets, folders_as_files, unreadable,
        odd_names,
    )
}  # fmt: skip
HOSTILE: Final[dict[str, Builder]] = {**HOSTILE_REPOSITORIES, **HOSTILE_FILES}

UNGUARDED: Final[dict[str, str]] = {
    **dict.fromkeys(HOSTILE_REPOSITORIES, "git status"),
    "fsmonitor_in_bare_layout": "git -C data status",
    "textconv": "git diff",
    "external_diff": "git diff",
    "diff_driver": "git diff",
    "signature_program": "git log",
    "alias": "git st",
    "promisor_over_ssh": "git diff",
    "promisor_upload_pack": "git diff",
    "promisor_ext_url": "git diff",
    "promisor_in_sparse_index": "git ls-files",
    "worktree_outside": "git diff",
    "alternates": "git show",
    "linked_objects": "git show",
    "linked_object_folder": "git show",
    "linked_head": "cat .git/HEAD",
    "git_file_to_private": "git show",
    "git_link_to_private": "git show",
    "commondir_to_private": "git show",
    "submodule_of_private": "git -C library show",
    "ignored_revisions_outside": "git blame notes.txt",
    "excludes_file_outside": f"git check-ignore -v {SECRET}",
    "mailmap_outside": "git log --format=%aN",
    "included_from_outside": "git config --list",
}
