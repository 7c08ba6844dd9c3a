"""A provider with a window of 11,000 tokens that names no number when it refuses: what a few turns cost."""

import json
from pathlib import Path

import pytest

from co_tui.context.measure.count import Window
from co_tui.events import CompactionComplete, SessionError
from co_tui.session.history.learned_limits import LIMITS_FILE, Limits
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import facts
from tests.support.long_run import LONG_RUN, also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import GOOD, LONG, served_environment, talking

REAL_WINDOW = 11_000
TURNS = 5 if LONG_RUN else 3
GROWS, JUMPS, LOOPS = (32_000, 1_000, 3), (200_000, 3_000, 0), (None, 100, 7)
"""By steps; at once; in a long loop of tools in a window that is not known."""


def list_functions(n: int = 0) -> str:
    """List functions."""
    return "\n".join(f"src/module_{n}_{line}.py: def function_{line}(x)  # note {line}" for line in range(130))


async def ask(session: Session, provider: Provider, turn: int, words: int, calls: int, tokens: int = -1) -> None:
    called = (("list_functions", json.dumps({"n": 10 * turn + n})) for n in range(calls))
    provider.script = [Reply(text="", tool=call, prompt_tokens=tokens) for call in called]
    prompt = f"Question {turn}: what about function_{turn}? " + "more words " * words
    assert await session.submit(prompt) is Outcome.DONE
    await session.settle(5)


@pytest.mark.parametrize(
    ("reported", "words", "calls", "reports_usage"),
    also_in_a_long_run(
        [(*JUMPS, True)], [(*GROWS, False), (*GROWS, True), (*JUMPS, False), (*LOOPS, True), (*LOOPS, False)]
    ),
)
async def test_a_few_turns_in_a_window_that_no_one_names(
    home: Path, provider: Provider, reported: int | None, words: int, calls: int, reports_usage: bool
) -> None:
    tokens = -1 if reports_usage else 0
    provider.default, provider.summary = Reply(text=LONG.text, prompt_tokens=tokens), GOOD
    provider.window, provider.real_window, provider.refusal = reported, REAL_WINDOW, "413"
    async with talking(home, provider, tools=[list_functions]) as session:
        compactions = []
        for turn in range(TURNS):
            seen = len(session.state.timeline)
            await ask(session, provider, turn, words, calls, tokens)
            compactions.append(len(facts(list(session.state.timeline)[seen:], CompactionComplete)))
        assert 1 <= provider.refused <= 2, provider.counted
        assert max(compactions) == 1, compactions
    refused, sent = provider.refused, len(provider.counted)
    again = await Session.resume(served_environment(home, provider, tools=[list_functions]), session.id)
    assert not again.history.governor.window.known and again.history.governor.window.tokens < 16_000
    await ask(again, provider, TURNS, words, calls, tokens)
    await again.close()
    assert provider.refused == refused and len(provider.counted) > sent, "another process knows it, too"


@only_in_a_long_run
async def test_an_error_code_in_brackets_leaves_the_model_usable(home: Path, provider: Provider) -> None:
    """`(2013)` is a code. The refusal teaches that the size was too long, and nothing about 2,013 tokens."""
    provider.default, provider.summary, provider.window = LONG, GOOD, 32_000
    code = {"error": {"message": "invalid params, context window exceeds limit (2013)"}}
    async with talking(home, provider, tools=[list_functions]) as session:
        for turn in range(2):
            await ask(session, provider, turn, 1_000, 2)
        answered = provider.counted[-1]
        provider.script = [Reply(status=400, body=json.dumps(code))]
        assert await session.submit("and now? " + "more words " * 2_000) is Outcome.DONE
        for turn in range(2, TURNS):
            await ask(session, provider, turn, 300, 1)
        offered = {tool["function"]["name"] for tool in provider.requests[-1]["tools"]}
        assert "list_functions" in offered, "its tools are still offered"
        assert len(facts(list(session.state.timeline), SessionError)) == 2, "refused once, recovered once"
        known = Limits(home / "state" / LIMITS_FILE).known(session.history.asked)
        assert not known.limit_tokens and known.refused_tokens > answered
        window = session.history.governor.window
        assert window == Window(tokens=known.most_tokens or 0, known=False) and window.tokens >= answered
