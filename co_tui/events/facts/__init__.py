"""Every fact a session can log or announce. To add one, write a class in this package and list it in `Fact`."""

from typing import TypeAlias, get_args

from co_tui.events.facts import agents, board, context, conversation, files, life
from co_tui.events.facts.base import Announced, DeclaredFact, Json, Logged
from co_tui.events.symbols import EntryKind, EntryStyle
from co_tui.events.wording import ExportEntry, long, short


class Unknown(Logged):
    """An event of a newer version, kept exactly as written."""

    type: str
    version: int
    payload: Json
    ENTRY = EntryStyle("?", EntryKind.SESSION, is_quiet=True)

    def timeline_text(self) -> str:
        return f"newer event\n{short(self.type)}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(long(self.type))


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
    | life.FoldersChanged
    | life.QueueChanged
    | life.PromptReturned
    | conversation.Message
    | conversation.MessageNotSaved
    | conversation.CallOutcome
    | conversation.TurnEnded
    | conversation.StreamDelta
    | conversation.StreamReset
    | conversation.ToolActivity
    | conversation.ToolOutput
    | conversation.CommandOutput
    | conversation.SessionError
    | conversation.SessionInterrupted
    | conversation.HookRun
    | conversation.BackgroundNews
    | context.UsageInfo
    | context.RequestBilled
    | context.Truncation
    | context.Recollection
    | context.ArtifactStored
    | context.MemoryWritten
    | life.Surroundings
    | board.BoardShown
    | board.BoardChanged
    | board.BoardProgress
    | context.CompactionStart
    | context.CompactionWait
    | context.SpentToday
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
    | agents.AgentTransfer
    | agents.PlanChanged
    | files.FilesChanged
    | files.FilesRestored
    | Unknown
)
"""The only list of facts: everything that needs all of them reads it from here."""

BY_TYPE: dict[str, type[DeclaredFact]] = {kind.TYPE: kind for kind in get_args(Fact) if kind.TYPE}


def agent_of(fact: Fact) -> str:
    """The delegation a fact belongs to; empty for the main agent and for facts without an agent."""
    return str(getattr(fact, "agent", ""))


def is_durable(fact: Fact) -> bool:
    """Whether the fact is logged; the others are only announced to subscribers."""
    return not isinstance(fact, Announced)
