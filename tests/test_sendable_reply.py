"""What no provider takes back is left out of requests, and ids go with the thinking they refer to."""

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel

from co_tui.agent.wire.portable_history import OPENING, portable
from co_tui.agent.wire.rules.blocks import blocks_of
from co_tui.agent.wire.rules.wires import refusal
from co_tui.sendable_reply import sendable
from tests.support.cases import each_case

SIGNED = ThinkingPart("signed", id="rs_1", signature="c2ln", provider_name="openai")
UNSIGNED = ThinkingPart("unsigned", provider_name="openai")
SAID = TextPart("said", id="msg_1", provider_name="openai")
CALL = ToolCallPart("look", {}, tool_call_id="call_1", id="fc_1", provider_name="openai")
PLAIN_TEXT, PLAIN_CALL = TextPart("said", provider_name="openai"), ToolCallPart(
    "look", {}, tool_call_id="call_1", provider_name="openai"
)  # fmt: skip


def reply(*parts: ModelResponsePart, stopped: bool = False) -> ModelResponse:
    return ModelResponse(parts=list(parts), provider_name="openai", state="interrupted" if stopped else "complete")


def taken(message: ModelResponse) -> list[ModelResponsePart] | None:
    found = sendable([message])
    return list(found[0].parts) if found else None  # type: ignore[arg-type]


@each_case(
    ("given", "kept"),
    [
        (reply(SIGNED), None),
        (reply(UNSIGNED, stopped=True), None),
        (reply(TextPart(" \n")), None),
        (reply(SIGNED, TextPart("\n\n"), CALL), [SIGNED, CALL]),
        (reply(SIGNED, SAID, SIGNED), [SIGNED, SAID]),
        (reply(SIGNED, SAID, UNSIGNED, stopped=True), [SIGNED, SAID]),
        (reply(SIGNED, SAID, CALL), [SIGNED, SAID, CALL]),
        (reply(UNSIGNED, TextPart("said")), [UNSIGNED, TextPart("said")]),
        (reply(UNSIGNED, SAID, stopped=True), [PLAIN_TEXT]),
        (reply(SAID, CALL), [PLAIN_TEXT, PLAIN_CALL]),
        (reply(CALL, SIGNED, SAID), [PLAIN_CALL, SIGNED, SAID]),
    ],
)
def test_a_reply_is_sent_without_what_no_provider_takes(
    given: ModelResponse, kept: list[ModelResponsePart] | None
) -> None:
    before = list(given.parts)
    assert taken(given) == kept
    assert given.parts == before, "the message itself is unchanged"


def test_a_suspended_reply_is_sent_as_it_is() -> None:
    waiting = ModelResponse(parts=[SIGNED], state="suspended")
    assert sendable([waiting]) == [waiting]


class OwnModel(TestModel):
    @property
    def system(self) -> str:
        return "openai"


def test_a_repeated_or_long_id_and_an_odd_name_of_a_call_are_replaced_in_both_of_a_pair() -> None:
    def step(tool: str, id: str) -> list[ModelMessage]:
        called = ModelResponse(parts=[ToolCallPart(tool, {}, tool_call_id=id)], provider_name="openai")
        return [called, ModelRequest(parts=[ToolReturnPart(tool, "seen", tool_call_id=id)])]

    prompt = ModelRequest(parts=[UserPromptPart("go")])
    given = [prompt, *step("look", "a"), *step("look", "a"), *step("a tool, made up", "b"), *step("", "x" * 50)]
    sent = portable(given, OwnModel())
    calls = [
        (part.tool_name, part.tool_call_id) for each in sent for part in each.parts if part.part_kind == "tool-call"
    ]
    returns = [
        (part.tool_name, part.tool_call_id) for each in sent for part in each.parts if part.part_kind == "tool-return"
    ]
    assert calls == returns and calls[0] == ("look", "a") and calls[2] == ("a_tool__made_up", "b")
    assert len({id for _, id in calls}) == 4 and all(len(id) <= 40 for _, id in calls)
    assert calls[3][0] == "_"


def test_a_blank_text_of_another_provider_is_left_out_with_its_id() -> None:
    """Its own provider takes it back after the reasoning it belongs to."""
    prompt = ModelRequest(parts=[UserPromptPart("go")])
    blank = reply(SIGNED, TextPart("\n", id="msg_1", provider_name="openai"))
    assert portable([prompt, blank], OwnModel()) == [prompt, blank]
    assert portable([prompt, blank], TestModel()) == [prompt]


def test_a_reply_is_not_the_first_message() -> None:
    """A pinned reply can be all that is left of the past."""
    pinned, prompt = reply(TextPart("Hello.")), ModelRequest(parts=[UserPromptPart("go")])
    sent = portable([pinned, prompt], OwnModel())
    assert sent == [OPENING, pinned, prompt] and portable([prompt, pinned], OwnModel()) == [prompt, pinned]
    assert refusal("bedrock", [*blocks_of(sent)]) is None
