"""The changes of a branch, for a review. Plain Python: another host runs it, too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.permissions.git_guard import GitReader, GitUnsafe
from co_tui.inert import one_line
from co_tui.settings.permission_rules import RuleInForce

MOST_DIFF_BYTES: Final = 1_000_000
"""Read from git; what is sent is limited by the model's window."""
MOST_NAMES_BYTES: Final = 10_000_000
MOST_HIDDEN: Final = 500
"""Files left out because of rules; each is an argument for git."""
MOST_NAMED: Final = 50
DEFAULT_BRANCHES: Final = ("origin/HEAD", "main", "master")
_DIFF: Final = ("diff", "--no-ext-diff", "--no-textconv", "--no-color")
NOTHING: Final = "Nothing to review: no edits in this session, and no changes on this branch."
NO_REPOSITORY: Final = "Nothing to review: no edits in this session, and this folder is not in a git repository."
TOO_MANY: Final = "Too many files changed to leave out those your rules hide. Ask the model to review some of them."
UNSAFE: Final = "This repository's git settings could run programs. Ask the model to run `git diff` instead."


class ReviewRefused(Exception):
    """Why there is nothing to review, as a sentence."""


class BranchChanges(NamedTuple):
    """What changed."""

    since: str
    """For people: since when."""
    text: str


def branch_changes(folder: Path, environ: Mapping[str, str], hides: Sequence[RuleInForce]) -> BranchChanges:
    """The branch's commits and what is not committed yet, without files that these rules hide.

    Starts git: call it in a thread. Raises `ReviewRefused`.
    """
    try:
        git = GitReader(folder, environ)
    except GitUnsafe:
        raise ReviewRefused(UNSAFE) from None
    root = git.output("rev-parse", "--show-toplevel")
    if root is None:
        raise ReviewRefused(NO_REPOSITORY)
    top, folder, home = Path(root.rstrip("\n")), folder.resolve(), Path.home().resolve()
    base, since = _base(git)
    changed = _changed_names(git, base) if hides else []
    hidden = [name for name in changed if any(each.covers(top / name, folder, home) for each in hides)]
    if len(hidden) > MOST_HIDDEN:
        raise ReviewRefused(TOO_MANY)
    excluded = [f":(exclude,top,literal){name}" for name in hidden]
    diff = git.output(*_DIFF, base, "--", ":/", *excluded, most_bytes=MOST_DIFF_BYTES) or ""
    new = _names(git, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
    if not diff.strip() and not new:
        raise ReviewRefused(NOTHING)
    listed = "".join(f"\nnew, not in git yet: {one_line(name, 200)}" for name in new[:MOST_NAMED])
    return BranchChanges(since, diff + listed)


def _base(git: GitReader) -> tuple[str, str]:
    """The commit that the branch is compared with, and its name for people."""
    for name in DEFAULT_BRANCHES:
        base = git.output("merge-base", "HEAD", name)
        if base is not None and base.strip():
            head = (git.output("rev-parse", "HEAD") or "").strip()
            return base.strip(), "the last commit" if head == base.strip() else f"the branch left {name}"
    if git.output("rev-parse", "--verify", "-q", "HEAD") is None:
        raise ReviewRefused("Nothing to review: this repository has no commit yet.")
    return "HEAD", "the last commit"


def _changed_names(git: GitReader, base: str) -> list[str]:
    """All names that a diff has; an old name of a renamed file too. Raises `ReviewRefused` rather than miss one."""
    names = git.output(*_DIFF, "--name-only", "--no-renames", "-z", base, most_bytes=MOST_NAMES_BYTES)
    if names is None or not (names.endswith("\0") or not names) or len(names.encode()) >= MOST_NAMES_BYTES:
        raise ReviewRefused(TOO_MANY)
    return [name for name in names.split("\0") if name]


def _names(git: GitReader, *arguments: str) -> list[str]:
    return [name for name in (git.output(*arguments) or "").split("\0") if name]
