"""What is known about the messages of a session that the model no longer sees; `out_of_context` finds them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState

DOES_NOT_FIT: Final = "does not fit"
NEVER_SENT: Final = "never sent"
"""Why a message is left out of requests although it is in the history: it is too long, or no provider takes it."""


class Removal(NamedTuple):
    """Why a message is not sent."""

    reason: str
    """Such as `summarised`; empty if the log does not say."""
    seq: int
    """The event that removed it, or its last trace: a summary may itself have been summarised or cleared."""


class RemovedGroup(NamedTuple):
    """All messages that one event removed."""

    removal: Removal
    messages: int
    """How many: for a clearing or a rewind those it removed from the context, which may include summaries."""
    undoable: int
    """How many of them `/undo` would bring back."""


class OutOfContext(NamedTuple):
    """What the next request lacks of all that was said."""

    removals: Mapping[int, Removal] = MappingProxyType({})
    """By the seq of the message."""
    groups: tuple[RemovedGroup, ...] = ()
    undone: frozenset[int] = frozenset()
    """The compactions that were undone or rewound."""
    compactions: int = 0
    """How many compactions the history builds on."""
    quoted: frozenset[int] = frozenset()
    """The removed prompts whose words a summary quotes in full: the model still sees those."""


NOTHING_REMOVED: Final = OutOfContext()


def is_same_context(one: "SessionState", other: "SessionState") -> bool:
    """Whether the same messages are out of context in two states; messages added since do not matter."""
    return (
        one.history.lineage is other.history.lineage
        and (one.rewrites is other.rewrites or _seqs(one) == _seqs(other))  # their messages may have been packed since
        and one.held_out is other.held_out
    )


def _seqs(state: "SessionState") -> list[int]:
    return [rewrite.seq for rewrite in state.rewrites]
