"""The user's changes to the history: clear, undo, rewind, pin, edit a summary."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from co_tui.events import Clear, CompactionComplete, CompactionUndone, Event, Pin, Ref, Rewind
from co_tui.events.stored_messages import prompt_of
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.restoring import restoring
from co_tui.session.snapshots.file_restores import Consent, FileRestores, Restored
from co_tui.session.snapshots.journal import Line
from co_tui.session.state import history_edits
from co_tui.session.state.session_state import Entry, SessionState

Settled = Callable[[str], AbstractAsyncContextManager[None]]
"""Keeps out other rewrites while the history is edited. With a reason, also stops all work on the history; the reason
is logged."""
StateAt = Callable[[int], Awaitable[SessionState]]
"""The state of the session at a seq."""


class Rewound(NamedTuple):
    """A rewind of files: what was restored, and the prompt of the turn."""

    prompt: str
    restored: Restored


class HistoryEditor:
    """Logs each change as one event; the transcript keeps everything."""

    def __init__(
        self,
        history: Callable[[], GovernedHistory],
        files: CompactionFiles,
        settled: Settled,
        state_at: StateAt,
        restores: FileRestores,
    ) -> None:
        """`history` returns the current history; `restores` brings files back."""
        self._history = history
        self._files = files
        self._settled = settled
        self._state_at = state_at
        self.restores = restores

    @property
    def _state(self) -> SessionState:
        return self._history().state

    async def restore(self) -> None:
        """On resume, keep as much as the policy restores."""
        if (fact := restoring(self._state, self._history().policy)) is not None:
            await self._record(fact)

    async def clear(self) -> bool:
        """Empty what the model sees. Waiting prompts are returned to the user. False if it is empty already: then
        nothing changes, and there is nothing to undo."""
        if not history_edits.cleared(self._state).messages_removed:
            return False
        async with self._settled("the context was cleared"):
            await self._record(history_edits.cleared(self._state))
        return True

    async def undo(self, seq: int | None = None) -> Event:
        """Undo the latest compaction, clearing or rewind; messages since then stay.

        Returns the event that was undone. Raises `NothingToUndo`.
        """
        history_edits.undoable(self._state, seq)
        async with self._settled("an earlier change was undone"):
            last = history_edits.undoable(self._state, seq)
            await self._history().recorder.record(history_edits.undone(self._state, last))
            self._history().governor.suppress_at(len(self._state.history))  # do not compact it again at once
            await self._after_rewrite()
        return last.event

    async def rewind(self, turn: int) -> str:
        """Reset what the model sees to the state before that turn; returns the turn's prompt.

        Raises `NothingToUndo` if there is no such turn.
        """
        first = history_edits.beginning_of(self._state, turn)
        async with self._settled("the conversation was rewound"):
            await self._record(await self._rewound(first))
            await self._files.align()
        return prompt_of(first.message) or ""

    async def rewind_files(self, turn: int, consent: Consent, *, conversation: bool) -> Rewound:
        """Bring files back to before that turn, with `conversation` also what the model sees, in one step.

        Raises `NothingToUndo`, and `RestoreRefused` before anything is changed.
        """
        first = history_edits.beginning_of(self._state, turn)
        async with self._settled("the conversation was rewound" if conversation else "files were restored"):
            plan = await self.restores.plan_rewind(turn)
            facts = (await self._rewound(first),) if conversation else ()
            if plan is None:
                restored = Restored(())
                await self._history().recorder.record(*facts)
            else:
                restored = await self.restores.restore(plan, consent, *facts)
            await self._after_rewrite()
        return Rewound(prompt_of(first.message) or "", restored)

    async def _rewound(self, first: Entry) -> Rewind:
        then = await self._state_at(first.seq - 1)
        return Rewind(to_seq=first.seq - 1, history=tuple(entry.ref for entry in then.history))

    def undoable_restore(self, seq: int | None = None) -> Line | None:
        """The restore that undoing the latest change, or the one at `seq`, would undo; None if it is none."""
        restore = self.restores.undoable
        rewrites = self._state.rewrites
        if restore is None or (rewrites and rewrites[-1].seq > restore.seq):
            return None
        return restore if seq is None or seq in (restore.seq, restore.rewind) else None

    async def undo_restore(self, restore: Line, consent: Consent) -> Restored:
        """Undo a restore of files, and the rewind that came with it. Raises `RestoreRefused`."""
        async with self._settled("an earlier change was undone"):
            plan = await self.restores.plan_undo(restore)
            last = self._state.rewrites[-1] if self._state.rewrites else None
            is_both = last is not None and last.seq == restore.rewind
            facts = (history_edits.undone(self._state, last),) if last is not None and is_both else ()
            restored = await self.restores.restore(plan, consent, *facts)
            await self._after_rewrite()
        return restored

    async def _after_rewrite(self) -> None:
        await self._history().report_now()
        await self._files.align()

    async def pin(self, refs: Sequence[Ref], *, pinned: bool = True) -> None:
        """Pin messages, so that every stage keeps them, or unpin them, without stopping any work. One that a compaction
        replaced, or is just replacing, is brought back."""
        async with self._settled(""):
            await self._record(history_edits.pinned(self._state, refs, pinned))

    async def edit_summary(self, seq: int, text: str) -> None:
        """Replace a summary in the history with the user's text. Raises `NothingToUndo`."""
        history_edits.edited(self._state, seq, text)
        async with self._settled("a summary was edited"):
            await self._record(await self._history().with_figures(history_edits.edited(self._state, seq, text)))

    async def _record(self, fact: CompactionComplete | CompactionUndone | Rewind | Clear | Pin) -> None:
        history = self._history()
        await history.recorder.record(fact)
        await history.report_now()
