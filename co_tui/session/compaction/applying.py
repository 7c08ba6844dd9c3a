"""Apply a compaction: rewrite the history with one event, after writing its checkpoint."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.agent.models.prices import price_of_input
from co_tui.context.compact.cuts import Cut
from co_tui.context.compact.decide import WELL_BELOW
from co_tui.context.compact.replacement import Digest, Replacement
from co_tui.context.policy import CompactionRule, SummaryFallback
from co_tui.context.request.pipeline import Measured, replaced_in_history
from co_tui.context.turns import step_around
from co_tui.events import CompactionComplete, Ref
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.compaction.job import Job, since
from co_tui.session.compaction.prepare import work_in_progress_of
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.state.session_state import Entry
from co_tui.session.turns.classify_failure import classify
from co_tui.store.store_errors import StoreError

NOT_SMALLER: Final = "it would not free any room"


class _NotWorthIt(Exception):
    """Why a finished compaction is not applied: the error to log."""


class Applier:
    """Applies summaries, and logs how compactions end."""

    def __init__(self, files: CompactionFiles) -> None:
        self._files = files

    async def apply(self, job: Job, *, waited_ms: int | None = None) -> CompactionComplete:
        """Replace what was summarised; messages that arrived since stay as they are. The end is logged in any case."""
        try:
            return await self._apply(job, waited_ms)
        except StoreError:
            raise  # nothing continues that cannot be logged
        except _NotWorthIt as reason:
            return await self.end(job, job.failed(str(reason)))
        except Exception as error:
            return await self.end(job, job.failed(classify(error, job.on.history.asked)[0].sentence))

    async def _apply(self, job: Job, waited_ms: int | None) -> CompactionComplete:
        assert job.summary is not None
        history, summary = job.on.history, job.summary
        measured = await history.measure()
        done = self._replacement(job, measured, await work_in_progress_of(job))
        trimmed = history.policy.rule is CompactionRule.TURNS
        pre = measured.reading.current_tokens
        post = await _tokens_after(history, measured, done)
        # Before applying, so that nothing leaves the context unremembered.
        await self._files.remember(summary.text, job.trigger, trimmed=trimmed)
        governor = history.governor
        fact = _rewrite(history, measured, done).but(
            note=summary.note,
            trigger=job.trigger,
            pre_tokens=pre,
            post_tokens=post,
            tokens_removed=pre - post,
            summary=summary.text,
            summarised_by=summary.by,
            waited_ms=since(job.began) if job.blocks else waited_ms or 0,
            edited=summary.edited,
            mark_tokens=round(governor.situation(measured).threshold_tokens) if job.trigger.must_free else 0,
            cache_lost_tokens=_cache_lost(history, measured, done),
            saved_cost=_saved(measured.live, pre - post),
        )
        complete = await self.end(job, fact)
        await history.report_now()
        return complete

    def _replacement(self, job: Job, measured: Measured, extras: Mapping[str, str]) -> Replacement:
        """What is removed and what replaces it. Raises `_NotWorthIt`."""
        assert job.summary is not None
        governor, text = job.on.history.governor, job.summary.text
        plan = job.plan._replace(cut=Cut(_indexes(job.on.history.entries, measured, job.refs), job.trigger))
        if not plan.cut.replaced:
            raise _NotWorthIt("the messages it would replace are gone")
        if not text and not plan.texts_only:
            why = ": ".join(filter(None, ("no summary could be written", job.summary.note.rstrip("."))))
            if governor.policy.fallback is SummaryFallback.MARKER and not job.trigger.is_automatic:
                raise _NotWorthIt(why)
            short = governor.fallback_plan(measured, plan)
            if short is None:
                raise _NotWorthIt(f"{why}; everything is within the fixed limits")
            plan = short
        digest = job.summary.digest if text else None
        done = governor.replace(measured, plan, digest, extras=extras)
        if digest is not None and digest.has_separate_lines and not _ends_well(job, measured, done):
            # Messages that arrived since took the room of the original lines.
            done = governor.replace(measured, plan, Digest(digest.summary), extras=extras)
        if not done.replaced or governor.freed(measured, done) <= 0:
            raise _NotWorthIt(NOT_SMALLER)
        if job.trigger.must_free and not governor.frees_enough(measured, done):
            raise _NotWorthIt("it would free less than a tenth of the conversation")
        return done

    async def end(self, job: Job, fact: CompactionComplete) -> CompactionComplete:
        """Log the end with its cost; a success gets its checkpoint first, so that the log can name it."""
        history = job.on.history
        fact = fact.but(
            agent=history.agent,
            model=history.model,
            duration_ms=since(job.began),
            usage=job.bill.usage if job.bill.requests else {},
            cost=job.bill.cost,
            request_id=job.bill.request_id,
        )
        fact = await self._files.with_checkpoint(fact, job.summary.title if job.summary else "")
        if not fact.success:
            history.governor.suppress_at(len(history.entries))  # not again before the history grows
        if job.started:
            await history.recorder.record(fact)
        job.span.end(
            {name: getattr(fact, name) for name in telemetry.NAMES if hasattr(fact, name)},
            "" if fact.success or fact.cancelled else "compaction_failed",
        )
        return fact


def _ends_well(job: Job, measured: Measured, done: Replacement) -> bool:
    """Whether it frees enough, and ends well below the threshold that triggered it."""
    governor = job.on.history.governor
    if not job.trigger.must_free:
        return True
    after = measured.reading.current_tokens - governor.freed(measured, done)
    is_below = after <= WELL_BELOW * governor.situation(measured).threshold_tokens
    return is_below and governor.frees_enough(measured, done)


async def _tokens_after(history: GovernedHistory, measured: Measured, done: Replacement) -> int:
    """The context's size afterwards, including tools offered for what was removed. Raises `_NotWorthIt`."""
    pins = [measured.live[index] for index in measured.pinned]
    leaving = {history.entries[index].ref for index in replaced_in_history(measured, done)}
    after = await history.measure_as(done.applied(measured.live), pins, leaving=leaving)
    if after.reading.current_tokens >= measured.reading.current_tokens:
        raise _NotWorthIt(NOT_SMALLER)
    return after.reading.current_tokens


