"""The interface of a store: reading, writing and locking sessions."""

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from co_tui.events import Event, Fact, SessionFork, UsageInfo
    from co_tui.store.search.message_search import FoundCount, NextPage, SearchPage
    from co_tui.store.store_errors import SessionBusy
    from co_tui.store.stored_values import (
        Deletion,
        FoundMessages,
        Health,
        ImportOutcome,
        Preview,
        SessionFolder,
        SessionRow,
    )
    from co_tui.store.sync.sync import Sync


class Closable(Protocol):
    """Used in a `with` statement, or closed by its opener. Closing twice does nothing."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


class Reading(Closable, Protocol):
    """All queries; empty results where nothing is stored yet.

    Lists and searches have the user's own sessions, and those that other users of the same database share.
    """

    def cancel(self) -> None:
        """Stop the query that runs in another thread, and all later ones: they raise `QueryCancelled`."""
        ...

    def sessions(
        self, limit: int = 50, search: str = "", cwd: str = "", *, in_trash: bool = False
    ) -> "list[SessionRow]":
        """The newest sessions first; with `search`, those whose title or messages contain it.

        Like every list and search here, either without the trash or only of it.
        """
        ...

    def browse(
        self,
        typed: str,
        cwd: str,
        limit: int = 200,
        *,
        also: "Sequence[str]" = (),
        in_trash: bool = False,
        from_end: bool = False,
    ) -> "list[SessionRow]":
        """Sessions whose title or folder contains all words of a filter, ignoring case and accents.

        Pinned ones first, then those of this folder or `also` of others, then all others, each newest first; the trash
        by when they were trashed. `from_end` returns the last of them, in the same order.
        """
        ...

    def count(self, typed: str = "", *, in_trash: bool = False) -> int:
        """The number of sessions that match the filter."""
        ...

    def search(
        self,
        typed: str,
        *,
        by_relevance: bool = False,
        limit: int = 50,
        page: "NextPage | None" = None,
        session_id: str = "",
        once_per_session: bool = False,
        in_trash: bool = False,
    ) -> "SearchPage":
        """Messages that contain all words typed (see `search_words`), including compacted ones.

        Newest first, or the newest thousand by relevance. The page says where to continue. `once_per_session` returns
        only the first of each session, `session_id` only those of that session, in the trash or not.
        """
        ...

    def count_found(
        self, typed: str, *, most: int = 1000, session_id: str = "", in_trash: bool = False
    ) -> "FoundCount":
        """The number of messages a search would find, counted up to `most`."""
        ...

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> "Preview":
        """The first prompt and the last `count` texts, each cut to `chars`."""
        ...

    def session(self, name: str) -> "SessionRow":
        """The session with that id, or the only one whose id starts or ends with it. Raises `SessionNotFound`."""
        ...

    def unused_since(self, time: str) -> "list[SessionRow]":
        """Unpinned sessions without activity since then, the longest unused first.

        Excludes sessions imported since then, however old.
        """
        ...

    def trashed_before(self, time: str) -> "list[SessionRow]":
        """Unpinned sessions trashed before then."""
        ...

    def folders(self, repository_id: str) -> "list[SessionFolder]":
        """The folders that the user's sessions of a repository worked in."""
        ...

    def latest(self, cwd: str, *, also: "Sequence[str]" = (), without: "Collection[str]" = ()) -> "SessionRow | None":
        """The user's newest session of this folder or `also` of others, or the newest of all if there are none; never
        in the trash, and none of the ids in `without`."""
        ...

    def events(self, session_id: str, after: int = 0, upto: int | None = None) -> "Iterator[Event]":
        """The log in order, from just after one seq up to and including another."""
        ...

    def last_events(self, session_id: str, count: int, before: int | None = None) -> "list[Event]":
        """The last `count` events, oldest first; with `before`, of those below that seq."""
        ...

    def messages_with(
        self, session_id: str, words: "Sequence[str]", *, except_tool: str | None = None
    ) -> "FoundMessages":
        """The committed messages of a session that contain the most of these words, newest first.

        Each is in lower case and may be a phrase (see `session_words.find_phrase`). It must occur in one part of the
        message, or in its tool's name. `except_tool` skips the parts of one tool.
        """
        ...

    def usage(self, session_id: str) -> "UsageInfo | None":
        """The session's newest measurement."""
        ...

    def spent_since(self, time: str) -> float:
        """What all sessions have spent since a time of the last two days, in US dollars, deleted ones too. What a fork
        copied, or an import brought, was spent before. Where no price is published, that of the model's maker counts.
        """
        ...

    def prompts(self, limit: int, search: str = "", cwd: str = "") -> list[str]:
        """The user's latest prompts that contain a text, of all sessions or a folder's; oldest first, no repeats."""
        ...

    def partial_reply(self, session_id: str) -> "Sequence[str]":
        """The saved pieces of a reply that is not an event yet, in order."""
        ...

    def is_from_elsewhere(self, session_id: str) -> bool:
        """Whether any of its events were pulled from a server: other programs may have written those."""
        ...

    def not_fetched(self) -> frozenset[str]:
        """The sessions of other users whose newest text is not here: no search finds it."""
        ...

    def deletions(self) -> "list[Deletion]":
        """The sessions that were deleted, here or elsewhere, and those that came back."""
        ...

    def deletion(self, session_id: str) -> "Deletion | None":
        """What was last decided about a session; None if it was never deleted."""
        ...

    def health(self, *, full: bool = True) -> "Health":
        """A check of the whole store, slow for a large one; without `full`, a large one is checked in part."""
        ...


