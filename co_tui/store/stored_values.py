"""The values that a store returns."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from co_tui.events import share_of
from co_tui.events.stored_messages import Role
from co_tui.store.store_errors import SessionNotFound


class SessionRow(NamedTuple):
    """A session as listed; every number is stored in its row."""

    id: str
    title: str
    created: str
    updated: str
    model: str
    policy: str
    cwd: str
    repository: str
    branch: str
    last_seq: int
    turns: int
    messages: int
    compactions: int
    tokens: int | None
    token_limit: int | None
    cost: float
    pinned: bool = False
    trashed: str = ""
    """When it was trashed; empty when it is not."""
    summary_cost: float = 0.0
    """The part of the cost outside of turns: summaries, the title, the board."""
    repository_id: str = ""
    """The repository it works in, under the name it has on every machine; empty if unknown."""
    owner: str = ""
    """The user it belongs to, if that is another one, who shares it; empty for one's own."""
    shared: bool = False
    """Whether other users of the database can read it."""

    @property
    def share(self) -> float | None:
        """How much of the window is filled, as last measured; None before that."""
        return share_of(self.tokens, self.token_limit) if self.tokens and self.token_limit else None

    @property
    def known_cost(self) -> float | None:
        """Of turns and summaries, in US dollars; None when no price is known."""
        return self.cost or None

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "cost": self.known_cost}


class SessionFolder(NamedTuple):
    """A folder that sessions worked in, and the checkout that contains it."""

    cwd: str
    repository: str


class PreviewLine(NamedTuple):
    """A message text as a preview shows it."""

    seq: int
    role: Role
    text: str


class Preview(NamedTuple):
    """The beginning and the end of a session."""

    first_prompt: str = ""
    last: tuple[PreviewLine, ...] = ()
    """Of the user and the model, oldest first."""


class FoundMessages(NamedTuple):
    """The messages of a session that contain the most of some words."""

    words: int
    """How many of the words each contains."""
    seqs: tuple[int, ...]
    """Newest first."""


class ImportOutcome(Enum):
    """The outcome of importing a session."""

    NEW = "new"
    RESTORED = "restored"
    """It was in the trash here and was restored."""
    KNOWN = "known"
    CONTINUED = "continued"
    """The rest of its log was added to what was here."""


class Deletion(NamedTuple):
    """What was last decided about a session: it was deleted, or came back. The latest decision counts everywhere."""

    session_id: str
    at: str
    """When, as a timestamp."""
    seq: int = 0
    """The last event of its conversation: what was said elsewhere after it becomes a fork."""
    is_deleted: bool = True
    said: str = ""
    """Digests of what was deleted, from `deleted_words`; empty if an earlier version deleted it."""

    @property
    def age(self) -> tuple[str, bool]:
        """The highest counts; of two at the same moment, that to delete."""
        return self.at, self.is_deleted


class Health(NamedTuple):
    """What `doctor` reports about the store."""

    exists: bool
    size_bytes: int = 0
    sessions: int = 0
    events: int = 0
    verdict: str = "ok"
    open_to_others: bool = False
    """Whether other users of this machine can read it."""
    is_partial: bool = False
    """Whether only part of it was checked."""


def messages_with_most_words(seqs_of_words: Iterable[Iterable[int]]) -> FoundMessages:
    """Given the messages that contain the first word, the second, and so on."""
    held = Counter(seq for seqs in seqs_of_words for seq in set(seqs))
    most = max(held.values(), default=0)
    return FoundMessages(most, tuple(sorted((seq for seq, count in held.items() if count == most), reverse=True)))


def only_one(rows: Sequence[SessionRow], name: str) -> SessionRow:
    """The session that matches a name. Raises `SessionNotFound` for none or several."""
    if not rows:
        raise SessionNotFound(f"No session {name!r}. List them with `co-tui sessions`.")
    if len(rows) > 1:
        raise SessionNotFound(f"Several sessions match {name!r}: {rows[0].id}, {rows[1].id}, … Give more of the ID.")
    return rows[0]


def newest_distinct(limit: int, read: Callable[[int], Sequence[str]]) -> list[str]:
    """The newest different texts, oldest first; `read` returns at most that many texts, newest first, with repeats."""
    most = limit
    while True:
        texts = read(most)
        found = list(dict.fromkeys(texts))
        if len(found) >= limit or len(texts) < most:
            return found[:limit][::-1]
        most *= 4
