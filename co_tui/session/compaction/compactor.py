"""Compact the conversation: on demand, in the background, or before a request that has to wait for it (C).

All triggers share one path: ask, log the start, run the hooks, get a summary, show it, rewrite the history in one
event. Until that event is in the log nothing has changed; any failure before it leaves the history as it was.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

from co_tui.context.compact.decide import Plan
from co_tui.context.indexed_history import Cut
from co_tui.context.policy import SummaryFallback
from co_tui.context.request.pipeline import Measured
from co_tui.events import CompactionComplete, CompactionWait, Ref
from co_tui.events.triggers import Trigger
from co_tui.session.approvals.questions import Questions, Unattended
from co_tui.session.compaction.applying import NOT_SMALLER, Applier, NotWorthIt, ended_by, indexes_of
from co_tui.session.compaction.background_compaction import Background, Move, Stage
from co_tui.session.compaction.compaction_notices import Notices
from co_tui.session.compaction.decisions import Decision, cut_up_to, decide, is_within_turn, requested_cut, why_nothing
from co_tui.session.compaction.forecast import Forecast, forecast, may_free
from co_tui.session.compaction.job import Compactable, Compaction, following, planned, since
from co_tui.session.compaction.prepare import conversation_of, prepare
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.run_to_completion import run_to_completion

LEAST_MESSAGES = 2
MOST_PASSES = 2
"""Compactions before one request: a policy may need two in a row, for turns and then for tokens."""


class CompactionRefused(Exception):
    """Why there is nothing to compact, as a sentence."""


class Compactor:
    """A session's compactions."""

    def __init__(self, applier: Applier, questions: Questions | None = None) -> None:
        self._applier = applier
        self._questions = questions or Unattended()
        self._background: Background[Compaction] = Background()
        self._task: asyncio.Task[None] | None = None
        self._blocking: asyncio.Task[None] | None = None
        """The compaction that the user or a request waits for; Esc stops it."""
        self.rewriting = asyncio.Lock()
        """Held while a compaction is applied or its end is logged."""
        self._requested: str | None = None
        """The focus of a compaction that the model asked for."""
        self._notices = Notices()
        self._under_way: Compaction | None = None
        """The last one that was started in the background."""

    @property
    def running(self) -> bool:
        return self.is_blocking or self._background.stage is not Stage.IDLE or self.rewriting.locked()

    @property
    def is_blocking(self) -> bool:
        """Whether the user or a request waits for a compaction."""
        return self._blocking is not None

    # Starting

    async def compact(
        self,
        on: Compactable,
        *,
        trigger: Trigger = Trigger.MANUAL,
        focus: str = "",
        upto: Ref | None = None,
        deep: bool = False,
    ) -> CompactionComplete:
        """Compact now. Raises `CompactionRefused`; the returned fact reports a failure."""
        self._check(on)
        return await self._run_blocking(lambda: _requested(on, trigger, focus, upto, deep=deep))

    async def forecast(self, on: Compactable, *, deep: bool = False) -> Forecast:
        """What compacting now would free. Asks no model. Raises `CompactionRefused` if it would free nothing."""
        self._check(on)
        try:
            return await forecast(await _requested(on, Trigger.MANUAL, deep=deep))
        except NotWorthIt as reason:
            raise CompactionRefused(f"Nothing to compact: {reason}.") from None

    def _check(self, on: Compactable) -> None:
        if self.running:
            raise CompactionRefused("A compaction is already running. Esc stops it.")
        if len(on.history.entries) < LEAST_MESSAGES:
            raise CompactionRefused("Nothing to compact: fewer than two messages in context.")

    async def before_request(self, on: Compactable) -> Measured:
        """The compaction stage of a request: apply what is ready, start what the policy asks for, wait if necessary."""
        await self._wait_until_applied()
        measured = await on.history.measure()
        await self._discard_stale(on.history)
        for _ in range(MOST_PASSES):
            if not await self._compact_if_needed(on, measured):
                break
            measured = await on.history.measure()
        return measured

    async def _compact_if_needed(self, on: Compactable, measured: Measured) -> bool:
        """One pass before a request; False if the request may be sent as it was measured."""
        history = on.history
        decision = self._decide(history, measured)
        if history.governor.policy_failure:
            await self._notices.give_policy_failure(history)
        if decision.notice:
            await self._notices.give(decision.notice, history, measured)
        plan, urgency = decision.plan, decision.urgency
        match self._background.next_move(history.version, urgency):
            case Move.START | Move.PROCEED if plan is not None and plan.drops_first and not _is_asked_about(on):
                await self._drop(on, measured, plan)
            case Move.PROCEED:
                return False
            case Move.START:
                assert plan is not None
                await self._begin(planned(on, measured, plan, blocks=False))
                return False
            case Move.COMPACT:
                assert plan is not None
                at_once = _is_written_at_once(on)
                compaction = planned(on, measured, plan, blocks=not at_once, by_code=at_once)
                done = await self._run_blocking(lambda: _ready(compaction))
                if at_once and history.policy.writes_notes and done.success:
                    self._start(Compaction(following(compaction.job, history, measured.reading), on))
            case Move.WAIT if self._may_stand_in(on):
                await self._stand_in(on, measured)
            case Move.WAIT if plan is not None and _is_written_at_once(on):
                focus = await self._discard_late(history)
                plan = plan._replace(focus=plan.focus or focus)
                compaction = planned(on, measured, plan, blocks=False, by_code=True)
                await self._run_blocking(lambda: _ready(compaction))
            case Move.WAIT:
                await self._wait(history, measured)
            case Move.APPLY:
                if urgency != "now" and is_within_turn(history.policy, measured):
                    return False
                await self._apply_ready(history)
        return True

    async def after_turn(self, on: Compactable) -> None:
        """Use the time in which the user reads: apply what is ready, start what the policy asks for."""
        await self._wait_until_applied()
        await self._discard_stale(on.history)
        if self._background.stage is Stage.READY:
            await self._apply_ready(on.history)
        if self.running or not on.history.entries:
            return
        measured = await on.history.measure()
        plan = self._decide(on.history, measured, turn_ended=True).plan
        if plan is None or plan.texts_only:
            return
        if plan.cut.trigger is Trigger.WINDOW or (plan.drops_first and not _is_asked_about(on)):
            return  # these leave before a request, not after a turn
        await self._begin(planned(on, measured, plan, blocks=False))

    async def catch_up(self, history: GovernedHistory) -> bool:
        """Wait for the background compaction; whether it changed the history."""
        before = history.version
        await self._wait_until_applied()
        await self._discard_stale(history)
        if self._background.stage is Stage.READY:
            await self._apply_ready(history)
        elif self._task is not None:
            await self._wait(history, await history.measure())
        return history.version is not before

    async def finish(self) -> None:
        """Wait until the background compaction is ready; it is not applied."""
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._wait_until_applied()

    def request(self, focus: str) -> None:
        """The model asks for a compaction: it starts with the next request, in the background."""
        self._requested = focus

    # Stopping

    def cancel(self) -> bool:
        """Stop the blocking compaction. False if there is none."""
        if self._blocking is None:
            return False
        self._blocking.cancel()
        return True

    def stop(self) -> None:
        """Stop all compactions, in the background too."""
        self.cancel()
        if self._task is not None:
            self._task.cancel("stopped")

    async def discard(self, reason: str) -> None:
        """Discard the background compaction, running, finished or requested: its history is about to change."""
        self._requested = None
        if self._task is not None:
            self._task.cancel(reason)
            await asyncio.wait([self._task])
        compaction = self._background.discard()
        if compaction is not None and compaction.job.joins:
            async with self.rewriting:  # it is written, and its messages are gone
                await run_to_completion(self._applier.apply(compaction))
        elif compaction is not None:
            await self._applier.end(compaction, compaction.job.failed(f"discarded: {reason}", cancelled=True))
        await self._wait_until_applied()

    async def settle(self, history: GovernedHistory, timeout_s: float) -> None:
        """Wait for the background compaction and apply it; discard it after the timeout."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout_s)
        await self._discard_stale(history)
        if self._background.stage is Stage.RUNNING:
            await self.discard(f"timed out after {timeout_s:.0f} s")
        elif self._background.stage is Stage.READY:
            await self._apply_ready(history)
        await self._wait_until_applied()

    async def close(self) -> None:
        self.cancel()
        await self.discard("the session was left")

    # Deciding

    def _decide(self, history: GovernedHistory, measured: Measured, *, turn_ended: bool = False) -> Decision:
        focus, self._requested = self._requested, None
        return decide(history, measured, focus, turn_ended=turn_ended)

    # Running

    async def _begin(self, compaction: Compaction) -> None:
        """Start it on the conversation as it is now, before a reply leaves calls open."""
        compaction.job.conversation = await conversation_of(compaction.job, compaction.history)
        self._start(compaction)

    def _start(self, compaction: Compaction) -> None:
        history = compaction.history
        self._under_way = compaction
        ticket = self._background.begin(history.version)
        task = asyncio.create_task(
            self._run_in_background(compaction, ticket), name=f"compaction of {history.session_id}"
        )
        # A task cancelled before its first step never runs its own handlers.
        task.add_done_callback(lambda done: self._background.fail(ticket) if done.cancelled() else None)
        self._task = task

    def _may_stand_in(self, on: Compactable) -> bool:
        """Whether code may write what is sent until the running note is ready."""
        running = self._under_way
        is_note = on.history.policy.writes_notes and running is not None and not running.job.supersedes
        return is_note and _is_written_at_once(on)

    async def _stand_in(self, on: Compactable, measured: Measured) -> None:
        """Replace what the running note is about by what code can write at once; the note will replace that."""
        history, running = on.history, self._under_way
        assert running is not None
        cut = Cut(indexes_of(history.entries, measured, running.job.refs), Trigger.BLOCKING)
        compaction = planned(on, measured, running.job.plan._replace(cut=cut, waits=True), blocks=False, by_code=True)
        done = await self._run_blocking(lambda: _ready(compaction))
        if done.success:
            job = following(running.job, history, measured.reading)
            running.job.refs, running.job.supersedes = job.refs, job.supersedes
            self._background.rebase(history.version)
        else:
            await self._discard_late(history)

    async def _drop(self, on: Compactable, measured: Measured, plan: Plan) -> None:
        """Remove what the plan cuts, and have its summary written in the background."""
        history = on.history
        if self._background.stage is not Stage.IDLE:
            await self.discard("more messages leave the context")
            return  # what joined has to be measured first
        dropping = planned(on, measured, plan, blocks=False)
        async with self.rewriting:
            dropped = await run_to_completion(self._applier.drop(dropping))
        if not dropped.success:
            return
        after = (await history.measure()).reading
        self._start(Compaction(following(dropping.job, history, after, joins=True), on))

    async def _run_in_background(self, compaction: Compaction, ticket: int) -> None:
        """Prepare a compaction in the background; if no turn runs, apply it as soon as it is ready."""
        ended: CompactionComplete | None = None
        try:
            await prepare(compaction, self._questions)
        except asyncio.CancelledError as stopped:
            ended = compaction.job.failed(f"discarded: {stopped or 'stopped'}", cancelled=True)
        except Exception as error:
            ended = ended_by(error, compaction)
        if self._task is asyncio.current_task():
            self._task = None
        if ended is not None and compaction.job.joins:
            self._background.fail(ticket)
            async with self.rewriting:
                await run_to_completion(self._applier.join_extract(compaction))
            return
        if ended is not None:
            self._background.fail(ticket)
            async with self.rewriting:
                await self._applier.end(compaction, ended)
            return
        if self._background.finish(ticket, compaction) and not compaction.history.in_turn:
            await self._discard_stale(compaction.history)
            await self._apply_ready(compaction.history)

    async def _run_blocking(self, new: Callable[[], Awaitable[Compaction]]) -> CompactionComplete:
        """Run a compaction that the caller waits for. Until it is applied, cancelling leaves everything as it was."""
        begun: list[Compaction] = []
        task = self._blocking = asyncio.create_task(self._prepare(new, begun), name="blocking compaction")
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:  # the caller was cancelled
            task.cancel()
            await asyncio.wait([task])
            for compaction in begun:
                await self._applier.end(compaction, compaction.job.failed(cancelled=True))
            raise
        finally:
            self._blocking = None
        if not begun:
            return _never_started(task)
        (compaction,) = begun
        async with self.rewriting:
            if task.cancelled():
                return await self._applier.end(compaction, compaction.job.failed(cancelled=True))
            if (error := task.exception()) is not None:
                return await self._applier.end(compaction, ended_by(error, compaction))
            return await run_to_completion(self._applier.apply(compaction))

    async def _prepare(self, new: Callable[[], Awaitable[Compaction]], begun: list[Compaction]) -> None:
        """Adds the compaction to `begun` once its job is known."""
        begun.append(await new())
        await prepare(begun[0], self._questions)

    async def _wait(self, history: GovernedHistory, measured: Measured) -> None:
        """Let the request wait for the background compaction."""
        task = self._task
        if task is None:
            return
        share = measured.reading.share
        history.recorder.announce(CompactionWait(share=share))
        began = time.monotonic()
        self._blocking = task
        try:
            await asyncio.wait([task])
        finally:
            self._blocking = None
            history.recorder.announce(CompactionWait(share=share, over=True))
        if self._background.stage is Stage.READY:
            await self._apply_ready(history, waited_ms=since(began))

    # Rewriting the history

    async def _discard_stale(self, history: GovernedHistory) -> None:
        if self._under_way is not None and self._under_way.job.joins:
            self._background.rebase(history.version)  # it joins whatever is there
        if self._background.is_stale(history.version):
            await self.discard("the history changed")

    async def _discard_late(self, history: GovernedHistory) -> str:
        """Discard the running compaction, since a request cannot wait for it; returns its focus."""
        governor, late = history.governor, self._under_way
        suppressed = governor.suppressed_lengths
        await self.discard("the request could not wait for it")
        governor.suppressed_lengths = suppressed  # another one is written at once
        return late.job.focus if late is not None else ""

    async def _wait_until_applied(self) -> None:
        """Wait for a compaction that is being applied: it is neither running nor ready any more."""
        async with self.rewriting:
            pass

    async def _apply_ready(self, history: GovernedHistory, waited_ms: int = 0) -> None:
        async with self.rewriting:
            compaction = self._background.take(history.version)
            if compaction is not None:
                await run_to_completion(self._applier.apply(compaction, waited_ms=waited_ms))


async def _requested(
    on: Compactable, trigger: Trigger, focus: str = "", upto: Ref | None = None, *, deep: bool = False
) -> Compaction:
    """A compaction on demand. Raises `CompactionRefused` if there is nothing to replace, or even the shortest summary
    would free nothing: no model is asked then."""
    history = on.history
    measured = await history.measure()
    if upto is not None:
        cut = cut_up_to(history.entries, measured, trigger, upto)
    else:
        cut = requested_cut(history.governor, measured, trigger, deep=deep)
    if cut is None:
        raise CompactionRefused(f"Nothing to compact: {why_nothing(measured)}.")
    room = history.governor.deep_tokens if deep else math.inf
    compaction = planned(on, measured, Plan(cut, waits=True, focus=focus, room_tokens=room))
    compaction.job.conversation = await conversation_of(compaction.job, history)
    must_free = trigger is Trigger.MANUAL and history.policy.refuses_longer
    if must_free and not await may_free(compaction, measured):
        raise CompactionRefused(f"Nothing to compact: {NOT_SMALLER}.")
    return compaction


def _is_written_at_once(on: Compactable) -> bool:
    """Whether a request need not wait: a journal is written by code in a moment, and no one is asked about it. Under
    another fallback nothing but a model writes."""
    policy = on.history.policy
    is_written = bool(policy.compacted_share) and policy.fallback is SummaryFallback.OFFLINE
    return is_written and not _is_asked_about(on)


def _is_asked_about(on: Compactable) -> bool:
    """Whether the user or a hook may object to an automatic compaction, so that nothing leaves before it is written."""
    policy = on.history.policy
    return policy.asks_first or policy.reviews_summaries or bool(on.hooks.entries)


async def _ready(compaction: Compaction) -> Compaction:
    return compaction


def _never_started(task: asyncio.Task[None]) -> CompactionComplete:
    """The end of a compaction that was refused, or cancelled before its start was logged."""
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
    return CompactionComplete(success=False, cancelled=True)
