"""The files that compactions write: a checkpoint for each summary, and the daily memory (C7, S6)."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from co_tui.agent.redact import redact
from co_tui.events import CompactionComplete, Event, MemoryWritten, SessionError
from co_tui.events.triggers import Trigger
from co_tui.session.recorder import Recorder
from co_tui.session.state.history_edits import standing_compactions
from co_tui.session.state.session_state import SessionState
from co_tui.store.notes.checkpoints import Checkpoint, CheckpointFailed, Checkpoints
from co_tui.store.notes.daily_memory import DailyMemory, MemoryFailed


class Remembered(StrEnum):
    """Which summaries are written to the daily memory."""

    OFF = "off"
    TRIMMING = "trimming"
    COMPACTIONS = "compactions"

    def includes(self, *, trimmed: bool) -> bool:
        return self is Remembered.COMPACTIONS or (trimmed and self is Remembered.TRIMMING)


class CompactionFiles:
    """The files of one session. What cannot be written is reported; the session continues."""

    def __init__(
        self,
        recorder: Recorder,
        checkpoints: Checkpoints | None,
        memory: DailyMemory | None,
        keys: Sequence[str] = (),
    ) -> None:
        """Without files nothing is written: the log has everything anyway. `keys` are redacted in the memory."""
        self._recorder = recorder
        self._checkpoints = checkpoints
        self._memory = memory
        self._keys = keys
        self.remembered = Remembered.TRIMMING
        """What to write to the memory, by the current settings."""

    async def with_checkpoint(self, fact: CompactionComplete, title: str = "") -> CompactionComplete:
        """Write the checkpoint of a successful summary and add its number; other facts are returned unchanged."""
        if self._checkpoints is None or not fact.success or not fact.summary:
            return fact
        return await asyncio.to_thread(self._written, self._checkpoints, fact, title or self._recorder.state.title)

    def _written(self, checkpoints: Checkpoints, fact: CompactionComplete, title: str) -> CompactionComplete:
        state = self._recorder.state
        # Numbers are never reused: an undone compaction may be restored.
        number = 1 + len(_files(state.compactions))
        facts = {
            "time": f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
            "trigger": fact.trigger,
            "tokens before": fact.pre_tokens,
            "tokens after": fact.post_tokens,
            "messages replaced": len(fact.replaced),
            "summarised by": fact.summarised_by,
        }
        workspace = _workspace(self._recorder.session_id, state)
        try:
            checkpoints.align(_standing_files(state), workspace)
            kept = checkpoints.write(number, title, fact.sent_text, facts=facts, workspace=workspace)
        except CheckpointFailed as failed:
            return fact.but(note=" ".join(filter(None, (fact.note, str(failed)))))
        return fact.but(checkpoint_number=kept.number, checkpoint_path=str(kept.path))

    def listed(self) -> Sequence[Checkpoint]:
        return self._checkpoints.list() if self._checkpoints is not None else ()

    async def align(self) -> None:
        """Update the checkpoint files to match the history after an undo or rewind."""
        if self._checkpoints is None:
            return
        state = self._recorder.state
        workspace = _workspace(self._recorder.session_id, state)
        try:
            await asyncio.to_thread(self._checkpoints.align, _standing_files(state), workspace)
        except CheckpointFailed as failed:
            await self._report(failed, "checkpoint", "the session continues")

    async def carry(self, folder: Path, fork: SessionState) -> None:
        """Copy the checkpoints a fork builds on into its folder."""
        if self._checkpoints is None:
            return
        try:
            await asyncio.to_thread(_carry, self._checkpoints, folder, fork)
        except CheckpointFailed as failed:
            await self._report(failed, "checkpoint", "forked without them")

    async def remember(self, summary: str, trigger: Trigger, *, trimmed: bool) -> None:
        """Write what leaves the context to the daily memory, if the settings include it. `trimmed`: it was removed by
        trimming turns, or in an emergency."""
        if self._memory is None or not self.remembered.includes(trimmed=trimmed) or not summary.strip():
            return
        session_id, now = self._recorder.session_id, datetime.now().astimezone()
        heading = f"{self._recorder.state.title or 'A session'} ({trigger.label or 'the context was almost full'})"
        text, heading = redact(summary, self._keys), redact(heading, self._keys)
        try:
            path = await asyncio.to_thread(self._memory.append, text, session_id=session_id, heading=heading, when=now)
        except MemoryFailed as failed:
            await self._report(failed, "memory", "the session continues")
        else:
            outcome = f"{len(text):,} characters"
            await self._recorder.record(MemoryWritten(what="saved to memory", where=str(path), outcome=outcome))

    async def _report(self, failed: Exception, kind: str, outcome: str) -> None:
        await self._recorder.record(SessionError(what=str(failed), kind=kind, outcome=outcome))


def _carry(checkpoints: Checkpoints, folder: Path, fork: SessionState) -> None:
    copy = checkpoints.copy_to(folder, _files(fork.compactions))
    copy.align(_standing_files(fork), _workspace(fork.session_id, fork))


def _standing_files(state: SessionState) -> list[str]:
    """The checkpoint file names of the compactions that the history builds on."""
    return _files(standing_compactions(state))


def _files(compactions: Iterable[Event]) -> list[str]:
    facts = (event.fact for event in compactions)
    paths = (fact.checkpoint_path for fact in facts if isinstance(fact, CompactionComplete))
    return [Path(path).name for path in paths if path]


def _workspace(session_id: str, state: SessionState) -> dict[str, str]:
    return {
        "session_id": session_id,
        "title": state.title,
        "cwd": state.cwd,
        "repository": state.repository,
        "branch": state.branch,
    }
