"""Prepare a compaction before the history is rewritten: ask, log the start, run hooks, summarise, review."""

from collections.abc import Mapping

from co_tui.context.compact import user_messages
from co_tui.context.compact.decide import Plan, is_enough
from co_tui.context.journal.journal import in_cache_blocks
from co_tui.context.measure.count import estimate_text
from co_tui.context.request.pipeline import Governor
from co_tui.events import CompactionStart
from co_tui.events.stored_messages import pieces
from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.session.approvals.questions import CompactionQuestion, Questions, SummaryQuestion
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.hooks import Hooks
from co_tui.session.compaction.job import Compaction, Job
from co_tui.session.compaction.notes import Conversation
from co_tui.session.compaction.summaries import Summary, SummaryRequest, request_for
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.state.carried_on import carried_on
from co_tui.store.store_errors import StoreError

GIST_CHARS = 60
MOST_FILES = 40
TOKENS_A_WORD = 1.5
ASKED_WORDS = 300
"""How long the request for a note is."""
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
    """What is in progress, and what the log recorded of the work: the agent must still know it after the compaction."""
    history, job, refs = compaction.history, compaction.job, compaction.job.refs
    stands = {}
    if history.policy.writes_notes and not job.by_code:
        changed = [
            f"- {one_line(path, 200)}{f' ({file.now})' if file.now else ''}"
            for path, file in history.state.files.items()
        ]
        stands = {"Files changed in this session (recorded)": "\n".join(changed[-MOST_FILES:])}
    elif history.policy.compacted_share:
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
    policy = history.policy
    request.by_code = job.by_code or (bool(policy.compacted_share) and not policy.writes_notes)
    request.conversation = job.conversation
    return request


async def conversation_of(job: Job, history: GovernedHistory) -> Conversation | None:
    """The conversation as it is now, for the model's note; None if the policy has none, the model was not asked in this
    process, a call is open, or there is no room for a question and its answer."""
    if not history.policy.writes_notes or job.by_code:
        return None
    governor, scaffold = history.governor, history.next_scaffold
    room = governor.prompt_limit - job.reading.current_tokens
    asked_tokens, note_tokens = (
        governor.meter.ratio * TOKENS_A_WORD * words for words in (ASKED_WORDS, governor.note_words)
    )
    if (form := history.form) is None or room < asked_tokens + note_tokens:
        return None
    sent = (await history.next_request()).messages
    entries = list(history.entries)
    leaving = [index for index, entry in enumerate(entries) if entry.ref in job.refs]
    newest = entries[leaving[-1] + 1 :] if leaving else []
    stays = ["what the user wrote", *(["the plan"] if history.state.plan else [])]
    if newest:
        said = (text for each in newest for role, text, _ in pieces(each.message) if role in ("user", "assistant"))
        gist = next((f": “{one_line(text, GIST_CHARS)}”" for text in said if text.strip()), "")
        stays.append(f"the newest {counted(len(newest), 'message')}{gist and f', in which was said first{gist}'}")
    around = "\n".join((scaffold.instructions, *scaffold.tool_names))
    found = Conversation(form, in_cache_blocks(sent, history.model), around, stays)
    return found if found.can_be_continued else None


async def _review(summary: Summary, questions: Questions) -> None:
    text = await questions.review(SummaryQuestion(summary=summary.text))
    if text is None or not text.strip():
        raise Declined("the summary was rejected")
    summary.edited = text.strip() != summary.text.strip()
    summary.text = text.strip()
