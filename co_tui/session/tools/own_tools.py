"""Our own tools for the model: to reach what is no longer in its context."""

from collections.abc import Callable, Collection, Sequence
from functools import cache, cached_property
from types import MethodType
from typing import Any, Final, NamedTuple

from pydantic_ai import Tool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from co_tui.agent.tool_names import OWN_TOOLS
from co_tui.context.measure.count import Scaffold, estimate_tools
from co_tui.context.policy import CompactionRule, Policy
from co_tui.session.compaction.compaction_files import Remembered
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.archive import Archive
from co_tui.session.tools.memory_search import MemorySearch
from co_tui.session.tools.recall import Recall
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings import Settings

SMALLEST_WINDOW_FOR_TOOLS: Final = 8_000
"""Below this, the definitions of our own tools cost more than they help."""


MIN_REMOVED_CHARS: Final = 16_000
"""A removal frees at least a third of its length, which must be several times the size of the tool definitions."""


class MemoryUse(NamedTuple):
    """The settings for the daily memory."""

    is_searched: bool
    written: Remembered

    def is_written(self, policy: Policy) -> bool:
        """Whether the compactions of a policy are written to it."""
        return self.written.includes(trimmed=policy.rule is CompactionRule.TURNS)


def memory_use(settings: Settings) -> MemoryUse:
    return MemoryUse(settings.memory_search == "on", Remembered(settings.daily_memory))


class Offer(NamedTuple):
    """Decides which of our tools a turn gets. Each definition is part of every request, so they are offered only where
    useful. A compaction must not add definitions as large as what it frees: next to other tools they are offered from
    the start, alone only after a compaction that freed several times as much."""

    policy: Policy
    window_tokens: int
    removed_chars: int
    """The length of the largest removal from the context."""
    memory: MemoryUse
    has_memory: bool
    """Whether there is a daily memory."""

    def names(self, *, with_other_tools: bool, runs_commands: bool) -> list[str]:
        names = []
        if self.policy.archive_over_chars or runs_commands:
            names.append("read_artifact")
        if self.window_tokens >= SMALLEST_WINDOW_FOR_TOOLS:
            if with_other_tools or self._much_was_removed:
                names.append("recall")
            if self.memory.is_searched and self._searches_memory(with_other_tools):
                names.append("search_memory")
            if with_other_tools or names:
                names.append("request_compaction")
        return names

    @property
    def _much_was_removed(self) -> bool:
        return self.removed_chars >= MIN_REMOVED_CHARS

    def _searches_memory(self, with_other_tools: bool) -> bool:
        """A memory that compactions write is offered next to other tools, or once much was removed."""
        if self.memory.is_written(self.policy):
            return with_other_tools or self._much_was_removed
        return self.has_memory


def predicted_scaffold(sent: Scaffold, offer: Offer) -> Scaffold:
    """The scaffold of the next turn from the last one sent, with those of our tools that are offered then."""
    if not sent.was_sent:
        return sent
    names = sent.tool_names
    others = [name for name in names if name not in OWN_TOOLS]
    ours = offer.names(with_other_tools=bool(others), runs_commands="run_command" in others)
    if set(ours) == set(names) - set(others):
        return sent
    if sent.tools or not names:
        kept = [tool for tool in sent.tools if tool.name not in OWN_TOOLS]
        return sent._replace(tools=[*kept, *_definitions_of(ours)])
    before, after = (estimate_tools(_definitions_of(each)) for each in (names, ours))
    estimate = max(0, sent.tools_estimate - before + after)
    return sent._replace(tools_estimate=estimate, names=[*others, *ours])


def _definitions_of(names: Collection[str]) -> list[ToolDefinition]:
    return [definition for name, definition in _definitions().items() if name in names]


@cache
def _definitions() -> dict[str, ToolDefinition]:
    """The definitions of all our tools, independent of a session."""
    owner = object()
    methods = (Archive.read_artifact, Recall.recall, MemorySearch.search_memory, OwnTools.request_compaction)
    tools = [Tool[Any](MethodType(method, owner)) for method in methods]
    return {tool.name: tool.tool_def for tool in tools}


class OwnTools:
    """Our tools for one session."""

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

    def with_own(
        self,
        others: Sequence[AbstractToolset[Any]],
        history: GovernedHistory,
        *,
        memory: MemoryUse,
        works: bool = False,
        runs_commands: bool = False,
    ) -> Sequence[AbstractToolset[Any]]:
        """The other tools, and ours; `works` if there are tools for the working directory, too."""
        offer = self._offer(history, history.policy, memory)
        names = offer.names(with_other_tools=bool(others) or works, runs_commands=runs_commands)
        ours = [tool for name, tool in self._all.items() if name in names]
        return (*others, FunctionToolset(ours)) if ours else others

    def predicted_scaffold(
        self, history: GovernedHistory, memory: MemoryUse, sent: Scaffold, *, policy: Policy, leaving_chars: int
    ) -> Scaffold:
        """The scaffold of the next turn under a policy, from the last one sent; `leaving_chars` is how much will have
        left the history by then."""
        offer = self._offer(history, policy, memory)
        return predicted_scaffold(sent, offer._replace(removed_chars=max(offer.removed_chars, leaving_chars)))

    def _offer(self, history: GovernedHistory, policy: Policy, memory: MemoryUse) -> Offer:
        window = history.governor.window.tokens
        return Offer(policy, window, self._state().removed_chars, memory, self._memory.has_anything)

    @cached_property
    def _all(self) -> dict[str, Tool[Any]]:
        tools: list[Tool[Any]] = [
            Tool(self._archive.read_artifact),
            Tool(self._recall.recall),
            Tool(self._memory.search_memory),
            Tool(self.request_compaction),
        ]
        return {tool.name: tool for tool in tools}

    async def request_compaction(self, focus: str = "") -> str:
        """Ask for the earlier conversation to be summarised, when much of it no longer matters for the task.

        Args:
            focus: What the summary should pay special attention to.
        """
        if CURRENT_AGENT.get():
            return "Your own steps are compacted automatically when they fill the window."
        self._compactor.request(focus)
        return "The conversation will be summarised in the background."
