"""Open a session: claim it, open its model, and log that it begins."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from co_tui.agent.models.open_model import ModelHandle
from co_tui.context.measure.count import Window
from co_tui.events import SessionStart
from co_tui.session.board.session_board import board_facts
from co_tui.session.claiming import claim, release
from co_tui.session.environment import Environment
from co_tui.session.recorder import Listener, Recorder
from co_tui.session.runtime.surroundings import surroundings_at_start
from co_tui.session.state.session_state import SessionState
from co_tui.session.synced_files import project_of
from co_tui.store.port import SessionLock
from co_tui.store.session_ids import new_session_id


class Opening(NamedTuple):
    """What a session is made from."""

    lock: SessionLock
    recorder: Recorder
    model_handle: ModelHandle
    window: Window
    asked_again: tuple[str, ...] = ()
    """Rules of earlier answers that do not count on this machine."""


@asynccontextmanager
async def begun(environment: Environment, model: str, listener: Listener | None) -> AsyncIterator[Opening]:
    """A new session, whose start is logged. Raises `ModelUnusable` before anything is written. If what is done with it
    fails, it is released."""
    model_handle = await environment.open_model(model)
    lock: SessionLock | None = None
    try:
        window = await environment.window(model_handle)
        session_id = new_session_id()
        recorder = _recorder(environment, session_id, SessionState(), listener)
        lock = await claim(environment.store, session_id)
        origin = environment.origin(model_handle.name, environment.settings.policy)
        await asyncio.to_thread(environment.files.refresh_shared, environment.cwd)
        surroundings = await surroundings_at_start(environment, model_handle)
        board = await board_facts(environment, model_handle.name, window)
        await recorder.record(SessionStart(**origin, surroundings=surroundings), *board)
        environment.files.mark_project(session_id, project_of(environment.cwd))
        yield Opening(lock, recorder, model_handle, window)
    except BaseException:
        if lock is not None:
            await release(lock)
        await model_handle.close()
        raise


@asynccontextmanager
async def reopened(
    environment: Environment, session_id: str, model: str, listener: Listener | None, *, take_over: bool
) -> AsyncIterator[Opening]:
    """A stored session, with its own model unless another is named; `take_over`: see `Store.claim`. If what is done
    with it fails, it is released."""
    lock = await claim(environment.store, session_id, take_over=take_over)
    model_handle: ModelHandle | None = None
    try:
        await asyncio.shield(asyncio.wrap_future(environment.store.writing().recover(session_id)))
        stored = await environment.stored_log(session_id)
        await asyncio.to_thread(environment.files.refresh_resumed, environment.cwd, session_id)
        model_handle = await environment.open_model(model or stored.state.model)
        window = await environment.window(model_handle)
        recorder = _recorder(environment, session_id, stored.state, listener)
        yield Opening(lock, recorder, model_handle, window, stored.asked_again)
    except BaseException:
        await release(lock)
        if model_handle is not None:
            await model_handle.close()
        raise


def _recorder(environment: Environment, session_id: str, state: SessionState, listener: Listener | None) -> Recorder:
    recorder = environment.recorder(session_id, state)
    if listener is not None:
        recorder.listen(listener)
    return recorder
