"""Rule, timeline and undo report an event with the same figure."""

from co_tui.events import Clear, CompactionComplete, Event, Fact, Message, Rewind, SessionInterrupted, SessionStart
from co_tui.events.facts.conversation import REPLY_KEPT, TURN_STOPPED
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import cleared, undone
from co_tui.session.state.out_of_context import out_of_context
from co_tui.session.state.session_state import SessionState
from co_tui.ui.transcript.context_marks import boundary_text


def said(turn: int) -> list[Fact]:
    prompt = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"prompt {turn}"}]}
    reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"answer {turn}"}]}
    return [Message(turn=turn, message=prompt), Message(turn=turn, message=reply)]


SUMMARY = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Sum"}], "metadata": {"replaces": 4}}
COMPACTED = CompactionComplete(
    success=True, replaced=((2, 0), (3, 0), (4, 0), (5, 0)), replacement=(SUMMARY,), summary="Sum"
)
TALK: list[Fact] = [SessionStart(model="scripted"), *said(1), *said(2), *said(3), COMPACTED]
"""Six messages, numbered from 2; the compaction has number 8. The model sees three."""


def state_after(*facts: Fact) -> SessionState:
    return replay(
        [Event(session_id="s", seq=number, timestamp="", fact=fact) for number, fact in enumerate((*TALK, *facts), 1)]
    )


def test_a_clearing_counts_what_was_in_context() -> None:
    clear = cleared(state_after())
    state = state_after(clear)
    (group,) = out_of_context(state).groups
    assert boundary_text(group).startswith("⌫ 3 messages above are cleared")
    assert boundary_text(group).endswith("/undo brings them back")
    assert isinstance(clear, Clear) and clear.timeline_text() == "cleared · 3 messages"
    assert len(undone(state, state.rewrites[-1]).history) == 3


def test_a_compaction_reads_undone_while_it_is_rewound() -> None:
    rewind = Rewind(to_seq=3, history=((2, 0), (3, 0)))
    state = state_after(rewind)
    assert out_of_context(state).undone == {8}
    assert rewind.timeline_text() == "rewound · 2 in context"
    assert out_of_context(state_after(rewind, undone(state, state.rewrites[-1]))).undone == frozenset()
    assert out_of_context(state_after(cleared(state_after()))).undone == frozenset(), "cleared is not undone"


def test_only_a_reply_that_came_is_kept() -> None:
    stopped = SessionInterrupted(what=TURN_STOPPED, outcome=REPLY_KEPT)
    assert stopped.sentence() == "Stopped."
    assert stopped.sentence(has_partial_reply=True) == "Stopped. Partial reply kept."
