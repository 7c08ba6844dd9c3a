"""Tools of our own that the model gets: for what is no longer in its context."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pydantic_ai import Tool
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from co_tui.context.count import Scaffold, estimate_tools
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.current_agent import CURRENT_AGENT
from co_tui.session.governed_history import GovernedHistory
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
        ours: list[Tool[Any] | Callable[..., Any]] = []
        if history.policy.archive_over_chars:
            ours.append(self._archive.read_artifact)
        if history.governor.window.tokens >= SMALLEST_WINDOW_FOR_TOOLS:
            if self._state().rewrites:
                ours.append(self._recall.recall)
            if memory and self._memory.has_anything:
                ours.append(self._memory.search_memory)
            if ours or others or works:
                ours.append(Tool(self._request_compaction, name="request_compaction"))
        return (*others, FunctionToolset(ours)) if ours else others

    @cached_property
    def _way_back(self) -> Tool[Any]:
        return Tool(self._recall.recall)

    def foreseen(self, sent: Scaffold, window_tokens: int) -> Scaffold:
        """What goes with the next turn, after what went with the last: a way back once something has left."""
        name, names = self._way_back.name, sent.tool_names
        wants = bool(names) and bool(self._state().rewrites) and window_tokens >= SMALLEST_WINDOW_FOR_TOOLS
        if (name in names) == wants:
            return sent
        own = [self._way_back.tool_def]
        if sent.tools:
            return replace(sent, tools=[*(tool for tool in sent.tools if tool.name != name), *(own if wants else ())])
        change, others = estimate_tools(own), [each for each in names if each != name]
        estimate = sent.tools_estimate + change if wants else sent.tools_estimate - change
        return replace(sent, tools_estimate=max(0, estimate), names=[*others, *([name] if wants else ())])

    async def _request_compaction(self, focus: str = "") -> str:
        """Ask for the earlier conversation to be summarised, when much of it no longer matters for the task.

        Args:
            focus: What the summary should pay special attention to.
        """
        if CURRENT_AGENT.get():
            return "Your own steps are made smaller by themselves when they fill the window."
        self._compactor.request(focus)
        return "The conversation will be summarised beside your next step."
