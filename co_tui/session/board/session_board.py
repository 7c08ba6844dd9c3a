"""How a session reads and changes the context board of its repository and branch."""

import asyncio
from collections.abc import Callable

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.redact import keys_in
from co_tui.context.board_note import board_note
from co_tui.context.measure.count import Window
from co_tui.events import BoardProgress, BoardShown, Fact, SessionError
from co_tui.session.board.board_update import BoardRefused, BoardUpdate, UpdatedBoard, changed_fact
from co_tui.session.environment import Environment
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.runtime import Runtime
from co_tui.store.notes.board_text import BoardChange
from co_tui.store.notes.context_board import BoardFailed, ContextBoard

PRIVATE = "This session is private, so it cannot update the context board."


async def board_facts(environment: Environment, model: str, window: Window) -> tuple[Fact, ...]:
    """What a new session logs about the board it starts with; nothing without a board, or for the embedded model, which
    it would only confuse."""
    if not environment.settings.board_tokens or model == EMBEDDED:
        return ()
    board = environment.board
    try:
        entries = (await asyncio.to_thread(board.read)).entries
    except BoardFailed as failed:
        return (SessionError(what=str(failed), kind="board", outcome="started without it"),)
    note = board_note([entry.text for entry in entries], environment.settings.board_tokens, window.tokens)
    if not note.shown:
        return ()
    left_out = f"; {note.left_out} older did not fit" if note.left_out else ""
    return (
        BoardShown(
            what="started with the context board",
            where=str(board.file),
            outcome=f"{note.shown} {'note' if note.shown == 1 else 'notes'}{left_out}",
            note=note.text,
            entries=note.shown,
            left_out=note.left_out,
            tokens=note.tokens,
        ),
    )


class SessionBoard:
    """Changes the board from a session, and logs each change."""

    def __init__(self, environment: Environment, recorder: Recorder) -> None:
        self._environment = environment
        self._recorder = recorder

    @property
    def file(self) -> ContextBoard:
        return self._environment.board

    def new_update(self, runtime: Runtime) -> BoardUpdate:
        """A run over the current conversation. Raises `BoardRefused`."""
        if self._environment.private:
            raise BoardRefused(PRIVATE)
        messages = runtime.history.messages
        if not messages:
            raise BoardRefused("No messages to learn from yet.")
        return BoardUpdate(
            self.file,
            runtime.model_handle,
            messages,
            self._recorder.session_id,
            timeout_s=runtime.settings.compaction_timeout_s,
            keys=keys_in(self._environment.environ),
            on_progress=lambda text: self._recorder.announce(BoardProgress(text=text)),
            record=self._recorder.record_eventually,
        )

    async def run(self, update: BoardUpdate) -> UpdatedBoard | None:
        """Wait for a run, and log its result, or at least its cost."""
        self._recorder.announce(BoardProgress())
        updated: UpdatedBoard | None = None
        try:
            updated = await update.run()
        finally:
            self._recorder.announce(BoardProgress(over=True))
            if (fact := update.log_fact(updated)) is not None:
                await self._recorder.record_eventually(fact)
        return updated

    async def change(self, make: Callable[[ContextBoard], BoardChange]) -> BoardChange:
        """Make the user's own change, or undo the latest one. Raises `BoardRefused` and `BoardFailed`."""
        if self._environment.private:
            raise BoardRefused(PRIVATE)
        change = await asyncio.to_thread(make, self.file)
        if change:
            await self._recorder.record(changed_fact(self.file, change))
        return change
