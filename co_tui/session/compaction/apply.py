"""The one moment in which a compaction happens: the history rewritten by one event, its checkpoint written first."""

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.agent.prices import price_of_input
from co_tui.agent.summariser import Written
from co_tui.context.count import Reading
from co_tui.context.cuts import Cut
from co_tui.context.decide import Plan
from co_tui.context.request import Measured
from co_tui.context.turns import step_around
from co_tui.events import CompactionComplete, Event, MemoryWritten, Ref, SessionError
from co_tui.session.classify import classify
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.summaries import Summary
from co_tui.session.runtime import Runtime
from co_tui.session.state.history_edits import standing_compactions
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.state.session_state import SessionState
from co_tui.store.checkpoints import CheckpointFailed, Checkpoints
from co_tui.store.errors import StoreError
from co_tui.store.memory import DailyMemory, MemoryFailed

MUST_FREE = frozenset({"background", "blocking"})
"""Triggers whose compaction is only worth it when it frees a tenth of the conversation."""


@dataclass(slots=True)
class Job:
    """One compaction on its way."""

    runtime: Runtime
    plan: Plan
    refs: frozenset[Ref]
    """The messages that will be replaced, by their identity in the log."""
    messages: list[ModelMessage]
    reading: Reading
    """Of the history it is about to change."""
    history_messages: int
    trigger: str
    focus: str = ""
    blocks: bool = True
    with_primary: bool = False
    """On demand the model that answers writes the summary; otherwise the one set for summaries, if any."""
    began: float = field(default_factory=time.monotonic)
    span: telemetry.CompactionSpan = field(default_factory=telemetry.CompactionSpan)
    started: bool = False
    """Whether its start is in the log."""
    summary: Summary | None = None
    bill: Written = field(default_factory=Written)
    """What was asked of a model for it."""

    def unchanged(self, fact: CompactionComplete) -> CompactionComplete:
        """The figures of one that left everything as it was."""
        tokens, messages = self.reading.current_tokens, self.history_messages
        return fact.but(pre_tokens=tokens, post_tokens=tokens, pre_messages=messages, post_messages=messages)


