"""What the lab says is what the session does: a session's own conversation, replayed, gives the requests it sent."""

from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.model_messages import read_messages
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.context.measure.count import Window
from co_tui.context.policy import policy_of
from co_tui.exchange.openai_format import Conversation, to_chat
from co_tui.lab.results import replay
from co_tui.session.turns.turn import Outcome
from tests.context.request.test_pipeline import LOADED
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import served_environment, talking

WINDOW = 5_000
TURNS = 22
ANSWER = "The function in src/module.py returns early, as the tests in tests/test_module.py say. " * 17


def said(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in messages if each["role"] != "system"]


@pytest.mark.parametrize("policy", also_in_a_long_run(["cowagent"], ["balanced", "copilot"]))
async def test_the_lab_sends_what_the_session_sent(home: Path, provider: Provider, policy: str) -> None:
    provider.window, provider.default = WINDOW, Reply(text=ANSWER, prompt_tokens=-1, completion_tokens=150)
    environment = served_environment(home, provider)
    # Summarised offline, as in the lab: the model that is set for it cannot be had.
    budget = {"agent_max_context_tokens": 3_500} if policy == "cowagent" else {}
    environment.settings = LOADED[policy].but(summarization_model="openai-chat:other", **budget)
    reachable = environment.open_model

    async def open_model(name: str) -> Any:
        if name == "openai-chat:other":
            raise ModelUnusable("There is no such model.")
        return await reachable(name)

    environment.open_model = open_model
    async with talking(home, provider, environment=environment) as session:
        for n in range(TURNS):
            prompt = f"Question {n}: what about function_{n}? " + "more words " * (n % 7) * 9
            assert await session.submit(prompt) is Outcome.DONE
            await session.settle(30)
        transcript = read_messages([entry.message for entry in session.state.transcript])

    replayed = replay(
        Conversation("talk", transcript), policy_of(environment.settings), Window(tokens=WINDOW, known=True)
    )
    requests = [request async for request in replayed]
    assert requests[-1].compactions > 1
    sent = [said(request["messages"]) for request in provider.requests]
    assert [said(to_chat(request.prepared.messages)) for request in requests] == sent
