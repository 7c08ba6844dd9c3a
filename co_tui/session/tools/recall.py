"""The tool with which the model searches everything ever said in the session, including what left its context."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from pydantic_ai.exceptions import ModelRetry

from co_tui.events import Event, Json, Message
from co_tui.events.stored_messages import Role, pieces
from co_tui.inert import one_line
from co_tui.session.state.session_state import SessionState
from co_tui.session.state.top_level import only_text
from co_tui.session.tools.artifact_parts import SEARCH_S, Passage, passages_with
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings.rules import CONVERSATION
from co_tui.store.port import Store
from co_tui.store.search.session_words import find_phrase

HITS = 8
"""Messages per page."""
ANSWER_CHARS = 6_000
NAME_CHARS = 40
PASSAGES = 3
"""Shown of long outputs."""
MOST_SEEN = 200
"""The most messages to check for a delegate: each has to be read."""

_ROLES: dict[Role, str] = {"tool_call": "call of", "tool_result": "result of"}


class _Piece(NamedTuple):
    """One part of a message, as it is searched and shown."""

    label: str
    tool: str
    text: str

    @property
    def searched(self) -> str:
        return f"{self.tool}\n{self.text}".lower()


class _Page(NamedTuple):
    """One page of the found messages, newest first."""

    words: int
    """How many of the words each of them contains."""
    messages: int
    """How many there are on all pages."""
    events: list[Event]


class Recall:
    """Searches one session's log through the store."""

    def __init__(
        self,
        store: Store,
        session_id: str,
        state: Callable[[], SessionState],
        outputs: Callable[[], Iterable[tuple[str, Path]]] = tuple,
    ) -> None:
        """`outputs` returns the files of long outputs, by reference, newest first."""
        self._outputs = outputs
        self._store = store
        self._session_id = session_id
        self._state = state

    async def recall(self, query: str, page: int = 1) -> str:
        """Search everything said in this session, also what is no longer in your context.

        Finds the messages (prompts, replies, tool calls and their results) that hold all words of the query,
        newest first; and where they are in command output that was too long for its result.

        Args:
            query: Words to look for; "quoted words" are found only together, in that order.
            page: Which page of the results, from 1 up.
        """
        words = words_of(query)
        if not words:
            raise ModelRetry("The query has no words to search for.")
        if page < 1:
            raise ModelRetry("Pages start at 1.")
        # In a thread, so that the screen does not wait.
        agent = CURRENT_AGENT.get()
        search = partial(self._search_as, agent) if agent else self._search
        found = await asyncio.to_thread(search, words, page)
        passages = await asyncio.to_thread(self._in_outputs, words, found.words) if page == 1 else []
        if passages and not found.messages:
            return "\n\n".join(passages)
        rest = "\n\n".join(["", *passages])
        return f"{_answer(found, words, page, self._state())[: ANSWER_CHARS - len(rest)]}{rest}"

    def _in_outputs(self, words: list[str], least: int) -> list[str]:
        """The best passages in long outputs, if they contain at least as many words as the messages found."""
        until, found = time.monotonic() + SEARCH_S, []
        for reference, file in self._outputs():
            with suppress(OSError), file.open("rb") as stream:
                found += [(each, reference) for each in passages_with(stream, words, PASSAGES, until)]
        most = max((each.words for each, _ in found), default=0)
        best = [(each, reference) for each, reference in found if each.words == most >= least][:PASSAGES]
        late = ["[not all long outputs were searched: they are too large]"] if time.monotonic() > until else []
        return [_passage(each, reference, words) for each, reference in best] + late

    def _search(self, words: list[str], page: int) -> _Page:
        with self._store.reading() as reading:
            found = reading.messages_with(self._session_id, words, except_tool=Recall.recall.__name__)
            seqs = found.seqs[(page - 1) * HITS : page * HITS]
            events = [event for seq in seqs for event in reading.events(self._session_id, seq - 1, seq)]
        return _Page(found.words, len(found.seqs), events)

    def _search_as(self, agent: str, words: list[str], page: int) -> _Page:
        """What a delegate may find: all of its own, and if it sees the conversation, texts of the user and the main
        agent; no other agent's results."""
        asked = self._state().delegations.get(agent)
        agents = ("", agent) if asked is not None and asked.context == CONVERSATION else (agent,)
        with self._store.reading() as reading:
            found = reading.messages_with(self._session_id, words, except_tool=Recall.recall.__name__)
            events = (event for seq in found.seqs for event in reading.events(self._session_id, seq - 1, seq))
            events = (event for event in events if isinstance(event.fact, Message) and event.fact.agent in agents)
            seen = (_as_seen_by(agent, event, words, found.words) for event in events)
            visible = list(islice((event for event in seen if event is not None), MOST_SEEN))
        return _Page(found.words, len(visible), visible[(page - 1) * HITS : page * HITS])


