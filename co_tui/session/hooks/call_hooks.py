"""The user's hooks around tool calls."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic_ai.tools import ToolDefinition

from co_tui.agent.toolkit import HookedCall
from co_tui.events.storable import dump, storable_text
from co_tui.events.tool_calls import GIST_CHARS, call_line, gist_of_call
from co_tui.inert import one_line
from co_tui.session.hooks.hook_answers import HookAnswer
from co_tui.session.hooks.session_hooks import HookEvent, SessionHooks
from co_tui.session.hooks.tool_forms import (
    HookInput,
    InputNotTaken,
    given_response,
    inputs_of,
    rejoined,
    updated_arguments,
)
from co_tui.session.processes.printed_output import PRINTED
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings.hook_entries import POST_TOOL_USE, PRE_TOOL_USE

INPUT_CHARS: Final = 2_000
TURN_ENDED: Final = "A hook stopped the turn before this call."


class SessionCallHooks:
    """Runs them for the calls of a session and of its delegates; for a call that changes several files, once a file."""

    def __init__(self, hooks: SessionHooks, cwd: Path) -> None:
        self._hooks = hooks
        self._cwd = cwd

    async def before(self, tool: ToolDefinition, arguments: Mapping[str, Any], call_id: str) -> HookedCall:
        if self._hooks.has_stopped:
            return HookedCall("deny", TURN_ENDED)
        if not self._hooks.has(PRE_TOOL_USE):
            return HookedCall()
        inputs = inputs_of(tool.name, arguments, self._cwd)
        answers = []
        for each in inputs:
            answers.append(await self._run(PRE_TOOL_USE, each, call_id, {}))
            if answers[-1].refuses:
                return HookedCall("deny", answers[-1].reason)
        try:
            changed = self._changed(tool, arguments, inputs, answers)
        except InputNotTaken as refused:
            return HookedCall("deny", str(refused))
        return _joint_decision(answers)._replace(arguments=changed)

    def _changed(
        self,
        tool: ToolDefinition,
        arguments: Mapping[str, Any],
        inputs: Sequence[HookInput],
        answers: Sequence[HookAnswer],
    ) -> dict[str, Any] | None:
        """Other arguments to call it with, noted for the model: the conversation has its own input."""
        known = tool.parameters_json_schema.get("properties", {})
        parts = [
            each.arguments
            if answer.updated_input is None
            else updated_arguments(each, answer.updated_input, known, self._cwd)
            for each, answer in zip(inputs, answers, strict=True)
        ]
        for each, part in zip(inputs, parts, strict=True):
            if part != each.arguments:
                text = one_line(dump(self._hooks.without_secrets(part)), INPUT_CHARS)
                source = f"a {PRE_TOOL_USE} hook{_about(each)}"
                self._hooks.notes.add(source, f"The input was changed to {text}", CURRENT_AGENT.get())
        changed = rejoined(arguments, inputs, parts)
        return changed if changed != arguments else None

    async def after(self, tool: str, arguments: Mapping[str, Any], result: Any, call_id: str) -> None:
        if not self._hooks.has(POST_TOOL_USE):
            return
        printed = PRINTED.get()
        for each in inputs_of(tool, arguments, self._cwd):
            response = given_response(each, result, printed)
            answer = await self._run(POST_TOOL_USE, each, call_id, {"tool_response": response})
            if answer.refuses and not answer.stops:
                self._hooks.notes.add(f"a {POST_TOOL_USE} hook{_about(each)}", answer.reason, CURRENT_AGENT.get())

    async def _run(self, event: str, call: HookInput, call_id: str, payload: Mapping[str, object]) -> HookAnswer:
        agent, call_id = CURRENT_AGENT.get(), storable_text(call_id)
        payload = {"tool_name": call.names[0], "tool_input": call.given, **payload, "tool_use_id": call_id}
        answer = await self._hooks.run(HookEvent(event, payload, call.names, agent, call_id))
        self._hooks.add_context(answer, event, agent, _about(call))
        return answer


def _joint_decision(answers: Sequence[HookAnswer]) -> HookedCall:
    """One question asks about the whole call; it is allowed if hooks allow every part of it."""
    for answer in answers:
        if answer.decision == "ask":
            return HookedCall("ask", answer.reason)
    is_allowed = all(answer.decision == "allow" for answer in answers)
    return HookedCall("allow", answers[0].reason) if is_allowed else HookedCall()


def _about(call: HookInput) -> str:
    about = call.arguments.get("path") if call.is_part else gist_of_call(call.tool, call.arguments)
    return f" about `{call_line(call.tool, one_line(str(about), GIST_CHARS))}`"
