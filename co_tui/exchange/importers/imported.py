"""A session that another program wrote, as co-tui keeps it."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from co_tui.events import DelegationStart, Event, Message, Rewind
from co_tui.events.replaced import without_replaced
from co_tui.record import Record
from co_tui.store.session_counts import SessionCounters

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


class ImportRefused(Exception):
    """A file that cannot be imported; the text names it and says why."""


class ImportedSession(Record):
    """One session of a file."""

    source: str
    """The program that wrote it."""
    session_id: str
    """Under which it is stored: the same every time, so that it is stored once."""
    title: str
    messages: "list[ModelMessage]"
    """All messages in order; summaries stand where the conversation was compacted."""
    log: tuple[Event, ...]
    """The same as a log under its own times: it replays, resumes and compacts like any other."""
    skipped: int = 0
    """How many damaged lines or records were left out."""
    left_out: Mapping[str, int] = {}
    """What the program wrote but a session here cannot hold, counted by kind; kinds are words for people."""

    @property
    def message_count(self) -> int:
        """As it is listed: all messages of the log, those of delegations included, and no summaries."""
        counters = SessionCounters()
        for event in self.log:
            if isinstance(event.fact, Message | Rewind):
                counters.count(event)
        return counters.messages

    @property
    def delegation_count(self) -> int:
        return sum(isinstance(event.fact, DelegationStart) for event in without_replaced(self.log)[0])


def written(moment: datetime) -> str:
    """A time as written in the log."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
