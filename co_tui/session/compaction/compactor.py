"""Making the conversation smaller: on demand, beside the turn, or before a request that has to wait for it (C).

All triggers share one path: ask, log the start, run the hooks, get a summary, show it, rewrite the history in one
event. Until that event is in the log nothing has happened; whatever goes wrong before leaves the history as it was.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from co_tui.context.compact import cuts
from co_tui.context.compact.decide import Plan, frees_enough
from co_tui.context.policy import CompactionRule
from co_tui.context.request.pipeline import Measured
from co_tui.context.turns import is_prompt
from co_tui.events import CompactionComplete, CompactionWait, Ref
from co_tui.events.triggers import Trigger
from co_tui.session.approvals.questions import Questions, Unattended
from co_tui.session.compaction.applying import Applier
from co_tui.session.compaction.background_compaction import Background, Move, Stage, Wanted
from co_tui.session.compaction.compaction_notices import FIXED_PART, NO_ROOM, STOPPED, Notices
from co_tui.session.compaction.decisions import cut_up_to, is_thrashing, requested_cut
from co_tui.session.compaction.job import Compactable, Job, job_for, since
from co_tui.session.compaction.prepare import Declined, Stopped, prepare
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.run_to_completion import run_to_completion
from co_tui.session.turns.classify_failure import classify

T = TypeVar("T")
LEAST_MESSAGES = 2
MUCH_FIXED = 0.4
"""Of the window: instructions and tools that take this much are why no compaction helps."""
MOST_PASSES = 2
"""Before one request: a policy may want two things one after the other, turns and then tokens."""


class CompactionRefused(Exception):
    """Why there is nothing to do, in a sentence."""


@dataclass(slots=True)
class _Run:
    """A compaction that is waited for, from the wish on."""

    wish: Callable[[], Awaitable[Job]]
    job: Job | None = None


class Compactor:
    """A session's compactions."""

    def __init__(self, applier: Applier, questions: Questions | None = None) -> None:
        self._applier = applier
        self._questions = questions or Unattended()
        self._background: Background[Job] = Background()
        self._task: asyncio.Task[None] | None = None
        self._blocking: asyncio.Task[None] | None = None
        """What somebody is waiting for; this is what Esc stops."""
        self._rewriting = asyncio.Lock()
        """Held while a compaction is applied, or its end is logged."""
        self._requested: str | None = None
        """The model asked for a compaction, with this focus."""
        self._notices = Notices()

    @property
    def running(self) -> bool:
        return self.waits or self._background.stage is not Stage.IDLE or self._rewriting.locked()

    @property
    def waits(self) -> bool:
        """Whether anybody is kept waiting."""
        return self._blocking is not None

    # What asks for it

    async def compact(
        self, on: Compactable, *, trigger: Trigger = Trigger.MANUAL, focus: str = "", upto: Ref | None = None
    ) -> CompactionComplete:
        """Compact now. Raises `CompactionRefused`; a failure is told in what is returned."""
        if self.running:
            raise CompactionRefused("A compaction is already under way; Esc stops it.")
        if len(on.history.entries) < LEAST_MESSAGES:
            raise CompactionRefused("There is nothing to compact: fewer than two messages are in the context.")
        return await self._now(lambda: _wished(on, trigger, focus, upto))

    async def before_request(self, on: Compactable) -> Measured:
        """The compaction stage of the pipeline: apply what is ready, begin what is due, wait where that must be."""
        await self._applied()
        measured = await on.history.measure()
        await self._discard_stale(on.history)
        for _ in range(MOST_PASSES):
            if not await self._made_smaller(on, measured):
                break
            measured = await on.history.measure()
        return measured

    async def _made_smaller(self, on: Compactable, measured: Measured) -> bool:
        """One pass before a request; False when it may go out as it was measured."""
        history = on.history
        plan = self._wanted(history, measured)
        if history.governor.is_fixed(measured):
            await self._notices.give(FIXED_PART, history, measured)
            plan = plan if plan and plan.texts_only else None
        elif history.governor.is_stuck(measured):
            if history.governor.is_stopped:
                await self._notices.give(STOPPED, history, measured)
            elif measured.reading.fixed_tokens >= MUCH_FIXED * measured.reading.window.tokens:
                await self._notices.give(NO_ROOM, history, measured)  # else it passes with the turn that is so long
        urgency = _urgency(plan)
        match self._background.next_move(history.version, urgency):
            case Move.GO_ON:
                return False
            case Move.START:
                assert plan is not None
                self._begin(job_for(on, measured, plan, blocks=False))
                return False
            case Move.COMPACT:
                assert plan is not None
                job = job_for(on, measured, plan)
                await self._now(lambda: _already(job))
            case Move.WAIT:
                await self._wait(history, measured)
            case Move.APPLY:
                if urgency != "now" and _within_loop(history, measured):
                    return False
                await self._apply_ready(history)
        return True

    async def after_turn(self, on: Compactable) -> None:
        """Use the time in which the user reads: what is ready is applied, what is due begins."""
        await self._applied()
        await self._discard_stale(on.history)
        if self._background.stage is Stage.READY:
            await self._apply_ready(on.history)
        if self.running or not on.history.entries:
            return
        measured = await on.history.measure()
        plan = self._wanted(on.history, measured, turn_ended=True)
        if plan is None or plan.texts_only or on.history.governor.is_fixed(measured):
            return
        if plan.cut.trigger is Trigger.WINDOW:
            return  # the window of messages slides at the request, by its own count
        self._begin(job_for(on, measured, plan, blocks=False))

    async def catch_up(self, history: GovernedHistory) -> bool:
        """Wait for what runs beside the conversation; whether that made the history smaller."""
        before = history.version
        await self._applied()
        await self._discard_stale(history)
        if self._background.stage is Stage.READY:
            await self._apply_ready(history)
        elif self._task is not None:
            await self._wait(history, await history.measure())
        return history.version is not before

    async def finish(self) -> None:
        """Wait until nothing runs beside the conversation; what is ready then waits to be applied."""
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._applied()

    def request(self, focus: str) -> None:
        """The model asks for a compaction: it begins beside its next request."""
        self._requested = focus

    # What stops it

    def cancel(self) -> bool:
        """Stop what somebody is waiting for. False when nobody is."""
        if self._blocking is None:
            return False
        self._blocking.cancel()
        return True

    def stop(self) -> None:
        """Stop everything, also what runs beside the conversation."""
        self.cancel()
        if self._task is not None:
            self._task.cancel("stopped")

    async def discard(self, reason: str) -> None:
        """Throw away what runs beside the conversation, is ready or asked for: the history it was made for goes."""
        self._requested = None
        if self._task is not None:
            self._task.cancel(reason)
            await asyncio.wait([self._task])
        if (job := self._background.discard()) is not None:
            await self._applier.end(job, job.failed(f"discarded: {reason}", cancelled=True))
        await self._applied()

    async def settle(self, history: GovernedHistory, timeout_s: float) -> None:
        """Wait for what runs beside the conversation, then apply it; after the time given, discard it."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout_s)
        await self._discard_stale(history)
        if self._background.stage is Stage.RUNNING:
            await self.discard(f"it took longer than {timeout_s:.0f} s")
        elif self._background.stage is Stage.READY:
            await self._apply_ready(history)
        await self._applied()

    async def close(self) -> None:
        self.cancel()
        await self.discard("the session was left")

    # Deciding

    def _wanted(self, history: GovernedHistory, measured: Measured, *, turn_ended: bool = False) -> Plan | None:
        governor = history.governor
        if self._requested is not None:
            focus, self._requested = self._requested, None
            cut = cuts.share_cut(measured.live, Trigger.MODEL_REQUEST, pinned=measured.pinned)
            if cut is not None and frees_enough(governor.situation(measured), cut):
                return Plan(cut, waits=False, focus=focus)
        self._stop_or_resume(history, measured)
        plan = governor.decide(measured)
        if plan is None:
            return None
        fits = measured.reading.current_tokens <= measured.reading.window.tokens
        held = governor.policy.holds_to_turn_end and not turn_ended and fits
        return None if held else plan

    def _stop_or_resume(self, history: GovernedHistory, measured: Measured) -> None:
        """Automatic compactions stop while the last two ended too close to their mark."""
        governor = history.governor
        situation = governor.situation(measured)
        if situation.is_past_mark and is_thrashing(history.state, history.agent, situation.mark_tokens):
            governor.stop()
        elif governor.is_stopped:
            governor.resisting = range(0)

    # Doing

    def _begin(self, job: Job) -> None:
        ticket = self._background.begin(job.on.history.version)
        task = asyncio.create_task(self._beside(job, ticket), name=f"compaction of {job.on.history.session_id}")
        # One that is cancelled before its first step never runs: nobody else would tell.
        task.add_done_callback(lambda done: self._background.fail(ticket) if done.cancelled() else None)
        self._task = task

    async def _beside(self, job: Job, ticket: int) -> None:
        """A compaction beside the conversation; when no turn runs it is applied as soon as it is ready."""
        ended: CompactionComplete | None = None
        try:
            await prepare(job, self._questions)
        except asyncio.CancelledError as stopped:
            ended = job.failed(f"discarded: {stopped or 'stopped'}", cancelled=True)
        except Exception as error:
            ended = _ended_by(error, job)
        if self._task is asyncio.current_task():
            self._task = None
        if ended is not None:
            self._background.fail(ticket)
            async with self._rewriting:
                await self._applier.end(job, ended)
            return
        self._background.finish(ticket, job)
        if not job.on.history.in_turn:
            await self._apply_ready(job.on.history)

    async def _now(self, wish: Callable[[], Awaitable[Job]]) -> CompactionComplete:
        """A compaction somebody waits for. Until it is applied, cancelling leaves everything as it was."""
        run = _Run(wish)
        task = self._blocking = asyncio.create_task(self._prepared(run), name="compaction that is waited for")
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:  # whoever waited is gone, too
            task.cancel()
            await asyncio.wait([task])
            if run.job is not None:
                await self._applier.end(run.job, run.job.failed(cancelled=True))
            raise
        finally:
            self._blocking = None
        if run.job is None:
            return _unheard(task)
        async with self._rewriting:
            if task.cancelled():
                return await self._applier.end(run.job, run.job.failed(cancelled=True))
            if (error := task.exception()) is not None:
                return await self._applier.end(run.job, _ended_by(error, run.job))
            return await run_to_completion(self._applier.apply(run.job))

    async def _prepared(self, run: "_Run") -> None:
        run.job = await run.wish()
        await prepare(run.job, self._questions)

    async def _wait(self, history: GovernedHistory, measured: Measured) -> None:
        """The request cannot go on without what runs beside it."""
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
        if self._background.is_stale(history.version):
            await self.discard("the history changed meanwhile")

    async def _applied(self) -> None:
        """What is being applied right now is neither running nor ready any more: wait until it is done."""
        async with self._rewriting:
            pass

    async def _apply_ready(self, history: GovernedHistory, waited_ms: int = 0) -> None:
        async with self._rewriting:
            job = self._background.take(history.version)
            if job is not None:
                await run_to_completion(self._applier.apply(job, waited_ms=waited_ms))


async def _wished(on: Compactable, trigger: Trigger, focus: str, upto: Ref | None) -> Job:
    """Raises `CompactionRefused` when there is nothing to replace."""
    history = on.history
    measured = await history.measure()
    if upto is not None:
        cut = cut_up_to(history.entries, measured, trigger, upto)
    else:
        cut = requested_cut(history.governor, measured, trigger)
    if cut is None:
        raise CompactionRefused("There is nothing to compact: what is left is pinned, or was not answered yet.")
    return job_for(on, measured, Plan(cut, waits=True, focus=focus))


def _within_loop(history: GovernedHistory, measured: Measured) -> bool:
    """Whether what is ready waits for the next turn: by turns, it takes effect from the next one on (G3e)."""
    return history.policy.rule is CompactionRule.TURNS and bool(measured.live) and not is_prompt(measured.live[-1])


def _urgency(plan: Plan | None) -> Wanted:
    if plan is None:
        return ""
    return "now" if plan.waits or plan.texts_only else "beside"


async def _already(job: Job) -> Job:
    return job


def _ended_by(error: BaseException, job: Job) -> CompactionComplete:
    """What went wrong, without anything that must not be told. What the user declined is cancelled, not failed."""
    if isinstance(error, Stopped) or not isinstance(error, Exception):
        return job.failed(str(error), cancelled=isinstance(error, Declined))
    return job.failed(classify(error, job.on.history.asked)[0].sentence)


def _unheard(task: asyncio.Task[None]) -> CompactionComplete:
    """The end of one that never began: refused, or cancelled before it could be told."""
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
    return CompactionComplete(success=False, cancelled=True)
