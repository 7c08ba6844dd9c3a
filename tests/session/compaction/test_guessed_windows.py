"""A window that was only guessed, because a provider refused without naming a limit, ends with the turn."""

import json
from pathlib import Path

import pytest

from co_tui.session.turns.turn import Outcome
from tests.support.compacting import TOO_MUCH
from tests.support.provider import Provider
from tests.support.talks import fill, talking


@pytest.mark.usefixtures("long_answers")
async def test_a_turn_that_fails_leaves_no_guessed_window_behind(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 12, words=100)
        answered_tokens = max(provider.counted)
        provider.script = [TOO_MUCH] * 20
        assert await session.submit("can you hear me?") is Outcome.FAILED
        provider.script = []
        # Shorter than what was answered before, far longer than the last guess.
        prompt = "one more question about the function " * (answered_tokens // 12)
        assert await session.submit(prompt) is Outcome.DONE
        assert prompt in json.dumps(provider.requests[-1]["messages"])
        assert provider.counted[-1] <= answered_tokens
