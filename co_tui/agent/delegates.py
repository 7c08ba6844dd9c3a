"""Delegation: the agents a run can delegate to, and the capability to do so."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, PrepareTools
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai_harness.subagents import SubAgent, SubAgents

from co_tui.agent.tool_names import DELEGATE_TOOL, is_named, our_names
from co_tui.settings import AgentFile

DELEGATION_LEVELS: Final = 3
"""The main agent delegates, and its delegates may delegate once more."""

SUBAGENT_VIEW: Final = (
    "A sub-agent sees the top-level conversation with its tool calls and results, and its own work. It never sees "
    "another delegation's work or report."
)
"""Tells the model what a sub-agent sees: exactly what its requests contain (T4)."""
TOOL_DESCRIPTION: Final = (
    f"Delegate a task to a named sub-agent and return its report.\n\n{SUBAGENT_VIEW} "
    "If the task needs something that only a delegation found, put it into `task`."
)
TASK_DESCRIPTION: Final = "What the sub-agent should do and report."
INTRODUCTION: Final = f"You can delegate tasks to these sub-agents with the `{DELEGATE_TOOL}` tool. {SUBAGENT_VIEW}"
_LISTING: Final = "Available sub-agents:"
"""The library's heading of the list. The text before it is wrong here: it says a sub-agent sees no conversation."""


class Delegate(NamedTuple):
    """An agent to delegate to."""

    name: str
    description: str
    instructions: str
    allows: Callable[[str], bool]
    """Whether it may use the tool of that name."""


def delegate_of(file: AgentFile) -> Delegate:
    given = None if file.tools is None else frozenset(our_names(file.tools))
    withheld = frozenset(our_names(file.withheld_tools))

    def allows(tool: str) -> bool:
        return (given is None or is_named(tool, given)) and not is_named(tool, withheld)

    return Delegate(file.name, file.description, file.instructions, allows)


NewAgent = Callable[[str, Sequence[AbstractCapability[Any]]], Agent[None, str]]
"""Builds an agent like the main one with additional instructions and capabilities."""


def delegation(delegates: Sequence[Delegate], new_agent: NewAgent) -> SubAgents[Any]:
    """The capability to delegate to these agents and to a fresh run of the same agent."""
    last_level = _delegation([_equipped(each, new_agent) for each in delegates])
    return _delegation(
        [_equipped(each, new_agent, *([last_level] if each.allows(DELEGATE_TOOL) else [])) for each in delegates]
    )


def _delegation(agents: Sequence[SubAgent[Any]]) -> SubAgents[Any]:
    return _Delegation(
        agents=agents,
        include_self=True,
        max_depth=DELEGATION_LEVELS,
        tool_retries=None,  # as for other tools
    )


def _equipped(delegate: Delegate, new_agent: NewAgent, *more: AbstractCapability[Any]) -> SubAgent[Any]:
    async def allowed(_: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [tool for tool in tools if delegate.allows(tool.name)]

    agent = new_agent(delegate.instructions, [PrepareTools(allowed), _ProviderTools(delegate), *more])
    return SubAgent(agent, delegate.name, delegate.description or None)


class _ProviderTools(AbstractCapability[Any]):
    """Leaves out the tools of the provider, too, that a delegate may not use."""

    def __init__(self, delegate: Delegate) -> None:
        self._delegate = delegate

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        kept = [tool for tool in parameters.native_tools if self._delegate.allows(tool.kind)]
        request_context.model_request_parameters = replace(parameters, native_tools=kept)
        return request_context


class _Delegation(SubAgents[Any]):
    """The library's capability, with instructions that fit co-tui.

    Every request has the whole current list of agents. The library would send a change to an earlier list as part of
    messages that are already in the log, and so never send it."""

    def _collect_instructions(self) -> Any:
        return AbstractCapability._collect_instructions(self)

    def _render_instructions(self) -> str | None:
        text = super()._render_instructions()
        return f"{INTRODUCTION}\n\n{_LISTING}{text.partition(_LISTING)[2]}" if text else text

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        return [_described(tool) if tool.name == DELEGATE_TOOL else tool for tool in tool_defs]


def _described(tool: ToolDefinition) -> ToolDefinition:
    properties = tool.parameters_json_schema.get("properties", {})
    task = {**properties.get("task", {}), "description": TASK_DESCRIPTION}
    schema = {**tool.parameters_json_schema, "properties": {**properties, "task": task}}
    return replace(tool, description=TOOL_DESCRIPTION, parameters_json_schema=schema)
