"""`co-tui subconscious`: what a session taught goes to the context board of the repository and branch one is in."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.models.catalogue import choose
from co_tui.agent.models.open_model import config_for, open_model
from co_tui.agent.redact import keys_in
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.events import BoardChanged, RequestBilled
from co_tui.headless.output import DONE, FAILED, CommandContext, put, say
from co_tui.headless.sessions.stored_rows import stored_row
from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.session.approvals.marks import Marks, source_of
from co_tui.session.board.board_update import BoardRefused, BoardUpdate, UpdatedBoard, change_text
from co_tui.session.state.derive import replay
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import SessionState
from co_tui.session.synced_files import SyncedFiles
from co_tui.settings import COMMAND_LINE
from co_tui.store.notes.board_text import BoardChange
from co_tui.store.notes.context_board import ContextBoard
from co_tui.store.store_errors import SessionBusy, SessionNotFound


def subconscious(context: CommandContext, name: str, *, environ: Mapping[str, str], cwd: Path) -> int:
    """Only reads the session, so that it can be used at the same time. Returns the exit code."""
    row = stored_row(name, context)
    with context.store.reading() as reading:
        source = source_of(reading, row.id)
        state = replay(Marks(context.paths.machine_key).counted(reading.events(row.id), source))
    # Not the folder in the log: a file that was imported would choose whose later sessions begin with its words.
    board = SyncedFiles(context.paths, context.store.sync.files).board(cwd)
    if state.cwd and state.cwd != path_text(cwd):
        say(f"Session {row.id} worked in {one_line(state.cwd, 300)}; notes are saved for {path_text(cwd)}.")
    try:
        updated = asyncio.run(_updated(context, state, board, environ))
    except (BoardRefused, ModelUnusable) as refused:
        say(str(refused))
        return FAILED
    if updated is not None:
        _print(updated.change)
    return DONE


async def _updated(
    context: CommandContext, state: SessionState, board: ContextBoard, environ: Mapping[str, str]
) -> UpdatedBoard | None:
    messages = ParsedMessages().messages(state.history)
    if not messages:
        raise BoardRefused("That session has no messages to learn from.")
    settings = context.loaded.settings
    named = context.loaded.origins["model"].source
    kept = KeptKeys(context.paths).providers(environ, settings.base_url)
    usual = choose(settings.model, named, environ, settings.base_url, kept).model
    name = usual if named == COMMAND_LINE else settings.summarization_model or state.model or usual
    model_handle = await open_model(name, config_for(settings, environ, context.paths))
    bills: list[RequestBilled] = []

    async def record(bill: RequestBilled) -> None:
        bills.append(bill)

    update = BoardUpdate(
        board,
        model_handle,
        messages,
        state.session_id,
        timeout_s=settings.compaction_timeout_s,
        keys=keys_in(environ),
        record=record,
    )
    updated: UpdatedBoard | None = None
    try:
        updated = await update.run()
    finally:
        if (fact := update.log_fact(updated)) is not None:
            _log(context, state.session_id, bills, fact)
        await model_handle.close()
    return updated


def _log(context: CommandContext, session_id: str, bills: Sequence[RequestBilled], fact: BoardChanged) -> None:
    """In the session's log, unless it is open elsewhere by now: one session has one writer. Its cost counts anyway."""
    try:
        with context.store.claim(session_id):
            context.store.writing().append(session_id, [*bills, fact]).result()
            return
    except SessionBusy:
        say("The session is open elsewhere; this update is not in its log.")
    except SessionNotFound:
        say("The session was deleted; this update is in no log.")
    context.store.writing().add_spent(sum(bill.cost or bill.assumed_cost or 0.0 for bill in bills)).result()


def _print(change: BoardChange) -> None:
    for sign, entries in (("+", change.added), ("-", change.pruned)):
        for entry in entries:
            put(f"{sign} {one_line(entry.text, 500)}")
    say(f"Context board: {change_text(change)}.")
