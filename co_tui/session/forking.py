"""A copy of a session that goes on by itself."""

import asyncio
from typing import Any

from co_tui.events import SessionFork, SessionRename
from co_tui.session.compaction.keeping import Keeping
from co_tui.session.environment import Environment, new_session_id
from co_tui.session.state import history_edits
from co_tui.session.state.session_state import SessionState


async def fork_session(
    environment: Environment, state: SessionState, keeping: Keeping, place: dict[str, Any], upto: int | None
) -> str:
    """A new session that begins as this one is, or as it was at a seq; returns its id."""
    source, target = state.session_id, new_session_id()
    seq = state.seq if upto is None else upto
    writing = environment.store.writing()
    fork = SessionFork(source_session_id=source, source_seq=seq, **place)
    await asyncio.wrap_future(writing.fork(source, target, seq, fork))
    renamed = SessionRename(title=history_edits.fork_title(state.title), **place)
    await asyncio.wrap_future(writing.append(target, [renamed]))
    await keeping.carry(environment.paths.session(target), await environment.stored_state(target))
    return target
