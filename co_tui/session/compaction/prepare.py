"""All that comes before a history is rewritten: asking, the start in the log, hooks, the summary, its review."""

from collections.abc import Mapping

from co_tui.context.compact import user_messages
from co_tui.context.compact.decide import is_enough
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.recollection import stand_in_texts
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
"""How much of its system prompt the summariser is told."""
BREAKDOWN = ("system_tokens", "conversation_tokens", "tool_definition_tokens")


class Stopped(Exception):
    """The compaction ended without a result, for a reason that is told."""


class Declined(Stopped):
    """The user did not want it."""


async def prepare(job: Job, questions: Questions) -> None:
    """Leaves the summary in the job. Nothing has happened to the history when it is done, or when it fails."""
    await _reserve_room(job)
    if not job.plan.texts_only and not await _may_begin(job, questions):
        raise Declined("you said no")
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
        _standing(job),
        job.plan.room_tokens,
    )
    request.background = one_line(history.scaffold.instructions, BACKGROUND_CHARS)
    request.focus, request.bill = job.focus, job.bill
    job.summary = await job.on.summaries.write(request, job.trigger)
    if history.policy.reviews_summaries and job.summary.text:
        await _review(job.summary, questions)


async def _reserve_room(job: Job) -> None:
    """Take what goes with the summary from its room. Raises `Stopped` while nothing was asked or logged, when too
    little is left: a summary would be paid for and not used."""
    if not job.trigger.must_free:
        return
    governor = job.on.history.governor
    beside = user_messages.written(user_messages.UserWords(), await work_in_progress_of(job))
    room = job.plan.room_tokens - governor.meter.ratio * estimate_text(beside)
    if not is_enough(room, governor.meter.ratio, governor.window.tokens):
        raise Stopped("too little would be freed")
    job.plan = job.plan._replace(room_tokens=room)


async def work_in_progress_of(job: Job) -> Mapping[str, str]:
    """The work under way, as the main agent has to know it after the compaction."""
    history = job.on.history
    if history.agent:
        return {}
    said = originals(history.state, history.entries)
    instructions = await job.on.read_skills()
    return carried_on(history.state, said, job.refs, history.governor.window.tokens, instructions)


def _standing(job: Job) -> str:
    """The summaries beside it that stay as they are."""
    replaced = {id(message) for message in job.messages}
    staying = (message for message in job.on.history.messages if id(message) not in replaced)
    return "\n".join(stand_in_texts(list(staying)))


async def _may_begin(job: Job, questions: Questions) -> bool:
    if not job.trigger.is_automatic or not job.on.history.policy.asks_first:
        return True
    question = CompactionQuestion(trigger=job.trigger, messages=len(job.refs), share=job.reading.share)
    return await questions.may_compact(question)


async def _start(job: Job) -> None:
    history = job.on.history
    breakdown = {name: getattr(job.reading, name) for name in BREAKDOWN}
    place = {"session_id": history.session_id, "model": history.model}
    job.span = telemetry.start(job.trigger, {**place, **breakdown})
    job.started = True
    start = CompactionStart(
        trigger=job.trigger,
        focus=job.focus,
        messages=len(job.refs),
        blocks=job.blocks,
        agent=history.agent,
        **breakdown,
    )
    # To the end, also when it is stopped right now: its end is logged, too.
    await run_to_completion(history.recorder.record(start))


async def _run_hooks(job: Job) -> None:
    hooks = job.on.hooks
    if not hooks.commands:
        return
    outcome = await hooks.run(job.described())
    await job.on.history.recorder.record(*outcome.runs)
    if outcome.veto:
        raise Stopped(f"a {hooks.name} hook said no: {outcome.reason}" if outcome.reason else "a hook said no")
    job.focus = "\n".join(filter(None, (job.focus, outcome.focus)))


async def _review(summary: Summary, questions: Questions) -> None:
    wished = await questions.review(SummaryQuestion(summary=summary.text))
    if wished is None or not wished.strip():
        raise Declined("the summary was not accepted")
    summary.edited = wished.strip() != summary.text.strip()
    summary.text = wished.strip()
