"""The emergency, when something happens while it is prepared."""

import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import CompactionComplete, CompactionStart
from co_tui.session import recorder as recorders
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.turns.turn import Outcome
from co_tui.store.store_errors import StoreError
from tests.support.compacting import TOO_MUCH
from tests.support.environments import facts
from tests.support.provider import Provider
from tests.support.stores import replayed
from tests.support.talks import fill, talking
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("long_answers")
REFUSALS = 3
"""How often a request is refused before the emergency."""


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
async def test_a_pin_while_it_is_prepared_holds(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    remember, reading_as = CompactionFiles.remember, GovernedHistory.reading_as
    async with talking(home, provider) as session:
        await fill(session, 12, words=100)
        chosen: list[Any] = []
        is_emergency = False

        async def pin() -> None:
            if is_emergency and not chosen:
                chosen.append(session.state.history[-1])
                await session.edits.pin([chosen[0].ref])

        async def remembering(files: CompactionFiles, *given: Any, **more: Any) -> None:
            nonlocal is_emergency
            is_emergency |= "trimmed" in more and more["trimmed"]
            await remember(files, *given, **more)
            if not late:
                await pin()

        async def measuring(history: GovernedHistory, *given: Any, **more: Any) -> Any:
            after = await reading_as(history, *given, **more)
            if late:
                await pin()
            return after

        monkeypatch.setattr(CompactionFiles, "remember", remembering)
        monkeypatch.setattr(GovernedHistory, "reading_as", measuring)
        provider.script = [TOO_MUCH] * REFUSALS
        assert await session.submit("can you hear me?") is Outcome.DONE
        assert chosen, "the emergency was reached"
        (text,) = [part["content"] for part in chosen[0].message["parts"]]
        assert text[:100] in json.dumps(provider.requests[-1]["messages"])
        held = [entry for entry in session.state.history if entry.ref in session.state.pins]
        assert [entry.message["parts"] for entry in held].count(chosen[0].message["parts"]) == 1
        assert str([entry.message for entry in session.state.history]).count(text) == 1
        assert replayed(home, session.id) == session.state


async def test_one_that_cannot_be_stored_ends_as_a_failure(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "SAVE_AGAIN_S", 0.01)
    async with talking(home, provider) as session:
        await fill(session, 12, words=100)
        write = recorders.Recorder._write

        async def refusing(recorder: Any, given: tuple[Any, ...], ends_draft: bool) -> Any:
            if any(isinstance(fact, CompactionComplete) and "Emergency" in fact.note for fact in given):
                raise StoreError("The disk is full.")
            return await write(recorder, given, ends_draft)

        monkeypatch.setattr(recorders.Recorder, "_write", refusing)
        provider.script = [TOO_MUCH] * REFUSALS
        before = len(session.state.history)
        with pytest.raises(StoreError):
            await session.submit("can you hear me?")
        await until(lambda: not session.has_unsaved)
        assert session.state.compacting is None
        log = list(session.state.timeline)
        assert len(facts(log, CompactionStart)) == len(facts(log, CompactionComplete))
        assert (
            facts(log, CompactionComplete)[-1].error == "The disk is full" and len(session.state.history) <= before + 1
        )
        provider.script = []
        assert await session.submit("still there?") is Outcome.DONE
        assert replayed(home, session.id) == session.state
