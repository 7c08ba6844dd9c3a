"""Every fact a session can record or announce. A new one is a class in this room and its name in `Fact`."""

from typing import TypeAlias, get_args

from co_tui.events.facts import agents, board, context, conversation, life
from co_tui.events.facts.base import Announced, DeclaredFact, Json, Logged


class Unknown(Logged):
    """An event this version does not know, kept exactly as it was written."""

    type: str
    version: int
    payload: Json


Fact: TypeAlias = (
    life.SessionStart
    | life.SessionResume
    | life.SessionFork
    | life.SessionRename
    | life.SessionPinned
    | life.SessionTrashed
    | life.SessionEnd
    | life.ModelChange
    | life.PolicyChange
    | life.ModeChange
    | life.QueueChanged
    | life.PromptReturned
    | conversation.Message
    | conversation.MessageNotSaved
    | conversation.StreamDelta
    | conversation.StreamReset
    | conversation.ToolActivity
    | conversation.ToolOutput
    | conversation.CommandOutput
    | conversation.SessionError
    | conversation.SessionInterrupted
    | conversation.HookRun
    | context.UsageInfo
    | context.Truncation
    | context.Recollection
    | context.ArtifactStored
    | context.MemoryWritten
    | board.BoardShown
    | board.BoardChanged
    | board.BoardProgress
    | context.CompactionStart
    | context.CompactionWait
    | context.MemoryReleased
    | context.CompactionComplete
    | context.CompactionUndone
    | context.Pin
    | context.Clear
    | context.Rewind
    | agents.ApprovalRequested
    | agents.ApprovalDecided
    | agents.ApprovalRevoked
    | agents.DelegationStart
    | agents.DelegationEnd
    | agents.PlanChanged
    | Unknown
)
"""The one list: everything that has to know all facts takes them from here."""

BY_TYPE: dict[str, type[DeclaredFact]] = {kind.TYPE: kind for kind in get_args(Fact) if kind.TYPE}


def agent_of(fact: Fact) -> str:
    """The delegation a fact belongs to; empty for the main agent's, and for those of nobody's."""
    return str(getattr(fact, "agent", ""))


def is_durable(fact: Fact) -> bool:
    """Whether the fact belongs to the log; the others are only announced to who is listening."""
    return not isinstance(fact, Announced)
