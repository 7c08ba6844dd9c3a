"""What an agent has for a turn, put together in one place: instructions, tools, capabilities, and who allows calls.

Whoever wants to give agents something more adds a toolset or a capability, and says which of its calls ask first.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ApprovalRequiredToolset

AsksFirst: TypeAlias = Callable[[str, Mapping[str, Any]], bool]
"""Whether a call, by its tool and its arguments, has to be allowed before it runs."""
Approve: TypeAlias = Callable[[DeferredToolRequests], Awaitable[DeferredToolResults]]
"""Answers for calls that have to be allowed."""


def never_asks(tool: str, arguments: Mapping[str, Any]) -> bool:
    """For tools that say themselves which of them ask, or that none does."""
    return False


class Equipment(NamedTuple):
    """What an agent has for one turn."""

    instructions: str
    toolsets: Sequence[AbstractToolset[Any]]
    capabilities: Sequence[AbstractCapability[Any]]

    def agent(self, model: Model, settings: ModelSettings) -> Agent[None, str]:
        return Agent(
            model,
            instructions=self.instructions or None,
            toolsets=self.toolsets,
            capabilities=self.capabilities,
            model_settings=settings,
        )


class Toolkit:
    """Everything agents may be given; `tools` says what there is to offer at the moment."""

    def __init__(
        self,
        tools: Callable[[], Sequence[AbstractToolset[Any]]],
        capabilities: Sequence[AbstractCapability[Any]] = (),
        asks_first: AsksFirst = never_asks,
    ) -> None:
        self._tools = tools
        self._capabilities = capabilities
        self._asks_first = asks_first

    def for_turn(
        self, instructions: str, *, takes_tools: bool, approve: Approve, hook: AbstractCapability[Any]
    ) -> Equipment:
        """For one turn, with our hook closest to the model. A model that cannot call tools gets none."""
        if not takes_tools:
            return Equipment(instructions, (), (hook,))
        asking = (_AskFirst(self._asks_first), _handler(approve))
        return Equipment(instructions, self._tools(), (*self._capabilities, *asking, hook))


class _AskFirst(AbstractCapability[Any]):
    """Holds calls back until they are allowed, whoever brought their tools."""

    def __init__(self, asks_first: AsksFirst) -> None:
        self._asks_first = asks_first

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        def needs_approval(_: RunContext[Any], tool: ToolDefinition, arguments: dict[str, Any]) -> bool:
            return self._asks_first(tool.name, arguments)

        return ApprovalRequiredToolset(toolset, needs_approval)


def _handler(approve: Approve) -> HandleDeferredToolCalls[Any]:
    async def answered(_: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        return await approve(requests)

    return HandleDeferredToolCalls(answered)
