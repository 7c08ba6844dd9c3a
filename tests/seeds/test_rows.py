"""What all four policies have in common with each other or not: skills and plan (C5), delegates (T4)."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ToolReturnPart

from co_tui.events import DelegationEnd
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.turn import Outcome
from co_tui.session.turns.unfinished import recovered
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from tests.seeds.behaviours import SEEDS, says
from tests.session.compaction.test_policies import successes, under
from tests.session.tools.test_agent_files import asks, call
from tests.session.turns.test_delegations import ended, whole
from tests.support.environments import ScriptedModel, environment_for
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import stored_events
from tests.support.talks import GOOD, LONG, served_environment, talk, talking

AUTOMATIC: list[tuple[str, dict[str, Any]]] = [
    ("co-cli", {"max_history_messages": 8}),
    ("cowagent", {"agent_max_context_turns": 4}),
]
PLAN = {"items": [{"content": "read the code", "status": "completed"}, {"content": "mend it", "status": "pending"}]}

REPORTED = """Its tool calls and results:

## Tool: read_file

**Input:**
{
  "path": "part.txt"
}

**Output:**
"""


@pytest.mark.parametrize(
    ("policy", "changes"),
    also_in_a_long_run([("copilot", {})], [*((name, {}) for name in SEEDS if name != "copilot"), *AUTOMATIC]),
    ids=str,
)
async def test_c5_a_compaction_carries_the_plan_and_the_instructions_of_skills(
    folder: Path, home: Path, provider: Provider, policy: str, changes: dict[str, Any]
) -> None:
    provider.default, provider.summary, provider.window = LONG, GOOD, 100_000
    skill = folder / ".agents" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: How to greet\n---\nSay it in French.\n")
    environment = served_environment(home, provider, **under(policy, **changes))
    environment.workplace, environment.works_in_folder = LocalWorkplace(folder), True
    async with talking(home, provider, environment=environment) as session:
        await talk(session, 1)
        provider.script = [
            Reply(text="I write a plan.", tool=("write_plan", json.dumps(PLAN))),
            Reply(text="I load a skill.", tool=("load_capability", '{"id": "greet"}')),
        ]
        await talk(session, 5 if changes else 3)
        await session.settle(30)
        if not changes:
            assert (await session.compact()).success
        await talk(session, 1)
        assert successes(session)
        sent = json.dumps(provider.requests[-1]["messages"], ensure_ascii=False)
        assert "I write a plan." not in sent and "I load a skill." not in sent, "these steps are gone"
        assert "- [x] read the code\\n- [ ] mend it" in sent
        assert "# Skill: greet" in sent and sent.count("Say it in French.") == 1


@says("inkeep", "Memory for Delegated Agents", "A delegated agent sees the top-level conversation with its results")
@says("inkeep", "Memory for Delegated Agents", "The main agent sees the results of delegated actions")
@pytest.mark.parametrize("policy", also_in_a_long_run(["inkeep", "cowagent"], ["co-cli", "copilot"]))
async def test_t4_what_a_delegate_sees_and_the_main_agent_gets(home: Path, folder: Path, policy: str) -> None:
    (folder / "main.txt").write_text("secret of main\n")
    (folder / "part.txt").write_text("secret of the part\n")
    requests: list[list[ModelMessage]] = []
    steps: list[Any] = [
        {0: call("read_file", "r-main", path="main.txt")},
        asks(("self", "The part")),
        {0: call("read_file", "r-part", path="part.txt")},
        "Report on the part.",
        "All is done.",
    ]

    async def script(messages: list[ModelMessage], info: Any) -> Any:
        requests.append(messages)
        yield steps[len(requests) - 1]

    environment = environment_for(home, ScriptedModel(script, window=60_000), **under(policy))
    environment.workplace, environment.works_in_folder = LocalWorkplace(folder), True
    session = await Session.start(environment, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    sent = whole(requests[2])
    sees_all = policy == "inkeep"
    assert "The part" in sent and ("r-main" in sent) == ("secret of main" in sent) == sees_all
    assert "Report on the part." in whole(requests[-1])
    assert ("secret of the part" in whole(requests[-1])) == sees_all
    report = next(str(part.content) for part in requests[-1][-1].parts if isinstance(part, ToolReturnPart))
    assert (REPORTED in report) == sees_all, report
    await ended(environment, session, home)
    log = stored_events(home, session.id)
    upto = next(place for place, event in enumerate(log) if isinstance(event.fact, DelegationEnd))
    killed = str(recovered(replay(log[: upto + 1])))
    assert "Report on the part." in killed and ("secret of the part" in killed) == sees_all, (
        "a new process says the same"
    )
