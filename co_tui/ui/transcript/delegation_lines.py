"""Shows delegations in the block of the delegating call: a live status line, and the delegate's steps in the fold."""

from dataclasses import dataclass, field
from datetime import datetime

from co_tui.events import (
    DELEGATION_SEPARATOR,
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    CompactionStart,
    DelegationEnd,
    DelegationStart,
    Json,
    SessionError,
    ToolActivity,
    ToolOutput,
    UsageInfo,
)
from co_tui.events.file_diff import diff_in
from co_tui.events.stored_messages import pieces
from co_tui.events.tool_calls import call_line, tool_label
from co_tui.events.tool_wording import (
    BETWEEN_FIGURES,
    CUT_SHORT,
    FAILED,
    call_summary,
    change_summary,
    last_output_line,
)
from co_tui.events.wording import money
from co_tui.inert import inert, one_line
from co_tui.ui.formatting import counted, elapsed, tokens
from co_tui.ui.gauge.gauge_reading import GaugeReading
from co_tui.ui.transcript.block import Block

GIST_CHARS = 30
"""Leaves room on 80 columns for the call and for how full its context is."""
LINE_CHARS = 200
CONTEXT_CHARS = 20
REASON_CHARS = 60
ERROR_CHARS = 1_000
INDENT = "    "


@dataclass(slots=True)
class _Followed:
    """A delegation shown in a block."""

    block: Block
    name: str
    depth: int
    began: str
    context: str
    """What it sees: `fresh` or `conversation`."""
    calls: int = 0
    doing: str = ""
    asked: set[str] = field(default_factory=set)
    """Calls that wait for approval."""
    reading: GaugeReading = field(default_factory=GaugeReading)
    added: dict[Block, list[str]] = field(default_factory=dict)
    """Lines for the folds of blocks; of all delegations."""

    def add(self, text: str) -> Block:
        """Append lines to the fold, once they are all there."""
        lines = self.added.setdefault(self.block, [])
        lines += [INDENT * (self.depth + 1) + line for line in text.split("\n")]
        return self.block

    def show(self) -> Block:
        """Show what it is doing on the status line, with how full its context is."""
        who = f"{self.name}: " if self.depth else ""
        gist = one_line(who + ("approval pending" if self.asked else self.doing), GIST_CHARS)
        figures = (gist, self.context, self.reading.amount if self.reading.usage else "")
        self.block.status = BETWEEN_FIGURES.join(filter(None, figures))
        return self.block


