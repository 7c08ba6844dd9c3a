"""A session on another host: its files and commands are there, and nothing changes here."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, RetryPromptPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.agent.model_messages import read_messages
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, Unattended
from co_tui.session.environment import Environment
from co_tui.session.host.address import host_address, stand_in
from co_tui.session.host.remote_host import connect
from co_tui.session.session import Session
from tests.support.environments import ScriptedModel, environment_for
from tests.support.ssh_host import SshHost, files_in, sshd_host, stand_in_host

YES, NO = Approval(approved=True, by="user"), Approval(approved=False, by="user", reason="No.")


class Step(NamedTuple):
    """A call of the scripted model."""

    tool: str
    given: dict[str, Any]
    meanwhile: Callable[[], None] = lambda: None
    """Done right before the call is sent."""


class Reader(Unattended):
    """Allows everything but what names `forbidden`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ApprovalQuestion] = []

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        return NO if "forbidden" in str(question) else YES


def scripted(steps: Sequence[Step]) -> ScriptedModel:
    waiting = list(steps)

    async def script(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if not waiting:
            yield "done"
            return
        step = waiting.pop(0)
        await asyncio.to_thread(step.meanwhile)
        import json

        call = f"call-{len(steps) - len(waiting)}"
        yield {0: DeltaToolCall(name=step.tool, json_args=json.dumps(step.given), tool_call_id=call)}

    return ScriptedModel(script, window=200_000)


def environment_on(host: SshHost, home: Path, model: ScriptedModel, folder: Path, **settings: Any) -> Environment:
    environment = environment_for(home, model, **settings)
    environment.host = connect(host_address("box", str(folder)), host.environ)
    environment.cwd = stand_in(environment.paths.state, environment.host.address)
    environment.cwd.mkdir(parents=True, exist_ok=True)
    environment.works_in_folder = True
    environment.environ = host.environ
    environment.questions = Reader()
    return environment


async def worked(environment: Environment, prompt: str = "work") -> tuple[Session, list[str]]:
    """The session after one prompt, and the results of its calls in order."""
    session = await Session.start(environment, "scripted")
    await session.submit(prompt)
    return session, results_of(session)


def results_of(session: Session) -> list[str]:
    messages = read_messages([entry.message for entry in session.state.history])
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]


@pytest.fixture
def host(tmp_path: Path) -> SshHost:
    return stand_in_host(tmp_path / "box")


async def test_files_and_commands_are_there(tmp_path: Path, host: SshHost) -> None:
    there = host.home / "it's a $folder"
    there.mkdir()
    (there / "a.txt").write_text("one\n")
    steps = [
        Step("read_file", {"path": "a.txt"}),
        Step("write_file", {"path": "new/b.txt", "content": "two\n"}),
        Step("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "three"}),
        Step("run_command", {"command": "cat a.txt new/b.txt && pwd"}),
        Step("search_files", {"pattern": "thr.e"}),
        Step("list_directory", {"path": "."}),
        Step("find_files", {"pattern": "**/*.txt"}),
    ]
    environment = environment_on(host, tmp_path / "own", scripted(steps), there)
    session, results = await worked(environment)
    await session.close()
    assert "one" in results[0]
    assert files_in(there) == {"a.txt": "three\n", "new/b.txt": "two\n"}
    assert "three\ntwo" in results[3] and str(there) in results[3]
    assert "a.txt:1:three" in results[4] and "new/" in results[5] and "new/b.txt" in results[6]
    assert list(environment.cwd.iterdir()) == []
    assert session.state.cwd == f"box:{there}"
    assert environment.host is not None
    environment.host.close()
