"""Tools of our own that the model gets: for what is no longer in its context."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from co_tui.agent.tool_names import OWN_TOOLS
from co_tui.context.count import Scaffold, estimate_tools
from co_tui.context.policy import Policy
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.current_agent import CURRENT_AGENT
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.archive import Archive
from co_tui.session.tools.memory_search import MemorySearch
from co_tui.session.tools.recall import Recall

SMALLEST_WINDOW_FOR_TOOLS = 8_000
"""Below this the definitions of our own tools would take more than they give."""


class OwnTools:
    """Offered only where they can be of use: each definition goes with every request."""

    def __init__(
        self,
        archive: Archive,
        compactor: Compactor,
        recall: Recall,
        memory: MemorySearch,
        state: Callable[[], SessionState],
    ) -> None:
        self._archive = archive
        self._compactor = compactor
        self._state = state
        self._recall = recall
        self._memory = memory

    def beside(
        self,
        others: Sequence[AbstractToolset[Any]],
        history: GovernedHistory,
        *,
        works: bool = False,
        memory: bool = False,
    ) -> Sequence[AbstractToolset[Any]]:
        """The other tools, and ours; `works` when there are some of the working directory, too, `memory` when the
        daily memory may be searched."""
        has_left = bool(self._state().rewrites)
        window = history.governor.window.tokens
        ours = self._offered(history.policy, window, has_left, beside_others=bool(others) or works, memory=memory)
        return (*others, FunctionToolset(ours)) if ours else others

    def foreseen(
        self, history: GovernedHistory, sent: Scaffold, *, policy: Policy, rewritten: bool, memory: bool = False
    ) -> Scaffold:
        """What goes with the next turn under a policy, after what went with the last: of our tools, those that are
        offered then. `rewritten` when by then something has left the history."""
        if not sent.was_sent:
            return sent
        names, window = sent.tool_names, history.governor.window.tokens
        others = [name for name in names if name not in OWN_TOOLS]
        has_left = rewritten or bool(self._state().rewrites)
        ours = self._offered(policy, window, has_left, beside_others=bool(others), memory=memory)
        if {tool.name for tool in ours} == set(names) - set(others):
            return sent
        if sent.tools or not names:
            kept = [tool for tool in sent.tools if tool.name not in OWN_TOOLS]
            return replace(sent, tools=[*kept, *(tool.tool_def for tool in ours)])
        before, after = (estimate_tools([tool.tool_def for tool in each]) for each in (self._all_in(names), ours))
        estimate = max(0, sent.tools_estimate - before + after)
        return replace(sent, tools_estimate=estimate, names=[*others, *(tool.name for tool in ours)])

    def _offered(
        self, policy: Policy, window_tokens: int, has_left: bool, *, beside_others: bool, memory: bool
    ) -> list[Tool[Any]]:
        """`has_left` when there is something that is no longer in the context. Beside other tools,
        `recall` is there from the beginning: coming with a compaction it could take what that frees."""
        names = []
        if policy.archive_over_chars:
            names.append("read_artifact")
        if window_tokens >= SMALLEST_WINDOW_FOR_TOOLS:
            if has_left or beside_others:
                names.append("recall")
            if memory and self._memory.has_anything:
                names.append("search_memory")
            if beside_others or names:
                names.append("request_compaction")
        return self._all_in(names)

    def _all_in(self, names: Collection[str]) -> list[Tool[Any]]:
        return [tool for name, tool in self._all.items() if name in names]

    @cached_property
    def _all(self) -> dict[str, Tool[Any]]:
        tools: list[Tool[Any]] = [
            Tool(self._archive.read_artifact),
            Tool(self._recall.recall),
            Tool(self._memory.search_memory),
            Tool(self._request_compaction, name="request_compaction"),
        ]
        return {tool.name: tool for tool in tools}

    async def _request_compaction(self, focus: str = "") -> str:
        """Ask for the earlier conversation to be summarised, when much of it no longer matters for the task.

        Args:
            focus: What the summary should pay special attention to.
        """
        if CURRENT_AGENT.get():
            return "Your own steps are made smaller by themselves when they fill the window."
        self._compactor.request(focus)
        return "The conversation will be summarised beside your next step."
