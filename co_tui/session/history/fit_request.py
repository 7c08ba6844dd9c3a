"""Fit a measured history into a request: bring back lines, leave out what does not fit, log both."""

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import ModelResponse

from co_tui.context.journal.recollection import RECOLLECTED_FROM_EARLIER
from co_tui.context.measure.count import estimate_text
from co_tui.context.request.pipeline import Measured, Prepared
from co_tui.context.request.truncate import Omitted
from co_tui.events import Recollection, Ref, Truncation
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.next_request import held_of
from co_tui.session.state.session_state import Entry


async def fit_request(history: GovernedHistory, measured: Measured) -> Prepared:
    """The request to send: what does not fit is left out; logs that and the usage."""
    held = held_of(history.own_state, history.entries, measured)
    prepared = await history.fitted(measured, held)
    # The request starts differently from the last one for a reason other than recollection.
    is_rewritten = history.own_state.is_rewritten or prepared.held != held
    if history.policy.recollection_share and is_rewritten:
        # A search without a result is logged too: a resumed session must not repeat it.
        fact = await _recollection(history, measured, prepared)
        await history.recorder.record(fact)
        if fact.note:
            measured = await history.measure()
            prepared = await history.fitted(measured, prepared.held)
    if prepared.truncation is not None:
        await history.recorder.record(_truncation(history, measured, prepared, held))
    await history.report(prepared.reading)
    return prepared


async def _recollection(history: GovernedHistory, measured: Measured, prepared: Prepared) -> Recollection:
    """The lines relevant to the newest step, and the message they go with; without a note if there are none."""
    nothing = Recollection(messages=(), note="", agent=history.agent)
    entries, left_out = history.entries, _refs(history.entries, measured, prepared.held.left_out)
    origin = measured.origins[-1] if measured.live else None
    if origin is None or isinstance(measured.live[-1], ModelResponse) or entries[origin].ref in left_out:
        return nothing
    found = await history.recollect(measured, prepared.reading, left_out)
    if not found.entries:
        return nothing
    note = f"{RECOLLECTED_FROM_EARLIER}\n{found.text}"
    return nothing.but(
        messages=(entries[origin].ref,),
        note=note,
        lines=found.lines,
        tokens=round(history.governor.meter.ratio * estimate_text(note)),
        sources=history.whole_transcript.refs(found.messages),
    )


def _truncation(history: GovernedHistory, measured: Measured, prepared: Prepared, before: Omitted) -> Truncation:
    entries, figures, held = history.entries, prepared.truncation, prepared.held
    assert figures is not None
    upto = range(held.clipped_upto, -1, -1) if held.clipped_chars else ()
    clipped = next((index for index in upto if measured.origins[index] is not None), None)
    return Truncation(
        pre_tokens=figures.pre_tokens,
        post_tokens=figures.post_tokens,
        pre_messages=figures.pre_messages,
        post_messages=figures.post_messages,
        tokens_removed=figures.pre_tokens - figures.post_tokens,
        messages_removed=figures.pre_messages - figures.post_messages,
        messages_clipped=figures.clipped_messages,
        performed_by=history.policy.truncator,
        agent=history.agent,
        left_out=tuple(sorted(_refs(entries, measured, held.left_out - before.left_out))),
        clipped_chars=held.clipped_chars,
        clipped_upto=tuple(_refs(entries, measured, [clipped])) if clipped is not None else (),
    )


def _refs(entries: Sequence[Entry], measured: Measured, indexes: Iterable[int]) -> frozenset[Ref]:
    origins = (measured.origins[index] for index in indexes)
    return frozenset(entries[origin].ref for origin in origins if origin is not None)
