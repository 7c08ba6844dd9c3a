"""What a delegate gets of the conversation has no thinking, and no ids that refer to it."""

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.agent.model_messages import message_json, read_messages
from co_tui.context.compact.replacement import first_and_last_texts
from co_tui.session.state.session_state import Entry
from co_tui.session.state.top_level import top_level

OF_OPENAI = {"provider_name": "openai", "provider_details": {"phase": "commentary"}}
THOUGHT = ThinkingPart("hm", id="rs_1", signature="ZW5j", provider_name="openai")
WORK: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("look")]),
    ModelResponse(
        parts=[
            THOUGHT,
            NativeToolCallPart("web_search", {}, tool_call_id="ws_1", provider_name="openai"),
            NativeToolReturnPart("web_search", {}, tool_call_id="ws_1", provider_name="openai"),
            TextPart("I look.", id="msg_1", **OF_OPENAI),  # type: ignore[arg-type]
            ToolCallPart("look", {}, tool_call_id="call_1", id="fc_1", provider_name="openai"),
        ],
        provider_name="openai",
        provider_response_id="resp_1",
    ),
    ModelRequest(parts=[ToolReturnPart("look", "seen", tool_call_id="call_1")]),
    ModelResponse(parts=[THOUGHT, TextPart("Seen.", id="msg_2", **OF_OPENAI)], provider_response_id="resp_2"),  # type: ignore[arg-type]
    ModelRequest(parts=[UserPromptPart("and now?")]),
]


def test_a_delegate_gets_texts_and_calls_without_their_provider_s_data() -> None:
    entries = [Entry((seq, 0), 1, message_json(message), "") for seq, message in enumerate(WORK, 1)]
    _, said, seen, last, _ = read_messages([entry.message for entry in top_level(entries)])
    assert said.parts == [TextPart("I look."), ToolCallPart("look", {}, tool_call_id="call_1")]
    assert [part.part_kind for part in seen.parts] == ["tool-return"]
    assert last.parts == [TextPart("Seen.")]


def test_a_turn_cut_down_to_its_texts_keeps_no_ids() -> None:
    _, reply, _ = first_and_last_texts(WORK)
    assert isinstance(reply, ModelResponse)
    assert reply.parts == [TextPart("Seen.")] and reply.provider_response_id is None
