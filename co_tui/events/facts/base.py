"""Base classes of facts: frozen records with a type, a version, and whether they are logged.

A field named like a Python keyword ends in an underscore; its JSON key does not.
Adding a field with a default is compatible and keeps `VERSION`. Changing what a field means raises `VERSION`
and adds an upgrade to the class, so that older logs still replay.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

from co_tui.events.storable import Json as Json
from co_tui.events.symbols import EntryStyle
from co_tui.events.wording import ExportEntry, long, short
from co_tui.record import Record

NOTHING: Final[Json] = {}

Ref: TypeAlias = tuple[int, int]
"""A message's identity: the seq of its event, and its index among that event's messages."""

MARK: Final = "mark"
"""The field of facts that decide something: made with the key of the machine that wrote them, see `decisions`."""

Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class DeclaredFact(Record):
    """Declared once per class and read by the codec, the log and the readers.

    A field `agent` is empty for the main agent, otherwise it names a delegation.
    """

    TYPE: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    UPGRADES: ClassVar[Mapping[int, Upgrade]] = {}
    """Version → function that turns its payload into that of the next version."""
    ENTRY: ClassVar[EntryStyle | None] = None
    """How it appears on the timeline; None if it does not."""

    def entry(self) -> EntryStyle | None:
        """Overridden where `ENTRY` depends on the fields."""
        return self.ENTRY

    @property
    def symbol(self) -> str:
        """Empty if it is not on the timeline."""
        style = self.entry()
        return style.symbol if style else ""

    def timeline_text(self) -> str:
        """What happened on the first line, figures below; empty if it is not on the timeline."""
        return ""

    def export_entry(self) -> ExportEntry | None:
        """What an exported conversation says about it; None for nothing."""
        return None


class Logged(DeclaredFact):
    """A fact that is logged. Each declares `ENTRY`, `timeline_text` and `export_entry`; test_facts.py checks that."""

    NEEDS_SESSION: ClassVar[bool] = False
    """It changes a stored session and cannot begin a log: a deleted session stays deleted."""


class Announced(DeclaredFact):
    """A fact that is published to subscribers and never logged."""


class Occurrence(Logged):
    """Something that happened outside the conversation: what, where, and the outcome."""

    what: str
    where: str = ""
    outcome: str = ""

    def timeline_text(self) -> str:
        return f"{short(self.what)}\n{short(self.outcome)}"

    def export_entry(self) -> ExportEntry | None:
        return ExportEntry(long(" · ".join(filter(None, (self.what, self.where, self.outcome)))))
