"""Finds the commits that a session's calls made: bringing files back leaves them as they are."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from co_tui.agent.permissions.git_guard import GitReader, GitUnsafe
from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.paths import find_upwards
from co_tui.session.snapshots.journal import Line

MOST_ENTRIES: Final = 1_000
MOST_NAMED: Final = 5
_MADE: Final = ("commit", "cherry-pick", "revert", "am", "merge", "rebase")
"""How the reason of a reflog entry begins if it may be about a new commit."""
_MOVED: Final = ("Fast-forward", "(start)", "(finish)", "(abort)")
"""What the reason of one that only moves to another commit has."""
Span: TypeAlias = tuple[float, float]
"""From when to when a call ran."""


def call_spans(lines: Iterable[Line]) -> list[Span]:
    """When the calls of these lines ran; those of older versions do not say."""
    spans, began = [], 0.0
    for line in lines:
        if line.kind == "begin":
            began = line.at
        elif line.kind == "end" and began:
            spans.append((began, line.at))
    return spans


def commits_made(folder: Path, environ: Mapping[str, str], spans: Sequence[Span]) -> tuple[str, ...]:
    """The commits made in one of these spans that the branch still has, newest first. Runs git: call it in a thread."""
    if not spans or find_upwards(".git", folder) is None:
        return ()
    try:
        git = GitReader(folder, environ)
        most = f"--max-count={MOST_ENTRIES}"
        moves = git.output("log", "--walk-reflogs", "--date=unix", "--format=%H%x09%gd%x09%gs%x09%h %s", most) or ""
        there = set((git.output("rev-list", most, "HEAD") or "").split()) if moves else set()
    except (GitUnsafe, OSError):
        return ()
    found = dict.fromkeys(
        shown
        for oid, at, why, shown in (line.split("\t", 3) for line in moves.splitlines() if line.count("\t") >= 3)
        if oid in there and _makes_a_commit(why) and _is_in(at, spans)
    )
    return tuple(one_line(each, 80) for each in found)


def _makes_a_commit(why: str) -> bool:
    return why.startswith(_MADE) and not any(each in why for each in _MOVED)


def _is_in(at: str, spans: Sequence[Span]) -> bool:
    """Whether the time of an entry, such as `HEAD@{1700000000}`, is in one of the spans."""
    second = at.partition("{")[2].rstrip("}")
    return second.isdecimal() and any(int(began) <= int(second) <= ended for began, ended in spans)


def commits_sentence(commits: Sequence[str]) -> str:
    """Which commits stay, for people."""
    more = f" and {len(commits) - MOST_NAMED:,} more" if len(commits) > MOST_NAMED else ""
    stay = "stays" if len(commits) == 1 else "stay"
    return f"{counted(len(commits), 'commit')} made since then {stay}: {', '.join(commits[:MOST_NAMED])}{more}."
