"""The providers' own interfaces: the library's models on a local address, and replies as each of them streams."""

import json
from typing import Any

import httpx2
from pydantic_ai.models import Model


def chat(url: str, client: httpx2.AsyncClient) -> Model:
    from co_tui.agent.wire.compatible import compatible_model

    return compatible_model("gpt-6-sol", url, "none", client)


def anthropic(url: str, client: httpx2.AsyncClient, model: str = "claude-sonnet-5") -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    sdk = AsyncAnthropic(base_url=url, api_key="none", http_client=client, max_retries=0)
    return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=sdk))


def responses(url: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from co_tui.agent.wire.compatible import OpenAIClient

    sdk = OpenAIClient(base_url=url, api_key="none", http_client=client)
    return OpenAIResponsesModel("gpt-6-sol", provider=OpenAIProvider(openai_client=sdk))


def google(url: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel("gemini-flash-latest", provider=GoogleProvider(api_key="none", base_url=url, http_client=client))


def events(*told: dict[str, Any]) -> bytes:
    """As Anthropic and OpenAI's newer interface stream: each event under its name."""
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in told)


A_START = {
    "type": "message_start",
    "message": {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}  # fmt: skip
A_TEXT = (
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello there."}},
)
A_END = (
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 3},
    },
    {"type": "message_stop"},
)
A_ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

R_BASE = {
    "id": "r1", "object": "response", "created_at": 1_700_000_000, "model": "gpt-6-sol", "output": [], "tools": [],
    "parallel_tool_calls": True, "tool_choice": "auto",
}  # fmt: skip
R_PLACE = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
R_ITEM = {"id": "msg_0", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
R_START = {"type": "response.created", "sequence_number": 0, "response": {**R_BASE, "status": "in_progress"}}
R_TEXT = (
    {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": R_ITEM},
    {"type": "response.content_part.added", "sequence_number": 2, **R_PLACE,
     "part": {"type": "output_text", "text": "", "annotations": []}},
    {"type": "response.output_text.delta", "sequence_number": 3, **R_PLACE, "delta": "Hello there.", "logprobs": []},
)  # fmt: skip
R_END = {"type": "response.completed", "sequence_number": 9, "response": {**R_BASE, "status": "completed"}}
R_INCOMPLETE = {
    "type": "response.incomplete", "sequence_number": 9,
    "response": {**R_BASE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
}  # fmt: skip
R_ERROR = {"type": "error", "sequence_number": 9, "code": "server_error", "message": "it crashed", "param": None}


def candidate(finish: str | None) -> bytes:
    part: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": "Hello there."}]}, "index": 0}
    if finish:
        part["finishReason"] = finish
    return f"data: {json.dumps({'candidates': [part], 'modelVersion': 'gemini-flash-latest'})}\n\n".encode()


# The same with a thought, a text and a call, as each provider's models do when they work.


def chat_work(tool: str, call_id: str, arguments: str = "{}") -> bytes:
    call = {"index": 0, "id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-6-sol"}
    deltas: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({"role": "assistant", "reasoning_content": "A thought in chat."}, None),
        ({"content": "Looking."}, None),
        ({"tool_calls": [call]}, None),
        ({}, "tool_calls"),
    )
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def anthropic_work(tool: str, call_id: str, arguments: str = "{}") -> bytes:
    def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    thought = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "A thought of Claude."},
        {"type": "signature_delta", "signature": "Q2xhdWRl"},
    )
    redacted = block(1, {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="})
    said = block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Looking."})
    call = block(
        3,
        {"type": "tool_use", "id": call_id, "name": tool, "input": {}},
        {"type": "input_json_delta", "partial_json": arguments},
    )
    stop = {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}}
    end = ({**stop, "usage": {"output_tokens": 3}}, {"type": "message_stop"})
    return events(A_START, *thought, *redacted, *said, *call, *end)


def responses_work(tool: str, call_id: str, arguments: str = "{}") -> bytes:
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": None}
    told = {**thought, "summary": [{"type": "summary_text", "text": "A thought of GPT."}], "encrypted_content": "ZW5j"}
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Looking.", "annotations": []}]}  # fmt: skip
    text = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    call = {"id": "fc_1", "type": "function_call", "status": "completed", "name": tool, "call_id": call_id,
            "arguments": arguments}  # fmt: skip
    steps: tuple[dict[str, Any], ...] = (
        {"type": "response.output_item.added", "output_index": 0, "item": thought},
        {"type": "response.reasoning_summary_part.added", **place, "part": {"type": "summary_text", "text": ""}},
        {"type": "response.reasoning_summary_text.delta", **place, "delta": "A thought of GPT."},
        {"type": "response.output_item.done", "output_index": 0, "item": told},
        {"type": "response.output_item.added", "output_index": 1, "item": {**said, "content": []}},
        {"type": "response.content_part.added", **text, "part": {"type": "output_text", "text": "", "annotations": []}},
        {"type": "response.output_text.delta", **text, "delta": "Looking.", "logprobs": []},
        {"type": "response.output_item.done", "output_index": 1, "item": said},
        {"type": "response.output_item.added", "output_index": 2, "item": {**call, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 2, "delta": arguments},
        {"type": "response.output_item.done", "output_index": 2, "item": call},
    )
    return events(R_START, *({**step, "sequence_number": n} for n, step in enumerate(steps, 1)), R_END)


def google_work(tool: str, call_id: str, arguments: str = "{}") -> bytes:
    """The arguments are in the reply as they are, not as a text of their own."""
    parts = (
        {"text": "A thought of Gemini.", "thought": True},
        {"text": "Looking."},
        {"functionCall": {"name": tool, "args": "ARGUMENTS", "id": call_id}, "thoughtSignature": "R2VtaW5p"},
    )
    content = {"content": {"role": "model", "parts": list(parts)}, "index": 0, "finishReason": "STOP"}
    reply = json.dumps({"candidates": [content], "modelVersion": "gemini-flash-latest"})
    return b"data: " + reply.replace('"ARGUMENTS"', arguments).encode() + b"\n\n"
