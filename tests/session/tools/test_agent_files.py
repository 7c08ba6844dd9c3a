"""Agents defined in files: asked like any other, governed, logged and held to what their files say."""

import asyncio
import json
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall

from co_tui.agent.models.open_model import ModelHandle
from co_tui.events import ApprovalRequested, DelegationStart, Message, SessionError, UsageInfo
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import project_trust_request
from co_tui.trust import Trust
from tests.context.request.test_repair import breaches
from tests.session.turns.test_delegations import ended, returned, whole
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.stores import stored_events
from tests.support.waiting import PATIENCE_S

REVIEWER = "---\nname: reviewer\ndescription: Reads code.\ntools: Read, Grep\n---\nYou review. Quote the line.\n"


def call(tool: str, call_id: str, **arguments: Any) -> DeltaToolCall:
    return DeltaToolCall(name=tool, json_args=json.dumps(arguments), tool_call_id=call_id)


def asks(*tasks: tuple[str, str]) -> dict[int, DeltaToolCall]:
    return {n: call("delegate_task", f"d{n}", agent_name=name, task=task) for n, (name, task) in enumerate(tasks)}


class Model(ScriptedModel):
    """The main agent asks others; each of these does what the test says for its task, step by step."""

    def __init__(self, tasks: list[tuple[str, str]], steps: dict[str, Any], name: str = "scripted") -> None:
        self.tasks, self.steps = tasks, steps
        self.requests: list[tuple[str, list[ModelMessage]]] = []
        """Each with the task it belongs to; empty for the main agent's."""
        self.offered: dict[str, list[str]] = {}
        self.instructions: dict[str, str] = {}
        super().__init__(self._script, name=name, window=60_000)

    async def _script(self, messages: list[ModelMessage], info: AgentInfo) -> Any:
        assert breaches(messages) == []
        task = self._task_of(messages)
        done = sum(each == task for each, _ in self.requests)
        self.requests.append((task, messages))
        self.offered[task] = [tool.name for tool in info.function_tools]
        self.instructions[task] = info.instructions or ""
        if task:
            script = self.steps.get(task, [])
            for step in _pieces(script[done] if done < len(script) else f"Report on {task}."):
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    yield step
        elif returned(messages, "delegate_task") or not self.tasks:
            yield "All reports are in."
        else:
            yield asks(*self.tasks)

    def _task_of(self, messages: list[ModelMessage]) -> str:
        said = [
            str(part.content)
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]
        known = {*(task for _, task in self.tasks), *self.steps}
        return next((each for each in reversed(said) if each in known), "")

    def sent(self, task: str) -> list[str]:
        return [whole(messages) for each, messages in self.requests if each == task]


def _pieces(step: Any) -> list[Any]:
    """A step may be several: words and calls, an event to wait for, or a failure."""
    return step if isinstance(step, list) else [step]


class Person(Unattended):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ApprovalQuestion] = []

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        return Approval(approved=True, by="user")


def project(home: Path, folder: Path, files: dict[str, str], *models: Model, trusted: bool = True) -> Environment:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    made = environment_for(home, *models)
    made.workplace, made.works_in_folder, made.questions = LocalWorkplace(folder), True, Person()
    if trusted and (wish := project_trust_request(folder)) is not None:
        Trust(made.paths.trust_file).remember(wish, trusted=True)
    return made


