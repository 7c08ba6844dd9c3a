"""Plan mode: the tool with which the model presents its plan, and the instructions while it may change nothing
(T3b)."""

from collections.abc import Callable
from typing import Any, Final

from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai_harness.planning import PlanItem

from co_tui.session.tools.session_plan import SessionPlan
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings.rules import PLAN, PRESENT_PLAN

INSTRUCTIONS: Final = (
    "Plan mode is on: change nothing. Read files, run commands that only read, and use MCP tools that only read and "
    "that the user allowed. When you know what to do, call "
    f"`{PRESENT_PLAN}` with the steps; the user accepts the plan, sends it back with comments, or leaves it."
)


class PlanMode(AbstractCapability[Any]):
    """Offers the tool only in plan mode; otherwise its definition takes no room."""

    def __init__(self, plan: SessionPlan, mode: Callable[[], str]) -> None:
        self._plan = plan
        self._mode = mode

    def get_instructions(self) -> Any:
        async def instructions(_: RunContext[Any]) -> str | None:
            return INSTRUCTIONS if self._is_on else None

        return instructions

    def get_toolset(self) -> FunctionToolset[Any]:
        async def only_in_plan_mode(_: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
            return tool if self._is_on else None

        return FunctionToolset([Tool(self.present_plan, name=PRESENT_PLAN, prepare=only_in_plan_mode)])

    async def present_plan(self, steps: list[str], summary: str = "") -> str:
        """Show the user your plan and wait for the decision.

        Args:
            steps: What you will do, in order, one short sentence each.
            summary: What the plan achieves and what you found, in Markdown.
        """
        # It runs only once the user has accepted it.
        await self._plan.set_items([PlanItem(content=step) for step in steps])
        return f"The user accepted the plan. The mode is now `{self._mode()}`. Carry out the plan."

    @property
    def _is_on(self) -> bool:
        return self._mode() == PLAN and not CURRENT_AGENT.get()