class Applier:
    """Applies summaries, and logs how compactions end."""

    def __init__(self, checkpoints: Checkpoints, memory: DailyMemory) -> None:
        self._checkpoints = checkpoints
        self._memory = memory
        self.extras: Mapping[str, str] = {}
        """What goes on beside the summary, by title: plan, todo list, skills, sub-agents."""

    async def apply(self, runtime: Runtime, job: Job, *, waited_ms: int | None = None) -> CompactionComplete:
        """Replace what was summarised; what arrived meanwhile follows as it is. In any case it ends in the log."""
        try:
            return await self._apply(runtime, job, waited_ms)
        except StoreError:
            raise  # what cannot be logged must not go on
        except Exception as error:
            return await self.end(runtime, job, error=classify(error, runtime.model_handle.asked)[0].sentence)

    async def _apply(self, runtime: Runtime, job: Job, waited_ms: int | None) -> CompactionComplete:
        assert job.summary is not None
        measured = await runtime.measure()
        cut = Cut(_places(runtime, measured, job.refs), job.trigger)
        if not cut.replaced:
            return await self.end(runtime, job, error="what it would have replaced is gone")
        plan: Plan | None = job.plan._replace(cut=cut)
        if not job.summary.text and not job.plan.texts_only:
            plan = runtime.governor.fallback_cut(measured, job.plan._replace(cut=cut))
        if plan is None:
            return await self.end(
                runtime, job, error="nobody could summarise, and all of it is within the fixed limits"
            )
        done = runtime.governor.replace(
            measured.live,
            plan,
            job.summary.text or None,
            extras=self.extras,
            pinned=measured.pinned,
        )
        if not done.replaced or runtime.governor.freed(measured, done) <= 0:
            return await self.end(runtime, job, error="it would not have made the context smaller")
        if job.trigger in MUST_FREE and not runtime.governor.frees_enough(measured, done):
            return await self.end(runtime, job, error="it would have freed less than a tenth of the conversation")
        after = await runtime.measure_as(done.applied(measured.live))
        history = runtime.state.history
        replaced = tuple(history[index].ref for index in runtime.governor.replaced_of(measured, done))
        before_messages = len(history)
        removed = len(replaced) - len(done.messages)
        pre, post = measured.reading.current_tokens, after.reading.current_tokens
        fact = CompactionComplete(
            success=True,
            note=job.summary.note,
            trigger=job.trigger,
            pre_tokens=pre,
            post_tokens=post,
            pre_messages=before_messages,
            post_messages=before_messages - removed,
            tokens_removed=pre - post,
            messages_removed=removed,
            replaced=replaced,
            replacement=tuple(message_json(message) for message in done.messages),
            summary=job.summary.text,
            summarised_by=job.summary.by,
            waited_ms=since(job.began) if job.blocks else waited_ms or 0,
            edited=job.summary.edited,
            cache_lost_tokens=(runtime.state.usage.cached_tokens or 0) if runtime.state.usage else 0,
            saved_cost=_saved(measured.live, pre - post),
        )
        complete = await self.end(runtime, job, fact)
        if runtime.settings.compaction == "turns" and job.summary.text:
            await self.remember(runtime, job.summary.text, f"Left the context ({job.trigger})")
        await runtime.report(after.reading)
        return complete

    async def end(
        self,
        runtime: Runtime,
        job: Job,
        fact: CompactionComplete | None = None,
        *,
        error: str = "",
    ) -> CompactionComplete:
        """Log how it ended, with what it cost; a success gets its checkpoint first, so that the log can name it."""
        fact = fact or CompactionComplete(success=False, error=error, trigger=job.trigger)
        if not fact.success:
            fact = job.unchanged(fact)
        fact = fact.but(
            model=runtime.model_handle.name,
            duration_ms=since(job.began),
            usage=job.bill.usage if job.bill.requests else {},
            cost=job.bill.cost,
            request_id=job.bill.request_id,
        )
        fact = await self.with_checkpoint(runtime, fact, job.summary.title if job.summary else "")
        if not fact.success:
            runtime.governor.resist(len(runtime.state.history))  # not again before something was added
        if job.started:
            await runtime.recorder.record(fact)
        job.span.end(
            {name: getattr(fact, name) for name in telemetry.NAMES if hasattr(fact, name)},
            "" if fact.success or fact.cancelled else "compaction_failed",
        )
        return fact

    async def with_checkpoint(self, runtime: Runtime, fact: CompactionComplete, title: str = "") -> CompactionComplete:
        """A success with a summary, its checkpoint written; anything else as it is."""
        if not fact.success or not fact.summary:
            return fact
        return await asyncio.to_thread(self._checkpointed, runtime, fact, title or runtime.state.title)

    def _checkpointed(self, runtime: Runtime, fact: CompactionComplete, title: str) -> CompactionComplete:
        # Numbers are never given out twice: one that was taken back may come back.
        number = 1 + len(_files(runtime.state.compactions))
        facts = {
            "time": f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
            "trigger": fact.trigger,
            "tokens before": fact.pre_tokens,
            "tokens after": fact.post_tokens,
            "messages replaced": len(fact.replaced),
            "summarised by": fact.summarised_by,
        }
        workspace = _workspace(runtime.session_id, runtime.state)
        try:
            self._checkpoints.align(_standing_files(runtime.state), workspace)
            kept = self._checkpoints.write(number, title, fact.summary, facts=facts, workspace=workspace)
        except CheckpointFailed as failed:
            return fact.but(note=" ".join(filter(None, (fact.note, str(failed)))))
        return fact.but(checkpoint_number=kept.number, checkpoint_path=str(kept.path))

    async def align(self, runtime: Runtime) -> None:
        """Bring the checkpoint files in line with the history, after something was taken back."""
        state = runtime.state
        try:
            await asyncio.to_thread(
                self._checkpoints.align, _standing_files(state), _workspace(runtime.session_id, state)
            )
        except CheckpointFailed as failed:
            await runtime.recorder.record(
                SessionError(what=str(failed), kind="checkpoint", outcome="the session goes on")
            )

    def carry(self, folder: Path, state: SessionState) -> None:
        """Give a fork, whose own folder and state these are, the checkpoints it rests on; raises `CheckpointFailed`."""
        copy = self._checkpoints.copy_to(folder, _files(state.compactions))
        copy.align(_standing_files(state), _workspace(state.session_id, state))

    async def remember(self, runtime: Runtime, text: str, heading: str) -> None:
        """Write what leaves the context into the daily memory."""
        now = datetime.now().astimezone()
        try:
            path = await asyncio.to_thread(
                self._memory.append, text, session_id=runtime.session_id, heading=heading, when=now
            )
        except MemoryFailed as failed:
            await runtime.recorder.record(SessionError(what=str(failed), kind="memory", outcome="the session goes on"))
        else:
            await runtime.recorder.record(
                MemoryWritten(what=heading, where=str(path), outcome=f"{len(text)} characters")
            )


def _standing_files(state: SessionState) -> list[str]:
    """The checkpoints of the compactions on which the history rests, by file name."""
    return _files(standing_compactions(state))


def _files(compactions: Iterable[Event]) -> list[str]:
    facts = (event.fact for event in compactions)
    paths = (fact.checkpoint_path for fact in facts if isinstance(fact, CompactionComplete))
    return [Path(path).name for path in paths if path]


def _workspace(session_id: str, state: SessionState) -> dict[str, str]:
    return {
        "session_id": session_id,
        "title": state.title,
        "cwd": state.cwd,
        "repository": state.repository,
        "branch": state.branch,
    }


def _places(runtime: Runtime, measured: Measured, refs: Collection[Ref]) -> tuple[int, ...]:
    """Where the messages stand now, but for what was pinned since.

    An answer that repair added goes with the message it follows.
    """
    history = runtime.state.history
    kept = {near for pin in measured.pinned for near in step_around(measured.live, pin)}
    places: list[int] = []
    for index, origin in enumerate(measured.origins):
        follows = origin is None and places and places[-1] == index - 1
        if index in kept:
            continue
        if follows or (origin is not None and history[origin].ref in refs):
            places.append(index)
    return tuple(places)


def _saved(live: Sequence[ModelMessage], tokens: int) -> float | None:
    """What a request costs less without so many tokens, at the prices of the model that spoke last."""
    spoke = next((message for message in reversed(live) if isinstance(message, ModelResponse)), None)
    return price_of_input(spoke, tokens) if spoke is not None and tokens > 0 else None


def since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
