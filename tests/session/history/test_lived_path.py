"""Plan and speaker are those of the path that the conversation lived through, however it was rewound and undone."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from co_tui.events import AgentTransfer, CompactionComplete, Fact, Message, PlanChanged, Rewind
from co_tui.session.state import history_edits
from co_tui.session.state.out_of_context import out_of_context
from co_tui.ui.timeline.timeline_log import TimelineLog
from tests.session.history.test_history_edits_property import Log, prompt, refs
from tests.support.long_run import drawn


class Conversation:
    """A log, and next to it what was lived through at each of its events, kept as a person would: a rewind is the path
    of that moment again, undoing it is the path before it with all since."""

    def __init__(self) -> None:
        self.log = Log()
        self.paths: list[tuple[Fact, ...]] = [()]

    @property
    def path(self) -> tuple[Fact, ...]:
        return self.paths[-1]

    def add(self, fact: Fact, path: tuple[Fact, ...] | None = None) -> None:
        self.log.add(fact)
        self.paths.append((*self.path, fact) if path is None else path)

    def turn(self, _: int) -> None:
        self.add(Message(turn=self.log.state.turn + 1, message=prompt(f"question {len(self.log.events)}")))

    def plan(self, number: int) -> None:
        self.add(PlanChanged(steps=({"text": f"step {number}", "state": "open"},)))

    def transfer(self, number: int) -> None:
        self.add(AgentTransfer(from_="main", to=("main", "reviewer", "tester")[number % 3], by="user"))

    def compact(self, _: int) -> None:
        if history := self.log.state.history:
            made = (prompt(f"summary {len(self.log.events)}"),)
            self.add(CompactionComplete(success=True, summary="s", replaced=tuple(refs(history)), replacement=made))

    def rewind(self, number: int) -> None:
        if self.log.state.turn:
            to_seq = history_edits.beginning_of(self.log.state, 1 + number % self.log.state.turn).seq - 1
            history = tuple(refs(self.log.states[to_seq].history))
            self.add(Rewind(to_seq=to_seq, history=history), self.paths[to_seq])

    def undo(self, _: int) -> None:
        if self.log.state.rewrites:
            last = self.log.state.rewrites[-1]
            path = self.path
            if isinstance(back := last.event.fact, Rewind):
                since = path[len(self.paths[back.to_seq]) :]
                path = (*self.paths[last.seq - 1], *since)
            path = tuple(fact for fact in path if fact is not last.event.fact)
            self.add(history_edits.undone(self.log.state, last), path)

    def check(self) -> None:
        plans = [fact.steps for fact in self.path if isinstance(fact, PlanChanged)]
        speakers = [fact.to for fact in self.path if isinstance(fact, AgentTransfer)]
        state = self.log.state
        assert state.plan == (plans[-1] if plans else ())
        assert (state.speaker or "main") == (speakers[-1] if speakers else "main")
        messages = {fact.message["parts"][0]["content"] for fact in self.path if isinstance(fact, Message)}
        for event in self.log.events:
            if isinstance(event.fact, Message):
                is_lived = event.fact.message["parts"][0]["content"] in messages
                assert history_edits.is_rewound(state, event.seq or 0) is not is_lived
        timeline = TimelineLog(state.timeline)
        undone = out_of_context(state).undone
        for event in state.compactions:
            assert timeline.is_undone(event) is (event.seq in undone) is (event.fact not in self.path)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "turn", "plan", "transfer", "compact", "rewind", "rewind", "undo"]), st.integers(0, 9)
    ),
    min_size=4,
    max_size=20,
)
TO_WHAT_A_REWIND_TOOK_AWAY: list[tuple[str, int]] = [
    *[("turn", 0), ("turn", 0), ("plan", 1), ("transfer", 1), ("turn", 0), ("rewind", 1)],
    *[("plan", 2), ("transfer", 2), ("rewind", 2)],
]


@settings(max_examples=drawn(60), deadline=None)
@given(STEPS)
@example(TO_WHAT_A_REWIND_TOOK_AWAY)
@example([*TO_WHAT_A_REWIND_TOOK_AWAY, ("undo", 0), ("plan", 3), ("undo", 0)])
def test_plan_and_speaker_are_those_of_the_lived_path(steps: list[tuple[str, int]]) -> None:
    conversation: Any = Conversation()
    for name, number in steps:
        getattr(conversation, name)(number)
        conversation.check()
