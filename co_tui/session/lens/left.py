"""What was in the context and is not in the next request: left out because it does not fit, or rewritten."""

from collections.abc import Iterator

from co_tui.events import Clear, CompactionComplete
from co_tui.session.lens.messages import LeftMessage
from co_tui.session.next_request import NextRequest
from co_tui.session.state.session_state import Rewritten, SessionState


def left_messages(state: SessionState, following: NextRequest, since: int | None) -> list[LeftMessage]:
    """In the order in which it was said; of rewrites, those after a seq, or the latest one."""
    rewrites = state.rewrites[-1:] if since is None else [each for each in state.rewrites if each.seq > since]
    found = {each.ref: each for rewrite in rewrites for each in _rewritten(rewrite)}
    present = {entry.ref for entry in state.history}
    left = [each for ref, each in found.items() if ref not in present]
    return sorted([*left, *_left_out(state, following)], key=lambda each: each.ref)


def _rewritten(rewrite: Rewritten) -> Iterator[LeftMessage]:
    after, why = {entry.ref for entry in rewrite.after}, _why(rewrite)
    for entry in rewrite.before:
        if entry.ref not in after:
            yield LeftMessage(entry.ref, entry.turn, why, entry.message)


def _why(rewrite: Rewritten) -> str:
    fact = rewrite.event.fact
    if isinstance(fact, CompactionComplete):
        return "summarised" if fact.summary else "left out by the compaction"
    return "cleared" if isinstance(fact, Clear) else "rewound"


def _left_out(state: SessionState, following: NextRequest) -> Iterator[LeftMessage]:
    for place in sorted(following.prepared.held.left_out):
        origin = following.measured.origins[place]
        if origin is not None and origin < len(state.history):
            entry = state.history[origin]
            yield LeftMessage(entry.ref, entry.turn, "does not fit", entry.message)
