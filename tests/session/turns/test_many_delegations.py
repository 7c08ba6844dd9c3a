"""Many delegations at once, of every kind and fate: none sees another's results, each ends, the log has it all."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

from co_tui.events import Event, SessionResume
from co_tui.session.approvals.questions import Approval, ApprovalQuestion
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.state.derive import apply, replay
from co_tui.session.turns.turn import Outcome
from co_tui.session.turns.unfinished import recovered
from tests.session.tools.test_agent_files import REVIEWER, Model, Person, asks, call, project
from tests.session.turns.test_delegations import ended
from tests.support.killed import check_waits_or_is_closed
from tests.support.long_run import drawn, only_in_a_long_run
from tests.support.stores import stored_events
from tests.support.waiting import HANGING_S, PATIENCE_S, until

BUSY = ModelHTTPError(503, "scripted", "overloaded")
REFUSED = ModelHTTPError(401, "scripted", "no such key")
TOO_LONG = ModelHTTPError(
    400, "scripted", {"error": {"message": "maximum context length is 10000 tokens, you requested 11000 tokens"}}
)


async def give_up(ctx: RunContext[Any]) -> str:
    """Stop the run that calls it."""
    ctx.cancel()
    await asyncio.sleep(HANGING_S)
    return "never"


def reading(part: str) -> dict[int, Any]:
    return {0: call("read_file", f"read-{part}", path=f"{part}.txt")}


def crowd(home: Path, folder: Path, tasks: list[tuple[str, str]], steps: dict[str, Any]) -> tuple[Environment, Model]:
    """Each part reads a file with a secret of its own before anything else happens to it."""
    folder.mkdir(exist_ok=True)
    for task in steps:
        (folder / f"{task}.txt").write_text(f"<secret of {task}>\n" * (1_200 if task == "long" else 40))
    model = Model(tasks, {task: [reading(task), *more] for task, more in steps.items()})
    made = project(home, folder, {".claude/agents/r.md": REVIEWER.replace("tools: Read, Grep\n", "")}, model)
    made.settings = made.settings.but(delegation_context="conversation")
    made.toolsets = [FunctionToolset([give_up])]
    return made, model


def check_kept_apart(model: Model) -> None:
    """On the requests as they were sent."""
    for task, messages in model.requests:
        sent = str(messages)
        assert "heliotrope" in sent or task == "long", "all see the conversation"
        seen = {other for other in model.steps if f"<secret of {other}>" in sent}
        assert seen <= {task}, f"{task or 'the main agent'} saw the results of {seen}"


EIGHT = {
    "plain": [],
    "broken": [REFUSED],
    "cancelled": [{0: call("give_up", "stop")}],
    "long": [TOO_LONG],
    "asking": [{0: call("write_file", "w1", path="new.txt", content="x")}],
    "nesting": [asks(("reviewer", "nested"), ("self", "deeper"))],
    "filed": [],
    "busy": [BUSY, ["Half of ", BUSY]],
}
NAMES = {"filed": "reviewer", "nesting": "reviewer"}


def eight(home: Path, folder: Path, **others: Any) -> tuple[Environment, Model]:
    tasks = [(NAMES.get(task, "self"), task) for task in EIGHT]
    return crowd(home, folder, tasks, {**EIGHT, "nested": [], "deeper": [], **others})


@only_in_a_long_run
async def test_eight_at_once_and_each_meets_its_own_fate(home: Path, folder: Path) -> None:
    made, model = eight(home, folder)
    session = await Session.start(made, "scripted")
    assert await session.submit("Remember the word heliotrope.") is Outcome.DONE
    found = {each.task: each.status for each in session.state.delegations.values()}
    assert found == {
        **dict.fromkeys((*EIGHT, "nested", "deeper"), "done"),
        "broken": "failed",
        "cancelled": "interrupted",
    }
    assert (folder / "new.txt").read_text() == "x"
    assert isinstance(made.questions, Person) and len(made.questions.asked) == 1
    check_kept_apart(model)
    told = model.sent("")[-1]
    for task in ("plain", "long", "asking", "nesting", "filed", "busy"):
        assert f"Report on {task}." in told
    assert "no such key" in told and "Report on nested." not in told
    assert "Report on nested." in model.sent("nesting")[-1]
    await ended(made, session, home)


class Silent(Person):
    """Never answers."""

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        await asyncio.Event().wait()
        raise AssertionError


@only_in_a_long_run
async def test_stopped_in_the_middle_of_eight_all_end_and_the_talk_continues(home: Path, folder: Path) -> None:
    made, model = eight(home, folder, plain=[[asyncio.Event()]], nested=[["Half ", asyncio.Event()]])
    made.questions = silent = Silent()
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Remember the word heliotrope."))
    await until(lambda: len(model.sent("nested")) == 2 and len(model.sent("plain")) == 2 and silent.asked)
    await until(lambda: sum(each.status == "done" for each in session.state.delegations.values()) == 4)
    session.interrupt()
    assert await asyncio.wait_for(turn, PATIENCE_S) is Outcome.INTERRUPTED
    assert not session.state.pending
    stopped = {each.task for each in session.state.delegations.values() if each.status == "interrupted"}
    assert stopped == {"plain", "cancelled", "asking", "nesting", "nested"}
    model.tasks = []
    assert await session.submit("And heliotrope now?") is Outcome.DONE
    check_kept_apart(model)
    await ended(made, session, home)


async def test_killed_in_the_middle_of_eight_another_process_continues(home: Path, folder: Path) -> None:
    made, model = eight(home, folder, plain=[[asyncio.Event()]], nested=[["Half ", asyncio.Event()]], long=[])
    made.questions = silent = Silent()
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Remember the word heliotrope."))
    await until(lambda: len(model.sent("nested")) == 2 and len(model.sent("plain")) == 2 and silent.asked)
    await until(lambda: sum(each.status == "done" for each in session.state.delegations.values()) == 4)
    left = home.parent / "as the kill left it"
    shutil.copytree(home, left)
    session.interrupt()
    await turn
    await ended(made, session, home)
    again = project(left, folder, {}, model)
    resumed = await Session.resume(again, session.id)
    running = {each.task: each.status for each in resumed.state.delegations.values() if each.status != "done"}
    assert running == {
        **dict.fromkeys(("plain", "nesting", "nested", "cancelled"), "interrupted"),
        "broken": "failed",
        "asking": "running",
    }
    assert [each.arguments["path"] for each in resumed.state.pending] == ["new.txt"]
    assert await resumed.ask_pending() is Outcome.DONE
    assert (folder / "new.txt").read_text() == "x"
    told = model.sent("")[-1]
    assert told.count("Interrupted by user.") == 3, "those that were still at work, and the one that stopped itself"
    assert "Report on asking." in told and "Report on filed." in told and "no such key" in told
    model.tasks = []
    assert await resumed.submit("And heliotrope now?") is Outcome.DONE
    check_kept_apart(model)
    await ended(again, resumed, left)


@only_in_a_long_run
async def test_killed_at_any_moment_it_resumes_with_every_call_answered(home: Path, folder: Path) -> None:
    made, model = eight(home, folder)
    session = await Session.start(made, "scripted")
    assert await session.submit("Remember the word heliotrope.") is Outcome.DONE
    events = stored_events(home, session.id)
    state = replay(events[:1])
    for upto in range(2, len(events)):
        resumed = state = apply(state, events[upto - 1])
        for seq, fact in enumerate((SessionResume(), *recovered(resumed)), upto + 1):
            resumed = apply(resumed, Event(session_id=session.id, seq=seq, timestamp=events[0].timestamp, fact=fact))
        check_waits_or_is_closed(resumed)
    begun = [n for n, event in enumerate(events) if event.fact.TYPE.startswith("delegation.")]
    model.tasks = []
    for upto in (begun[3], begun[7] + 30):
        again = await Session.resume(made, await session.fork(upto=events[upto].seq))
        assert await again.submit("And heliotrope now?") is Outcome.DONE
        await again.close()
    check_kept_apart(model)
    await ended(made, session, home)


FATES = st.sampled_from(("plain", "broken", "busy", "cancelled", "asking"))
TREES = st.lists(
    st.tuples(FATES, st.sampled_from(("self", "reviewer")), st.lists(FATES, max_size=2)), min_size=1, max_size=4
)


@only_in_a_long_run
@settings(max_examples=drawn(2), deadline=None, derandomize=True)
@given(tree=TREES, stops=st.booleans())
def test_any_tree_of_delegations_is_kept_apart_and_replays(tree: list[tuple[str, str, list[str]]], stops: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_run_tree(Path(place), tree, stops))


async def _run_tree(place: Path, tree: list[tuple[str, str, list[str]]], stops: bool) -> None:
    tasks, steps = [], dict[str, Any]()
    for n, (fate, name, below) in enumerate(tree):
        nested = [(f"part{n}x{m}", each) for m, each in enumerate(below)]
        more = [asks(*(("self", task) for task, _ in nested))] if nested else []
        tasks.append((name, f"part{n}"))
        steps[f"part{n}"] = [*more, *_fate(fate, f"part{n}")]
        steps.update({task: _fate(each, task) for task, each in nested})
    made, model = crowd(place / "home", place / "folder", tasks, steps)
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Remember the word heliotrope."))
    if stops:
        await until(lambda: turn.done() or len(model.requests) > 3)
        session.interrupt()
    assert await turn in (Outcome.DONE, Outcome.INTERRUPTED)
    assert all(each.status != "running" for each in session.state.delegations.values()) and not session.state.pending
    model.tasks = []
    assert await session.submit("And heliotrope now?") is Outcome.DONE
    check_kept_apart(model)
    await ended(made, session, place / "home")


def _fate(fate: str, task: str) -> list[Any]:
    own = {0: call("write_file", f"w-{task}", path=f"{task}.new", content="x")}
    return [own] if fate == "asking" else EIGHT[fate]
