"""The model's way back to what left its context: a search over everything the session ever said."""

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from pydantic_ai.exceptions import ModelRetry

from co_tui.events import Json, Ref
from co_tui.events.messages import Role, pieces
from co_tui.inert import one_line
from co_tui.session.state.session_state import Entry, SessionState

HITS = 8
"""Messages a page."""
EXCERPT_CHARS = 600
BEFORE_CHARS = 200
"""How much of an excerpt stands before what was found."""
ANSWER_CHARS = 6_000
NAME_CHARS = 40
MAX_WORDS = 40

Needle: TypeAlias = "str | re.Pattern[str]"

_ROLES: dict[Role, str] = {"tool_call": "call of", "tool_result": "result of"}


class _Piece(NamedTuple):
    """One part of a message, as it is searched and shown."""

    label: str
    tool: str
    text: str

    @property
    def searched(self) -> str:
        return f"{self.tool}\n{self.text}".lower()


class _Found(NamedTuple):
    """The messages with the most of the words, newest first."""

    entries: list[Entry]
    words: int


class Recall:
    """One session's memory of itself. Texts are prepared once: a search costs a scan, not a parse."""

    def __init__(self, state: Callable[[], SessionState]) -> None:
        self._state = state
        self._texts: dict[Ref, str] = {}

    async def recall(self, query: str, page: int = 1) -> str:
        """Search everything said in this session, also what is no longer in your context.

        Finds the messages (prompts, replies, tool calls and their results) that hold all words of the query,
        newest first.

        Args:
            query: Words to look for; "quoted words" are found only together, in that order.
            page: Which page of the results, from 1 up.
        """
        needles = _needles(query)
        if not needles:
            raise ModelRetry("The query has no words to look for.")
        if page < 1:
            raise ModelRetry("Pages are counted from 1 up.")
        state = self._state()
        # A long session takes a moment; the screen must not wait for it.
        found = await asyncio.to_thread(self._search, state, needles)
        return _answer(found, needles, page, state)

    def _search(self, state: SessionState, needles: list[Needle]) -> _Found:
        scored = [(self._score(entry, needles), entry) for entry in state.transcript]
        most = max((score for score, _ in scored), default=0)
        entries = [entry for score, entry in reversed(scored) if most and score == most]
        return _Found(entries, most)

    def _score(self, entry: Entry, needles: list[Needle]) -> int:
        text = self._texts.get(entry.ref)
        if text is None:
            text = self._texts[entry.ref] = "\n".join(piece.searched for piece in _pieces(entry.message))
        return _count(text, needles)


def _needles(query: str) -> list[Needle]:
    """The words and quoted phrases of a query, each once; white space inside a phrase matches any."""
    found: dict[str, Needle] = {}
    for phrase, word in re.findall(r'["“”]([^"“”]+)["“”]|([^\s"“”]+)', query.lower()):
        words = (phrase or word).split()
        if len(words) == 1:
            found[words[0]] = words[0]
        elif words:
            found[" ".join(words)] = re.compile(r"\s+".join(map(re.escape, words)))
    return list(found.values())[:MAX_WORDS]


def _place(text: str, needle: Needle) -> int:
    """Where it first stands in the text; -1 when nowhere."""
    if isinstance(needle, str):
        return text.find(needle)
    match = needle.search(text)
    return match.start() if match else -1


def _count(text: str, needles: Iterable[Needle]) -> int:
    return sum(_place(text, needle) >= 0 for needle in needles)


def _pieces(message: Json) -> list[_Piece]:
    """What a message says. Recalls are left out: they would find themselves, and before all else."""
    found = []
    for role, text, part in pieces(message):
        tool = part.get("tool_name") or ""
        if tool != Recall.recall.__name__:
            label = f"{_ROLES[role]} {one_line(tool, NAME_CHARS) or 'a tool'}" if role in _ROLES else role
            found.append(_Piece(label, tool, text))
    return found


def _answer(found: _Found, needles: list[Needle], page: int, state: SessionState) -> str:
    count = len(found.entries)
    if not count:
        return "Nothing in this session matches. Try fewer or other words."
    pages = -(-count // HITS)
    if page > pages:
        return f"There is no page {page}: {_messages(count)}, on {pages} page{'s' if pages > 1 else ''}."
    known = {entry.ref for entry in state.history}
    head = f"[{_messages(count)}, newest first; page {page} of {pages}]"
    if found.words < len(needles):
        head += f"\n[no message holds all of the query; these hold {found.words} of {len(needles)}]"
    hits = [_hit(entry, needles, entry.ref in known) for entry in found.entries[(page - 1) * HITS : page * HITS]]
    return "\n\n".join([head, *hits])[:ANSWER_CHARS]


def _messages(count: int) -> str:
    return f"{count} messages match" if count > 1 else "1 message matches"


def _hit(entry: Entry, needles: list[Needle], known: bool) -> str:
    best = max(_pieces(entry.message), key=lambda piece: _count(piece.searched, needles))
    note = " (still in your context)" if known else ""
    return f"[turn {entry.turn}, {best.label}]{note}\n{_excerpt(best.text, needles)}"


def _excerpt(text: str, needles: list[Needle]) -> str:
    lower = text.lower()
    first = min((place for needle in needles if (place := _place(lower, needle)) >= 0), default=0)
    start = max(0, min(first - BEFORE_CHARS, len(text) - EXCERPT_CHARS))
    end = start + EXCERPT_CHARS
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
