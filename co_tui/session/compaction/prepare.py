"""Prepare a compaction before the history is rewritten: ask, log the start, run hooks, summarise, review."""

from collections.abc import Mapping

from co_tui.context.compact import user_messages
from co_tui.context.compact.decide import Plan, is_enough
from co_tui.context.measure.count import estimate_text
from co_tui.context.request.pipeline import Governor
from co_tui.events import CompactionStart
from co_tui.inert import one_line
from co_tui.session.approvals.questions import CompactionQuestion, Questions, SummaryQuestion
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.hooks import Hooks
from co_tui.session.compaction.job import Compaction, Job
from co_tui.session.compaction.summaries import Summary, SummaryRequest, request_for
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.state.carried_on import carried_on
from co_tui.store.store_errors import StoreError

BACKGROUND_CHARS = 2_000
"""How much of the system prompt the summariser gets."""
AS_OF = "(When this was summarised; the newest messages are below.)"
BREAKDOWN = ("system_tokens", "conversation_tokens", "tool_definition_tokens")


class Stopped(Exception):
    """The compaction ended without a result; the text is the reason to log."""


class Declined(Stopped):
    """The user declined it."""


async def prepare(compaction: Compaction, questions: Questions) -> None:
    """Put the summary into the job. The history is unchanged afterwards, also on failure."""
    job, (history, summaries, hooks, _) = compaction
    carried = user_messages.as_sections(user_messages.UserMessages(), await work_in_progress(compaction))
    if job.trigger.must_free:
        job.plan = _with_less_room(job.plan, carried, history.governor)
    if not (job.plan.texts_only or job.joins) and history.policy.asks_first:
        await _ask(job, questions)
    await log_start(job, history)
    if hooks.entries:
        await _run_hooks(job, hooks, history)
    if job.plan.texts_only or not job.messages:
        job.summary = Summary("", "")
        return
    job.summary = await summaries.write(await summary_request(job, history, carried), job.trigger)
    if history.policy.reviews_summaries and job.summary.text:
        await _review(job.summary, questions)


async def work_in_progress(compaction: Compaction) -> Mapping[str, str]:
    """What is in progress, and with a journal the state of the work: the agent must still know it after the
    compaction."""
    history, refs = compaction.history, compaction.job.refs
    stands = {}
    if history.policy.compacted_share:
        sources = await history.sources_without(refs)
        if state := sources.work.state_text(history.governor.state_tokens, sources.gone, sources.files):
            stands = {"Where the work stands": f"{AS_OF}\n{state}"}
    if history.agent:
        return stands
    loads = history.whole_transcript.skill_loads(history.state, history.entries)
    instructions = await compaction.on.read_skills()
    window_tokens = history.governor.window.tokens
    return {**stands, **carried_on(history.state, loads, refs, window_tokens, instructions)}


def _with_less_room(plan: Plan, carried: str, governor: Governor) -> Plan:
    """Subtract the texts carried along from the summary's room. Raises `Stopped`, before anything is asked or logged,
    if too little is left: the summary would be paid for and not used."""
    room = plan.room_tokens - governor.meter.ratio * estimate_text(carried)
    if not is_enough(room, governor.meter.ratio, governor.window.tokens):
        raise Stopped("it would free too little")
    return plan._replace(room_tokens=room)


async def _ask(job: Job, questions: Questions) -> None:
    """Raises `Declined`. What the user asked for is not asked about."""
    if not job.trigger.is_automatic:
        return
    question = CompactionQuestion(trigger=job.trigger, messages=len(job.refs), share=job.reading.share)
    if not await questions.may_compact(question):
        raise Declined("declined by you")


async def log_start(job: Job, history: GovernedHistory) -> None:
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
    try:
        # Completed even if it is cancelled now: its end is logged, too.
        await run_to_completion(history.recorder.record(start))
    except StoreError:
        job.started = False
        raise


async def _run_hooks(job: Job, hooks: Hooks, history: GovernedHistory) -> None:
    """Raises `Stopped` when one vetoes."""
    outcome = await hooks.run(job.hook_payload(history.session_id, history.state.mode))
    await history.recorder.record(*outcome.runs)
    if outcome.veto:
        raise Stopped(f"vetoed by the {hooks.name} hook: {outcome.reason}" if outcome.reason else "vetoed by a hook")
    job.focus = "\n".join(filter(None, (job.focus, outcome.focus)))


async def summary_request(job: Job, history: GovernedHistory, carried: str) -> SummaryRequest:
    request = request_for(
        history.governor,
        job.messages,
        job.trigger,
        await history.sources_without(job.refs),
        job.kept_tokens,
        carried,
        job.plan.room_tokens,
    )
    request.background = one_line(history.scaffold.instructions, BACKGROUND_CHARS)
    request.focus, request.bill = job.focus, job.bill
    if request.journal is not None:
        request.journal = request.journal._replace(focus=job.focus)
    request.by_code = job.by_code
    return request


async def _review(summary: Summary, questions: Questions) -> None:
    text = await questions.review(SummaryQuestion(summary=summary.text))
    if text is None or not text.strip():
        raise Declined("the summary was rejected")
    summary.edited = text.strip() != summary.text.strip()
    summary.text = text.strip()