async def test_two_agents_of_files_see_the_conversation_and_their_own_results_only(home: Path, folder: Path) -> None:
    (folder / "a.txt").write_text("secret of alpha")
    (folder / "b.txt").write_text("secret of beta")
    model = Model(
        [("reviewer", "Look at a"), ("tester", "Look at b")],
        {
            "Look at a": [{0: call("read_file", "r1", path="a.txt")}],
            "Look at b": [{0: call("read_file", "r2", path="b.txt")}],
        },
    )
    tester = 'name = "tester"\ndescription = "Runs tests."\ndeveloper_instructions = "You test."\n'
    made = project(home, folder, {".claude/agents/r.md": REVIEWER, ".codex/agents/t.toml": tester}, model)
    made.settings = made.settings.but(delegation_context="conversation")
    session = await Session.start(made, "scripted")
    assert await session.submit("Remember the word heliotrope. Ask them.") is Outcome.DONE
    assert {name: each.status for name, each in session.state.delegations.items()} == {
        "reviewer 1": "done",
        "tester 1": "done",
    }
    for _, request in model.requests:
        assert "heliotrope" in whole(request)
        assert not ("secret of alpha" in whole(request) and "secret of beta" in whole(request))
    assert "secret of alpha" in model.sent("Look at a")[1] and "secret of beta" in model.sent("Look at b")[1]
    assert "You review." in model.instructions["Look at a"] and "You test." not in model.instructions["Look at a"]
    assert "- reviewer: Reads code." in model.instructions[""] and "You review." not in model.instructions[""]
    assert set(model.offered["Look at a"]) == {"read_file", "search_files"}
    assert {"run_command", "write_file"} <= set(model.offered["Look at b"])
    events = stored_events(home, session.id)
    assert {fact.agent for fact in facts(events, Message)} == {"", "reviewer 1", "tester 1"}
    assert {fact.agent for fact in facts(events, UsageInfo)} == {"", "reviewer 1", "tester 1"}
    assert [fact.name for fact in facts(events, DelegationStart)] == ["reviewer", "tester"]
    await ended(made, session, home)