def _rewrite(history: GovernedHistory, measured: Measured, done: Replacement) -> CompactionComplete:
    """Which messages of the log are replaced, and by what."""
    entries = history.entries
    replaced = tuple(entries[index].ref for index in replaced_in_history(measured, done))
    removed = len(replaced) - len(done.messages)
    return CompactionComplete(
        success=True,
        replaced=replaced,
        replacement=tuple(message_json(message) for message in done.messages),
        pre_messages=len(entries),
        post_messages=len(entries) - removed,
        messages_removed=removed,
    )


def _indexes(entries: Sequence[Entry], measured: Measured, refs: Collection[Ref]) -> tuple[int, ...]:
    """The current indexes of the messages, except those pinned since.

    An answer that repair added belongs to the message it follows.
    """
    kept = {near for pin in measured.pinned for near in step_around(measured.live, pin)}
    indexes: list[int] = []
    for index, origin in enumerate(measured.origins):
        follows = origin is None and indexes and indexes[-1] == index - 1
        if index in kept:
            continue
        if follows or (origin is not None and entries[origin].ref in refs):
            indexes.append(index)
    return tuple(indexes)


def _cache_lost(history: GovernedHistory, measured: Measured, done: Replacement) -> int:
    """Tokens of the last request that were read from the provider's cache and will not be again."""
    replies = (each for each in reversed(measured.live) if isinstance(each, ModelResponse))
    read = next((reply.usage.cache_read_tokens for reply in replies if reply.usage.input_tokens), 0)
    if not read:
        return 0
    sent = history.sent_prefix_length(measured)
    same = min(sent, history.verbatim_prefix_length(measured), *done.replaced)
    before, after = (_tokens_up_to(history, measured, index) for index in (sent, same))
    leaving = {history.entries[index].ref for index in replaced_in_history(measured, done)}
    if history.changes_tools(leaving):  # tools come first in a prompt
        after = 0
    return max(0, round(min(read, before) - after))


def _tokens_up_to(history: GovernedHistory, measured: Measured, index: int) -> float:
    """The size of a request without the messages from an index on."""
    return measured.reading.current_tokens - sum(map(history.governor.meter.tokens, measured.request[index:]))


def _saved(live: Sequence[ModelMessage], tokens: int) -> float | None:
    """What a request without these tokens saves, at the prices of the last model that answered."""
    last = next((message for message in reversed(live) if isinstance(message, ModelResponse)), None)
    return price_of_input(last, tokens) if last is not None and tokens > 0 else None
