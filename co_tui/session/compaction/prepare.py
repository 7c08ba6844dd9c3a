"""Prepare a compaction before the history is rewritten: ask, log the start, run hooks, summarise, review."""

from collections.abc import Mapping

from co_tui.context.compact import user_messages
from co_tui.context.compact.decide import is_enough
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.recollection import replacement_texts
from co_tui.events import CompactionStart
from co_tui.inert import one_line
from co_tui.session.approvals.questions import CompactionQuestion, Questions, SummaryQuestion
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.job import Job
from co_tui.session.compaction.summaries import Summary, request_for
from co_tui.session.history.whole_transcript import originals
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.state.carried_on import carried_on

BACKGROUND_CHARS = 2_000
"""How much of the system prompt the summariser gets."""
BREAKDOWN = ("system_tokens", "conversation_tokens", "tool_definition_tokens")


class Stopped(Exception):
    """The compaction ended without a result; the text is the reason to log."""


class Declined(Stopped):
    """The user declined it."""


async def prepare(job: Job, questions: Questions) -> None:
    """Put the summary into the job. The history is unchanged afterwards, also on failure."""
    await _reserve_room(job)
    if not job.plan.texts_only and not await _may_begin(job, questions):
        raise Declined("declined by you")
    await _start(job)
    await _run_hooks(job)
    if job.plan.texts_only:
        job.summary = Summary("", "")
        return
    history = job.on.history
    sources = await history.sources_without(job.refs)
    request = request_for(
        history.governor,
        job.messages,
        job.trigger,
        sources,
        job.kept_tokens,
        _other_summaries(job),
        job.plan.room_tokens,
    )
    request.background = one_line(history.scaffold.instructions, BACKGROUND_CHARS)
    request.focus, request.bill = job.focus, job.bill
    job.summary = await job.on.summaries.write(request, job.trigger)
    if history.policy.reviews_summaries and job.summary.text:
        await _review(job.summary, questions)


async def _reserve_room(job: Job) -> None:
    """Subtract the texts carried along from the summary's room. Raises `Stopped`, before anything is asked or logged,
    if too little is left: the summary would be paid for and not used."""
    if not job.trigger.must_free:
        return
    governor = job.on.history.governor
    carried = user_messages.as_sections(user_messages.UserMessages(), await work_in_progress_of(job))
    room = job.plan.room_tokens - governor.meter.ratio * estimate_text(carried)
    if not is_enough(room, governor.meter.ratio, governor.window.tokens):
        raise Stopped("it would free too little")
    job.plan = job.plan._replace(room_tokens=room)


async def work_in_progress_of(job: Job) -> Mapping[str, str]:
    """The work in progress that the main agent must still know after the compaction."""
    history = job.on.history
    if history.agent:
        return {}
    transcript = originals(history.state, history.entries)
    instructions = await job.on.read_skills()
    return carried_on(history.state, transcript, job.refs, history.governor.window.tokens, instructions)


def _other_summaries(job: Job) -> str:
    """The summaries in the history that stay."""
    replaced = {id(message) for message in job.messages}
    staying = (message for message in job.on.history.messages if id(message) not in replaced)
    return "\n".join(replacement_texts(list(staying)))


async def _may_begin(job: Job, questions: Questions) -> bool:
    if not job.trigger.is_automatic or not job.on.history.policy.asks_first:
        return True
    question = CompactionQuestion(trigger=job.trigger, messages=len(job.refs), share=job.reading.share)
    return await questions.may_compact(question)


async def _start(job: Job) -> None:
    history = job.on.history
    breakdown = {name: getattr(job.reading, name) for name in BREAKDOWN}
    origin = {"session_id": history.session_id, "model": history.model}
    job.span = telemetry.start(job.trigger, {**origin, **breakdown})
    job.started = True
    start = CompactionStart(
        trigger=job.trigger,
        focus=job.focus,
        messages=len(job.refs),
        blocks=job.blocks,
        agent=history.agent,
        **breakdown,
    )
    # Completed even if it is cancelled now: its end is logged, too.
    await run_to_completion(history.recorder.record(start))


async def _run_hooks(job: Job) -> None:
    hooks = job.on.hooks
    if not hooks.commands:
        return
    outcome = await hooks.run(job.hook_payload())
    await job.on.history.recorder.record(*outcome.runs)
    if outcome.veto:
        raise Stopped(f"vetoed by the {hooks.name} hook: {outcome.reason}" if outcome.reason else "vetoed by a hook")
    job.focus = "\n".join(filter(None, (job.focus, outcome.focus)))


async def _review(summary: Summary, questions: Questions) -> None:
    text = await questions.review(SummaryQuestion(summary=summary.text))
    if text is None or not text.strip():
        raise Declined("the summary was rejected")
    summary.edited = text.strip() != summary.text.strip()
    summary.text = text.strip()