def _as_seen_by(agent: str, event: Event, words: list[str], least: int) -> Event | None:
    fact = event.fact
    if not isinstance(fact, Message):
        return None
    if fact.agent == agent:
        return event
    said = only_text(fact.message)
    if said is None or max(_count(piece.searched, words) for piece in _pieces(said)) < least:
        return None
    return event.but(fact=fact.but(message=said))


def _count(text: str, words: Iterable[str]) -> int:
    return sum(find_phrase(each, text) >= 0 for each in words)


def _pieces(message: Json) -> list[_Piece]:
    """The parts of a message, without recalls: they would find themselves first."""
    found = []
    for role, text, part in pieces(message):
        tool = part.get("tool_name") or ""
        if tool != Recall.recall.__name__:
            label = f"{_ROLES[role]} {one_line(tool, NAME_CHARS) or 'a tool'}" if role in _ROLES else role
            found.append(_Piece(label, tool, text))
    return found


def _answer(found: _Page, words: list[str], page: int, state: SessionState) -> str:
    if not found.messages:
        return "No matches in this session. Try fewer or other words."
    pages = -(-found.messages // HITS)
    if page > pages:
        return f"No page {page}: {_messages(found.messages)}, on {pages} page{'s' if pages > 1 else ''}."
    known = {entry.ref for entry in state.history}
    head = f"[{_messages(found.messages)}, newest first; page {page} of {pages}]"
    if found.words < len(words):
        head += f"\n[no message contains the whole query; these contain {found.words} of {len(words)} words]"
    hits = [
        _hit(event.fact, words, (event.seq, 0) in known) for event in found.events if isinstance(event.fact, Message)
    ]
    return "\n\n".join([head, *hits])[:ANSWER_CHARS]


def _passage(found: Passage, reference: str, words: list[str]) -> str:
    where = f"[long output, {found.words} of {len(words)} words: read_artifact({reference!r}, line={found.line})]"
    return f"{where}\n{excerpt(found.text, words)}"


def _messages(count: int) -> str:
    return f"{count} messages match" if count > 1 else "1 message matches"


def _hit(said: Message, words: list[str], known: bool) -> str:
    best = max(_pieces(said.message), key=lambda piece: _count(piece.searched, words))
    note = " (still in your context)" if known else ""
    return f"[turn {said.turn}, {best.label}]{note}\n{excerpt(best.text, words)}"


EXCERPT_CHARS: Final = 600
BEFORE_CHARS: Final = 200
"""How much of an excerpt comes before the match."""
MAX_WORDS: Final = 40


def words_of(query: str) -> list[str]:
    """The words and quoted phrases of a query, each once."""
    found = re.findall(r'["“”]([^"“”]+)["“”]|([^\s"“”]+)', query.lower())
    cleaned = (" ".join((phrase or word).split()) for phrase, word in found)
    return list(dict.fromkeys(filter(None, cleaned)))[:MAX_WORDS]


def excerpt(text: str, words: Sequence[str]) -> str:
    """The text around the first of the words in it."""
    lower = text.lower()
    first = min((index for each in words if (index := find_phrase(each, lower)) >= 0), default=0)
    start = max(0, min(first - BEFORE_CHARS, len(text) - EXCERPT_CHARS))
    end = start + EXCERPT_CHARS
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
