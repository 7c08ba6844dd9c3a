"""Under `balanced` no request waits for a model: code writes what is sent until the note comes."""

import threading
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import CompactionStart
from tests.session.compaction.test_policies import under
from tests.session.compaction.test_work_journal import STORY, TOLD, balanced, work
from tests.support.compacting import BLOCKS_EARLY
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import MODEL, compactions, talking
from tests.support.waiting import until

LONG = "a long one " + "more words " * 2_000


def held() -> Reply:
    """A summary that never comes in time."""
    return Reply(text=STORY.text, until=threading.Event())


async def late(session: Any, provider: Provider) -> None:
    """A model's summary that the model asked for is under way, and the next request is too long to wait for it."""
    while session.state.usage is None or session.state.usage.share < 0.6:
        await work(session, provider, 1, lines=50)
    provider.summary = held()
    session._compactor.request("the invoices")
    provider.script = [Reply(text="Yes.", prompt_tokens=-1)]
    await session.submit("go on")
    await until(lambda: bool(provider.summary_requests))
    await session.submit(LONG)


async def test_what_the_model_asked_to_keep_is_kept_by_the_one_written_at_once(home: Path, provider: Provider) -> None:
    provider.window = 100_000
    async with talking(home, provider, **balanced()) as session:
        await late(session, provider)
        (done,) = compactions(session.state)
        assert done.success and done.summarised_by == "offline" and done.focus == "the invoices"
        assert "about: the invoices" in provider.summary_requests[0]["messages"][-1]["content"], "its note follows"


async def test_a_policy_without_an_offline_summary_still_asks_the_model(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.window, provider.summary = 100_000, STORY
    async with talking(home, provider, **balanced(summary_fallback="marker", **BLOCKS_EARLY)) as session:
        monkeypatch.setattr(session._compactor, "after_turn", nothing)
        while not compactions(session.state) and session.state.turn < 20:
            await work(session, provider, 1, lines=50)
        while not provider.summary_requests and session.state.turn < 60:
            await work(session, provider, 1, lines=50)
        done = compactions(session.state)[-1]
        assert done.success and done.summarised_by == MODEL and done.summary.endswith(TOLD)
        assert facts(list(session.state.timeline), CompactionStart)[-1].blocks


@pytest.mark.parametrize("policy", also_in_a_long_run(["balanced"], ["copilot"]))
async def test_after_a_turn_no_request_waits_so_that_the_model_is_asked(
    home: Path, provider: Provider, policy: str
) -> None:
    provider.window, provider.summary = 100_000, STORY
    changes: dict[str, Any] = {"context_window": 8_000, "daily_memory": "off", **BLOCKS_EARLY}
    async with talking(home, provider, **under(policy, **changes)) as session:
        while not provider.summary_requests and session.state.turn < 60:
            await work(session, provider, 1, lines=50)
        done = compactions(session.state)[-1]
        assert done.success and done.summarised_by == MODEL


async def nothing(_: Any) -> None:
    return None
