"""What a compaction on demand would free, by the offline summariser. Asks no model, logs and changes nothing."""

import asyncio
from typing import NamedTuple

from co_tui.context.compact import user_messages
from co_tui.context.compact.replacement import Digest
from co_tui.context.request.pipeline import Measured
from co_tui.session.compaction.applying import indexes_of, reading_after, replacement_for
from co_tui.session.compaction.job import Compaction
from co_tui.session.compaction.prepare import summary_request, work_in_progress
from co_tui.session.compaction.summaries import offline


class Forecast(NamedTuple):
    """The tokens of the context now, and how many of them a compaction would free."""

    tokens: int
    freed_tokens: int


async def may_free(compaction: Compaction, measured: Measured) -> bool:
    """Whether the shortest summary would free anything."""
    governor = compaction.history.governor
    done = governor.replace(measured, compaction.job.plan, Digest(""), extras=await work_in_progress(compaction))
    return governor.freed(measured, done) > 0


async def forecast(compaction: Compaction) -> Forecast:
    """What it would free. Raises `NotWorthIt`."""
    job, history = compaction.job, compaction.history
    extras = await work_in_progress(compaction)
    carried = user_messages.as_sections(user_messages.UserMessages(), extras)
    summary = await asyncio.to_thread(offline, await summary_request(job, history, carried))
    measured = await history.measure()
    indexes = indexes_of(history.entries, measured, job.refs)
    done = replacement_for(job, summary, indexes, history.governor, measured, extras)
    now = measured.reading.current_tokens
    return Forecast(now, now - (await reading_after(history, measured, done)).current_tokens)
