"""Apply a compaction: rewrite the history with one event, after writing its checkpoint."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.agent.models.prices import price_of_input
from co_tui.context.compact.decide import WELL_BELOW, Plan
from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.compact.replacement import Digest, Replacement, joined_to_first_prompt, rules_note
from co_tui.context.indexed_history import Cut
from co_tui.context.measure.count import Reading
from co_tui.context.policy import CompactionRule, SummaryFallback, SummaryForm
from co_tui.context.request.pipeline import Governor, Measured, in_history
from co_tui.events import CompactionComplete, Ref
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.cache_loss import cache_lost_tokens
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.compaction.job import Compaction, Job, since
from co_tui.session.compaction.prepare import Declined, Stopped, log_start, work_in_progress
from co_tui.session.compaction.summaries import OFFLINE, Summary
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.token_parts import with_token_parts
from co_tui.session.state.out_of_context import removed_by
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.state.session_state import Entry
from co_tui.session.turns.classify_failure import classify
from co_tui.store.store_errors import StoreError

NOT_SMALLER: Final = "it would not free any room"


OF_ITS_REQUESTS: Final = ("agent", "model", "duration_ms", "usage", "cost", "billed", "request_id")


class NotWorthIt(Exception):
    """Why a finished compaction is not applied: the error to log."""


def ended_by(error: BaseException, compaction: Compaction) -> CompactionComplete:
    """What went wrong, without secrets. What the user declined is cancelled, not failed."""
    if isinstance(error, NotWorthIt | Stopped | StoreError) or not isinstance(error, Exception):
        return compaction.job.failed(str(error).rstrip("."), cancelled=isinstance(error, Declined))
    return compaction.job.failed(classify(error, compaction.history.asked)[0].sentence)


class Applier:
    """Applies summaries, and logs how compactions end."""

    def __init__(self, files: CompactionFiles) -> None:
        self._files = files

    async def apply(self, compaction: Compaction, *, waited_ms: int | None = None) -> CompactionComplete:
        """Replace what was summarised; messages that arrived since stay as they are. The end is logged in any case."""
        try:
            fact = await self._rewrite(compaction, waited_ms)
        except Exception as error:
            fact = ended_by(error, compaction)
        return await self.end(compaction, fact)

    async def _rewrite(self, compaction: Compaction, waited_ms: int | None) -> CompactionComplete:
        """The fact that rewrites the history. Raises `NotWorthIt`."""
        job, history = compaction.job, compaction.history
        summary, governor = job.summary, history.governor
        assert summary is not None
        measured, extras = await history.measure(), await work_in_progress(compaction)
        if job.joins:
            done = joined_to_first_prompt(measured.live, summary.digest, measured.pinned, extras)
            if not done.replaced or not summary.text:
                raise NotWorthIt(summary.note or "no prompt is left that the summary could join")
        else:
            indexes = indexes_of(history.entries, measured, job.refs)
            done = replacement_for(job, summary, indexes, governor, measured, extras)
        pre = measured.reading.current_tokens
        after = await reading_after(history, measured, done, may_grow=job.joins or bool(job.supersedes))
        post = after.current_tokens
        # Before applying, so that nothing leaves the context unremembered.
        trimmed, job.is_remembered = history.policy.rule is CompactionRule.TURNS, True
        await self._files.remember(summary.text, job.trigger, trimmed=trimmed)
        kept = [message for index, message in enumerate(measured.live) if index not in done.replaced]
        exchange = with_token_parts(_exchange(history.entries, measured, done), kept, done.messages, after)
        removed = None if history.agent else removed_by(exchange, history.state)
        first = history.state.rewrites[-1].event.fact if job.supersedes and history.state.rewrites else None
        if isinstance(first, CompactionComplete):  # it is about the same messages
            exchange = exchange.but(originals=first.originals, summarised_now=first.summarised_now)
        elif removed is not None:
            exchange = exchange.but(originals=removed.messages, summarised_now=removed.undoable)
        return exchange.but(
            note=summary.note,
            trigger=job.trigger,
            focus=job.focus,
            pre_tokens=pre,
            post_tokens=post,
            tokens_removed=pre - post,
            summary=summary.text,
            summarised_by=summary.by,
            waited_ms=since(job.began) if job.blocks else waited_ms or 0,
            edited=summary.edited,
            supersedes=job.supersedes,
            mark_tokens=round(governor.situation(measured).threshold_tokens) if job.trigger.must_free else 0,
            cache_lost_tokens=cache_lost_tokens(history, measured, done),
            saved_cost=_saved(measured.live, pre - post),
        )

    async def drop(self, compaction: Compaction) -> CompactionComplete:
        """Remove the messages at once; only the user's standing rules stay. Their summary is another compaction."""
        job, history = compaction.job, compaction.history
        governor = history.governor
        try:
            await log_start(job, history)
        except StoreError as error:
            return await self.end(compaction, ended_by(error, compaction))
        measured = await history.measure()
        indexes = indexes_of(history.entries, measured, job.refs)
        leaving = [measured.live[index] for index in indexes]
        rules = governor.user_messages_for(leaving, SummaryForm.PROMPT).rules
        done = Replacement(indexes, [rules_note(rules, leaving[-1].timestamp)] if rules else [])
        pre, after = measured.reading.current_tokens, await reading_after(history, measured, done, may_grow=True)
        exchange = _exchange(history.entries, measured, done)
        kept = [message for index, message in enumerate(measured.live) if index not in indexes]
        removed = None if history.agent else removed_by(exchange, history.state)
        fact = with_token_parts(exchange, kept, done.messages, after).but(
            originals=removed.messages if removed else 0,
            summarised_now=removed.undoable if removed else None,
            summary_follows=True,
            trigger=job.trigger,
            pre_tokens=pre,
            post_tokens=after.current_tokens,
            tokens_removed=pre - after.current_tokens,
            cache_lost_tokens=cache_lost_tokens(history, measured, done),
            saved_cost=_saved(measured.live, pre - after.current_tokens),
        )
        return await self.end(compaction, fact)

    async def join_extract(self, compaction: Compaction) -> CompactionComplete:
        """Let an extract, written by code, join the conversation: its summary will not come."""
        job, governor = compaction.job, compaction.history.governor
        budget = int(governor.summary_tokens / governor.meter.ratio)
        made = await asyncio.to_thread(summarise_offline, job.messages, budget)
        job.summary = Summary(made.text, OFFLINE, words=made.words)
        return await self.apply(compaction)

    async def end(self, compaction: Compaction, fact: CompactionComplete) -> CompactionComplete:
        """Log the end with its cost; a success gets its checkpoint first, so that the log can name it.

        A success that cannot be logged has changed nothing, and counts as a failure.
        """
        job, history = compaction.job, compaction.history
        fact = fact.but(
            agent=history.agent,
            model=history.model,
            duration_ms=since(job.began),
            usage=job.bill.usage,
            cost=job.bill.cost,
            billed=True,
            request_id=job.bill.request_id,
        )
        if fact.success:
            fact = await self._files.with_checkpoint(fact, job.summary.title if job.summary else "")
            try:
                await history.recorder.record(fact)
            except StoreError as error:
                fact = ended_by(error, compaction).but(**{name: getattr(fact, name) for name in OF_ITS_REQUESTS})
        if not fact.success:
            if not job.joins:
                history.governor.suppress_at(len(history.entries))  # not again before the history grows
            if job.started:
                await history.recorder.record_eventually(fact)
            if job.joins and job.summary is not None and not job.is_remembered:
                with suppress(StoreError):  # what left the context is in the log
                    await self._files.remember(job.summary.text, job.trigger, trimmed=True)
        if fact.success or (history.usage is not None and history.usage.share > 1):
            with suppress(StoreError):  # the next request is measured anyway
                await history.report_now()  # what does not fit is left out now
        job.span.end(
            {name: getattr(fact, name) for name in telemetry.NAMES if hasattr(fact, name)},
            "" if fact.success or fact.cancelled else "compaction_failed",
        )
        return fact


