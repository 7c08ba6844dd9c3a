"""The tools for what left the context, in the hands of a delegate: they show it no more than its requests do (T4)."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo

from co_tui.events import CompactionStart
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from tests.context.request.test_repair import breaches
from tests.session.tools.test_agent_files import REVIEWER, Model, asks, call, project
from tests.session.turns.test_delegations import ended, whole
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.stores import stored_events


def looked_for(task: str) -> list[Any]:
    return [{0: call("recall", f"q-{task}", query="secret")}]


async def test_recall_finds_what_was_said_and_its_own_results_but_no_other_ones(home: Path, folder: Path) -> None:
    for name in ("main", "first", "own"):
        (folder / f"{name}.txt").write_text(f"secret of {name}\n")
    own = {0: call("read_file", "r-own", path="own.txt")}
    model = Model(
        [("self", "First part")],
        {
            "First part": [{0: call("read_file", "r-first", path="first.txt")}],
            "Second part": [own, *looked_for("Second part")],
            "Third part": [own, *looked_for("Third part")],
        },
    )
    made = project(home, folder, {".claude/agents/r.md": REVIEWER.replace("Grep", "Grep, recall")}, model)
    made.settings = made.settings.but(delegation_context="conversation")
    session = await Session.start(made, "scripted")
    assert await session.submit("The secret word is heliotrope.") is Outcome.DONE
    await session.edits.clear()
    model.tasks = [("self", "Second part"), ("reviewer", "Third part")]
    assert await session.submit("What was the word?") is Outcome.DONE
    for task in ("Second part", "Third part"):
        last = model.sent(task)[-1]
        assert "The secret word is heliotrope." in last and "secret of own" in last, "what was said, and its own"
        assert "secret of first" not in last
    await ended(made, session, home)


async def test_a_delegate_sees_the_top_level_results_and_nothing_of_other_delegations(home: Path, folder: Path) -> None:
    for name in ("main", "first"):
        (folder / f"{name}.txt").write_text(f"secret of {name}\n")
    steps: list[Any] = [
        asks(("self", "First part")),
        {0: call("read_file", "r-first", path="first.txt")},
        "Report on the first part.",
        [{0: call("read_file", "r-main", path="main.txt")}, {1: call("list_directory", "l-main", path=".")}],
        asks(("self", "Second part")),
        "Report on the second part.",
        "All is done.",
    ]
    requests: list[list[ModelMessage]] = []

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        assert breaches(messages) == []
        requests.append(messages)
        step = steps[len(requests) - 1]
        for piece in step if isinstance(step, list) else [step]:
            yield piece

    made = environment_for(home, ScriptedModel(script, window=60_000), delegation_context="conversation")
    made.workplace, made.works_in_folder = LocalWorkplace(folder), True
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    sent = whole(requests[5])
    assert "Second part" in sent and "secret of main" in sent and "r-main" in sent, "the calls and their results"
    assert "secret of first" not in sent and "first part" not in sent.lower(), "nothing of the other delegation"
    assert "d0" not in sent, "nor the call that asked for it, which has no result yet"
    await ended(made, session, home)


async def test_a_delegate_does_not_have_the_conversation_shortened(home: Path, folder: Path) -> None:
    model = Model([("self", "Part")], {"Part": [{0: call("request_compaction", "c")}]})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    await session.settle(5)
    assert facts(stored_events(home, session.id), CompactionStart) == []
    assert "automatically" in model.sent("Part")[-1]
    await ended(made, session, home)


async def test_a_delegate_opens_no_archived_result_of_another(home: Path, folder: Path) -> None:
    model = Model([("self", "Part")], {})
    made = project(home, folder, {}, model)
    made.settings = made.settings.but(archive_over_chars=1_000)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    returned = next(entry for entry in session.state.history if "Report on Part." in str(entry.message))
    reference = f"artifact-{returned.seq}-0-0"
    await session.edits.clear()
    model.tasks, model.steps = [("self", "Other")], {"Other": [{0: call("read_artifact", "a", reference=reference)}]}
    assert await session.submit("Again.") is Outcome.DONE
    assert f"No artifact '{reference}'." in model.sent("Other")[-1]
    await ended(made, session, home)
