"""The original messages behind a history, followed while it changes in every way a session can change it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.events import Clear, CompactionComplete, Event, Fact, Message, Rewind
from co_tui.session.history.originals import Originals, originals
from co_tui.session.state.derive import apply
from co_tui.session.state.history_edits import pinned, undone
from co_tui.session.state.session_state import SessionState
from tests.support import long_run

KINDS = ("message", "message", "message", "delegated", "compact", "drop", "clear", "rewind", "undo", "pin")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 50), st.booleans()), min_size=8, max_size=30)


def said(text: str) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


def drawn(state: SessionState, kind: str, number: int) -> Fact | None:
    """What happens next, if it can."""
    refs = tuple(entry.ref for entry in state.history)
    match kind:
        case "message" | "delegated":
            return Message(turn=state.turn + 1, message=said("?"), agent="helper" if kind == "delegated" else "")
        case "compact" | "drop" if len(refs) > 1:
            made = (said("summary"),) if kind == "compact" else ()
            return CompactionComplete(success=True, replaced=refs[: 1 + number % len(refs)], replacement=made)
        case "clear" if refs:
            return Clear(history=())
        case "rewind" if refs:
            return Rewind(to_seq=refs[number % len(refs)][0], history=refs[: number % len(refs)])
        case "undo" if state.rewrites:
            return undone(state, state.rewrites[-1])
        case "pin" if state.transcript:
            return pinned(state, [state.transcript[number % len(state.transcript)].ref], True)
    return None


@settings(max_examples=long_run.drawn(40), deadline=None)
@given(STEPS)
def test_following_a_history_finds_what_a_pass_over_the_whole_log_finds(steps: list[tuple[str, int, bool]]) -> None:
    state, followed = SessionState(), Originals()
    for seq, (kind, number, looks) in enumerate(steps, 1):
        if (fact := drawn(state, kind, number)) is not None:
            state = apply(state, Event(session_id="s", seq=seq, timestamp="", fact=fact))
        if looks:
            followed.follow(state, state.history)
            expected = originals(state, state.history)
            assert [entry.ref for entry in followed.entries] == [entry.ref for entry in expected]
            assert followed.numbers(entry.ref for entry in expected) == set(range(len(expected)))


def test_messages_stay_the_same_sequence_while_they_are_only_compacted() -> None:
    state, followed = SessionState(), Originals()
    for seq in range(1, 4):
        state = apply(state, _event(seq, Message(turn=seq, message=said("?"))))
    followed.follow(state, state.history)
    lineage = followed.entries.lineage
    state = apply(state, _event(4, CompactionComplete(success=True, replaced=((1, 0),), replacement=(said("s"),))))
    state = apply(state, _event(5, Message(turn=4, message=said("?"))))
    followed.follow(state, state.history)
    assert followed.entries.lineage is lineage
    assert [entry.seq for entry in followed.entries] == [1, 2, 3, 5]


def _event(seq: int, fact: Fact) -> Event:
    return Event(session_id="s", seq=seq, timestamp="", fact=fact)