class DelegationLines:
    """Tracks a session's delegations; each is shown in the block of its outermost call."""

    def __init__(self) -> None:
        self._followed: dict[str, _Followed] = {}
        self._added: dict[Block, list[str]] = {}

    def settle(self) -> None:
        """Put the lines that were added into the folds: all at once, since a fold may be long."""
        for block in list(self._added):
            self.settle_in(block)

    def settle_in(self, block: Block) -> None:
        """The same for one block."""
        if lines := self._added.pop(block, None):
            block.inner = block.result = "\n".join((block.inner, *lines) if block.inner else lines)

    def start(self, fact: DelegationStart, call: Block | None, at: str = "") -> Block | None:
        asking = self._followed.get(fact.agent.rpartition(DELEGATION_SEPARATOR)[0])
        block = asking.block if asking is not None else call
        if block is None:
            return None
        depth = asking.depth + 1 if asking is not None else 0
        context = one_line(fact.context, CONTEXT_CHARS)
        self._followed[fact.agent] = followed = _Followed(block, _name(fact), depth, at, context, added=self._added)
        for file in fact.files:
            followed.add(f"· with {one_line(file, LINE_CHARS)}")
        return self._shows(fact.agent, "asked")

    def said(self, agent: str, message: Json) -> Block | None:
        """Add a delegate's message."""
        followed = self._followed.get(agent)
        if followed is None:
            return None
        for role, text, part in pieces(message):
            if role == "tool_call":
                followed.calls += 1
                name = str(part.get("tool_name", ""))
                followed.add(f"▸ {call_line(name, call_summary(name, text))}")
            elif role == "tool_result":
                followed.add(f"  ↳ {_returned(text, diff_in(part))}")
            elif role == "assistant" and text.strip():
                followed.add(inert(text).strip())
        return followed.block

    def active(self, fact: ToolActivity) -> Block | None:
        if fact.stage != "started":
            followed = self._followed.get(fact.agent)
            return followed.block if followed is not None else None
        return self._shows(fact.agent, f"{tool_label(fact.tool_name)} {call_summary(fact.tool_name, fact.text)}")

    def says(self, fact: ToolOutput) -> Block | None:
        """Show the output of its running command."""
        return self._shows(fact.agent, last_output_line(fact.text))

    def measured(self, fact: UsageInfo) -> Block | None:
        """Show how full its own context is."""
        followed = self._followed.get(fact.agent)
        if followed is None:
            return None
        followed.reading = GaugeReading(usage=fact)
        return followed.show()

    def compacts(self, fact: CompactionStart | CompactionComplete) -> Block | None:
        """Its context is being compacted, or was."""
        if isinstance(fact, CompactionStart):
            return self._shows(fact.agent, "compacting")
        followed = self._followed.get(fact.agent)
        return followed.add(f"· {inert(fact.outcome_sentence())}") if followed is not None else None

    def failed(self, fact: SessionError) -> Block | None:
        """Add an error, and what happens next."""
        followed = self._followed.get(fact.agent)
        if followed is None:
            return None
        block = followed.add(f"! {one_line(fact.what, LINE_CHARS)} ({one_line(fact.outcome, LINE_CHARS)})")
        if fact.retry_in_s is not None:
            self._shows(fact.agent, fact.outcome)
            followed.doing = "trying again"  # from its next request on
        return block

    def asks(self, fact: ApprovalRequested | ApprovalDecided) -> Block | None:
        """One of its calls waits for approval, or no longer does."""
        followed = self._followed.get(fact.agent)
        if followed is None:
            return None
        if isinstance(fact, ApprovalRequested):
            followed.asked.add(fact.call_id)
        else:
            followed.asked.discard(fact.call_id)
        return followed.show()

    def end(self, fact: DelegationEnd, at: str = "") -> Block | None:
        followed = self._followed.get(fact.agent)
        if followed is None:
            return None
        used = fact.usage.get("input_tokens", 0) + fact.usage.get("output_tokens", 0)
        price = money(fact.cost) if fact.cost else ""
        worked = [followed.context, counted(followed.calls, "call"), tokens(used), price]
        if fact.outcome == FAILED and not followed.calls and not used:
            worked = []  # it never began
        figures = [_ending(fact), *worked, _took(followed.began, at)]
        ended = " · ".join(filter(None, figures))
        if followed.reading.usage is not None:
            followed.add(f"context {followed.reading.amount}, {followed.reading.percent}")
        if fact.error and fact.outcome in (FAILED, CUT_SHORT):
            followed.add(f"! {one_line(fact.error, ERROR_CHARS)}")
        if followed.depth:
            return followed.add(f"↳ {followed.name}: {ended}")
        followed.block.outcome = followed.block.status = ended
        return followed.block

    def _shows(self, agent: str, doing: str) -> Block | None:
        followed = self._followed.get(agent)
        if followed is None:
            return None
        followed.doing = doing
        return followed.show()


def _ending(fact: DelegationEnd) -> str:
    """How it ended, and why if it failed. Figures follow, so the reason must not look like one."""
    if fact.outcome != FAILED or not fact.error:
        return fact.outcome
    return f"{FAILED}: {one_line(fact.error, REASON_CHARS).replace(BETWEEN_FIGURES, ', ')}"


def _returned(text: str, diff: str) -> str:
    """What a delegate's call returned, in a few words."""
    if diff:
        return change_summary(diff)
    lines = text.count("\n") + 1
    return counted(lines, "line") if lines > 1 else one_line(text, LINE_CHARS)


def _took(began: str, ended: str) -> str:
    """The time between two timestamps; empty below a second."""
    try:
        took_s = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    except (ValueError, TypeError):
        return ""
    return elapsed(took_s) if took_s >= 1 else ""


def _name(fact: DelegationStart) -> str:
    """What a delegate is called; one that is the model itself has no name of its own."""
    return "agent" if fact.name in ("", "self") else one_line(fact.name, 30)