class LogWriting(Protocol):
    """Writes to session logs. A future resolves once its change is durable."""

    def append(
        self, session_id: str, facts: "Iterable[Fact]", *, ends_draft: bool = False
    ) -> "Future[tuple[Event, ...]]":
        """Log facts; `ends_draft` drops the partial reply they complete in the same step.

        Raises `SessionNotFound` when they change or resume a session that does not exist.
        """
        ...

    def save_reply(self, session_id: str, number: int, body: str) -> "Future[None]":
        """Save the next piece of the reply that is being written; number 0 begins a new one."""
        ...


class Writing(LogWriting, Protocol):
    """All changes; those to one session in the order they are requested.

    However long a change is, others can write during it, and nothing of it is seen before all of it is.
    """

    def recover(self, session_id: str) -> "Future[tuple[Event, ...]]":
        """Log the reply that a crash cut short, as far as it came. The caller holds the session."""
        ...

    def fork(self, source: str, target: str, upto: int | None, fact: "SessionFork") -> "Future[tuple[Event, ...]]":
        """Copy the events of `source` up to a seq to `target`, with their seqs and times, then log the fork."""
        ...

    def import_log(
        self, events: "Sequence[Event]", *, keeps_age: bool = False, keeps_trash: bool = False
    ) -> "Future[ImportOutcome]":
        """Log a whole session from elsewhere, or the rest of one that is here up to just before, with its own times.

        It counts as used now; with `keeps_age`, when its last message was written. A known session whose log is given
        from the start is unchanged, but restored from the trash; with `keeps_trash`, what the log says about the trash
        holds. Raises `StoreError` for a rest that does not follow the last event here.
        """
        ...

    def delete(self, session_id: str, deletion: "Deletion | None" = None) -> "Future[None]":
        """Delete a session, and remember that it was: now, or as it was decided elsewhere."""
        ...

    def replace_tail(self, session_id: str, after: int, events: "Sequence[Event]") -> "Future[None]":
        """Replace all events after a seq, in one step: the server has others, and these are elsewhere now.

        The caller has claimed the session. `events` begin with the seq just after.
        """
        ...

    def record_deletion(self, deletion: "Deletion") -> "Future[bool]":
        """Remember that a session was deleted or came back, unless a newer change is known. Returns whether it was."""
        ...

    def add_spent(self, dollars: float) -> "Future[None]":
        """Count US dollars that were spent now and are in no log."""
        ...

    def upkeep_steps(self) -> "Iterator[Future[bool]]":
        """Maintenance for idle times: short steps, each started when requested and the previous one is done.

        May stop after any step; pending writes run between them.
        """
        ...


class SessionLock(Protocol):
    """The right to write one session."""

    def release(self) -> None:
        """Release the lock; repeated calls do nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


class PromptDrafts(Protocol):
    """Unsent prompts, as one window has them. The key is a session's id, or before there is one, `new_session_draft` of
    the folder."""

    @property
    def is_empty(self) -> bool:
        """Whether there is none at all, so that no key has to be made to read one."""
        ...

    def open(self, key: str) -> str:
        """The draft of the key that the window shows from now on, with what windows that have ended left."""
        ...

    def read(self, key: str) -> str:
        """The same without taking over anything; of a key that the window does not show, the first window's."""
        ...

    def write(self, key: str, text: str) -> None:
        """Save this window's draft, or remove it when blank. What other windows wrote stays. Raises OSError."""
        ...

    def leave(self) -> None:
        """Show no key any longer: the next window that shows it takes over the draft."""
        ...

    def forget(self, key: str) -> None:
        """Remove all drafts of a session, but for those of windows that show it now."""
        ...


class Store(Closable, Protocol):
    """All stored sessions. Failures raise `StoreError` with a sentence for people."""

    @property
    def location(self) -> str:
        """Where it is stored, for people."""
        ...

    @property
    def prompt_drafts(self) -> PromptDrafts: ...

    @property
    def sync(self) -> "Sync":
        """Carries the sessions and their files to other machines."""
        ...

    def report_to(self, report: "Callable[[str], None]") -> None:
        """Report here, from any thread, that a change waits for another program, and what the sync reports."""
        ...

    def stop_waiting(self) -> None:
        """Let changes fail soon that wait for another program: the user stops this one."""
        ...

    def reading(self) -> Reading:
        """A reader that sees everything written before each query. Its opener closes it."""
        ...

    def writing(self) -> Writing:
        """The only writer, opened on first use and closed with the store."""
        ...

    def claim(self, session_id: str, *, take_over: bool = False) -> SessionLock:
        """The right to write a session, which one process at a time has. Raises `SessionBusy`.

        With a server, its newest events are pulled first. `take_over` takes one from another machine that did not
        release it and was not heard of for a while; without it that raises `SessionAbandoned`. Another user's session
        raises `SessionOfAnother`.
        """
        ...

    def open_elsewhere(self, session_id: str) -> "SessionBusy | None":
        """What claiming it would raise, as far as this machine knows: no server is asked, and nothing is waited for."""
        ...

    def delete(self, session_id: str, deletion: "Deletion | None" = None) -> None:
        """Remove a session for good, with its prompt draft and its files. The caller has claimed it.

        `deletion` is the decision, if it was made elsewhere.
        """
        ...

    def claimed(self) -> frozenset[str]:
        """The ids of the sessions that any process holds now."""
        ...

    def importing(self) -> "AbstractContextManager[None]":
        """The right to bring in a session from elsewhere, for a moment: it waits for another process that does."""
        ...
