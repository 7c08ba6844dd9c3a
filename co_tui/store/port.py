"""What can be asked of a store and written to it, whatever keeps it."""

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from co_tui.events import Event, Fact, SessionFork, UsageInfo
    from co_tui.store.search.message_search import FoundCount, NextPage, SearchPage
    from co_tui.store.stored_values import FoundMessages, Health, ImportOutcome, Preview, SessionRow


class Closable(Protocol):
    """Used in a `with` statement, or closed by who opened it. Closing twice does nothing."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


class Reading(Closable, Protocol):
    """All questions about what is kept; where nothing is kept yet, the answers are empty."""

    def sessions(
        self, limit: int = 50, search: str = "", cwd: str = "", *, in_trash: bool = False
    ) -> "list[SessionRow]":
        """The newest sessions first; with `search`, those whose title holds it or in which its words were said last.

        Like every list and search here, of what is not in the trash, or else of what is.
        """
        ...

    def browse(
        self, typed: str, cwd: str, limit: int = 200, *, in_trash: bool = False, from_end: bool = False
    ) -> "list[SessionRow]":
        """Sessions whose title or folder holds all words of a filter, whatever their letters' case and accents.

        Pinned ones first, then those of this folder, then all others, each newest first; of the trash, in the order
        in which they came there. `from_end` tells the last of them, in the same order.
        """
        ...

    def count(self, typed: str = "", *, in_trash: bool = False) -> int:
        """How many sessions there are that the filter lets through."""
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
        """Messages that hold all words of what was typed (see `search_words`), also those compacted away.

        The newest first; or by relevance, of the newest thousand. The page tells where to go on. With
        `once_per_session` only the first of each session is told, with `session_id` only those of that session,
        wherever it is.
        """
        ...

    def count_found(
        self, typed: str, *, most: int = 1000, session_id: str = "", in_trash: bool = False
    ) -> "FoundCount":
        """How many messages a search would tell, counted up to so many."""
        ...

    def preview(self, session_id: str, count: int = 6, chars: int = 1000) -> "Preview":
        """How the session began and the last that was said in it, each text cut after so many characters."""
        ...

    def session(self, name: str) -> "SessionRow":
        """The session with that id, or the only one whose id starts or ends with it. Raises `SessionNotFound`."""
        ...

    def unused_since(self, time: str) -> "list[SessionRow]":
        """The sessions in which nothing happened since then, but for pinned ones; the longest unused first.

        One that came from elsewhere since then is none of them, however old it is.
        """
        ...

    def trashed_before(self, time: str) -> "list[SessionRow]":
        """The sessions that are in the trash since before then, but for pinned ones."""
        ...

    def latest(self, cwd: str) -> "SessionRow | None":
        """The newest session of this folder, else the newest of all; never one of the trash."""
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
        """The messages of a session that hold the most of these words, newest first; what is committed is found.

        Each of the words is in small letters, and may be several that stand together (see `words.find_phrase`). It has
        to stand in one part of the message, or in the name of that part's tool. Parts of one tool can be left out.
        """
        ...

    def usage(self, session_id: str) -> "UsageInfo | None":
        """The session's newest measurement."""
        ...

    def prompts(self, limit: int, search: str = "", cwd: str = "") -> list[str]:
        """The user's latest prompts of all sessions, or of a folder's, that hold a text; oldest first, each once."""
        ...

    def partial_reply(self, session_id: str) -> "Sequence[str]":
        """What was saved of a reply that is not an event yet, in order."""
        ...

    def health(self) -> "Health":
        """A look at everything; takes longer the more there is."""
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
    """All changes, in the order they are requested."""

    def recover(self, session_id: str) -> "Future[tuple[Event, ...]]":
        """Log the reply that a crash cut short, as far as it came. The caller has claimed the session."""
        ...

    def fork(self, source: str, target: str, upto: int | None, fact: "SessionFork") -> "Future[tuple[Event, ...]]":
        """Begin `target` with all that `source` holds up to a seq, under the same seqs and times, then the fork."""
        ...

    def import_log(self, events: "Sequence[Event]", *, keeps_age: bool = False) -> "Future[ImportOutcome]":
        """Log a whole session that happened elsewhere, under its own times.

        It counts as unused from now on; one that `keeps_age`, from when something was last said in it.
        One that is there already is left alone, but taken out of the trash. None comes in as trash.
        """
        ...

    def delete(self, session_id: str) -> "Future[None]":
        """Remove a session from all that is kept of it here, for good."""
        ...

    def upkeep_steps(self) -> "Iterator[Future[bool]]":
        """Care for what is kept, for idle times: short steps, each begun when it is asked for and the last is done.

        They may end at any step, and what is to be written comes between them.
        """
        ...


class SessionLock(Protocol):
    """The right to write one session."""

    def release(self) -> None:
        """Let others have it; once is enough."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *failure: object) -> None: ...


class PromptDrafts(Protocol):
    """Unsent prompts. The key is a session's id, or before there is one, `new_session_draft` of the folder."""

    def read(self, key: str) -> str: ...

    def write(self, key: str, text: str) -> None:
        """Keep the text, or nothing when it is blank. What cannot be kept is done without."""
        ...


class Store(Closable, Protocol):
    """Everything that is kept of sessions. Whatever cannot be used raises `StoreError` with a sentence."""

    @property
    def location(self) -> str:
        """Where it is kept, for people."""
        ...

    @property
    def prompt_drafts(self) -> PromptDrafts: ...

    def reading(self) -> Reading:
        """A view to ask questions, which sees all that was written before each question. Its opener closes it."""
        ...

    def writing(self) -> Writing:
        """The one way to write, opened when it is first asked for; closed with the store."""
        ...

    def claim(self, session_id: str) -> SessionLock:
        """The right to write a session, which at most one has at a time. Raises `SessionBusy`."""
        ...

    def delete(self, session_id: str) -> None:
        """Remove a session for good, with its prompt draft and its files. The caller has claimed it."""
        ...

    def claimed(self) -> frozenset[str]:
        """The ids of the sessions that somebody, here or elsewhere, has the right to write at this moment."""
        ...
