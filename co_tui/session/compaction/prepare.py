"""All that comes before a history is rewritten: asking, the start in the log, hooks, the summary, its review."""

from typing import Protocol

from co_tui.events import CompactionStart
from co_tui.inert import one_line
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.job import Job
from co_tui.session.compaction.summaries import OFFLINE, Summary, request_for

BACKGROUND_CHARS = 2_000
"""How much of its system prompt the summariser is told."""
BREAKDOWN = ("system_tokens", "conversation_tokens", "tool_definition_tokens")


class Asker(Protocol):
    """Somebody who can be asked while a compaction runs."""

    async def may_compact(self, trigger: str, messages: int, share: float) -> bool:
        """Whether an automatic compaction may begin."""
        ...

    async def review(self, summary: str) -> str | None:
        """The summary as it shall be applied; None not to apply it."""
        ...


class Stopped(Exception):
    """The compaction ended without a result, for a reason that is told."""


async def prepare(job: Job, asker: Asker | None) -> None:
    """Leaves the summary in the job. Nothing has happened to the history when it is done, or when it fails."""
    if not job.plan.texts_only and not await _may_begin(job, asker):
        raise Stopped("you said no")
    await _start(job)
    await _run_hooks(job)
    if job.plan.texts_only:
        job.summary = Summary("", OFFLINE)
        return
    history = job.on.history
    request = request_for(history.governor, job.messages, job.trigger)
    request.background = one_line(history.scaffold.instructions, BACKGROUND_CHARS)
    request.focus, request.bill = job.focus, job.bill
    job.summary = await job.on.summaries.write(request, job.trigger)
    if history.policy.reviews_summaries and asker is not None and job.summary.text:
        await _review(job.summary, asker)


async def _may_begin(job: Job, asker: Asker | None) -> bool:
    if not job.trigger.is_automatic or not job.on.history.policy.asks_first or asker is None:
        return True
    return await asker.may_compact(job.trigger, len(job.refs), job.reading.share)


async def _start(job: Job) -> None:
    history = job.on.history
    breakdown = {name: getattr(job.reading, name) for name in BREAKDOWN}
    place = {"session_id": history.session_id, "model": history.model}
    job.span = telemetry.start(job.trigger, {**place, **breakdown})
    job.started = True
    await history.recorder.record(
        CompactionStart(trigger=job.trigger, focus=job.focus, messages=len(job.refs), blocks=job.blocks, **breakdown)
    )


async def _run_hooks(job: Job) -> None:
    hooks = job.on.hooks
    if not hooks.commands:
        return
    outcome = await hooks.run(job.described())
    await job.on.history.recorder.record(*outcome.runs)
    if outcome.veto:
        raise Stopped(f"a {hooks.name} hook said no: {outcome.reason}" if outcome.reason else "a hook said no")
    job.focus = "\n".join(filter(None, (job.focus, outcome.focus)))


async def _review(summary: Summary, asker: Asker) -> None:
    wished = await asker.review(summary.text)
    if wished is None or not wished.strip():
        raise Stopped("the summary was not accepted")
    summary.edited = wished.strip() != summary.text.strip()
    summary.text = wished.strip()
