"""A copy of a session that goes on by itself."""

import asyncio
from typing import Any

from co_tui.events import SessionFork, SessionRename
from co_tui.session.compaction.compaction_files import Keeping
from co_tui.session.environment import Environment, new_session_id
from co_tui.session.history.request_scaffold import SentBeside
from co_tui.session.recorder import Recorder
from co_tui.session.state import history_edits
from co_tui.session.state.session_state import SessionState


async def fork_session(
    environment: Environment, state: SessionState, place: dict[str, Any], upto: int | None = None
) -> str:
    """A new session that begins as this one is, or as it was at a seq; returns its id. The source is only read."""
    source, target = state.session_id, new_session_id()
    seq = state.seq if upto is None else upto
    writing = environment.store.writing()
    fork = SessionFork(source_session_id=source, source_seq=seq, **place)
    await asyncio.wrap_future(writing.fork(source, target, seq, fork))
    renamed = SessionRename(title=history_edits.fork_title(state.title), **place)
    await asyncio.wrap_future(writing.append(target, [renamed]))
    forked = await environment.stored_state(target)
    keeping = Keeping(Recorder(target, writing, forked), environment.checkpoints(source), None)
    folder = environment.paths.session(target)
    await keeping.carry(folder, forked)
    if not environment.private:
        await SentBeside(environment.paths.session(source)).carry(folder)
    return target


async def fork_stored(environment: Environment, session_id: str, upto: int | None = None) -> str:
    """The same for a session that is not open here, whoever else writes it."""
    state = await environment.stored_state(session_id)
    place = {name: getattr(state, name) for name in ("model", "policy", "cwd", "repository", "branch")}
    return await fork_session(environment, state, place, upto)
