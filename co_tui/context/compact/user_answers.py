"""What the user said in answer to calls: why one was denied, and what the model's questions were answered (C5)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from co_tui.events.content import content_text
from co_tui.events.refusals import DENIED, read_refusal
from co_tui.events.tool_calls import COMMAND_TOOLS, LABEL_CHARS, PRESENT_PLAN, gist_of_call, objects_in
from co_tui.inert import one_line

ASK_USER: Final = "ask_user_question"
ASKED_CHARS: Final = 160


class UserAnswer(NamedTuple):
    """One answer of the user."""

    about: str
    """What it answers, as the beginning of a line; it cannot be mistaken for the user's words."""
    words: str
    is_reason: bool = False
    """Whether it says why a call was denied."""

    @property
    def line(self) -> str:
        return f"{self.about}: {self.words}"


def calls_in(response: ModelResponse) -> dict[str, ToolCallPart]:
    """The calls of a response by their ids, which later responses may use again."""
    return {part.tool_call_id: part for part in response.parts if isinstance(part, ToolCallPart)}


def answers_in(message: ModelRequest, calls: Mapping[str, ToolCallPart]) -> Iterator[UserAnswer]:
    """The user's words in the results of these calls; a tool's own output is never among them."""
    for part in message.parts:
        if not isinstance(part, ToolReturnPart):
            continue
        arguments = _arguments(calls.get(part.tool_call_id))
        if part.outcome == DENIED:
            if reason := read_refusal(content_text(part.content)).reason.strip():
                yield UserAnswer(_denied(part.tool_name, arguments), reason, is_reason=True)
        elif part.tool_name == ASK_USER and part.outcome == "success" and isinstance(part.content, Mapping):
            yield from _answered(part.content, arguments)


def _arguments(call: ToolCallPart | None) -> Mapping[str, Any]:
    try:
        return call.args_as_dict() if call is not None else {}
    except (ValueError, AssertionError):
        return {}


def _denied(tool: str, arguments: Mapping[str, Any]) -> str:
    if tool == PRESENT_PLAN:
        return "sent the plan back"
    gist = gist_of_call(tool, arguments)
    name = "" if gist and tool in COMMAND_TOOLS else one_line(tool, LABEL_CHARS)
    call = " ".join(filter(None, (name, gist))).replace("`", "'")
    return f"denied `{call}`"


def _answered(given: Mapping[Any, Any], arguments: Mapping[str, Any]) -> Iterator[UserAnswer]:
    """The answers, which the tool returns under the short headers of its questions."""
    asked = {each.get("header"): str(each.get("question") or "") for each in objects_in(arguments.get("questions"))}
    for header, answer in given.items():
        chosen = answer if isinstance(answer, Sequence) and not isinstance(answer, str) else [answer]
        words = ", ".join(map(str, chosen)).strip()
        question = one_line(asked.get(header) or str(header), ASKED_CHARS).replace('"', "'")
        if words:
            yield UserAnswer(f'answered "{question}"', words)
