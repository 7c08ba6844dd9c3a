"""The files of a session's folder: snapshots around everything that may change them (T7)."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import islice
from typing import Final

from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import DELEGATE_TOOL, FREE_TOOLS, OWN_TOOLS, WEB_TOOLS
from co_tui.agent.toolkit import RunningCall
from co_tui.events import Event, FilesChanged, Json, SessionError
from co_tui.events.facts.files import AS_BEFORE, FOLDER, GONE, NEW
from co_tui.session.call_facts import CALL_FACTS, CallFacts, CallOutcomes, written_file
from co_tui.session.recorder import Recorder
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.snapshots.entries import (
    FileEntry,
    Snapshot,
    changed_paths,
    named_paths,
    shown_path,
    uncovered_changes,
)
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.folder_snapshots import Taken
from co_tui.session.snapshots.journal import Journal, Kind, Line
from co_tui.session.snapshots.line_counts import LineCount
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.session_snapshots import SessionSnapshots
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.settings.rules import PRESENT_PLAN

MOST_LOGGED_PATHS: Final = 2_000
MOST_COUNTED: Final = 100
"""Files of a call whose lines are counted."""
HARMLESS_TOOLS: Final = FREE_TOOLS | OWN_TOOLS | WEB_TOOLS | {PRESENT_PLAN}
RETRY_S: Final = 300.0
"""After a failure, looking through a large folder around every call would only take time."""
TROUBLE: Final = "snapshots"
"""The kind of error that says files are not covered."""
TROUBLE_ADDED: Final = "snapshots of an added folder"


class SessionFiles:
    """One for a session. Everything slow is done in threads, one after the other."""

    def __init__(self, recorder: Recorder, snapshots: SessionSnapshots, *, keeps: bool = True) -> None:
        """`keeps` is whether snapshots are taken."""
        self.recorder = recorder
        self.snapshots = snapshots
        self.keeps = keeps
        self.kept_in = snapshots.kept_in
        self.journal = Journal(self.kept_in)
        self.outcomes = CallOutcomes()
        """What is known of calls whose results are not logged yet."""
        self.order = asyncio.Lock()
        """Held while snapshots are taken or brought back."""
        self._changing = 0
        """How many calls that may change files are running."""
        self._prepares = False
        """Whether they are of a slash command, for the prompt of the next turn."""
        self._is_covered = False
        """Whether there is a snapshot from before these calls."""
        self._retry_at = 0.0
        self._is_reported = False
        self._was: dict[str, FileEntry | None] = {}
        """What each changed path was before the session first changed it."""
        self._lines_known = 0

    def may_change(self, tool: str, verdict: Verdict) -> bool:
        """Whether a call may change files: any that is not known to be harmless."""
        return self.keeps and not verdict.only_reads and tool not in HARMLESS_TOOLS

    @asynccontextmanager
    async def around_call(self, call: RunningCall) -> AsyncIterator[None]:
        """Around a tool call: snapshots before and after it, unless it is harmless. What is seen of it is noted."""
        tool, verdict, call_id, is_replaced = call
        facts = self.outcomes.of(CURRENT_AGENT.get(), call_id) if call_id else CallFacts()
        facts.is_replaced = is_replaced
        token = CALL_FACTS.set(facts)
        try:
            if self.may_change(tool, verdict):
                async with self.around(facts):
                    yield
            else:
                with self.outcomes.following(facts):
                    yield
                facts.is_complete = tool in HARMLESS_TOOLS - {DELEGATE_TOOL} or verdict.only_reads
        finally:
            CALL_FACTS.reset(token)

    @asynccontextmanager
    async def around_prepared(self, call: RunningCall) -> AsyncIterator[None]:
        """As `around_call`, for a call that the prompt of the next turn needs: its changes belong to that turn."""
        self._prepares = True
        try:
            async with self.around_call(call):
                yield
        finally:
            self._prepares = False

    @asynccontextmanager
    async def around(self, facts: CallFacts | None = None) -> AsyncIterator[None]:
        """Around what may change files: snapshots before and after it, and an event if it changed some. What it changed
        is added to its `facts`."""
        with self.outcomes.following(facts):
            if not self.keeps:
                yield
                return
            before = await run_to_completion(self._begin(facts))
            try:
                yield
            finally:
                await run_to_completion(self._end(before, facts))

    async def _begin(self, facts: CallFacts | None) -> Snapshot | None:
        """The snapshot from before it; None if the folder is not covered."""
        async with self.order:
            if not self._changing:
                self._is_covered = time.monotonic() >= self._retry_at and await self._try_to_take(begins=True)
            elif facts is not None:  # what others changed until now is not its own
                self._is_covered = self._is_covered and await self._try_to_take(begins=True)
            self._changing += 1
            return self.snapshots.last if self._is_covered else None

    async def _end(self, before: Snapshot | None, facts: CallFacts | None) -> None:
        async with self.order:
            try:
                # Without a snapshot before, no one knows who changed what.
                self._is_covered = self._is_covered and await self._try_to_take()
                after = self.snapshots.last
                if facts is not None and before is not None and after is not None and self._is_covered:
                    facts.written = await asyncio.to_thread(self._written, before, after)
                    facts.is_complete = not uncovered_changes(before, after)
                    facts.covers = lambda path: before.shows(path) and after.shows(path)
                    facts.doubt = "uncovered" if before.uncovered or after.uncovered else ""
            finally:
                self._changing -= 1

    def _written(self, before: Snapshot, after: Snapshot) -> tuple[Json, ...]:
        """The files that differ, those of caches last."""
        paths = named_paths(changed_paths(before, after), before.entries, after.entries)
        changed = {path: (before.entries.get(path), after.entries.get(path)) for path in paths[:MOST_LOGGED_PATHS]}
        counts: Mapping[str, LineCount] = {}
        with suppress(SnapshotsUnusable, OSError):
            counts = self.snapshots.line_counts(dict(islice(changed.items(), MOST_COUNTED)))
        return tuple(
            written_file(shown_path(path), counts.get(path), self._now(path, entry))
            for path, (was, entry) in changed.items()
            if not any(each is not None and each.is_folder for each in (was, entry))
        )

    def words(self, paths: Sequence[str], entries: Mapping[str, FileEntry | None]) -> dict[str, str]:
        """What paths that changed are now, by their entries, as an event has it."""
        shown = ((shown_path(path), self._now(path, entries.get(path))) for path in paths[:MOST_LOGGED_PATHS])
        return {path: word for path, word in shown if word}

    def _now(self, path: str, entry: FileEntry | None) -> str:
        """What a path that changed is now, compared to before the session first changed it."""
        lines = self.journal.lines
        for line in lines[self._lines_known :]:
            for each, was in zip(line.paths, line.was, strict=False) if line.kind in ("end", "restore") else ():
                self._was.setdefault(each, was)
        self._lines_known = len(lines)
        was = self._was.get(path, entry)
        if any(each is not None and each.is_folder for each in (was, entry)):
            return FOLDER
        if was == entry:
            return AS_BEFORE if path in self._was else ""
        return NEW if was is None else GONE if entry is None else ""

    async def _try_to_take(self, *, begins: bool = False) -> bool:
        """Take a snapshot; False if that is not possible, which is reported once and not tried again for a while."""
        try:
            taken = await self.take()
            if begins:
                self.journal.add(self.line("begin", taken.snapshot.id))
        except (NotCovered, SnapshotsUnusable, OSError) as error:
            if isinstance(error, HostUnreachable):
                return False  # the call fails, too, and says so
            self._retry_at = time.monotonic() + RETRY_S
            await self._report(error)
            return False
        return True

    async def take(self) -> Taken:
        """Take a snapshot, and note who changed what since the one before. Call it with `order` held.

        Raises `NotCovered`, `SnapshotsUnusable` and OSError.
        """
        unfinished = self.journal.unfinished if self.snapshots.last is None else None
        taken = await asyncio.to_thread(self.snapshots.take, self.journal.latest)
        before, changed = taken.before, taken.changed
        for problem in taken.problems:
            trouble = SessionError(what=problem, kind=TROUBLE_ADDED, outcome="/rewind cannot restore files")
            if all(event.fact != trouble for event in self.recorder.state.timeline):
                await self.recorder.record(trouble)
        if self._changing or unfinished is not None:
            turn = unfinished.turn if unfinished is not None else self.recorder.state.turn
            was = tuple(before.entries.get(path) for path in changed)
            missed = tuple(uncovered_changes(before, taken.snapshot)) if before.id else ()
            line = self.line("end", taken.snapshot.id, changed, before.id)._replace(turn=turn, was=was, missed=missed)
            self.journal.add(line)
            if changed:
                entries = taken.snapshot.entries
                named = named_paths(changed, before.entries, entries)
                now = self.words(named, entries)
                fact = FilesChanged(turn=turn, paths=logged_paths(named), snapshot=before.id, now=now)
                await self.recorder.record_said(fact)
        if changed and not self._changing:
            # Also what changed around a kill: no one knows by whom.
            self.journal.add(self.line("found", taken.snapshot.id, changed, before.id))
        return taken

    def line(self, kind: Kind, snapshot: str, paths: Sequence[str] = (), before: str = "") -> Line:
        state = self.recorder.state
        prepares = self._prepares and kind != "found"
        return Line(kind, state.seq, state.turn, snapshot, tuple(paths), before, prepares=prepares, at=time.time())

    async def _report(self, error: Exception) -> None:
        """Say once in a session that files are not covered."""
        if self._is_reported or any(map(_is_report, self.recorder.state.timeline)):
            return
        self._is_reported = True
        why = str(error) if isinstance(error, SnapshotsUnusable) else f"No snapshots of this folder: {error}."
        await self.recorder.record(SessionError(what=why, kind=TROUBLE, outcome="/rewind cannot restore files"))


def _is_report(event: Event) -> bool:
    return isinstance(event.fact, SessionError) and event.fact.kind == TROUBLE


def logged_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as an event has them."""
    return tuple(shown_path(path) for path in paths[:MOST_LOGGED_PATHS])
