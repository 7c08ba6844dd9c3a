"""The files of a session's folder: snapshots around everything that may change them (T7)."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import FREE_TOOLS, OWN_TOOLS, WEB_TOOLS
from co_tui.events import Event, FilesChanged, SessionError
from co_tui.session.recorder import Recorder
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.snapshots.entries import named_paths, shown_path, uncovered_changes
from co_tui.session.snapshots.folder_scan import NotCovered
from co_tui.session.snapshots.folder_snapshots import Taken
from co_tui.session.snapshots.journal import Journal, Kind, Line
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.session_snapshots import SessionSnapshots
from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.settings.rules import PRESENT_PLAN

MOST_LOGGED_PATHS: Final = 2_000
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

    def may_change(self, tool: str, verdict: Verdict) -> bool:
        """Whether a call may change files: any that is not known to be harmless."""
        return self.keeps and not verdict.only_reads and tool not in HARMLESS_TOOLS

    @asynccontextmanager
    async def around_call(self, tool: str, verdict: Verdict) -> AsyncIterator[None]:
        """Around a tool call: snapshots before and after it, unless it is harmless."""
        if not self.may_change(tool, verdict):
            yield
            return
        async with self.around():
            yield

    @asynccontextmanager
    async def around_prepared(self, tool: str, verdict: Verdict) -> AsyncIterator[None]:
        """As `around_call`, for a call that the prompt of the next turn needs: its changes belong to that turn."""
        self._prepares = True
        try:
            async with self.around_call(tool, verdict):
                yield
        finally:
            self._prepares = False

    @asynccontextmanager
    async def around(self) -> AsyncIterator[None]:
        """Around what may change files: snapshots before and after it, and an event if it changed some."""
        if not self.keeps:
            yield
            return
        await run_to_completion(self._begin())
        try:
            yield
        finally:
            await run_to_completion(self._end())

    async def _begin(self) -> None:
        async with self.order:
            if not self._changing:
                self._is_covered = time.monotonic() >= self._retry_at and await self._try_to_take(begins=True)
            self._changing += 1

    async def _end(self) -> None:
        async with self.order:
            try:
                # Without a snapshot before, no one knows who changed what.
                self._is_covered = self._is_covered and await self._try_to_take()
            finally:
                self._changing -= 1

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
                shown = logged_paths(named_paths(changed, before.entries, taken.snapshot.entries))
                await self.recorder.record_said(FilesChanged(turn=turn, paths=shown, snapshot=before.id))
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
