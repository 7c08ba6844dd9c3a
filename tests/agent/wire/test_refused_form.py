"""Requests whose calls were refused obey the rules of every wire, and keep the results."""

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.agent.wire.refused_form import RefusedForm
from co_tui.agent.wire.rules.blocks import blocks_of
from co_tui.agent.wire.rules.wires import RULES, refusal
from tests.support.cases import each_case

IMAGE = BinaryContent(b"png", media_type="image/png")


def steps() -> list[ModelMessage]:
    """Two steps of a turn, each with two calls; the last result has an image."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("fix it")])]
    for step in ("a", "b"):
        calls = [ToolCallPart("look", {"at": step}, tool_call_id=f"call_{step}{number}") for number in (1, 2)]
        messages += [
            ModelResponse(parts=[ThinkingPart("hm", id="rs_1", signature="c2ln"), *calls]),
            ModelRequest(parts=[ToolReturnPart("look", ["seen", IMAGE], call.tool_call_id) for call in calls]),
        ]
    return messages


@each_case(("named", "left_out", "as_text"), [("call_b2", 2, ["b"]), ("call_a1", 2, ["a"]), ("", 4, ["a", "b"])])
def test_refused_calls_are_text_and_no_result_is_lost(named: str, left_out: int, as_text: list[str]) -> None:
    form, messages = RefusedForm(), steps()
    error = ModelHTTPError(400, "model", {"error": {"message": f"`tool_use` without `tool_result`: {named}"}})
    assert form.after(error, messages) == f"{left_out} earlier tool calls"
    repaired = form.removed_from(messages)
    assert [type(each) for each in repaired] == [type(each) for each in messages]
    for wire in RULES:
        assert refusal(wire, [*blocks_of(repaired)]) is None, wire
    said = [part.content for each in repaired for part in each.parts if isinstance(part, TextPart)]
    assert said == [f'[called the tool look with {{"at":"{step}"}}]' for step in as_text for _ in (1, 2)]
    prompts = [part.content for each in repaired[1:] for part in each.parts if isinstance(part, UserPromptPart)]
    result = "[result of the tool look, not written by the user]\nseen\n[end of the result]"
    assert prompts == [[result, IMAGE]] * left_out
