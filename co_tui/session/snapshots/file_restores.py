"""Brings files back: to before a turn, back again with undo, and to the end after a kill."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from co_tui.events import Event, Fact, FilesRestored, Message, Rewind
from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.snapshots.entries import Snapshot, shown_path
from co_tui.session.snapshots.file_diffs import SessionChanges, session_changes
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.journal import Line
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.restore import (
    Intent,
    RestorePlan,
    carry_out,
    drop_intent,
    new_intent,
    plan_restore,
    read_intent,
    remove_parts,
    write_intent,
)
from co_tui.session.snapshots.session_files import SessionFiles, logged_paths
from co_tui.session.state.history_edits import beginning_of

NOT_KEPT: Final = "This session keeps no snapshots, so its files cannot be restored."
ELSEWHERE: Final = "Files were changed in another folder since then. Resume the session there to restore them."
MOST_NAMED: Final = 10


class RestoreRefused(Exception):
    """Why files are not restored: a sentence."""

    def __init__(self, sentence: str, by_others: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.by_others = tuple(by_others)
        """The files that others changed, if the user has to decide about them."""


class Consent(NamedTuple):
    """What the user decided about files that others changed since."""

    overwrite: Collection[str] = ()
    """These may be overwritten."""
    keep: bool = False
    """All of them stay as they are."""


class Restored(NamedTuple):
    """What a restore did."""

    paths: Sequence[str]
    failed: Sequence[str] = ()
    not_covered: Sequence[str] = ()

    def sentence(self) -> str:
        """What happened, for people."""
        done = len([path for path in self.paths if path not in self.failed])
        parts = [f"{counted(done, 'file')} restored." if self.paths else "No files to restore."]
        if self.failed:
            parts.append(f"Not restored (changed meanwhile, or not writable): {names(self.failed)}.")
        if self.not_covered:
            parts.append(f"Not covered by snapshots: {names(self.not_covered)}.")
        return " ".join(parts)


class FileRestores:
    """Restores of one session. One is logged before it begins, and completed at the next start if it is killed."""

    def __init__(self, files: SessionFiles) -> None:
        self._files = files

    @property
    def are_kept(self) -> bool:
        """Whether the session takes snapshots."""
        return self._files.keeps

    @property
    def undoable(self) -> Line | None:
        """The latest restore that was not undone."""
        return self._files.journal.undoable

    async def plan_rewind(self, turn: int) -> RestorePlan | None:
        """What bringing files back to before a turn would do; None if the session changed none since.

        Raises `NothingToUndo` and `RestoreRefused`.
        """
        state = self._files.recorder.state
        first = beginning_of(state, turn).seq
        earlier = (_seq(event) for event in reversed(state.timeline) if isinstance(event.fact, Message | Rewind))
        prepared_since = next((seq for seq in earlier if seq < first), 0)
        return await self._plan(lambda: self._files.journal.since(first, prepared_since), turn)

    async def plan_undo(self, restore: Line) -> RestorePlan:
        """What undoing a restore would do; what anyone changed since then counts as changed by others."""

        def since() -> Sequence[Line]:
            lines = self._files.journal.lines
            at = next(n for n, line in enumerate(lines) if line.kind == "restore" and line.seq == restore.seq)
            return lines[at:]

        plan = await self._plan(since, restore.turn, undoes=restore.seq)
        assert plan is not None, "the restore itself is a line"
        return plan

    async def changes(self) -> SessionChanges:
        """What the session changed in its folder, by file. Raises `RestoreRefused`."""
        files = self._files
        if not files.keeps:
            raise RestoreRefused(NOT_KEPT)
        if not files.journal.lines:
            return SessionChanges()
        try:
            lines = files.journal.lines
            if files.there is not None:
                return await asyncio.to_thread(files.there.changes, lines)
            return await asyncio.to_thread(session_changes, files.snapshots, lines, files.folder)
        except (SnapshotsUnusable, OSError) as error:
            raise RestoreRefused(f"Changes cannot be shown: {_why(error)}.") from error

    async def _plan(self, since: Callable[[], Sequence[Line]], turn: int, undoes: int = 0) -> RestorePlan | None:
        files = self._files
        if not files.keeps:
            raise RestoreRefused(NOT_KEPT)
        async with files.order:
            if not since():
                if await asyncio.to_thread(self._changed_elsewhere):
                    raise RestoreRefused(ELSEWHERE)
                return None
            try:
                taken = await run_to_completion(files.take())
                first, *later = since()
                target = await asyncio.to_thread(files.snapshots.read, first.before or first.snapshot)
            except (NotCovered, SnapshotsUnusable, OSError) as error:
                raise RestoreRefused(f"Files cannot be restored: {_why(error)}.") from error
        theirs = ("found", "end") if undoes else ("found",)
        others = {path for line in later if line.kind in theirs for path in line.paths}
        return plan_restore(target, taken.snapshot, others, turn=turn, undoes=undoes)

    def _changed_elsewhere(self) -> bool:
        """Whether the session has snapshots of another folder, and none of this one."""
        files = self._files
        others = files.kept_in.parent.glob("*/journal.jsonl")
        return not files.journal.lines and any(each.parent != files.kept_in for each in others)

    async def restore(self, plan: RestorePlan, consent: Consent, *with_it: Fact) -> Restored:
        """Carry a plan out; `with_it` is logged in the same step. Raises `RestoreRefused` before anything is changed.

        Nothing of the session may run meanwhile.
        """
        if plan.by_others and consent.keep:
            plan = plan.without(plan.by_others)
        if unasked := [path for path in plan.by_others if path not in consent.overwrite]:
            raise RestoreRefused(others_sentence(unasked), plan.by_others)
        return await run_to_completion(self._restore(plan, with_it))

    async def _restore(self, plan: RestorePlan, with_it: Sequence[Fact]) -> Restored:
        files, paths = self._files, plan.paths
        async with files.order:
            intent = new_intent(plan, files.recorder.state.seq, with_rewind=bool(with_it) and not plan.undoes)
            try:
                await asyncio.to_thread(write_intent, files.kept_in, intent)
            except OSError as error:
                raise RestoreRefused(f"Files cannot be restored: {error.strerror or error}.") from error
            fact = FilesRestored(turn=plan.turn, paths=logged_paths(paths), snapshot=plan.target.id)
            try:
                events = await files.recorder.record(*with_it, fact)
            except BaseException:
                drop_intent(files.kept_in)
                raise
            try:
                failed = await self._carry_out(intent, _seq(events[-1]))
            except (NotCovered, SnapshotsUnusable, OSError) as error:
                raise RestoreRefused(
                    f"Restoring files failed: {_why(error)}. Reopen the session to complete it."
                ) from error
        return Restored(paths, failed, plan.not_covered)

    async def _carry_out(self, intent: Intent, seq: int) -> list[str]:
        """Do what the intent says, which the event at `seq` logged; returns what could not be restored."""
        files = self._files
        target = await asyncio.to_thread(files.snapshots.read, intent.target)
        bring_back = files.there.carry_out if files.there is not None else self._bring_back
        failed = await asyncio.to_thread(bring_back, target, intent.changed, intent.part_name)
        after = await asyncio.to_thread(files.snapshots.take)
        line = Line("restore", seq, intent.turn, intent.current, after=after.snapshot.id, target=intent.target)
        files.journal.add(line._replace(undoes=intent.undoes, rewind=seq - 1 if intent.with_rewind else 0))
        drop_intent(files.kept_in)
        return failed

    def _bring_back(self, target: Snapshot, changed: Sequence[str], part_name: str) -> list[str]:
        return carry_out(self._files.snapshots, self._files.folder, target, changed, part_name)

    async def recover(self) -> str:
        """Complete a restore that was killed, if it was logged; returns a sentence about it, or an empty text."""
        files = self._files
        intent = await asyncio.to_thread(read_intent, files.kept_in)
        if intent is None:
            return ""
        logged = next((event for event in reversed(files.recorder.state.timeline) if _is_of(event, intent)), None)
        if logged is None:
            drop_intent(files.kept_in)
            return "A restore was interrupted before it began. No file was changed."
        async with files.order:
            try:
                failed = await run_to_completion(self._complete(intent, _seq(logged)))
            except (NotCovered, SnapshotsUnusable, OSError) as error:
                return f"A restore was interrupted and cannot be completed: {_why(error)}."
        left = f" Changed meanwhile and left as they are: {names(failed)}." if failed else ""
        return f"An interrupted restore is now complete.{left}"

    async def _complete(self, intent: Intent, seq: int) -> list[str]:
        """Restore what is still as it was before, and leave what changed since the kill."""
        files = self._files
        if files.there is not None:
            await asyncio.to_thread(files.there.remove_parts, intent.part_name, intent.changed)
        else:
            await asyncio.to_thread(remove_parts, files.folder, intent.part_name, intent.changed)
        before = await asyncio.to_thread(files.snapshots.read, intent.current)
        target = await asyncio.to_thread(files.snapshots.read, intent.target)
        now = (await asyncio.to_thread(files.snapshots.take, intent.current)).snapshot
        undone = [path for path in intent.changed if now.entries.get(path) != target.entries.get(path)]
        # A missing one may have been removed to make room for another kind.
        still = tuple(path for path in undone if now.entries.get(path) in (before.entries.get(path), None))
        failed = await self._carry_out(intent._replace(changed=still), seq)
        return sorted({*failed, *(path for path in undone if path not in still)})


def _why(error: Exception) -> str:
    """The end of a sentence."""
    if isinstance(error, NotCovered):
        return f"the folder is not covered, {error}"
    return str(getattr(error, "strerror", None) or error).rstrip(".")


def _is_of(event: Event, intent: Intent) -> bool:
    return isinstance(event.fact, FilesRestored) and _seq(event) > intent.seq


def _seq(event: Event) -> int:
    return event.seq or 0


def names(paths: Sequence[str]) -> str:
    """The first paths, and how many more there are."""
    listed = ", ".join(one_line(shown_path(path), 100) for path in paths[:MOST_NAMED])
    return f"{listed} and {len(paths) - MOST_NAMED:,} more" if len(paths) > MOST_NAMED else listed


def others_sentence(paths: Sequence[str]) -> str:
    return f"Changed by others since then: {names(paths)}. Nothing was restored."
