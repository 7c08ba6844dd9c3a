"""The request that would be sent now: through the stages of a real one, with nothing told and nothing changed."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from co_tui.append_only import AppendOnly, Joined
from co_tui.context.compact.decide import Plan
from co_tui.context.measure.count import Reading, Scaffold
from co_tui.context.request.pipeline import Governor, Measured, Prepared
from co_tui.context.request.stages import Note
from co_tui.context.request.truncate import NOTHING_OMITTED, Omitted
from co_tui.events import Recollection, Ref
from co_tui.session.state.session_state import Delegation, Entry, SessionState

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
NEXT_PROMPT: Final = ModelRequest(parts=[UserPromptPart("", timestamp=_LONG_AGO)], timestamp=_LONG_AGO)
"""Stands for what will be said: with it, the turn before is an earlier one. It is no part of what is shown."""


class RequestSource(NamedTuple):
    """All that requests are made of: a history, and what was said about it."""

    messages: Sequence[ModelMessage]
    entries: AppendOnly[Entry]
    """The same by their identity in the log."""
    pinned: Collection[int]
    note: Note | None
    kept: SessionState | Delegation
    """Where it is kept what requests are sent without."""


class NextRequest(NamedTuple):
    """What would be sent, but for the prompt that is still to come."""

    measured: Measured
    """With a place for that prompt at its end."""
    prepared: Prepared
    reading: Reading
    messages: Sequence[ModelMessage]
    due: Plan | None
    """What the policy would have summarised before it, or beside it."""


def request_source(
    kept: SessionState | Delegation,
    entries: AppendOnly[Entry],
    messages: Sequence[ModelMessage],
    pins: Collection[Ref],
    note: Note | None,
) -> RequestSource:
    pinned = tuple(index for index, entry in enumerate(entries) if entry.ref in pins) if pins else ()
    return RequestSource(messages, entries, pinned, note, kept)


def note_in(entries: Sequence[Entry], fact: Recollection) -> Note | None:
    """What was recollected, beside the message it belongs to; None when that is gone."""
    place = next((n for n in range(len(entries) - 1, -1, -1) if entries[n].ref in fact.messages), None)
    return Note(place, fact.note) if place is not None else None


def held_of(kept: SessionState | Delegation, entries: Sequence[Entry], measured: Measured) -> Omitted:
    """What requests are sent without since the history was rewritten, as indexes of what was measured."""
    out = kept.held_out
    if not out.left_out and not out.clipped_chars:
        return NOTHING_OMITTED
    refs = [ref_of(entries, origin) for origin in measured.origins]
    left = frozenset(index for index, ref in enumerate(refs) if ref in out.left_out)
    upto = refs.index(out.clipped_upto) if out.clipped_upto in refs else -1
    return Omitted(left, out.clipped_chars if upto >= 0 else 0, upto)


def is_reported(message: ModelMessage) -> bool:
    """Whether it is a reply to a request, as its provider counted that."""
    return isinstance(message, ModelResponse) and bool(message.usage.input_tokens)


def ref_of(entries: Sequence[Entry], origin: int | None) -> Ref | None:
    """The identity of a measured message; None for what is not of the log."""
    return entries[origin].ref if origin is not None and origin < len(entries) else None


def measured_now(
    governor: Governor,
    messages: Sequence[ModelMessage],
    scaffold: Scaffold,
    *,
    awaits_prompt: bool,
    lineage: object = None,
    pinned: Collection[int] = (),
    note: Note | None = None,
) -> Measured:
    """A history as it stands before the next request: while a prompt is still to come, all that was said is of an
    earlier turn already, and as long as the gauge says."""
    if not awaits_prompt:
        return governor.measure(messages, scaffold, lineage, pinned, note)
    measured = governor.measure(_with_prompt(messages), scaffold, lineage, pinned, note)
    said = measured.request[:-1]
    reading = _read(governor, said, scaffold, same=len(said))
    return measured._replace(live=measured.live[:-1], origins=measured.origins[:-1], request=said, reading=reading)


def next_request(
    governor: Governor, of: RequestSource, scaffold: Scaffold, awaits_prompt: bool, told: Reading | None = None
) -> NextRequest:
    """What does not fit is left out, unless a compaction comes first. `told` is how long it is, when that is known."""
    history = _with_prompt(of.messages) if awaits_prompt else of.messages
    measured = governor.measure(history, scaffold, of.entries.lineage, of.pinned, of.note)
    due = _due(governor, measured._replace(reading=told or measured.reading))
    held = held_of(of.kept, of.entries, measured)
    prepared = governor.fit_unsent(measured, scaffold, held, shortens=due is None or not due.waits)
    messages = prepared.messages[:-1] if awaits_prompt else prepared.messages
    return NextRequest(measured, prepared, told or _read(governor, messages, scaffold), messages, due)


def _with_prompt(messages: Sequence[ModelMessage]) -> Joined[ModelMessage]:
    return Joined(messages if isinstance(messages, AppendOnly) else AppendOnly(messages), (NEXT_PROMPT,))


def _read(governor: Governor, messages: Sequence[ModelMessage], scaffold: Scaffold, same: int = 0) -> Reading:
    """What was answered last, in its provider's words, as it was told."""
    answered = bool(messages) and isinstance(messages[-1], ModelResponse)
    return governor.meter.read(messages, scaffold, governor.window, same=same, as_reported=answered)


def _due(governor: Governor, measured: Measured) -> Plan | None:
    """What the policy wants, as far as that is of use."""
    due = governor.decide(measured)
    return due if due is None or due.texts_only or not governor.is_fixed(measured) else None
