"""The request that would be sent now: through the same stages as a real one, but nothing is logged or changed."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from co_tui.append_only import AppendOnly, Joined
from co_tui.context.compact.decide import Plan
from co_tui.context.indexed_history import IndexedHistory
from co_tui.context.measure.count import Reading, Scaffold
from co_tui.context.request.pipeline import Governor, Measured, Prepared
from co_tui.context.request.stages import Note
from co_tui.context.request.truncate import NOTHING_OMITTED, Omitted
from co_tui.events import Recollection, Ref
from co_tui.session.state.session_state import Delegation, Entry, SessionState

_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
NEXT_PROMPT: Final = ModelRequest(parts=[UserPromptPart("", timestamp=_LONG_AGO)], timestamp=_LONG_AGO)
"""Placeholder for the next prompt, so that the last turn counts as an earlier one. Never shown."""


class RequestSource(NamedTuple):
    """What a request is made of: a history with its pins and notes."""

    messages: Sequence[ModelMessage]
    entries: AppendOnly[Entry]
    """The same by their identity in the log."""
    pinned: Collection[int]
    note: Note | None
    owner: SessionState | Delegation
    """Holds what requests are sent without."""


class NextRequest(NamedTuple):
    """What would be sent, without the coming prompt."""

    measured: Measured
    """Ends with a placeholder for that prompt."""
    prepared: Prepared
    reading: Reading
    messages: Sequence[ModelMessage]
    plan: Plan | None
    """What the policy would summarise before the request, or in the background."""
    whole: Reading
    """The measurement of the whole history, by which that is decided."""


def pinned_in(entries: Sequence[Entry], pins: Collection[Ref], start: int = 0) -> tuple[int, ...]:
    """The indexes of pinned messages from `start` on."""
    return tuple(index for index, entry in enumerate(entries[start:], start) if entry.ref in pins) if pins else ()


def note_in(entries: Sequence[Entry], fact: Recollection) -> Note | None:
    """What was recollected, with the message it belongs to; None if that is gone."""
    index = next((n for n in range(len(entries) - 1, -1, -1) if entries[n].ref in fact.messages), None)
    return Note(index, fact.note) if index is not None else None


def held_of(owner: SessionState | Delegation, entries: Sequence[Entry], measured: Measured) -> Omitted:
    """What requests are sent without since the last rewrite, as indexes into what was measured."""
    out = owner.held_out
    if not out.left_out and not out.clipped_chars:
        return NOTHING_OMITTED
    refs = [ref_of(entries, origin) for origin in measured.origins]
    left = frozenset(index for index, ref in enumerate(refs) if ref in out.left_out)
    upto = refs.index(out.clipped_upto) if out.clipped_upto in refs else -1
    return Omitted(left, out.clipped_chars if upto >= 0 else 0, upto)


def is_reported(message: ModelMessage) -> bool:
    """Whether it is a reply whose provider counted its request."""
    return isinstance(message, ModelResponse) and bool(message.usage.input_tokens)


def ref_of(entries: Sequence[Entry], origin: int | None) -> Ref | None:
    """The log identity of a measured message; None if it is not in the log."""
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
    """Measure a history before the next request: if a prompt comes first, everything already counts as an earlier turn.
    The gauge shows the same figures."""
    if not awaits_prompt:
        return governor.measure(messages, scaffold, lineage, pinned, note)
    measured = governor.measure(_with_prompt(messages), scaffold, lineage, pinned, note)
    request = measured.request[:-1]
    reading = _read(governor, request, scaffold, same=len(request))
    live = IndexedHistory(measured.live[:-1], measured.live.kinds[:-1])
    return measured._replace(live=live, origins=measured.origins[:-1], request=request, reading=reading)


def next_request(
    governor: Governor, of: RequestSource, scaffold: Scaffold, awaits_prompt: bool, known: Reading | None = None
) -> NextRequest:
    """What does not fit is left out, unless a compaction comes first. `known` is the last measurement, if it holds: of
    this request, or of the history if nothing is left out."""
    history = _with_prompt(of.messages) if awaits_prompt else of.messages
    measured = governor.measure(history, scaffold, of.entries.lineage, of.pinned, of.note)
    held = held_of(of.owner, of.entries, measured)
    logged = sum(origin is not None for origin in measured.origins) - awaits_prompt
    whole = known if known is not None and not held and known.messages_count == logged else measured.reading
    plan = _plan(governor, measured._replace(reading=whole))
    prepared = governor.fit_unsent(measured, scaffold, held, shortens=plan is None or not plan.waits)
    messages = prepared.messages[:-1] if awaits_prompt else prepared.messages
    is_measured = known is not None and (prepared.held == held or known.messages_count == len(messages))
    reading = known if known is not None and is_measured else _read(governor, messages, scaffold)
    return NextRequest(measured, prepared, reading, messages, plan, whole)


def _with_prompt(messages: Sequence[ModelMessage]) -> Joined[ModelMessage]:
    return Joined(messages if isinstance(messages, AppendOnly) else AppendOnly(messages), (NEXT_PROMPT,))


def _read(governor: Governor, messages: Sequence[ModelMessage], scaffold: Scaffold, same: int = 0) -> Reading:
    """Measure messages; if they end with a reply, by its provider's count."""
    answered = bool(messages) and isinstance(messages[-1], ModelResponse)
    return governor.meter.read(messages, scaffold, governor.window, same=same, as_reported=answered)


def _plan(governor: Governor, measured: Measured) -> Plan | None:
    """What the policy asks for, if it would help."""
    plan = governor.decide(measured)
    return plan if plan is None or plan.texts_only or not governor.situation(measured).is_fixed else None
