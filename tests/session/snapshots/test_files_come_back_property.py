"""Whatever a session and others do to a folder: rewind touches what the session changed, and nothing else."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from co_tui.session.snapshots.file_restores import Consent, Restored
from co_tui.session.snapshots.restore import RestorePlan
from tests.support.kept_folders import PATH, Content, KeptFolder
from tests.support.long_run import drawn

NAMES = st.sampled_from(["a", "b", "A", "d", "d/a", "d/e", "d/e/a", "ü\n", os.fsdecode(b"d/\xff")])
KINDS = st.sampled_from(["write", "write", "crlf", "remove", "link", "folder", "run", "touch", "rename"])
EDITS = st.tuples(KINDS, NAMES, st.integers(0, 3))
Edit = tuple[str, str, int]


def edit(folder: Path, kind: str, name: str, number: int) -> None:
    """Change something; whatever is in its way goes."""
    file = folder / name
    for above in [each for each in reversed(file.parents) if each != folder and each.is_relative_to(folder)]:
        if above.is_symlink() or not above.is_dir():
            above.unlink(missing_ok=True)
            above.mkdir()
    if kind == "touch" and file.is_file():
        os.utime(file, ns=(number, number))
        return
    if kind == "rename" and file.is_file():
        file.rename(folder / f"{number}")
        return
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    if kind in ("write", "crlf", "run"):
        file.write_bytes(f"{number}{chr(13) if kind == 'crlf' else ''}\n".encode())
        file.chmod(0o755 if kind == "run" else 0o644)
    elif kind == "link":
        file.symlink_to(f"/tmp/{number}" if number else "a")
    elif kind == "folder":
        file.mkdir()


Change = tuple[str, dict[str, Content], dict[str, Content]]
"""Who changed the folder, and what it was before and after."""


class Folder(RuleBasedStateMachine):
    """A model that compares contents only: who changed which path, when, and what it was before."""

    @initialize(uses_git=st.booleans())
    def begin(self, uses_git: bool) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.kept = KeptFolder(Path(self.place.name), path=PATH if uses_git else "/nonexistent")
        self.changes: list[Change] = []
        self.turns: dict[int, int] = {}
        """Where in the changes each turn begins."""

    def teardown(self) -> None:
        if hasattr(self, "place"):
            self.place.cleanup()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(work)

    def note(self, who: str, change: Callable[[], object]) -> Any:
        before = self.kept.content
        done = change()
        self.changes.append((who, before, self.kept.content))
        return done

    @rule(edits=st.lists(EDITS, max_size=3), by_hand=st.lists(EDITS, max_size=1))
    def turn(self, edits: list[Edit], by_hand: list[Edit]) -> None:
        """A turn of the session; the hand works between its calls, not while one runs."""
        self.turns[self.run(self.kept.prompt())] = len(self.changes)
        for each in edits:
            self.note(
                "session", lambda each=each: self.run(self.kept.tool(lambda folder, each=each: edit(folder, *each)))
            )
            self.hand(by_hand)

    @rule(edits=st.lists(EDITS, min_size=1, max_size=2))
    def hand(self, edits: list[Edit]) -> None:
        for each in edits:
            self.note("hand", lambda each=each: edit(self.kept.folder, *each))

    @rule()
    def start_again(self) -> None:
        self.kept.open()

    @precondition(lambda self: self.turns)
    @rule(number=st.integers(0, 20), force=st.booleans())
    def rewind(self, number: int, force: bool) -> None:
        turn = sorted(self.turns)[number % len(self.turns)]
        plan = self.run(self.kept.restores.plan_rewind(turn))
        if plan is not None:
            self.carry_out(plan, self.changes[self.turns[turn] :], force=force)

    @precondition(lambda self: self.kept.restores.undoable is not None)
    @rule(force=st.booleans())
    def undo(self, force: bool) -> None:
        plan = self.run(self.kept.restores.plan_undo(self.kept.restores.undoable))
        self.carry_out(plan, self.changes, force=force)

    def carry_out(self, plan: RestorePlan, since: list[Change], *, force: bool) -> None:
        before = self.kept.content
        consent = Consent(overwrite=plan.by_others) if force else Consent(keep=True)
        restored: Restored = self.note("restore", lambda: self.run(self.kept.restores.restore(plan, consent)))
        after = self.kept.content
        assert not restored.failed
        own = {path for who, *sides in since if who != "hand" for path in changed(*sides)}
        for path in changed(before, after):
            # A folder may be made again for a file of the session.
            assert path in own or after.get(path, ("",))[0] == "folder", f"{path!r} was never the session's"
        for path in restored.kept:
            assert after.get(path) == before.get(path), "what is kept stays as it is"
        if not plan.undoes:
            self.is_as_before(since, before, after, restored)

    def is_as_before(
        self, since: list[Change], before: dict[str, Content], after: dict[str, Content], restored: Restored
    ) -> None:
        """What the session alone changed is as it was before its first change."""
        first: dict[str, Content | None] = {}
        others: set[str] = set()
        for who, was, became in since:
            for path in changed(was, became):
                if who != "hand":
                    first.setdefault(path, was.get(path))
                elif path in first:
                    others.add(path)
        for path, was in first.items():
            is_folder = "folder" in ((was or ("",))[0], before.get(path, ("",))[0], after.get(path, ("",))[0])
            if path not in others and path not in restored.kept and not is_folder:
                assert after.get(path) == was, f"{path!r} is not restored"

    @invariant()
    def nothing_is_left_over(self) -> None:
        if hasattr(self, "kept"):
            assert not [path for path in self.kept.content if ".co-tui-restore-" in path]


def changed(before: dict[str, Content], after: dict[str, Content]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


TestFolder = Folder.TestCase
TestFolder.settings = settings(max_examples=drawn(8), stateful_step_count=12, deadline=None)
