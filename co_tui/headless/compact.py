"""`co-tui compact`: make a stored session's context smaller, without a screen."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from co_tui.agent.errors import ModelUnusable
from co_tui.events import Event
from co_tui.headless.opening import opened, print_events, show_json, stop_on_signals
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, Ground, say
from co_tui.session.compaction import CompactionRefused
from co_tui.session.telling import told_compaction
from co_tui.store.errors import StoreError


def compact(
    ground: Ground, environ: Mapping[str, str], cwd: Path, session_id: str, *, model: str, focus: str, as_json: bool
) -> int:
    """Returns the exit code; what happened is told in a sentence, or as events."""
    try:
        return asyncio.run(_compact(ground, environ, cwd, session_id, model, focus, as_json))
    except (StoreError, ModelUnusable) as error:
        say(str(error))
        return FAILED


async def _compact(
    ground: Ground, environ: Mapping[str, str], cwd: Path, session_id: str, model: str, focus: str, as_json: bool
) -> int:
    async with opened(ground, environ, cwd, session_id, model) as (session, listener):
        stop_on_signals(session)
        printing = asyncio.create_task(print_events(session, listener, show_json if as_json else _silent))
        try:
            done = await session.compact(focus)
        except CompactionRefused as refused:
            say(str(refused))
            return FAILED
        finally:
            await session.close("compact")
            await printing
    if not as_json or not done.success:
        where = f" Checkpoint {done.checkpoint_number}: {done.checkpoint_path}" if done.checkpoint_path else ""
        say(told_compaction(done) + where)
    if done.cancelled:
        return INTERRUPTED
    return DONE if done.success else FAILED


def _silent(_: Event) -> None:
    """For people the result is one sentence, at the end."""
