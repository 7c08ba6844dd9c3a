"""Sessions that are killed at any step, and what is true of them once another process has opened them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai_harness import SubAgents

from co_tui.agent.model_messages import read_messages
from co_tui.context.request.repair import open_calls
from co_tui.events import ApprovalDecided, ApprovalRequested, DelegationEnd, DelegationStart, Event
from co_tui.session.approvals.questions import Unattended
from co_tui.session.environment import Environment
from co_tui.session.state.session_state import SessionState
from co_tui.session.turns.unfinished import waiting_calls
from co_tui.ui.transcript.blocks import BlockBuilder
from tests.context.request.test_repair import breaches
from tests.support.approving import Tools
from tests.support.environments import ScriptedModel, environment_for

Step = list[tuple[str, dict[str, str]]]
FIRST, PROMPT = "Look around.", "Start the work."
SCRIPTS: dict[str, dict[str, list[Step]]] = {
    "main": {PROMPT: [[("look", {"path": "a"}), ("write", {"path": "b"}), ("write", {"path": "c"})]]},
    "delegate": {
        PROMPT: [[("delegate_task", {"agent_name": "self", "task": "Write b."})]],
        "Write b.": [[("look", {"path": "a"})], [("look", {"path": "z"}), ("write", {"path": "b"})]],
    },
    "parallel": {
        PROMPT: [[("delegate_task", {"agent_name": "self", "task": f"Write {each}."}) for each in "bc"]],
        "Write b.": [[("write", {"path": "b"})]],
        "Write c.": [[("write", {"path": "c"})]],
    },
    "nested": {
        PROMPT: [[("delegate_task", {"agent_name": "self", "task": "Have b written."})]],
        "Have b written.": [[("look", {"path": "a"}), ("delegate_task", {"agent_name": "self", "task": "Write b."})]],
        "Write b.": [[("write", {"path": "b"})]],
    },
}
"""For each scenario, what the agent with that prompt calls, step by step; then it reports."""
EARLIER: dict[str, list[Step]] = {
    FIRST: [[("delegate_task", {"agent_name": "self", "task": "Look at a."})]],
    "Look at a.": [[("look", {"path": "a"})]],
}
"""The same for a turn before it, with calls of the same ids."""


class StepModel(ScriptedModel):
    """Knows from the messages alone how far it is, as after a restart."""

    def __init__(self, script: dict[str, list[Step]]) -> None:
        self.steps = script
        self.requests: list[list[ModelMessage]] = []
        super().__init__(self._script, window=60_000)

    async def _script(self, messages: list[ModelMessage], info: Any) -> Any:
        assert breaches(messages) == []
        self.requests.append(messages)
        prompts = [(n, text) for n, message in enumerate(messages) for text in _prompts(message)]
        first, task = prompts[-1]
        done = sum(any(isinstance(part, ToolReturnPart) for part in each.parts) for each in messages[first:])
        steps = self.steps.get(task, EARLIER.get(task, []))
        if done < len(steps):
            yield {
                n: DeltaToolCall(tool, json.dumps(arguments), tool_call_id=f"call_{n}")  # used again, as by many models
                for n, (tool, arguments) in enumerate(steps[done])
            }
        else:
            yield f"Report: {task}"


def _prompts(message: ModelMessage) -> list[str]:
    parts = message.parts if isinstance(message, ModelRequest) else ()
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


def environment_of(home: Path, scenario: str, tools: Tools, person: Unattended) -> Environment:
    made = environment_for(home, StepModel(SCRIPTS[scenario]))
    made.toolsets = [FunctionToolset([tools.look, tools.write])]
    made.asks_first = lambda tool, arguments: tool == "write"
    made.capabilities = [SubAgents(include_self=True, contain_errors=True)]
    made.questions = person
    return made


def check_waits_or_is_closed(state: SessionState) -> None:
    """Every open call has a question behind it, and every question an open call."""
    for agent, history in (("", state.history), *((name, each.history) for name, each in state.delegations.items())):
        own = [entry.message for entry in history if entry.agent == agent]
        assert {call.tool_call_id for call in open_calls(read_messages(own))} == waiting_calls(state, agent)
    for name, delegation in state.delegations.items():
        assert (delegation.status == "running") == bool(waiting_calls(state, name))
    for asked in state.pending:
        assert asked.call_id in waiting_calls(state, asked.agent)


def check_finished(state: SessionState, events: list[Event]) -> None:
    """Nothing is pending or running, in the state, in the chat or in the log; each thing is logged once."""
    assert not state.pending and all(each.status != "running" for each in state.delegations.values())
    check_waits_or_is_closed(state)
    for agent, history in (("", state.history), *((name, each.history) for name, each in state.delegations.items())):
        own = [entry.message for entry in history if entry.agent == agent]
        assert breaches(read_messages(own)) == [], "every call is answered, once"
    asked, decided, begun, ended = Counter(), Counter(), Counter(), Counter()
    for fact in (event.fact for event in events):
        match fact:
            case ApprovalRequested(agent=agent, call_id=call_id):
                asked[agent, call_id] += 1
            case ApprovalDecided(agent=agent, call_id=call_id):
                decided[agent, call_id] += 1
            case DelegationStart(agent=agent):
                begun[agent] += 1
            case DelegationEnd(agent=agent):
                ended[agent] += 1
    assert asked == decided and begun == ended and set(begun.values()) <= {1}
    for status in statuses(events):
        assert status and not status.startswith(("…", "asked")), status


def statuses(events: list[Event]) -> list[str]:
    """The text on the line of each call in the chat."""
    return [block.status for block in BlockBuilder().add_all(events) if block.kind == "tool"]