async def test_what_it_may_not_do_by_itself_is_asked_in_its_name(home: Path, folder: Path) -> None:
    writer = "---\nname: writer\n---\nYou write.\n"
    model = Model([("writer", "Write it")], {"Write it": [{0: call("write_file", "w", path="new.txt", content="x")}]})
    made = project(home, folder, {".agents/agents/w.md": writer}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the writer.") is Outcome.DONE
    assert isinstance(made.questions, Person) and [each.agent for each in made.questions.asked] == ["writer 1"]
    assert (folder / "new.txt").read_text() == "x"
    assert [fact.agent for fact in facts(stored_events(home, session.id), ApprovalRequested)] == ["writer 1"]
    await ended(made, session, home)


async def test_a_tool_that_its_file_does_not_name_is_not_there_for_it(home: Path, folder: Path) -> None:
    model = Model([("reviewer", "Write")], {"Write": [{0: call("write_file", "w", path="new.txt", content="x")}]})
    made = project(home, folder, {".claude/agents/r.md": REVIEWER}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the reviewer.") is Outcome.DONE
    assert not (folder / "new.txt").exists() and isinstance(made.questions, Person) and made.questions.asked == []
    assert "Unknown tool name: 'write_file'" in model.sent("Write")[1]
    await ended(made, session, home)


async def test_a_tool_with_a_rule_is_refused_for_anything_else_without_a_question(home: Path, folder: Path) -> None:
    lines = ("touch made", "touch secret", "rm made", "touch more && ls")
    model = Model(
        [("maker", "Make")], {"Make": [{0: call("run_command", f"c{n}", command=c)} for n, c in enumerate(lines)]}
    )
    keys = "name: maker\nmodel: haiku\ntools: Read, Bash(touch:*)\ndisallowedTools: Bash(touch secret)"
    maker = f"---\n{keys}\n---\nYou make.\n"
    made = project(home, folder, {".claude/agents/m.md": maker}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the maker.") is Outcome.DONE
    assert isinstance(made.questions, Person) and [each.what for each in made.questions.asked] == ["touch made"]
    assert (folder / "made").exists() and not (folder / "more").exists()
    assert "Denied by rule Bash(touch secret) in the file of agent maker." in model.sent("Make")[-1]
    assert model.sent("Make")[-1].count("The agent maker has this tool for Bash(touch:*) only.") == 2
    (error,) = facts(stored_events(home, session.id), SessionError)
    assert (error.what, error.outcome) == ("haiku is not a known model of scripted.", "maker uses scripted instead")
    await ended(made, session, home)


async def test_those_of_a_folder_wait_for_trust_and_those_of_the_user_do_not(home: Path, folder: Path) -> None:
    model = Model([("reviewer", "Look")], {})
    made = project(home, folder, {".claude/agents/r.md": REVIEWER}, model, trusted=False)
    made.paths.agents.mkdir(parents=True)
    (made.paths.agents / "mine.md").write_text("---\ndescription: My own.\n---\nDo it.\n")
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the reviewer.") is Outcome.DONE
    assert "- mine: My own." in model.instructions[""] and "reviewer:" not in model.instructions[""]
    assert "Unknown sub-agent 'reviewer'" in model.sent("")[-1] and model.sent("Look") == []
    wish = project_trust_request(folder)
    assert wish is not None
    Trust(made.paths.trust_file).remember(wish, trusted=True)
    model.tasks = [("reviewer", "Look")]
    await session.submit("Again.")
    assert "- reviewer: Reads code." in model.instructions[""], "from the next turn on"
    (folder / ".claude/agents/r.md").write_text(REVIEWER.replace("tools: Read, Grep", "model: other:model"))
    await session.submit("Once more.")
    assert "reviewer:" not in model.instructions[""], "it wants something else than was trusted"
    await ended(made, session, home)


async def test_it_works_on_the_model_its_file_names_within_that_ones_window(home: Path, folder: Path) -> None:
    other = Model([], {"Look": []}, name="other:model")
    other.window = 20_000
    model = Model([("reviewer", "Look")], {})
    made = project(
        home, folder, {".claude/agents/r.md": REVIEWER.replace("tools:", "model: other:model\ntools:")}, model, other
    )
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the reviewer.") is Outcome.DONE
    assert model.sent("Look") == [] and len(other.sent("Look")) == 1
    assert set(other.offered["Look"]) == {"read_file", "search_files"}
    usages = facts(stored_events(home, session.id), UsageInfo)
    assert {(fact.agent, fact.model, fact.token_limit) for fact in usages} == {
        ("", "scripted", 60_000),
        ("reviewer 1", "other:model", 20_000),
    }
    await ended(made, session, home)
    assert other.closed


async def test_a_model_that_cannot_be_had_is_reported_and_the_present_one_serves(home: Path, folder: Path) -> None:
    model = Model([("reviewer", "Look")], {})
    made = project(home, folder, {".claude/agents/r.md": REVIEWER.replace("tools:", "model: no:such\ntools:")}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the reviewer.") is Outcome.DONE
    (error,) = facts(stored_events(home, session.id), SessionError)
    assert (error.agent, error.what) == ("reviewer 1", "Unknown model 'no:such'.")
    assert error.outcome == "reviewer uses scripted instead" and len(model.sent("Look")) == 1
    await ended(made, session, home)


async def test_stopped_while_its_model_is_opened_it_ends_with_the_turn(home: Path, folder: Path) -> None:
    model = Model([("reviewer", "Look")], {})
    made = project(
        home, folder, {".claude/agents/r.md": REVIEWER.replace("tools:", "model: slow:model\ntools:")}, model
    )
    known, opening = made.open_model, asyncio.Event()

    async def open_model(name: str) -> ModelHandle:
        if name == "slow:model":
            opening.set()
            await asyncio.Event().wait()
        return await known(name)

    made.open_model = open_model
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Ask the reviewer."))
    await opening.wait()
    session.interrupt()
    assert await asyncio.wait_for(turn, PATIENCE_S) is Outcome.INTERRUPTED
    assert {each.status for each in session.state.delegations.values()} == {"interrupted"}
    await ended(made, session, home)


async def test_a_server_that_does_not_report_its_window_is_mentioned(home: Path, folder: Path) -> None:
    class Unreachable(Model):
        async def window_tokens(self) -> int | None:
            raise ConnectionError("nobody listens there")

    model, other = Model([("reviewer", "Look")], {}), Unreachable([], {}, name="other:model")
    files = {".claude/agents/r.md": REVIEWER.replace("tools:", "model: other:model\ntools:")}
    made = project(home, folder, files, model, other)
    session = await Session.start(made, "scripted")
    assert await session.submit("Ask the reviewer.") is Outcome.DONE
    (error,) = facts(stored_events(home, session.id), SessionError)
    assert "nobody listens there" in error.what and len(model.sent("Look")) == 1
    await ended(made, session, home)
