"""Turns, compactions, and all that rewrites or governs the history, at once and in any order."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

from co_tui.events import CompactionComplete, CompactionStart, Event, ModelChange, PolicyChange
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.runtime.runtime_switcher import WindowTooSmall
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import NothingToUndo
from tests.context.request.test_pipeline import LOADED
from tests.session.history.test_history_edits_property import check_whole, look, said_in, stored
from tests.support.environments import ScriptedModel, environment_for
from tests.support.lens import lens_of
from tests.support.long_run import drawn
from tests.support.waiting import PATIENCE_S

WINDOW = 9_000
SUMMARY = "Title: Questions\n## Decisions and outcomes\n- The question about src/main.py was answered."
EXPECTED = (CompactionRefused, NothingToUndo, WindowTooSmall)
"""What may be refused while something else is under way."""


class Talk:
    """A session of which many things are asked at the same time."""

    def __init__(self, home: Path) -> None:
        self.may_summarise = asyncio.Event()
        self.asked: list[asyncio.Task[Any]] = []
        self.said = 0
        self.stops_in_its_answer = False
        models = [ScriptedModel(self._answer, name=name, window=WINDOW) for name in ("scripted", "other")]
        self.environment = environment_for(home, *models, tools=[look])
        self.environment.settings = LOADED["balanced"]

    async def _answer(self, sent: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if "working memory" in (info.instructions or ""):
            await self.may_summarise.wait()
            yield SUMMARY
        else:
            yield "An answer about src/main.py, "
            if self.stops_in_its_answer:
                self.session.interrupt()
            await asyncio.sleep(0)
            yield "and the question is answered. " * 30

    async def begin(self) -> None:
        self.session = await Session.start(self.environment, "scripted")
        for _ in range(4):
            await self.session.submit(self._prompt())

    def _prompt(self) -> str:
        self.said += 1
        return f"Question {self.said} about src/main.py: " + "what does it say? " * 60

    def do(self, work: Coroutine[Any, Any, Any]) -> None:
        self.asked.append(asyncio.create_task(work))

    def say(self) -> None:
        self.do(self.session.submit(self._prompt()))

    def compact(self) -> None:
        self.do(self.session.compact())

    def undo(self) -> None:
        self.do(self.session.edits.undo())

    def clear(self) -> None:
        self.do(self.session.edits.clear())

    def rewind(self) -> None:
        self.do(self.session.edits.rewind(2))

    def bring_back(self) -> None:
        self.do(self.session.edits.pin([self.session.state.transcript[1].ref]))

    def change_policy(self) -> None:
        name = "copilot" if self.session.settings.policy == "balanced" else "balanced"
        self.do(self.session.switcher.switch_policy(LOADED[name]))

    def change_window(self) -> None:
        tokens = WINDOW + 1_000 if self.session.history.governor.window.tokens == WINDOW else WINDOW
        self.do(self.session.switcher.apply_settings(self.session.settings.but(context_window=tokens)))

    def change_model(self) -> None:
        name = "other" if self.session.history.model == "scripted" else "scripted"
        self.do(self.session.switcher.switch_model(name, compact=True))

    def stop(self) -> None:
        self.session.interrupt()

    def ask_by_tool(self) -> None:
        self.session._compactor.request("the numbers")

    def summarise(self) -> None:
        self.may_summarise.set()

    def hold_summaries(self) -> None:
        self.may_summarise.clear()

    async def finish(self) -> None:
        self.may_summarise.set()
        async with asyncio.timeout(PATIENCE_S):
            while self.session.queue.busy or not all(task.done() for task in self.asked):
                self.session.queue.release()
                await asyncio.sleep(0.002)
            await self.session.settle(5)
        failed = [task.exception() for task in self.asked if not task.cancelled()]
        assert [each for each in failed if each is not None and not isinstance(each, EXPECTED)] == []


DEEDS = (
    Talk.say, Talk.say, Talk.compact, Talk.undo, Talk.clear, Talk.rewind, Talk.bring_back, Talk.change_policy,
    Talk.change_window, Talk.change_model, Talk.stop, Talk.ask_by_tool, Talk.summarise, Talk.hold_summaries,
)  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 40)), min_size=3, max_size=12)
"""What is done, and how often the loop goes round before the next."""


def check_compactions(events: list[Event]) -> None:
    """One at a time, each with its end; what was begun in the background is not applied under another policy."""
    begun: CompactionStart | None = None
    for fact in (event.fact for event in events):
        if isinstance(fact, CompactionStart):
            assert begun is None, "two at once"
            begun = fact
        elif isinstance(fact, CompactionComplete):
            assert begun is not None, "the end of one that never began"
            assert not fact.success or fact.post_tokens < fact.pre_tokens
            begun = None
        elif isinstance(fact, ModelChange | PolicyChange):
            assert begun is None or begun.blocks, "it was to be discarded first"
    assert begun is None, "one that never ended"


def check_settled(session: Session) -> None:
    state, lens = session.state, lens_of(session)
    assert not session._compactor.running and state.compacting is None and state.usage is not None
    now = (session.history.model, session.history.governor.window.tokens)
    assert (state.usage.model, state.usage.token_limit) == now, "what the gauge shows is of what governs now"
    assert state.usage.current_tokens == lens.reading.current_tokens == sum(each.tokens for each in lens.messages)
    assert state.usage.tool_definition_tokens, "and with its tools"


async def conversation(home: Path, steps: list[tuple[Any, int]]) -> None:
    talk = Talk(home)
    await talk.begin()
    session = talk.session
    try:
        for deed, rounds in steps:
            deed(talk)
            for _ in range(rounds):
                await asyncio.sleep(0)
        await talk.finish()
        check_settled(session)
    finally:
        talk.may_summarise.set()
        await session.close()
        talk.environment.store.close()
    events = stored(session, session.state.seq)
    assert replay(events) == session.state
    check_whole(session.state, said_in(events))
    check_compactions(events)


CHANGED_WHILE_A_TURN_REPORTS = [
    (Talk.clear, 26), (Talk.stop, 37), (Talk.say, 8), (Talk.bring_back, 17), (Talk.undo, 29), (Talk.change_window, 2),
    (Talk.stop, 3),
]  # fmt: skip
"""The window changes while the stopped turn measures for the last time: its report comes after the change."""


@settings(max_examples=drawn(4), deadline=None)
@example(CHANGED_WHILE_A_TURN_REPORTS)
@given(STEPS)
def test_whatever_comes_together_the_session_is_whole_and_the_gauge_true(steps: list[tuple[Any, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(conversation(Path(folder), steps))


async def test_a_change_while_a_stopped_turn_reports_is_what_the_gauge_shows(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(home)
    await talk.begin()
    session, report = talk.session, GovernedHistory.report
    assert session.state.usage is not None and session.state.usage.token_limit == WINDOW

    async def report_after_the_change(self: GovernedHistory, *reading: Any) -> None:
        if session._work.turn is None and session.settings.context_window != WINDOW + 1_000:
            await session.switcher.apply_settings(session.settings.but(context_window=WINDOW + 1_000))
        await report(self, *reading)

    monkeypatch.setattr(GovernedHistory, "report", report_after_the_change)
    try:
        talk.stops_in_its_answer = True
        talk.say()
        await talk.finish()
        assert session.history.governor.window.tokens == WINDOW + 1_000, "it was changed"
        check_settled(session)
    finally:
        await session.close()
        talk.environment.store.close()
