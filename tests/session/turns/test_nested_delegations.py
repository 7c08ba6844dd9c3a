"""A delegate that gives a part of its work to another: once more, in its own name, within the same limits."""

from pathlib import Path

import pytest

from co_tui.events import DelegationEnd, DelegationStart, Message
from co_tui.session.session import Session
from co_tui.session.turns import delegations
from co_tui.session.turns.turn import Outcome
from tests.session.tools.test_agent_files import REVIEWER, Model, asks, call, project
from tests.session.turns.test_delegations import ended, whole
from tests.support.environments import facts
from tests.support.stores import stored_events


def nesting(folder: Path, *nested: tuple[str, str]) -> Model:
    """One delegate reads a file, then asks others, who read theirs."""
    for name in ("outer", "inner", "other"):
        (folder / f"{name}.txt").write_text(f"secret of {name}")
    reads = {name: {0: call("read_file", f"r-{name}", path=f"{name}.txt")} for name in ("outer", "inner", "other")}
    return Model(
        [("self", "Do the outer part")],
        {
            "Do the outer part": [reads["outer"], asks(*nested)],
            "Do the inner part": [reads["inner"]],
            "Do the other part": [reads["other"]],
        },
    )


async def test_each_sees_the_conversation_its_task_and_its_own_results(home: Path, folder: Path) -> None:
    model = nesting(folder, ("reviewer", "Do the inner part"), ("self", "Do the other part"))
    made = project(home, folder, {".claude/agents/r.md": REVIEWER}, model)
    made.settings = made.settings.but(delegation_context="conversation")
    session = await Session.start(made, "scripted")
    assert await session.submit("Remember the word heliotrope.") is Outcome.DONE
    assert {name: each.status for name, each in session.state.delegations.items()} == {
        "self 1": "done",
        "self 1/reviewer 1": "done",
        "self 1/self 1": "done",
    }
    for task, own in (("outer", "secret of outer"), ("inner", "secret of inner"), ("other", "secret of other")):
        sent = model.sent(f"Do the {task} part")
        assert own in sent[-1]
        for request in sent:
            assert "heliotrope" in request and f"Do the {task} part" in request
            assert [each for each in ("outer", "inner", "other") if f"secret of {each}" in request] in ([], [task])
    assert "Report on Do the inner part." in model.sent("Do the outer part")[-1]
    assert "secret of" not in model.sent("")[-1]
    assert "delegate_task" in model.offered["Do the outer part"]
    assert "delegate_task" not in model.offered["Do the other part"], "once more, and no further"
    events = stored_events(home, session.id)
    assert {fact.agent for fact in facts(events, Message)} == {"", "self 1", "self 1/reviewer 1", "self 1/self 1"}
    assert all(fact.outcome == "done" for fact in facts(events, DelegationEnd))
    await ended(made, session, home)


async def test_an_agent_of_a_file_gives_work_on_only_when_its_file_lets_it(home: Path, folder: Path) -> None:
    free = "---\nname: free\n---\nYou lead.\n"
    model = nesting(folder, ("reviewer", "Do the inner part"), ("free", "Do the other part"))
    model.tasks = [("free", "Do the outer part")]
    made = project(home, folder, {".claude/agents/r.md": REVIEWER, ".claude/agents/f.md": free}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert set(session.state.delegations) == {"free 1", "free 1/reviewer 1", "free 1/free 1"}
    assert "delegate_task" in model.offered["Do the outer part"]
    assert "delegate_task" not in model.offered["Do the inner part"] + model.offered["Do the other part"]
    assert "You lead." in model.instructions["Do the other part"]
    await ended(made, session, home)


async def test_the_steps_of_all_who_work_for_one_are_counted_together(home: Path, folder: Path) -> None:
    model = nesting(folder, ("self", "Do the inner part"))
    made = project(home, folder, {}, model)
    made.settings = made.settings.but(agent_max_steps=4)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.FAILED
    assert [len(model.sent(each)) for each in ("", "Do the outer part", "Do the inner part")] == [1, 2, 1]
    assert {each.status for each in session.state.delegations.values()} == {"stopped"}
    assert "Stopped after 4 steps" in session.state.delegations["self 1/self 1"].error
    assert "secret of inner" in str(session.state.history[-1].message), "what the inner one had"
    await ended(made, session, home)


async def test_a_limited_number_are_asked_in_a_turn(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegations, "MOST_IN_A_TURN", 2)
    model = Model([("self", f"Part {n}") for n in range(4)], {})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert len(facts(stored_events(home, session.id), DelegationStart)) == 2
    assert whole(model.requests[-1][1]).count("Do the rest yourself") == 2
    await ended(made, session, home)


async def test_an_odd_name_is_reported_and_makes_no_path(home: Path, folder: Path) -> None:
    model = Model([("a/b\x1b" + "c" * 500, "Part")], {})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    (name,) = session.state.delegations
    assert "/" not in name and len(name) < 70 and session.state.delegations[name].status == "failed"
    await ended(made, session, home)
