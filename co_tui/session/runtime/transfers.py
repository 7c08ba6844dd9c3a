"""Transfers: the conversation itself is handed to another agent of the files, and back (T4)."""

from dataclasses import replace
from typing import Any, Final

from pydantic_ai import Tool
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from co_tui.agent.delegates import delegate_of
from co_tui.agent.tool_names import TRANSFER_TOOL
from co_tui.events import AgentTransfer
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.events.storable import storable_text
from co_tui.inert import one_line
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.agent_roster import AgentRoster
from co_tui.session.turns.current_agent import CURRENT_AGENT

NAME_CHARS: Final = 60
SPEAKING: Final = (
    "The conversation was handed to you, the agent `{}`, and you answer in it. Earlier replies may be another agent's."
)
HANDS_BACK: Final = f"Hand it back to `{MAIN_AGENT}` with `{TRANSFER_TOOL}` when your part is done."
"""Sent to an agent that answers in place of the main one; `{}` is its name."""


class TransferRefused(Exception):
    """Why the conversation was not handed over: a sentence."""


class Transfers:
    """Hands the conversation over: for the model's tool, and for the user."""

    def __init__(self, recorder: Recorder, roster: AgentRoster) -> None:
        self._recorder = recorder
        self.roster = roster

    @property
    def speaker(self) -> str:
        return self._recorder.state.speaker or MAIN_AGENT

    async def hand_to(self, name: str, by: str, message: str = "") -> None:
        """The agent answers from the next request on. Raises `TransferRefused`."""
        name, speaker = storable_text(name), self.speaker
        self.roster.refresh()
        others = self._others()
        if name == speaker:
            raise TransferRefused(f"{name} answers already.")
        if name not in others:
            known = f"Use one of {', '.join(others)}." if others else "There are no other agents."
            raise TransferRefused(f"Unknown agent {one_line(name, NAME_CHARS)!r}. {known}")
        transfer = AgentTransfer(from_=speaker, to=name, by=by, note=storable_text(message))
        await self._recorder.record(transfer)

    def _others(self) -> list[str]:
        return [name for name in (MAIN_AGENT, *self.roster.names) if name != self.speaker]

    def toolset(self) -> AbstractToolset[Any] | None:
        """The model's tool; None if there is no other agent, so that requests are not longer for it."""
        if not self.roster.names and self.speaker == MAIN_AGENT:
            return None
        return FunctionToolset([Tool(self.transfer_to_agent, prepare=self._offered)], instructions=self._speaking)

    def _speaking(self) -> str | None:
        """For an agent that answers in place of the main one. Its delegates have a task instead."""
        speaker = self.roster.named(self._recorder.state.speaker)
        if speaker is None or CURRENT_AGENT.get():
            return None
        hands_back = HANDS_BACK if delegate_of(speaker).allows(TRANSFER_TOOL) else ""
        return f"{SPEAKING.format(speaker.name)} {hands_back}".rstrip()

    async def _offered(self, _: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
        """With the agents to choose from. Delegates have a task, not the conversation."""
        if CURRENT_AGENT.get():
            return None
        schema = tool.parameters_json_schema
        chosen = {**schema["properties"]["agent_name"], "enum": self._others()}
        properties = {**schema["properties"], "agent_name": chosen}
        return replace(tool, parameters_json_schema={**schema, "properties": properties})

    async def transfer_to_agent(self, agent_name: str, message: str = "") -> str:
        """Hand this conversation to another agent, which answers the user in your place from the next step on.

        It sees the conversation so far and has its own instructions, tools and model.

        Args:
            agent_name: Who answers from now on.
            message: What it should know or do.
        """
        try:
            await self.hand_to(agent_name, "model", message)
        except TransferRefused as refused:
            raise ModelRetry(str(refused)) from None
        return f"{agent_name} answers from now on."
