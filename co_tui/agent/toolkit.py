"""What an agent has for a turn, put together in one place: instructions, tools, capabilities, and who allows calls.

Whoever wants to give agents something more adds a toolset or a capability, and says which of its calls ask first.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from co_tui.agent.delegates import Delegate, delegation
from co_tui.agent.permissions.verdict import RUN, VERDICT, Verdict

_Agent: TypeAlias = Agent[None, str]
AsksFirst: TypeAlias = Callable[[str, Mapping[str, Any]], bool]
"""Whether a call, by its tool and its arguments, has to be allowed before it runs."""
Decide: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Verdict]]
"""What is done about a call, by its tool and its arguments."""
What: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""What such a call would do, in words or as a diff; raises what the tool raises for a call that cannot work."""
Approve: TypeAlias = Callable[[DeferredToolRequests], Awaitable[DeferredToolResults]]
"""Answers for calls that have to be allowed."""
WHAT: Final = "what"
"""Metadata of a call that asks for approval: what it would do."""
TOOL_RETRIES: Final = 1_000_000
"""In effect no limit: the library ends a run when one tool failed this often, whatever the calls were. Failures are
for the model to see, and the session stops a model that repeats a failing call."""


def never_asks(tool: str, arguments: Mapping[str, Any]) -> bool:
    """For tools that say themselves which of them ask, or that none does."""
    return False


async def no_description(tool: str, arguments: Mapping[str, Any]) -> str:
    """For calls whose arguments say all there is to say."""
    return ""


async def always_runs(tool: str, arguments: Mapping[str, Any]) -> Verdict:
    """For agents whose tools need no permission."""
    return RUN


class Equipment(NamedTuple):
    """What an agent has for one turn, and so have all that it gives work to."""

    instructions: str
    toolsets: Sequence[AbstractToolset[Any]]
    capabilities: Sequence[AbstractCapability[Any]]
    delegates: Sequence[Delegate] | None = None
    """Whom it can give work to, beside a fresh run of itself; None when it cannot give any."""

    def agent(self, model: Model, settings: ModelSettings) -> Agent[None, str]:
        def new(instructions: str, more: Sequence[AbstractCapability[Any]], asks: Model | None = None) -> _Agent:
            return Agent(
                asks,  # without one of its own it takes that of the run that asks it
                instructions="\n\n".join(filter(None, (self.instructions, instructions))) or None,
                toolsets=self.toolsets,
                capabilities=(*more, *self.capabilities),
                model_settings=settings,
                retries={"tools": TOOL_RETRIES},
            )

        return new("", [delegation(self.delegates, new)] if self.delegates is not None else (), model)


class Toolkit:
    """Everything agents may be given; `tools` says what there is to offer at the moment."""

    def __init__(
        self,
        tools: Callable[[], Sequence[AbstractToolset[Any]]],
        capabilities: Sequence[AbstractCapability[Any]] = (),
        decide: Decide = always_runs,
        what: What = no_description,
        delegates: Callable[[], Sequence[Delegate]] | None = None,
        before_sending: Sequence[AbstractCapability[Any]] = (),
    ) -> None:
        """`delegates` gives whom work can be given to, beside a fresh run of the same agent; None for nobody.
        `before_sending` runs last before each request, after the turn's hook has prepared and measured it."""
        self._tools = tools
        self._before_sending = before_sending
        self._delegates = delegates
        self._capabilities = capabilities
        self._asking = _AskFirst(decide, what)
        self.what = what

    def for_turn(
        self, instructions: str, *, takes_tools: bool, approve: Approve, hook: AbstractCapability[Any]
    ) -> Equipment:
        """For one turn, with our hook closest to the model. A model that cannot call tools gets none."""
        if not takes_tools:
            return Equipment(instructions, (), (hook,))
        asking = (self._asking, _handler(approve))
        delegates = self._delegates() if self._delegates is not None else None
        return Equipment(
            instructions, self._tools(), (*self._capabilities, *asking, hook, *self._before_sending), delegates
        )


class _AskFirst(AbstractCapability[Any]):
    """Holds calls back until they are allowed, whichever toolset brought them."""

    def __init__(self, decide: Decide, what: What) -> None:
        self._decide = decide
        self._what = what

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _AskingToolset(toolset, self._decide, self._what)


@dataclass
class _AskingToolset(WrapperToolset[Any]):
    """As the library's own; it also says what a call would do, and under which verdict a call runs."""

    decide: Decide
    what: What

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        verdict = await self.decide(name, tool_args)
        if verdict.action != "run" and not ctx.tool_call_approved:
            raise ApprovalRequired({WHAT: "" if verdict.action == "refuse" else await self.what(name, tool_args)})
        token = VERDICT.set(verdict)
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        finally:
            VERDICT.reset(token)


def _handler(approve: Approve) -> HandleDeferredToolCalls[Any]:
    async def answered(_: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        return await approve(requests)

    return HandleDeferredToolCalls(answered)
