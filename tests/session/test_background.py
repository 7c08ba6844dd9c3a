"""The state machine of compaction beside the conversation, without a model."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from co_tui.session.compaction.background_compaction import Background, Move, Stage


def test_from_idle_to_applied() -> None:
    machine: Background[str] = Background()
    history = object()
    assert machine.next_move(history, "") is Move.PROCEED
    assert machine.next_move(history, "background") is Move.START
    assert machine.next_move(history, "now") is Move.COMPACT
    ticket = machine.begin(history)
    assert machine.next_move(history, "background") is Move.PROCEED, "the turn goes on while it runs"
    assert machine.next_move(history, "now") is Move.WAIT, "at the second mark the request waits"
    assert machine.finish(ticket, "a summary")
    assert machine.next_move(history, "") is Move.APPLY
    assert machine.take(history) == "a summary" and machine.stage is Stage.IDLE


def test_a_result_for_another_history_is_never_applied() -> None:
    machine: Background[str] = Background()
    before, after = object(), object()
    machine.finish(machine.begin(before), "late")
    assert machine.is_stale(after) and machine.next_move(after, "now") is Move.PROCEED
    assert machine.take(after) is None
    assert machine.discard() == "late" and machine.stage is Stage.IDLE


def test_what_was_discarded_cannot_come_back() -> None:
    machine: Background[str] = Background()
    history = object()
    ticket = machine.begin(history)
    machine.discard()
    assert not machine.finish(ticket, "late") and not machine.fail(ticket)
    newer = machine.begin(history)
    assert not machine.finish(ticket, "late"), "an older ticket does not hand in for a newer one"
    assert machine.finish(newer, "right") and machine.take(history) == "right"


def test_two_at_once_are_refused() -> None:
    machine: Background[str] = Background()
    machine.begin(object())
    with pytest.raises(RuntimeError):
        machine.begin(object())


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens in whatever order: a result is taken at most once, and only for the history it belongs to."""

    def __init__(self) -> None:
        super().__init__()
        self.machine: Background[tuple[int, object]] = Background()
        self.version = object()
        self.tickets: list[tuple[int, object]] = []
        self.taken: set[int] = set()

    @rule()
    def history_rewritten(self) -> None:
        self.version = object()

    @precondition(lambda self: self.machine.stage is Stage.IDLE)
    @rule()
    def begin(self) -> None:
        self.tickets.append((self.machine.begin(self.version), self.version))

    @precondition(lambda self: self.tickets)
    @rule(data=st.data(), fails=st.booleans())
    def end(self, data: st.DataObject, fails: bool) -> None:
        ticket = data.draw(st.sampled_from(self.tickets))
        if fails:
            self.machine.fail(ticket[0])
        else:
            self.machine.finish(ticket[0], ticket)

    @rule()
    def discard(self) -> None:
        self.machine.discard()

    @rule(wanted=st.sampled_from(["", "background", "now"]))
    def request(self, wanted) -> None:
        if self.machine.next_move(self.version, wanted) is Move.APPLY:
            result = self.machine.take(self.version)
            assert result is not None and result[1] is self.version and result[0] not in self.taken
            self.taken.add(result[0])

    @invariant()
    def only_ready_holds_a_result(self) -> None:
        assert (self.machine.stage is Stage.READY) == (self.machine._result is not None)


TestAnyOrder = AnyOrder.TestCase