def replacement_for(
    job: Job,
    summary: Summary,
    indexes: tuple[int, ...],
    governor: Governor,
    measured: Measured,
    extras: Mapping[str, str],
) -> Replacement:
    """What is removed and what replaces it. Raises `NotWorthIt`."""
    plan = job.plan._replace(cut=Cut(indexes, job.trigger))
    if not plan.cut.replaced:
        raise NotWorthIt("the messages it would replace are gone")
    if not summary.text and not plan.texts_only and job.messages:
        plan = _without_summary(plan, summary, governor, measured)
    digest = summary.digest if summary.text else None
    done = governor.replace(measured, plan, digest, extras=extras)
    if digest is not None and digest.journal and digest.journal.story and not _ends_well(job, governor, measured, done):
        # Messages that arrived since took the room of the journal.
        done = governor.replace(measured, plan, Digest(digest.journal.story), extras=extras)
    if job.supersedes:
        return done
    if not done.replaced or (governor.policy.refuses_longer and governor.freed(measured, done) <= 0):
        raise NotWorthIt(NOT_SMALLER)
    if job.trigger.must_free and not governor.frees_enough(measured, done):
        raise NotWorthIt("it would free less than a tenth of the conversation")
    return done


def _without_summary(plan: Plan, summary: Summary, governor: Governor, measured: Measured) -> Plan:
    """The policy's fallback if there is no summary. Raises `NotWorthIt`."""
    why = ": ".join(filter(None, ("no summary could be written", summary.note.rstrip("."))))
    fallback = governor.policy.fallback
    is_asked_for = fallback is SummaryFallback.MARKER and not plan.cut.trigger.is_automatic
    if is_asked_for or fallback is SummaryFallback.FAIL:
        raise NotWorthIt(why)
    short = governor.fallback_plan(measured, plan)
    if short is None:
        raise NotWorthIt(f"{why}; everything is within the fixed limits")
    return short


