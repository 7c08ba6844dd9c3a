"""What `/context` and `co-tui context` say adds up, whatever the policy."""

from pathlib import Path
from typing import Any

import pytest

from co_tui.session.session import Session
from co_tui.session.state.context_report import context_report
from tests.context.request.test_pipeline import LOADED
from tests.session.compaction.test_policies import under
from tests.support.long_run import LONG_RUN
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import MODEL, compactions, served_environment, talk

pytestmark = pytest.mark.usefixtures("long_answers")

EARLY = {"agent_max_context_turns": 4, "few_turns": 2, "max_history_messages": 10}
"""So that each policy that goes by turns or messages has shortened the history after a few."""
SEEDS = ("balanced", "co-cli", "inkeep", "copilot", "cowagent")
PARTS = ("system_tokens", "tool_definition_tokens", "conversation_tokens")


def adds_up(figures: dict[str, Any]) -> None:
    assert sum(figures[part] for part in PARTS) == figures["current_tokens"]
    assert sum(figures["roles"].values()) == figures["messages_count"], figures["roles"]


@pytest.mark.parametrize("policy", LOADED if LONG_RUN else ("cowagent",))
async def test_the_parts_add_up_after_every_turn_and_after_a_resume(
    home: Path, provider: Provider, policy: str
) -> None:
    provider.window = 4_000
    look = Reply("I look.", tools=(("read_file", '{"path": "a"}'), ("read_file", '{"path": "b"}')))
    environment = served_environment(home, provider, **under(policy, **EARLY))
    session = await Session.start(environment, MODEL)
    for n in range(6):
        provider.script = [look] if n in (1, 4) else []
        await talk(session, 1)
        adds_up(context_report(session.state))
    if policy == "cowagent":
        assert any(done.success for done in compactions(session.state)), "turns were to be trimmed"
    await session.close()
    adds_up(context_report(replayed(home, session.id)))
    resumed = await Session.resume(environment, session.id)
    adds_up(context_report(resumed.state))
    await resumed.close()
    environment.store.close()
