"""One compaction in progress, and what it works on."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pydantic_ai.messages import ModelMessage

from co_tui.context.compact.decide import Plan
from co_tui.context.measure.count import Reading
from co_tui.context.measure.meter import Meter
from co_tui.context.request.pipeline import Measured, in_history
from co_tui.events import CompactionComplete, Json, Ref
from co_tui.events.triggers import Trigger
from co_tui.session.bills import Bill
from co_tui.session.compaction import telemetry
from co_tui.session.compaction.hooks import NO_HOOKS, Hooks
from co_tui.session.compaction.notes import Conversation
from co_tui.session.compaction.summaries import Summary, SummaryRequest
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state.session_state import Entry
from co_tui.settings.hook_entries import PRE_COMPACT, capitalised, permission_mode


class SummaryWriter(Protocol):
    """Writes summaries. One without text means that there is none: then the policy's fallback applies."""

    async def write(self, request: SummaryRequest, trigger: Trigger) -> Summary: ...


ReadSkills = Callable[[], Awaitable[Mapping[str, str]]]
"""Returns the instructions of every skill, by name."""


async def no_skills() -> Mapping[str, str]:
    return {}


class Compactable(NamedTuple):
    """A history to compact, what summarises it, and the hooks to run first."""

    history: GovernedHistory
    summaries: SummaryWriter
    hooks: Hooks = NO_HOOKS
    read_skills: ReadSkills = no_skills


@dataclass(slots=True)
class Job:
    """What one compaction replaces, and what became of it so far: filled in step by step."""

    plan: Plan
    refs: frozenset[Ref]
    """The messages to replace, by their identity in the log."""
    messages: Sequence[ModelMessage]
    """Those of them to summarise; none if they are only removed."""
    reading: Reading
    """The measurement of the history before the compaction."""
    history_messages: int
    kept_tokens: float
    """Of the messages that stay."""
    trigger: Trigger
    focus: str = ""
    blocks: bool = True
    by_code: bool = False
    """Whether no model is asked, since a request is about to be sent."""
    began: float = field(default_factory=time.monotonic)
    span: telemetry.CompactionSpan = field(default_factory=telemetry.CompactionSpan)
    started: bool = False
    """Whether its start is in the log."""
    joins: bool = False
    """Whether the messages left before, and the summary joins the first prompt that is left."""
    supersedes: int = 0
    """The event of the compaction that this one completes."""
    is_remembered: bool = False
    """Whether its summary went to the daily memory."""
    conversation: Conversation | None = None
    """The conversation when it began, which the session's model continues with its note."""
    summary: Summary | None = None
    bill: Bill = field(default_factory=Bill)
    """The model requests made for it."""

    def failed(self, error: str = "", *, cancelled: bool = False) -> CompactionComplete:
        """The fact for a compaction that changed nothing."""
        tokens, messages = self.reading.current_tokens, self.history_messages
        return CompactionComplete(
            success=False,
            cancelled=cancelled,
            error=error,
            trigger=self.trigger,
            focus=self.focus,
            pre_tokens=tokens,
            post_tokens=tokens,
            pre_messages=messages,
            post_messages=messages,
        )

    def hook_payload(self, session_id: str, mode: str) -> Json:
        """What a hook gets as input."""
        return {
            "hook_event_name": capitalised(PRE_COMPACT),
            "permission_mode": permission_mode(mode),
            "trigger": self.trigger,
            "session_id": session_id,
            "focus": self.focus,
            "messages": len(self.refs),
            "share": round(self.reading.share, 4),
        }


class Compaction(NamedTuple):
    """A job, and the history it was made from; that is unchanged until the job is applied."""

    job: Job
    on: Compactable

    @property
    def history(self) -> GovernedHistory:
        return self.on.history


def planned(
    on: Compactable, measured: Measured, plan: Plan, *, blocks: bool = True, by_code: bool = False
) -> Compaction:
    """The compaction that a plan asks for."""
    history = on.history
    job = _job(history.entries, history.governor.meter, measured, plan, blocks, by_code)
    job.bill = Bill(agent=history.agent, record=history.recorder.record_eventually)
    return Compaction(job, on)


def _job(entries: Sequence[Entry], meter: Meter, measured: Measured, plan: Plan, blocks: bool, by_code: bool) -> Job:
    replaced = [measured.live[index] for index in plan.cut.replaced]
    messages = [measured.live[index] for index in plan.cut.replaced if index not in plan.cut.dropped]
    trigger = plan.cut.trigger
    return Job(
        plan=plan,
        refs=frozenset(entries[index].ref for index in in_history(measured, plan.cut.replaced)),
        messages=messages,
        reading=measured.reading,
        history_messages=len(entries),
        kept_tokens=measured.reading.current_tokens - sum(map(meter.tokens, replaced)),
        trigger=Trigger.BACKGROUND if trigger is Trigger.BLOCKING and not blocks else trigger,
        focus=plan.focus,
        blocks=blocks,
        by_code=by_code,
    )


def following(job: Job, history: GovernedHistory, reading: Reading, *, joins: bool = False) -> Job:
    """The job of a summary that completes what the newest rewrite of the history began: it replaces what was put there
    until it is ready, or `joins` the first prompt."""
    rewrite = history.state.rewrites[-1]
    made = rewrite.event.fact
    assert isinstance(made, CompactionComplete)
    return Job(
        plan=job.plan,
        refs=frozenset((rewrite.seq, index) for index in range(len(made.replacement))),
        messages=job.messages,
        reading=reading,
        history_messages=len(history.entries),
        kept_tokens=job.kept_tokens,
        trigger=job.trigger,
        focus=job.focus,
        blocks=False,
        joins=joins,
        supersedes=rewrite.seq,
        bill=Bill(agent=history.agent, record=history.recorder.record_eventually),
    )


def since(began: float) -> int:
    """Milliseconds."""
    return round((time.monotonic() - began) * 1000)