def _ends_well(job: Job, governor: Governor, measured: Measured, done: Replacement) -> bool:
    """Whether it frees enough, and ends well below the threshold that triggered it."""
    if not job.trigger.must_free:
        return True
    after = measured.reading.current_tokens - governor.freed(measured, done)
    threshold = governor.situation(measured).threshold_tokens
    is_below = not threshold or after <= WELL_BELOW * threshold
    return is_below and governor.frees_enough(measured, done)


async def reading_after(
    history: GovernedHistory, measured: Measured, done: Replacement, *, may_grow: bool = False
) -> Reading:
    """The context afterwards, including tools offered for what was removed. Raises `NotWorthIt`."""
    pins = [measured.live[index] for index in measured.pinned]
    leaving = {history.entries[index].ref for index in in_history(measured, done.replaced)}
    after = await history.reading_as(done.applied(measured.live), pins, leaving=leaving)
    must_shrink = history.policy.refuses_longer and not may_grow
    if must_shrink and after.current_tokens >= measured.reading.current_tokens:
        raise NotWorthIt(NOT_SMALLER)
    return after


def _exchange(entries: Sequence[Entry], measured: Measured, done: Replacement) -> CompactionComplete:
    """Which messages of the log are replaced, and by what."""
    replaced = tuple(entries[index].ref for index in in_history(measured, done.replaced))
    removed = len(replaced) - len(done.messages)
    return CompactionComplete(
        success=True,
        replaced=replaced,
        replacement=tuple(message_json(message) for message in done.messages),
        pre_messages=len(entries),
        post_messages=len(entries) - removed,
        messages_removed=removed,
    )


def indexes_of(entries: Sequence[Entry], measured: Measured, refs: Collection[Ref]) -> tuple[int, ...]:
    """The current indexes of the messages, except those pinned since.

    An answer that repair added belongs to the message it follows.
    """
    kept = measured.live.steps_around(measured.pinned)
    indexes: list[int] = []
    for index, origin in enumerate(measured.origins):
        follows = origin is None and indexes and indexes[-1] == index - 1
        if index in kept:
            continue
        if follows or (origin is not None and entries[origin].ref in refs):
            indexes.append(index)
    return tuple(indexes)


def _saved(live: Sequence[ModelMessage], tokens: int) -> float | None:
    """What a request without these tokens saves, at the prices of the last model that answered."""
    last = next((message for message in reversed(live) if isinstance(message, ModelResponse)), None)
    return price_of_input(last, tokens) if last is not None and tokens > 0 else None
