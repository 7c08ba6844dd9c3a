"""A store that refuses any one append: what was paid stays billed, nothing stays under way, and the session is usable.

Each case refuses another append of the same conversation; the last one refuses none."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall

from co_tui.context.request.repair import open_calls
from co_tui.events import CompactionComplete, CompactionStart, Event, Message, RequestBilled
from co_tui.session import recorder as recorders
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import NothingToUndo
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.turns.turn import Outcome
from co_tui.store.store_errors import StoreError
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.long_run import also_in_a_long_run
from tests.support.waiting import until

PRICE = 0.25


class FailingStore:
    """The environment's store, of which some appends are refused."""

    def __init__(self, environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
        self.appends, self.refused = 0, range(0)
        writing = environment.store.writing()
        append = writing.append

        def refusing(session_id: str, given: Any, **more: Any) -> "Future[tuple[Event, ...]]":
            self.appends += 1
            if self.appends not in self.refused:
                return append(session_id, given, **more)
            failed: Future[tuple[Event, ...]] = Future()
            failed.set_exception(StoreError("The disk is full."))
            return failed

        monkeypatch.setattr(writing, "append", refusing)


class Talker(ScriptedModel):
    """Calls a tool, answers, and writes summaries; counts the requests that it answered."""

    def __init__(self) -> None:
        self.answered = 0
        super().__init__(self._script)

    async def _script(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.answered += 1
        if "working memory" in (info.instructions or ""):
            yield "Title: Questions\n## Decisions and outcomes\n- The question was answered."
        elif "You give conversations their titles" in (info.instructions or ""):
            yield "Questions and answers"
        elif "look" in str(messages[-1].parts[-1].content):
            yield {0: DeltaToolCall("see", "{}", tool_call_id=f"c{self.answered}")}
        else:
            yield "An answer about the question. " * 30


def see() -> str:
    """See what is there."""
    return "something was seen " * 20


async def talk(session: Session) -> None:
    """Some turns, a compaction and what the user changes; a refused append ends what it was part of."""
    for prompt in ("say one", "look there", "say two"):
        with suppress(StoreError):
            assert await session.submit(prompt) in (Outcome.DONE, Outcome.FAILED)
    with suppress(StoreError, CompactionRefused):
        await session.compact()
    with suppress(StoreError, NothingToUndo):
        await session.edits.undo()
    with suppress(StoreError, NothingToUndo):
        await session.edits.rewind(2)


async def conversation(home: Path, monkeypatch: pytest.MonkeyPatch, refused: range) -> int:
    """Refuse some appends; returns how many there were."""
    model = Talker()
    environment = environment_for(home, model, tools=[see], summarization_model="scripted")
    environment.names_sessions = True
    session = await Session.start(environment, "scripted")
    store = FailingStore(environment, monkeypatch)
    store.refused = refused
    await talk(session)
    appends, store.refused = store.appends, range(0)
    # The session is usable.
    assert await asyncio.wait_for(session.submit("and now?"), 60) is Outcome.DONE
    await until(lambda: not session.has_unsaved)
    state = session.state
    assert state.compacting is None, "nothing is under way"
    assert not state.pending
    assert not open_calls(ParsedMessages().messages(state.history))
    await session.close()
    # The log is what happened, and all of it.
    with environment.store.reading() as reading:
        events = list(reading.events(session.id))
    assert replay(events) == session.state
    assert len(facts(events, CompactionStart)) == len(facts(events, CompactionComplete))
    bills = facts(events, RequestBilled)
    assert len(bills) == model.answered, "one bill for each request, and not two"
    assert (session.state.total_cost or 0.0) == pytest.approx(PRICE * model.answered)
    replies = [each for each in facts(events, Message) if each.message["kind"] == "response"]
    turns = sum(bill.what == "turn" for bill in bills)
    assert len(replies) == turns, "each reply that was paid is in the log, once"
    with environment.store.reading() as reading:
        assert reading.session(session.id).cost == pytest.approx(PRICE * model.answered)
    # And it can be opened again.
    again = await Session.resume(environment, session.id)
    assert await asyncio.wait_for(again.submit("look again"), 60) is Outcome.DONE
    await again.close()
    environment.store.close()
    return appends


MOST_APPENDS = 40
SOME = (1, 3, 5, 8, 11, 13, 16, 23, 24, 25, 29, MOST_APPENDS)
"""Of each kind one: prompts, bills, measurements, a title, replies, results, a compaction, a rewind, and none."""


@pytest.mark.parametrize("times", also_in_a_long_run([1], [3]))
@pytest.mark.parametrize("refused", also_in_a_long_run(list(SOME), list(range(1, MOST_APPENDS + 1))))
async def test_any_one_append_may_be_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, refused: int, times: int
) -> None:
    monkeypatch.setattr("co_tui.session.bills.price_of", lambda reply: PRICE)
    monkeypatch.setattr(recorders, "SAVE_AGAIN_S", 0.01)
    appends = await conversation(home, monkeypatch, range(refused, refused + times))
    assert appends < MOST_APPENDS, "the last case refuses none"
