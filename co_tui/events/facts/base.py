"""Base classes of facts: frozen records with a type, a version, and whether they are logged.

A field named like a Python keyword ends in an underscore; its JSON key does not.
Adding a field with a default is compatible and keeps `VERSION`. Changing what a field means raises `VERSION`
and adds an upgrade to the class, so that older logs still replay.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

from co_tui.record import Record

Json: TypeAlias = Mapping[str, Any]
NOTHING: Final[Json] = {}

Ref: TypeAlias = tuple[int, int]
"""A message's identity: the seq of its event, and its index among that event's messages."""

Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class DeclaredFact(Record):
    """Declared once per class and read by the codec, the log and the readers.

    A field `agent` is empty for the main agent, otherwise it names a delegation.
    """

    TYPE: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    UPGRADES: ClassVar[Mapping[int, Upgrade]] = {}
    """Version → function that turns its payload into that of the next version."""


class Logged(DeclaredFact):
    """A fact that is logged."""


class Announced(DeclaredFact):
    """A fact that is published to subscribers and never logged."""


class Occurrence(Logged):
    """Something that happened outside the conversation: what, where, and the outcome."""

    what: str
    where: str = ""
    outcome: str = ""
