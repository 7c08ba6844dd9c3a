"""What is compacted for want of memory is free when the free memory is returned to the system."""

import gc
from pathlib import Path

import pytest

from co_tui.session import memory_relief
from co_tui.session.session import Session
from co_tui.session.state.session_state import SessionState
from tests.support.provider import Provider
from tests.support.talks import compactions, talk, talking


def _earlier_states(session: Session) -> int:
    """States with the history as it was before the compaction."""
    gc.collect()
    states = [each for each in gc.get_objects() if isinstance(each, SessionState)]
    return sum(len(each.history) > len(session.state.history) for each in states if each.session_id == session.id)


async def test_the_history_before_the_compaction_is_free_when_memory_is_given_back(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talking(home, provider) as session:
        await talk(session, 6)
        held: list[int] = []
        monkeypatch.setattr(memory_relief, "give_back", lambda: held.append(_earlier_states(session)))
        await session.switcher.apply_settings(session.settings.but(memory_limit_mb=1))
        await session.submit("and now?")
        assert compactions(session.state)[-1].trigger == "memory_pressure"
    assert held == [0]


async def test_free_memory_is_returned_once_enough_messages_left_the_history(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    trims: list[str] = []
    monkeypatch.setattr(memory_relief, "_trim", lambda: trims.append("trimmed"))
    async with talking(home, provider, keep_recent_share=0.0) as session:
        await talk(session, memory_relief.PACKED_AT_ONCE)
        assert not trims
        assert (await session.compact()).success
        await session.submit("and now?")
        assert trims


async def test_nothing_is_compacted_for_memory_that_is_free_already(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    resident = [3_000.0]
    monkeypatch.setattr(memory_relief, "resident_mb", lambda: resident[0])
    monkeypatch.setattr(memory_relief, "_trim", lambda: resident.__setitem__(0, 100.0))
    async with talking(home, provider, memory_limit_mb=2_048) as session:
        await talk(session, 6)
        assert not compactions(session.state)
    assert resident == [100.0]
