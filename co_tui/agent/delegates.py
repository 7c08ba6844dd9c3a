"""Delegation: the agents a run can delegate to, and the capability to do so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, PrepareTools
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_ai.usage import UsageLimits
from pydantic_ai_harness.subagents import SubAgent, SubAgents, SubAgentToolset

from co_tui.agent.permissions.agent_limits import LIMITS, AgentLimits, limits_of, tools_in
from co_tui.agent.tool_names import DELEGATE_TOOL, TRANSFER_TOOL, is_named, our_names
from co_tui.settings import AgentFile
from co_tui.settings.rules import DELEGATE_CONTEXTS, FRESH

MOST_FILES: Final = 20
"""Named with one task."""
DELEGATION_LEVELS: Final = 3
"""The main agent delegates, and its delegates may delegate once more."""

SUBAGENT_VIEW: Final = (
    "With the context `fresh` a sub-agent sees only its task, the files you name with it, and its own work; with "
    "`conversation` it sees the top-level conversation with its tool calls and results, too. Unless you choose or "
    "the list says otherwise, it is `{}`. It never sees another delegation's work or report."
)
"""Tells the model what a sub-agent sees: exactly what its requests contain (T4); `{}` is the default context."""
TOOL_DESCRIPTION: Final = (
    f"Delegate a task to a named sub-agent and return its report{{}}.\n\n{SUBAGENT_VIEW} "
    "Put what else it needs into `task`."
)
_TEXT: Final = {"type": "string"}
ARGUMENTS: Final = {
    "agent_name": {**_TEXT, "description": "One of the listed sub-agents."},
    "task": {**_TEXT, "description": "What the sub-agent should do and report."},
    "context": {**_TEXT, "enum": list(DELEGATE_CONTEXTS), "description": "What it sees besides its task."},
    "files": {
        "type": "array",
        "items": _TEXT,
        "description": f"Paths of files whose contents it gets with the task, up to {MOST_FILES}.",
    },
}
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
    context: str
    """What it sees unless chosen; empty for the default."""
    limits: AgentLimits = AgentLimits("")

    @property
    def listed(self) -> str:
        """Its description for the model."""
        return " ".join(filter(None, (self.description, f"(context: {self.context})" if self.context else "")))


class Delegates(NamedTuple):
    """The agents to delegate to, and the context they get unless chosen."""

    agents: Sequence[Delegate]
    context: str
    with_results: bool = False
    """Whether tool results come with the report."""


def delegate_of(file: AgentFile) -> Delegate:
    """The agent of a file; one that answers in the conversation can hand it back, unless its file withholds that."""
    named = [name for name, _ in tools_in(file.tools or ())]
    given = None if file.tools is None else frozenset((*our_names(named), TRANSFER_TOOL))
    withheld = frozenset(our_names(name for name, rule in tools_in(file.withheld_tools) if rule is None))

    def allows(tool: str) -> bool:
        return (given is None or is_named(tool, given)) and not is_named(tool, withheld)

    limits = limits_of(file.name, file.tools or (), file.withheld_tools)
    return Delegate(file.name, file.description, file.instructions, allows, file.context, limits)


def without_tools(name: str) -> Delegate:
    """An agent whose file is gone."""
    return Delegate(name, "", "", lambda tool: False, "")


NewAgent = Callable[[str, Sequence[AbstractCapability[Any]]], Agent[None, str]]
"""Builds an agent like the main one with additional instructions and capabilities."""


def delegation(delegates: Delegates, new_agent: NewAgent) -> SubAgents[Any]:
    """The capability to delegate to these agents and to a fresh run of the same agent."""
    last_level = _delegation([_equipped(each, new_agent) for each in delegates.agents], delegates)
    nesting = [
        _equipped(each, new_agent, *([last_level] if each.allows(DELEGATE_TOOL) else [])) for each in delegates.agents
    ]
    return _delegation(nesting, delegates)


def _delegation(agents: Sequence[SubAgent[Any]], of: Delegates) -> SubAgents[Any]:
    return _Delegation(
        agents=agents,
        context=of.context,
        with_results=of.with_results,
        include_self=True,
        max_depth=DELEGATION_LEVELS,
        tool_retries=None,  # as for other tools
    )


def _equipped(delegate: Delegate, new_agent: NewAgent, *more: AbstractCapability[Any]) -> SubAgent[Any]:
    agent = new_agent(delegate.instructions, [*own_tools_only(delegate), *more])
    return SubAgent(agent, delegate.name, delegate.listed or None)


def own_tools_only(delegate: Delegate) -> Sequence[AbstractCapability[Any]]:
    """Leaves out the tools that an agent may not use, and holds it to the limits of the others."""

    async def allowed(_: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [tool for tool in tools if delegate.allows(tool.name)]

    limited = [_Limited(delegate.limits)] if delegate.limits else []
    return *limited, PrepareTools(allowed), _ProviderTools(delegate)


class _Limited(AbstractCapability[Any]):
    """Makes the limits of an agent known to the judgement of its calls."""

    def __init__(self, limits: AgentLimits) -> None:
        self._limits = limits

    def get_ordering(self) -> CapabilityOrdering:
        # Around what asks about calls, which is outermost, too, and comes later in the list.
        return CapabilityOrdering(position="outermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _LimitedToolset(toolset, self._limits)


@dataclass
class _LimitedToolset(WrapperToolset[Any]):
    limits: AgentLimits

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        token = LIMITS.set((*LIMITS.get(), self.limits))
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        finally:
            LIMITS.reset(token)


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


@dataclass
class _Delegation(SubAgents[Any]):
    """The library's capability, with instructions that fit co-tui.

    Every request has the whole current list of agents. The library would send a change to an earlier list as part of
    messages that are already in the log, and so never send it."""

    context: str = field(default=FRESH, kw_only=True)
    """What sub-agents see unless chosen."""
    with_results: bool = field(default=False, kw_only=True)

    def _collect_instructions(self) -> Any:
        return AbstractCapability._collect_instructions(self)

    def _render_instructions(self) -> str | None:
        text = super()._render_instructions()
        return f"{INTRODUCTION.format(self.context)}\n\n{_LISTING}{text.partition(_LISTING)[2]}" if text else text

    def _make_toolset(self) -> SubAgentToolset[Any]:
        return _DelegateToolset(
            agents=self._by_name,
            forward_usage=self.forward_usage,
            inherit_tools=self.inherit_tools,
            shared_capabilities=self.shared_capabilities,
            event_stream_handler=self.event_stream_handler,
            tool_name=self.tool_name,
            tool_retries=self.tool_retries,
            contain_errors=self.contain_errors,
            call_counts=self._call_counts,
            include_self=self.include_self,
            max_depth=self.max_depth,
            id=self.id,
        )

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        return [self._described(tool) if tool.name == DELEGATE_TOOL else tool for tool in tool_defs]

    def _described(self, tool: ToolDefinition) -> ToolDefinition:
        schema = {**tool.parameters_json_schema, "properties": ARGUMENTS}
        results = " with its latest tool calls and results" if self.with_results else ""
        description = TOOL_DESCRIPTION.format(results, self.context)
        return replace(tool, description=description, parameters_json_schema=schema)


class _DelegateToolset(SubAgentToolset[Any]):
    """The library's delegate tool, with a choice of what the delegate sees, which the session carries out.

    It has no limit of its own: the session counts steps and costs."""

    async def delegate_task(  # type: ignore[override] # the library's has arguments that we do not offer
        self,
        ctx: RunContext[Any],
        agent_name: str,
        task: str,
        context: Literal["fresh", "conversation"] | None = None,
        files: list[str] | None = None,
    ) -> str:
        return await super().delegate_task(ctx, agent_name, task)

    def _resolve_agent(self, ctx: RunContext[Any], agent_name: str) -> SubAgent[Any]:
        return replace(super()._resolve_agent(ctx, agent_name), usage_limits=UsageLimits(request_limit=None))
