"""Brings files back: to before a turn, back again with undo, and to the end after a kill."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from co_tui.events import Event, Fact, FilesRestored, Message, Rewind
from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.snapshots.commits import call_spans, commits_sentence
from co_tui.session.snapshots.entries import Snapshot, changed_paths, shown_path
from co_tui.session.snapshots.file_diffs import SessionChanges
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.journal import Line
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.restore import (
    Intent,
    RestorePlan,
    Wanted,
    drop_intent,
    new_intent,
    plan_restore,
    read_intent,
    write_intent,
)
from co_tui.session.snapshots.session_files import SessionFiles, logged_paths
from co_tui.session.snapshots.touched import touched_by, touched_by_restore
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
    """What it was to bring back."""
    failed: Sequence[str] = ()
    kept: Sequence[str] = ()
    """Left as they are, because of what others changed."""
    not_covered: Sequence[str] = ()
    commits: Sequence[str] = ()

    @property
    def done(self) -> list[str]:
        return [path for path in self.paths if path not in self.failed]

    def sentence(self) -> str:
        """What happened, for people."""
        parts = [f"{counted(len(self.done), 'file')} restored." if self.paths else "No files to restore."]
        if self.kept:
            parts.append(f"Left as they are, changed by others since: {names(self.kept)}.")
        if self.failed:
            parts.append(f"Not restored (just changed, or not writable): {names(self.failed)}.")
        if self.not_covered:
            parts.append(f"Not covered by snapshots: {names(self.not_covered)}.")
        return " ".join((*parts, *([commits_sentence(self.commits)] if self.commits else [])))


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
            return await asyncio.to_thread(files.snapshots.changes, files.journal.lines)
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
                lines = await asyncio.to_thread(self._with_paths, since())
                target = await asyncio.to_thread(files.snapshots.read, lines[0].before or lines[0].snapshot)
            except (NotCovered, SnapshotsUnusable, OSError) as error:
                raise RestoreRefused(f"Files cannot be restored: {_why(error)}.") from error
        elsewhere = await asyncio.to_thread(files.snapshots.elsewhere, lines)
        if undoes:
            touched = touched_by_restore(lines[0], lines[1:], elsewhere)
            return plan_restore(touched, target, taken.snapshot, turn=turn, undoes=undoes)
        plan = plan_restore(touched_by(lines, elsewhere), target, taken.snapshot, turn=turn)
        return plan._replace(commits=await asyncio.to_thread(files.snapshots.commits, call_spans(lines)))

    def _with_paths(self, lines: Sequence[Line]) -> list[Line]:
        """The same lines; restores of older versions, which did not say what they changed, with that."""
        return [self._compared(line) if line.kind == "restore" and not line.paths else line for line in lines]

    def _compared(self, restore: Line) -> Line:
        before, after = (self._files.snapshots.read(each) for each in (restore.snapshot, restore.latest))
        paths = tuple(changed_paths(before, after))
        return restore._replace(paths=paths, was=tuple(map(before.entries.get, paths)))

    def _changed_elsewhere(self) -> bool:
        """Whether the session has snapshots of another folder, and none of this one."""
        files = self._files
        others = files.kept_in.parent.glob("*/journal.jsonl")
        return not files.journal.lines and any(each.parent != files.kept_in for each in others)

    async def restore(self, plan: RestorePlan, consent: Consent, *with_it: Fact) -> Restored:
        """Carry a plan out; `with_it` is logged in the same step. Raises `RestoreRefused` before anything is changed.

        Nothing of the session may run until it is done.
        """
        if plan.by_others and consent.keep:
            plan = plan.without(plan.by_others)
        if unasked := [path for path in plan.by_others if path not in consent.overwrite]:
            raise RestoreRefused(others_sentence(unasked), plan.by_others)
        return await run_to_completion(self._restore(plan, with_it))

    async def _restore(self, plan: RestorePlan, with_it: Sequence[Fact]) -> Restored:
        files, paths = self._files, plan.paths
        failed: Sequence[str] = ()
        if not plan.changes:
            await files.recorder.record(*with_it)
        else:
            async with files.order:
                failed = await self._log_and_carry_out(plan, with_it)
        return Restored(paths, failed, plan.kept, plan.not_covered, plan.commits)

    async def _log_and_carry_out(self, plan: RestorePlan, with_it: Sequence[Fact]) -> list[str]:
        files = self._files
        intent = new_intent(plan, files.recorder.state.seq, with_rewind=bool(with_it) and not plan.undoes)
        try:
            await asyncio.to_thread(write_intent, files.kept_in, intent)
        except OSError as error:
            raise RestoreRefused(f"Files cannot be restored: {error.strerror or error}.") from error
        paths, first = plan.paths, touched_by(files.journal.lines).was
        as_before = [path for path in paths if path in first and plan.changes[path] == first[path]]
        fact = FilesRestored(
            turn=plan.turn,
            paths=logged_paths(paths),
            snapshot=plan.target,
            now=files.words(paths, plan.changes),
            as_before=logged_paths(as_before),
            undoes=plan.undoes,
            conversation_stays=not with_it,
        )
        try:
            events = await files.recorder.record(*with_it, fact)
        except BaseException:
            drop_intent(files.kept_in)
            raise
        try:
            return await self._carry_out(intent, plan.changes, _seq(events[-1]))
        except (NotCovered, SnapshotsUnusable, OSError) as error:
            raise RestoreRefused(
                f"Restoring files failed: {_why(error)}. Reopen the session to complete it."
            ) from error

    async def _carry_out(self, intent: Intent, wanted: Wanted, seq: int) -> list[str]:
        """Do what the intent says, as far as it is wanted; returns what could not be restored."""
        files = self._files
        before = await asyncio.to_thread(files.snapshots.read, intent.current)
        current = files.snapshots.last or before
        failed = await asyncio.to_thread(files.snapshots.carry_out, wanted, current, intent.part_name)
        after = (await asyncio.to_thread(files.snapshots.take)).snapshot
        self._note(intent, before, after, seq)
        drop_intent(files.kept_in)
        return failed

    def _note(self, intent: Intent, before: Snapshot, after: Snapshot, seq: int) -> None:
        """Note what the restore changed, and apart from it what others changed until it was done."""
        files, changed, wanted = self._files, changed_paths(before, after), intent.wanted
        own = tuple(path for path in changed if path in wanted and after.entries.get(path) == wanted[path])
        line = files.line("restore", before.id, own)._replace(
            seq=seq, turn=intent.turn, was=tuple(map(before.entries.get, own)), after=after.id, target=intent.target
        )
        files.journal.add(line._replace(undoes=intent.undoes, rewind=seq - 1 if intent.with_rewind else 0))
        if found := [path for path in changed if path not in own]:
            files.journal.add(files.line("found", after.id, found, before.id))

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
        left = f" Changed since then and left as they are: {names(failed)}." if failed else ""
        return f"An interrupted restore is now complete.{left}"

    async def _complete(self, intent: Intent, seq: int) -> list[str]:
        """Restore what is still as it was before, and leave what changed since the kill."""
        files = self._files
        await asyncio.to_thread(files.snapshots.remove_parts, intent.part_name, intent.changed)
        if not intent.entries:
            target = await asyncio.to_thread(files.snapshots.read, intent.target)
            intent = intent._replace(entries=tuple(map(target.entries.get, intent.changed)))
        before = (await asyncio.to_thread(files.snapshots.read, intent.current)).entries
        now = (await asyncio.to_thread(files.snapshots.take, intent.current)).snapshot.entries
        undone = {path: entry for path, entry in intent.wanted.items() if now.get(path) != entry}
        # A missing one may have been removed to make room for another kind.
        still = {path: entry for path, entry in undone.items() if now.get(path) in (before.get(path), None)}
        failed = await self._carry_out(intent, still, seq)
        return sorted({*failed, *(undone.keys() - still)})


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
