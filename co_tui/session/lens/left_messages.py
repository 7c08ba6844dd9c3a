"""What was in the context and is no longer sent: replaced, left out because it does not fit, or shortened."""

from collections.abc import Callable, Iterator, Sequence

from pydantic_ai.messages import ModelMessage, ToolReturnPart

from co_tui.agent.model_messages import read_messages
from co_tui.context.measure.count import estimate_message, system_tokens
from co_tui.context.measure.meter import Meter
from co_tui.events import CompactionComplete, Json
from co_tui.session.history.next_request import NextRequest
from co_tui.session.lens.last_viewed import LastView
from co_tui.session.lens.request_rows import Fate, LeftMessage, LensMessage
from co_tui.session.state.out_of_context import out_of_context
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.released import opened
from co_tui.session.state.removals import DOES_NOT_FIT, NEVER_SENT
from co_tui.session.state.session_state import Rewritten, SessionState
from co_tui.session.tools.archive import reference_of

_Tokens = Callable[[Json], int]


def left_messages(
    state: SessionState,
    following: NextRequest,
    rows: Sequence[LensMessage],
    since: LastView,
    parsed: ParsedMessages,
    meter: Meter,
) -> list[LeftMessage]:
    """What left since a view, in log order, and where it is now. Those that are gone are the ones the chat sets apart:
    messages of the conversation, without the summaries that earlier compactions made of them."""

    def tokens(message: Json) -> int:
        (read,) = read_messages([opened(message)])
        return round(meter.ratio * (estimate_message(read, meter.provider) + system_tokens(read)))

    gone = [each._replace(tokens=tokens(each.message)) for each in _gone(state, since)]
    others = (*_left_out(state, following, tokens), *_shortened(state, rows, parsed, meter))
    return sorted([*gone, *(each for each in others if each.ref not in since.shortened)], key=lambda each: each.ref)


def _gone(state: SessionState, since: LastView) -> Iterator[LeftMessage]:
    checkpoints = {rewrite.seq: _checkpoint(rewrite) for rewrite in state.rewrites}
    left_at = {ref: rewrite.seq for rewrite in state.rewrites for ref in rewrite.removed}
    removals = out_of_context(state).removals if left_at else {}
    for entry in state.transcript if removals else ():
        removal = removals.get(entry.seq)
        if entry.agent or removal is None or removal.reason == DOES_NOT_FIT:
            continue
        if left_at.get(entry.ref, removal.seq) <= since.seq:  # a later compaction may have replaced its summary since
            continue
        where = f"{checkpoints.get(removal.seq, '')}event {entry.seq}"
        yield LeftMessage(entry.ref, entry.turn, removal.reason, entry.message, where)


def _checkpoint(rewrite: Rewritten) -> str:
    fact = rewrite.event.fact
    is_kept = isinstance(fact, CompactionComplete) and fact.checkpoint_number
    return f"checkpoint {fact.checkpoint_number}, " if is_kept and isinstance(fact, CompactionComplete) else ""


def _left_out(state: SessionState, following: NextRequest, tokens: _Tokens) -> Iterator[LeftMessage]:
    origins, out = following.measured.origins, following.prepared.held.left_out
    reasons = dict.fromkeys(range(len(state.history)), NEVER_SENT)
    reasons |= {
        origin: DOES_NOT_FIT if index in out else "" for index, origin in enumerate(origins) if origin is not None
    }
    for origin, entry in enumerate(state.history):
        if why := reasons[origin]:
            yield LeftMessage(entry.ref, entry.turn, why, entry.message, f"event {entry.seq}", tokens(entry.message))


def _shortened(
    state: SessionState, rows: Sequence[LensMessage], parsed: ParsedMessages, meter: Meter
) -> Iterator[LeftMessage]:
    """Results that are not sent in full."""
    shortened = {row.ref: row for row in rows if row.ref and row.judgement.fate in (Fate.TRIMMED, Fate.ARCHIVED)}
    if not shortened:
        return
    for entry, live in zip(state.history, parsed.messages(state.history), strict=True):
        row = shortened.get(entry.ref)
        if row is not None and row.message is not None:
            less = max(0, round(meter.tokens(live) - meter.tokens(row.message)))
            where = _artifact(live, parsed) if row.judgement.fate is Fate.ARCHIVED else ""
            why, where = str(row.judgement.fate), where or f"event {entry.seq}"
            yield LeftMessage(entry.ref, entry.turn, why, entry.message, where, less)


def _artifact(message: ModelMessage, parsed: ParsedMessages) -> str:
    results = (part for part in message.parts if isinstance(part, ToolReturnPart))
    return next(filter(None, (reference_of(parsed, part) for part in results)), "")
