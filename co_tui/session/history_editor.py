"""What people change in the history: clearing, undoing, going back, pinning, editing a summary."""

from collections.abc import Awaitable, Callable, Sequence

from co_tui.context.policy import Policy
from co_tui.events import Clear, CompactionComplete, CompactionUndone, Event, Pin, Ref, Rewind
from co_tui.events.messages import prompt_of
from co_tui.session.compaction.keeping import Keeping
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state import history_edits
from co_tui.session.state.session_state import SessionState

LEAST_RESTORED_TURNS = 3
Settle = Callable[[str], Awaitable[None]]
"""Stops whatever works on the history, for a reason that is told: nothing may be under way while it is rewritten."""
StateAt = Callable[[int], Awaitable[SessionState]]
"""The state of the session at a seq."""


class HistoryEditor:
    """Each change is one event: the transcript keeps everything."""

    def __init__(self, keeping: Keeping, settle: Settle, state_at: StateAt) -> None:
        self._keeping = keeping
        self._settle = settle
        self._state_at = state_at

    async def restore(self, history: GovernedHistory) -> None:
        """Begin with as much as the policy restores."""
        if (fact := restoring(history.state, history.policy)) is not None:
            await _record(history, fact)

    async def clear(self, history: GovernedHistory) -> None:
        await self._settle("the context was cleared")
        await _record(history, Clear(messages_removed=len(history.state.history)))

    async def undo(self, history: GovernedHistory, seq: int | None) -> Event:
        """Returns the event that was undone. Raises `NothingToUndo`."""
        history_edits.undoable(history.state, seq)
        await self._settle("an earlier change was undone")
        last = history_edits.undoable(history.state, seq)
        await _record(history, history_edits.undone(history.state, last))
        await self._keeping.align()
        history.governor.resist(len(history.state.history))  # it is not to be compacted again at once
        return last.event

    async def rewind(self, history: GovernedHistory, turn: int) -> str:
        """Returns the turn's prompt. Raises `NothingToUndo` when there is no such turn."""
        first = history_edits.beginning_of(history.state, turn)
        await self._settle("the conversation was rewound")
        then = await self._state_at(first.seq - 1)
        refs = tuple(entry.ref for entry in then.history)
        await _record(history, Rewind(to_seq=first.seq - 1, history=refs))
        await self._keeping.align()
        return prompt_of(first.message) or ""

    async def pin(self, history: GovernedHistory, refs: Sequence[Ref], pinned: bool) -> None:
        fact = history_edits.pinned(history.state, refs, pinned)
        if fact.history:
            await self._settle("a message was brought back")
            fact = history_edits.pinned(history.state, refs, pinned)
        await _record(history, fact)

    async def edit_summary(self, history: GovernedHistory, seq: int, text: str) -> None:
        """Raises `NothingToUndo`."""
        history_edits.edited(history.state, seq, text)
        await self._settle("a summary was edited")
        await _record(history, await history.with_figures(history_edits.edited(history.state, seq, text)))


def restoring(state: SessionState, policy: Policy) -> Clear | None:
    """What becomes of the history when the session is opened again; None when it stays as it is (S4)."""
    if not policy.restores_texts_only or state.pending:  # a call that waits would be left behind
        return None
    return history_edits.restored(state, max(LEAST_RESTORED_TURNS, policy.agent_max_context_turns // 6))


async def _record(history: GovernedHistory, fact: CompactionComplete | CompactionUndone | Rewind | Clear | Pin) -> None:
    await history.recorder.record(fact)
    await history.report_now()
