"""Whether a request keeps the invariants, judged from the outside."""

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse, SystemPromptPart, ToolReturnPart, UserPromptPart

from co_tui.context.shape import latest_prompt


def breaches(before: Sequence[ModelMessage], request: Sequence[ModelMessage], *, fits: bool) -> list[str]:
    """What is wrong with a request made from the messages before it; empty when all is well."""
    found = _pairs(request)
    system = [part.content for message in before for part in message.parts if isinstance(part, SystemPromptPart)]
    sent = [part.content for message in request for part in message.parts if isinstance(part, SystemPromptPart)]
    if system != sent:
        found.append("I2 system messages")
    place = latest_prompt(before)
    if place is not None:
        prompt = [part.content for part in before[place].parts if isinstance(part, UserPromptPart)]
        said = [part.content for message in request for part in message.parts if isinstance(part, UserPromptPart)]
        if prompt[-1] not in said:
            found.append("I3 latest prompt")
    places = {id(message): index for index, message in enumerate(before)}
    order = [places[id(message)] for message in request if id(message) in places]
    if order != sorted(order):
        found.append("I5 order")
    if not fits:
        found.append("I6 does not fit")
    return found


def _pairs(request: Sequence[ModelMessage]) -> list[str]:
    found: list[str] = []
    open_calls: list[str] = []
    for message in request:
        if isinstance(message, ModelResponse):
            found += ["I1 unanswered call"] * len(open_calls)
            open_calls = [call.tool_call_id for call in message.tool_calls]
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                if part.tool_call_id in open_calls:
                    open_calls.remove(part.tool_call_id)
                else:
                    found.append("I1 orphaned return")
            elif open_calls:
                found += ["I1 unanswered call"] * len(open_calls)
                open_calls = []
    return found + ["I1 unanswered call"] * len(open_calls)
