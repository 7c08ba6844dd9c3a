"""Events outside the conversation, as entries of an exported timeline."""

from typing import NamedTuple

from co_tui.events import CompactionComplete, Event, PlanChanged


class Happening(NamedTuple):
    """One line of the timeline, and what opens below it."""

    symbol: str
    words: str
    time: str
    seq: int
    detail: str = ""
    is_compaction: bool = False
    is_plan: bool = False
    is_undone: bool = False

    @property
    def text(self) -> str:
        """What happened, and that it was undone later."""
        return f"{self.words} · undone" if self.is_undone else self.words


def happening(event: Event) -> Happening | None:
    """The event as an entry; None if it is not exported."""
    fact = event.fact
    entry = fact.export_entry()
    if entry is None:
        return None
    is_compaction = isinstance(fact, CompactionComplete) and fact.success and not fact.agent
    return Happening(
        fact.symbol,
        entry.text,
        event.timestamp,
        event.seq or 0,
        entry.detail,
        is_compaction,
        isinstance(fact, PlanChanged),
    )
