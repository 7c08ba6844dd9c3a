"""Which words a deletion is about: it carries a short digest of each event of the conversation that was deleted.

So another copy of the session can be compared with one that is gone, and a user cannot delete a session they never saw.
"""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, TypeAlias

from co_tui.events import Event
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.branches import CONVERSATION

Tip: TypeAlias = tuple[int, str, str]
"""Seq, type and timestamp of an event."""
DIGEST_CHARS: Final = 4
MOST_CHARS: Final = 400_000
"""Of the digests of one session. What was said after them becomes a fork."""
SAID_TYPES: Final = tuple(fact.TYPE for fact in CONVERSATION)


def digests(tips: Iterable[Tip]) -> str:
    """Of the first event of a log and all of its conversation, in order."""
    return "".join(map(_digest, _compared(tips)))[:MOST_CHARS]


def deleted_upto(deletion: Deletion, tips: Iterable[Tip]) -> int | None:
    """The last event of a log that was deleted; None if the log is not the one that was deleted, not even its start.

    A deletion of an earlier version has no digests: there, the seq decides.
    """
    if not deletion.said:
        return deletion.seq
    said = deletion.said
    deleted = (said[start : start + DIGEST_CHARS] for start in range(0, len(said), DIGEST_CHARS))
    pairs = takewhile(lambda pair: _digest(pair[0]) == pair[1], zip(_compared(tips), deleted, strict=False))
    return max((tip[0] for tip, _ in pairs), default=None)


def tips_of(log: Iterable[Event]) -> Iterator[Tip]:
    return ((event.seq or 0, event.type, event.timestamp) for event in log)


def _compared(tips: Iterable[Tip]) -> Iterator[Tip]:
    return (tip for tip in tips if tip[0] == 1 or tip[1] in SAID_TYPES)


def _digest(tip: Tip) -> str:
    _, kind, timestamp = tip  # what was only renamed or pinned elsewhere moves the seqs
    digest = hashlib.sha256(f"{kind} {timestamp}".encode(errors="replace")).digest()
    return urlsafe_b64encode(digest).decode()[:DIGEST_CHARS]
