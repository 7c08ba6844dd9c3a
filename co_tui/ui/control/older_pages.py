"""The part of a session's log that is not loaded, read page by page from its end."""

from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.events import Event, Message, PlanChanged, SessionEnd
from co_tui.events.replaced import NOTHING_REPLACED, without_replaced
from co_tui.events.stored_messages import prompt_of
from co_tui.inert import one_line
from co_tui.ui.keys.command_table import ShortcutFor
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.blocks import BlockBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from co_tui.store.port import Reading, Store

PAGE_EVENTS = 60
LARGEST_PAGE_EVENTS = 2_000
"""A turn with more is cut at one of its steps. Reading so many takes a fifth of a second."""
FEW_EVENTS = 15
"""So few at the beginning of a log are no page of their own."""
PROGRAM_CHARS: Final = 40


class _Start(NamedTuple):
    """Where what is loaded begins."""

    seq: int
    program: str = ""
    """The program that wrote what is before it, if that was imported."""
    counts_upto: int = NOTHING_REPLACED
    """Of what is before it, only this much was not read again by an import."""
    opens_turn: bool = False
    shows_plan: bool = False
    """Whether the plan of the turn it is within is shown after it, where it is newest."""


class OlderPages:
    """Reads the log before what is loaded. Pages that are unloaded are read again."""

    def __init__(self, store: "Store", session_id: str, before: int, shortcut_for: ShortcutFor) -> None:
        """Nothing before the event `before` is loaded."""
        self._store, self._session_id, self._way_to = store, session_id, shortcut_for
        self._starts = [_Start(before)]
        """Of the live events, then of each page as it was read."""

    def older(self) -> list[Block]:
        """The blocks of the page before the loaded ones; empty at the beginning."""
        start = self._starts[-1]
        if self.are_all_read:
            return []
        with self._store.reading() as reading:
            events = page_before(reading, self._session_id, min(start.seq, start.counts_upto + 1))
        return self.built(events).blocks

    @property
    def are_all_read(self) -> bool:
        return self._starts[-1].seq <= 1

    def back_to(self, seq: int) -> list[Block]:
        """The blocks of all pages not loaded yet, back to the one with this event."""
        events: list[Event] = []
        starts: list[_Start] = []
        first = self._starts[-1].seq
        if first <= max(1, seq):
            return []  # without reading the store
        with self._store.reading() as reading:
            while first > max(1, seq):
                page = page_before(reading, self._session_id, first)
                first = _first_seq(page)
                shows_plan = _shows_plan(page, (starts or self._starts)[-1])
                starts.append(_Start(first, opens_turn=bool(page) and _opens_turn(page[0]), shows_plan=shows_plan))
                events[:0] = page
        if not events:
            return []
        blocks = self.built(events).blocks
        if starts[-1] == self._starts[-1]:  # else they depend on an import after them
            self._starts[-1:] = starts
        return blocks

    def built(self, events: list[Event]) -> BlockBuilder:
        """The blocks of the page before the loaded ones. All that is before the end of an import was imported."""
        following = self._starts[-1]
        program, first = following.program, _first_seq(events)
        opens_turn, shows_plan = bool(events) and _opens_turn(events[0]), _shows_plan(events, following)
        builder = BlockBuilder(self._way_to)
        events, counts_upto = without_replaced(events, following.counts_upto)
        if following.shows_plan:
            events = _without_last_plan(events)
        ends = ((n, event.fact.program) for n, event in enumerate(events) if isinstance(event.fact, SessionEnd))
        for upto, name in reversed([*ends]):
            if name:
                program = builder.program = one_line(name, PROGRAM_CHARS)
                builder.add_all(events[:upto])
                events = events[upto:]
                break
        builder.program = following.program
        builder.add_all(events)
        if following.opens_turn:
            builder.end_turn()
        self._starts.append(_Start(first, program, counts_upto, opens_turn, shows_plan))
        return builder

    def can_begin_at(self, seq: int) -> bool:
        """Whether all that is before this event, which opens a turn, can be unloaded."""
        return seq >= self._starts[0].seq or any(each.seq == seq and each.opens_turn for each in self._starts)

    def unload(self, seq: int) -> None:
        """All blocks before this event were unloaded."""
        known = next((each for each in self._starts if each.seq == seq and each.opens_turn), None)
        later = [each for each in self._starts if each.seq > seq]
        self._starts = [*later, known or _Start(seq, opens_turn=True)]


def page_before(reading: "Reading", session_id: str, before: int | None = None) -> list[Event]:
    """Events back to the start of a turn or, in a long one, of a step: a call and its result stay on one page."""
    newest = reading.last_events(session_id, PAGE_EVENTS, before)
    for at, event in enumerate(newest):
        if event.seq == 1 or _opens_turn(event):
            return newest[at:]
    earlier: list[Event] = []
    for event in _backwards(reading, session_id, newest[0].seq if newest else 1):
        earlier.append(event)
        is_long = len(earlier) + len(newest) >= LARGEST_PAGE_EVENTS
        if (_opens_step(event) if is_long else _opens_turn(event)) and (event.seq or 1) > FEW_EVENTS:
            break
    return [*reversed(earlier), *newest]


def _backwards(reading: "Reading", session_id: str, before: int | None) -> "Iterator[Event]":
    """All events below a seq, newest first; each time more are read at once."""
    count = FEW_EVENTS
    while batch := reading.last_events(session_id, count, before):
        yield from reversed(batch)
        before, count = batch[0].seq, 2 * count


def _first_seq(page: list[Event]) -> int:
    return page[0].seq or 1 if page else 1


def _shows_plan(page: list[Event], following: _Start) -> bool:
    """Whether the turn that a page begins within has a plan, in the page or after it."""
    for event in page:
        if _is_prompt(event):
            return False
        if isinstance(event.fact, PlanChanged):
            return True
    return following.shows_plan


def _without_last_plan(events: list[Event]) -> list[Event]:
    """The events without the plan of the turn that they end within."""
    last = next((at for at in reversed(range(len(events))) if _is_prompt(events[at])), 0)
    return [*events[:last], *(event for event in events[last:] if not isinstance(event.fact, PlanChanged))]


def _is_prompt(event: Event) -> bool:
    """Whether an event is a prompt of the user, not one of a delegation."""
    fact = event.fact
    return isinstance(fact, Message) and not fact.agent and prompt_of(fact.message) is not None


def _opens_turn(event: Event) -> bool:
    """Whether an event is a prompt that is not next to the results of calls."""
    fact = event.fact
    parts = fact.message.get("parts", ()) if isinstance(fact, Message) else ()
    return _is_prompt(event) and all(part.get("part_kind") != "tool-return" for part in parts)


def _opens_step(event: Event) -> bool:
    """Whether all calls before an event are answered, since the model has their results."""
    fact = event.fact
    return _opens_turn(event) or (
        isinstance(fact, Message) and not fact.agent and fact.message.get("kind") == "response"
    )
