"""Sessions whose tool asks before it runs, and a person who answers, or does not."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall
from pydantic_ai.toolsets import FunctionToolset

from co_tui.agent.model_messages import read_messages
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, ModelAnswer, ModelQuestion, Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from tests.context.request.test_repair import breaches
from tests.support.environments import ScriptedModel, environment_for

YES = Approval(approved=True, by="user")


class Person(Unattended):
    """Someone who answers approvals as a test says; without an answer, the question waits."""

    def __init__(self, *answers: Approval) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[ApprovalQuestion] = []
        self.withdrawn = 0

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        if not self.answers:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        return self.answers.pop(0)


class Somebody(Person):
    """Answers the model's questions, too."""

    def __init__(self, *answers: Approval, says: str = "") -> None:
        super().__init__(*answers)
        self.says = says
        self.questions: list[ModelQuestion] = []

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self.questions.append(question)
        return ModelAnswer(text=self.says) if self.says else ModelAnswer(declined=True)


class Tools:
    """One tool that reads and one that has to be allowed, with what became of their calls."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def look(self, path: str) -> str:
        self.ran.append(f"look {path}")
        return f"content of {path}"

    def write(self, path: str) -> str:
        self.ran.append(f"write {path}")
        return f"wrote {path}"


def calls(*named: tuple[str, str]) -> dict[int, DeltaToolCall]:
    return {
        n: DeltaToolCall(tool, f'{{"path": "{path}"}}', tool_call_id=f"{tool}-{path}")
        for n, (tool, path) in enumerate(named)
    }


def asking(*named: tuple[str, str]) -> ScriptedModel:
    """A model that makes these calls at the first prompt, and answers with what was returned last."""

    async def script(messages, info):
        sent.append(messages)
        assert breaches(messages) == []
        returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        if returned:
            yield f"{returned[-1].content}"
        else:
            yield calls(*named)

    sent: list[Any] = []
    model = ScriptedModel(script)
    model.sent = sent
    return model


def environment_with(
    home: Path, model: ScriptedModel, tools: Tools, person: Unattended, **settings: Any
) -> Environment:
    environment = environment_for(home, model, **settings)
    environment.toolsets = [FunctionToolset([tools.look, tools.write])]
    environment.asks_first = lambda tool, arguments: tool == "write"
    environment.questions = person
    return environment


def log_of(environment: Environment, session: Session) -> list:
    with environment.store.reading() as reading:
        return list(reading.events(session.id))


async def left(environment: Environment, session: Session) -> None:
    """Close a session, and see that its log is sound: all in pairs, and replayed to the same state."""
    assert breaches(read_messages([entry.message for entry in session.state.history])) == []
    await session.close()
    assert replay(log_of(environment, session)) == session.state
    environment.store.close()


def returns(session: Session) -> list[tuple[str, object, str]]:
    found = [part for entry in session.state.history for part in entry.message["parts"]]
    return [
        (part["tool_call_id"], part["content"], part["outcome"]) for part in found if part["part_kind"] == "tool-return"
    ]
