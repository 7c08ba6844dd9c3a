"""What every fact is: a frozen record that says its type, its version, and whether it is logged.

A field whose name would be a Python keyword ends in an underscore; the JSON key does not.
Adding a field with a default is compatible and keeps `VERSION`. A change of meaning raises `VERSION`
and adds an upgrade to the class, so that older logs still replay.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeAlias

from co_tui.record import Record

Json: TypeAlias = Mapping[str, Any]
NOTHING: Final[Json] = {}

Ref: TypeAlias = tuple[int, int]
"""A message's identity: the seq of the event that brought it, and its index among that event's messages."""

Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


class DeclaredFact(Record):
    """What a class says of itself once; codec, log and readers take it from there.

    Where a fact has the field `agent`, it is empty for the main agent, else the name of a delegation.
    """

    TYPE: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    UPGRADES: ClassVar[Mapping[int, Upgrade]] = {}
    """Version → what turns that version's payload into the next one's."""


class Logged(DeclaredFact):
    """A fact that the log keeps."""


class Announced(DeclaredFact):
    """A fact that is told to who is listening, and never logged."""


class Occurrence(Logged):
    """Something that happened beside the conversation: what, where, and how it ended."""

    what: str
    where: str = ""
    outcome: str = ""
