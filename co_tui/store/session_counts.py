"""The counters of a session's row, updated from its facts."""

from dataclasses import dataclass

from co_tui.events import (
    BoardChanged,
    CompactionComplete,
    Event,
    FoldersChanged,
    Message,
    ModeChange,
    ModelChange,
    PolicyChange,
    RequestBilled,
    Rewind,
    SessionEnd,
    SessionFork,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
    UsageInfo,
)
from co_tui.events.event import payload_of
from co_tui.events.facts.context import TURN
from co_tui.events.storable import dump
from co_tui.events.stored_messages import title_in


@dataclass(slots=True)
class SessionCounters:
    """A session's row, updated with each fact."""

    title: str = ""
    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""
    last_seq: int = 0
    turns: int = 0
    messages: int = 0
    compactions: int = 0
    tokens: int | None = None
    token_limit: int | None = None
    cost: float = 0.0
    updated: str = ""
    pinned: bool = False
    trashed: str = ""
    """When it was trashed; empty when it is not."""
    summary_cost: float = 0.0
    """The part of the cost outside of turns."""
    usage: str | None = None
    """The newest measurement, as JSON."""
    repository_id: str = ""

    def count(self, event: Event) -> None:
        self.last_seq = event.seq or self.last_seq
        self._update_listing(event)
        match fact := event.fact:
            case SessionStart() | SessionResume() | SessionFork():
                self.model, self.policy = fact.model or self.model, fact.policy or self.policy
                self.cwd, self.repository = fact.cwd or self.cwd, fact.repository or self.repository
                self.branch = fact.branch or self.branch
                self.repository_id = fact.repository_id if fact.repository else self.repository_id
            case SessionRename():
                self.title = fact.title
                self._add_extra_cost(fact.cost)
            case Message() | Rewind():
                self._count_messages(fact)
            case UsageInfo():
                self.cost += fact.cost or 0.0
                if not fact.agent:  # a delegation's context is not the session's
                    self.tokens, self.token_limit = fact.current_tokens, fact.token_limit
                    self.usage = dump(payload_of(event))
            case CompactionComplete():
                self.compactions += fact.success
                self._add_extra_cost(None if fact.billed else fact.cost)
            case BoardChanged():
                self._add_extra_cost(None if fact.billed else fact.cost)
            case RequestBilled(what=what):
                if what == TURN:
                    self.cost += fact.cost or 0.0
                else:
                    self._add_extra_cost(fact.cost)
            case ModelChange():
                self.model = fact.to
            case PolicyChange():
                self.policy = fact.to
            case _:
                pass

    def _count_messages(self, fact: Message | Rewind) -> None:
        if isinstance(fact, Rewind):
            self.messages -= min(max(0, fact.messages_again), self.messages)
            self.compactions -= min(max(0, fact.compactions_again), self.compactions)
            return
        self.messages += 1
        self.turns = max(self.turns, fact.turn)
        self.title = self.title or title_in(fact.message)

    def _add_extra_cost(self, cost: float | None) -> None:
        self.cost += cost or 0.0
        self.summary_cost += cost or 0.0

    def _update_listing(self, event: Event) -> None:
        """Update pin, trash and time; only activity in the session makes it newer."""
        match fact := event.fact:
            case SessionPinned():
                self.pinned = fact.pinned
                return
            case SessionRename() | SessionEnd() | UsageInfo() | RequestBilled() | ModeChange() | FoldersChanged():
                return
            case SessionTrashed(trashed=True):
                self.trashed = event.timestamp
                return
            case SessionResume():  # restores it; looking at a session does not make it the newest
                self.trashed = ""
                return
            case SessionTrashed():
                self.trashed = ""
            case SessionFork():
                self.pinned, self.trashed = False, ""
            case _:
                pass
        self.updated = max(self.updated, event.timestamp)
