"""A window that a provider insisted on is remembered, and only ever becomes smaller."""

import json
from pathlib import Path

from co_tui.agent.failures import Asked
from co_tui.session.history.limits import Limits
from co_tui.session.session import Session
from co_tui.session.turn import Outcome
from tests.support.provider import Provider, Reply
from tests.support.talks import LONG, served_environment, talk, talking

ASKED = Asked("openai-chat:scripted", "http://localhost:1/v1")


def refusal(limit: int) -> Reply:
    message = f"This model's maximum context length is {limit} tokens. Please reduce the length of the messages."
    return Reply(status=400, body=json.dumps({"error": {"message": message, "code": "context_length_exceeded"}}))


def test_a_smaller_limit_replaces_a_larger_one_and_never_the_other_way(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    assert limits.of(ASKED) is None
    for named, kept in ((8_000, 8_000), (9_000, 8_000), (8_001, 8_000), (4_000, 4_000), (8_000, 4_000)):
        limits.learn(ASKED, named)
        assert limits.of(ASKED) == Limits(tmp_path / "learnt.json").of(ASKED) == kept
    assert limits.of(Asked("openai-chat:scripted", "http://elsewhere/v1")) is None


def test_a_limit_nobody_could_work_in_is_not_kept(tmp_path: Path) -> None:
    limits = Limits(tmp_path / "learnt.json")
    limits.learn(ASKED, 100)
    assert limits.of(ASKED) is None


async def test_a_refusal_that_names_a_larger_window_makes_ours_no_larger(home: Path, provider: Provider) -> None:
    provider.default, provider.window = LONG, 4_000
    async with talking(home, provider, compaction="none") as session:
        await talk(session, 4)
        provider.script = [refusal(50_000)]
        assert await session.submit("and now?") is Outcome.DONE
        assert session.state.usage is not None and session.state.usage.token_limit <= 4_000
        provider.script = [refusal(1_500)]
        assert await session.submit("and now?") is Outcome.DONE
        assert session.state.usage.token_limit == 1_500
    again = await Session.resume(served_environment(home, provider), session.id)
    assert await again.submit("and?") is Outcome.DONE and again.state.usage is not None
    assert again.state.usage.token_limit == 1_500, "what was named last and least"
    await again.close()
