"""An agent's run over a conversation that updates the context board: all changes are written at its end, or none."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.agent.models.model_handle import ModelHandle
from co_tui.agent.subconscious import INSTRUCTIONS, BoardDraft, consolidate
from co_tui.context.compact.user_messages import earlier_summary
from co_tui.context.conversation_text import in_parts
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, estimate_text
from co_tui.events import BoardChanged
from co_tui.events.facts.context import BOARD
from co_tui.session.bills import Bill, RecordBill
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.turns.classify_failure import classify
from co_tui.store.notes.board_text import MAX_ENTRIES, BoardChange, BoardEntry
from co_tui.store.notes.context_board import BoardFailed, ContextBoard, new_entry

LARGEST_SHARE: Final = 0.6
"""Share of the model's window for the conversation: the rest is for its thinking and its calls."""
MOST_ROOM_TOKENS: Final = 100_000
LEAST_ROOM_TOKENS: Final = 500


class BoardRefused(Exception):
    """Why the board cannot be updated, as a sentence."""


class UpdatedBoard(NamedTuple):
    """The result of a run, and its cost."""

    change: BoardChange
    bill: Bill


class BoardUpdate:
    """Can be stopped until its changes are written."""

    def __init__(
        self,
        board: ContextBoard,
        model_handle: ModelHandle,
        messages: Sequence[ModelMessage],
        session_id: str,
        *,
        timeout_s: float,
        keys: Sequence[str] = (),
        on_progress: Callable[[str], None] = lambda _: None,
        record: RecordBill,
    ) -> None:
        """`keys` are redacted from what is learned; `record` records what each request costs."""
        self._board = board
        self._model_handle = model_handle
        self._messages = messages
        self._session_id = session_id
        self._timeout_s = timeout_s
        self._keys = keys
        self._on_progress = on_progress
        self._task: asyncio.Task[BoardDraft] | None = None
        self._bill = Bill(BOARD, model=model_handle.name, record=record)
        self._stopped = False

    def interrupt(self, *, leaving: bool = False) -> None:
        """Stop; the board stays as it is."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> UpdatedBoard | None:
        """The result; None if it was stopped. Raises `BoardRefused`."""
        if self._stopped:
            return None
        task = self._task = asyncio.create_task(self._draft(), name="context board")
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        # From here on it cannot be stopped: the board is written, and the change can be undone.
        return (
            None
            if task.cancelled()
            else UpdatedBoard(await run_to_completion(self._written(task.result())), self._bill)
        )

    def log_fact(self, updated: UpdatedBoard | None) -> BoardChanged | None:
        """The change, or the cost of a run without a result; None if there is neither."""
        if updated is not None:
            return changed_fact(self._board, updated.change, updated.bill)
        if not self._bill.requests:
            return None
        # With the model's name it would count as having learned from these messages, and they would not be tried again.
        outcome = f"nothing changed: {self._bill.model} did not finish"
        return changed_fact(self._board, BoardChange(), self._bill).but(model="", outcome=outcome)

    async def _draft(self) -> BoardDraft:
        """The changes that the model proposes. Raises `BoardRefused`."""
        try:
            present = await asyncio.to_thread(self._board.read)
            draft = BoardDraft({entry.id: entry.text for entry in present.entries}, MAX_ENTRIES, self._keys)
            parts = await self._parts(draft.as_text())
            async with asyncio.timeout(self._timeout_s * max(1, len(parts))):
                await consolidate(self._model_handle, parts, draft, self._bill.of, self._on_progress)
        except BoardFailed as failed:
            raise BoardRefused(str(failed)) from failed
        except TimeoutError:
            raise BoardRefused(f"{self._model_handle.name} took too long. The board is unchanged.") from None
        except BoardRefused:
            raise
        except Exception as error:
            sentence = classify(error, self._model_handle.asked)[0].sentence
            raise BoardRefused(f"{sentence} The board is unchanged.") from error
        return draft

    async def _parts(self, board: str) -> list[str]:
        window = await self._model_handle.window_tokens() or FALLBACK_WINDOW_TOKENS
        if not self._model_handle.takes_tools:
            raise BoardRefused(f"{self._model_handle.name} cannot call tools, which updating the board needs.")
        earlier = earlier_summary(self._messages, user_words=True)
        fixed = sum(map(estimate_text, (INSTRUCTIONS, board, earlier)))
        room = min(window * LARGEST_SHARE, MOST_ROOM_TOKENS) - fixed
        if room < LEAST_ROOM_TOKENS:
            raise BoardRefused(f"The window of {self._model_handle.name} is too small for this conversation.")
        parts = await asyncio.to_thread(in_parts, self._messages, room)
        return ["\n\n".join(filter(None, (earlier if n == 0 else "", part))) for n, part in enumerate(parts)]

    async def _written(self, draft: BoardDraft) -> BoardChange:
        added = [new_entry(text, self._session_id) for text in draft.added]
        if not added and not draft.pruned:
            return BoardChange()
        try:
            return await asyncio.to_thread(self._board.change, added, draft.pruned)
        except BoardFailed as failed:
            raise BoardRefused(str(failed)) from failed


def change_text(change: BoardChange) -> str:
    """A change in one line."""
    if not change:
        return "nothing changed"
    counts = ((len(change.added), "added"), (len(change.pruned), "removed"))
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def changed_fact(board: ContextBoard, change: BoardChange, bill: Bill | None = None) -> BoardChanged:
    """The fact to log; without a bill, it was the user's own change."""
    return BoardChanged(
        what="context board",
        where=str(board.file),
        outcome=change_text(change),
        added=tuple(map(BoardEntry._asdict, change.added)),
        pruned=tuple(map(BoardEntry._asdict, change.pruned)),
        model=bill.model if bill else "",
        usage=bill.usage if bill else {},
        cost=bill.cost if bill else None,
        billed=bill is not None,
    )
