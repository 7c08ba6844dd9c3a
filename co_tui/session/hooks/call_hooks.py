"""The user's hooks around tool calls."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic_ai.tools import ToolDefinition

from co_tui.agent.toolkit import HookedCall
from co_tui.events.storable import dump, storable_text
from co_tui.events.tool_calls import call_line, gist_of_call
from co_tui.inert import one_line
from co_tui.session.hooks.hook_answers import HookAnswer
from co_tui.session.hooks.session_hooks import HookEvent, SessionHooks
from co_tui.session.hooks.tool_forms import claude_name, given_input, given_response, names_of, updated_arguments
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings.hook_entries import POST_TOOL_USE, PRE_TOOL_USE

INPUT_CHARS: Final = 2_000


class SessionCallHooks:
    """Runs them for the calls of a session and of its delegates."""

    def __init__(self, hooks: SessionHooks, cwd: Path) -> None:
        self._hooks = hooks
        self._cwd = cwd

    async def before(self, tool: ToolDefinition, arguments: Mapping[str, Any], call_id: str) -> HookedCall:
        if not self._hooks.has(PRE_TOOL_USE):
            return HookedCall()
        given = given_input(tool.name, arguments, self._cwd)
        answer = await self._run(PRE_TOOL_USE, tool.name, arguments, call_id, {"tool_input": given})
        if answer.refuses:
            return HookedCall("deny", answer.reason)
        changed = None
        if answer.updated_input is not None:
            known = tool.parameters_json_schema.get("properties", {})
            changed = updated_arguments(arguments, given, answer.updated_input, known, self._cwd)
        if changed == arguments:
            changed = None
        if changed is not None:  # the conversation has the model's own input
            source = f"a {PRE_TOOL_USE} hook{_about(tool.name, arguments)}"
            text = one_line(dump(self._hooks.without_secrets(changed)), INPUT_CHARS)
            self._hooks.notes.add(source, f"The input was changed to {text}", CURRENT_AGENT.get())
        decision = answer.decision if answer.decision in ("allow", "ask") else ""
        return HookedCall(decision, answer.reason, changed)

    async def after(self, tool: str, arguments: Mapping[str, Any], result: Any, call_id: str) -> None:
        if not self._hooks.has(POST_TOOL_USE):
            return
        payload = {
            "tool_input": given_input(tool, arguments, self._cwd),
            "tool_response": given_response(tool, arguments, result, self._cwd),
        }
        answer = await self._run(POST_TOOL_USE, tool, arguments, call_id, payload)
        if answer.refuses:
            source = f"a {POST_TOOL_USE} hook{_about(tool, arguments)}"
            self._hooks.notes.add(source, answer.reason, CURRENT_AGENT.get())

    async def _run(
        self, event: str, tool: str, arguments: Mapping[str, Any], call_id: str, payload: Mapping[str, object]
    ) -> HookAnswer:
        agent, call_id = CURRENT_AGENT.get(), storable_text(call_id)
        payload = {"tool_name": claude_name(tool), **payload, "tool_use_id": call_id}
        answer = await self._hooks.run(HookEvent(event, payload, names_of(tool), agent, call_id))
        self._hooks.add_context(answer, event, agent, _about(tool, arguments))
        return answer


def _about(tool: str, arguments: Mapping[str, Any]) -> str:
    return f" about `{call_line(tool, gist_of_call(tool, arguments))}`"
