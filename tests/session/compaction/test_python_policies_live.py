"""A policy in Python governs a live session; when it fails, nothing is lost (G11)."""

from pathlib import Path
from typing import Any

import pytest

from co_tui.events import SessionError
from co_tui.settings.policies.policy_code import PolicyCode
from tests.context.request.test_pipeline import LOADED
from tests.support.compacting import texts
from tests.support.environments import facts
from tests.support.provider import Provider
from tests.support.stores import replayed
from tests.support.talks import compactions, fill, talking

pytestmark = pytest.mark.usefixtures("long_answers")


def deciding(body: str) -> dict[str, Any]:
    code = PolicyCode("/somewhere/mine.py", f"def decide(context):\n    {body}\n")
    return {"policy": "mine", "policy_code": code, "compaction": "python", "summary_form": "marker"}


async def test_it_summarises_what_the_policy_names(home: Path, provider: Provider) -> None:
    body = "return {'summarise': range(2, len(context.messages) - 1)} if len(context.messages) > 8 else None"
    async with talking(home, provider, **deciding(body)) as session:
        await fill(session, 5)
        done = next(done for done in compactions(session.state) if done.success)
        assert done.summary and done.trigger == "blocking" and texts(session.state)[0].startswith("Question 1")
        assert any(text.startswith("[Summary of 6 earlier messages]") for text in texts(session.state))
        assert replayed(home, session.id) == session.state


async def test_what_it_drops_goes_without_a_request_for_a_summary(home: Path, provider: Provider) -> None:
    body = "return {'drop': range(2, len(context.messages) - 1)} if len(context.messages) > 8 else None"
    async with talking(home, provider, **deciding(body)) as session:
        await fill(session, 5)
        (done,) = compactions(session.state)
        assert done.success and done.summary == "" and done.usage == {} and len(done.replaced) == 6
        assert any("6 messages removed" in text for text in texts(session.state))
        assert replayed(home, session.id) == session.state


async def test_on_demand_it_is_asked_what_would_go(home: Path, provider: Provider) -> None:
    body = "return {'summarise': range(4)} if context.asked else None"
    async with talking(home, provider, **deciding(body)) as session:
        await fill(session, 4)
        done = await session.compact()
        assert done.success and len(done.replaced) == 4 and done.trigger == "manual"


async def test_a_policy_that_fails_is_reported_once_and_balanced_decides(home: Path, provider: Provider) -> None:
    balanced = {name: getattr(LOADED["balanced"], name) for name in ("compacted_share", "summary_share")}
    made = deciding("return 1 / 0") | balanced | {"context_window": 3_000}
    async with talking(home, provider, **made) as session:
        await fill(session, 22)
        failures = [each for each in facts(list(session.state.timeline), SessionError) if each.kind == "policy_failed"]
        assert [each.what for each in failures] == [
            "The policy mine.py failed: line 2: ZeroDivisionError: division by zero."
        ]
        assert "balanced" in failures[0].outcome
        assert any(done.success for done in compactions(session.state)), "as balanced would have"
        assert replayed(home, session.id) == session.state
