"""The wires of three providers: replies with any calls as each streams them, and whether a request keeps its pairs."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.support import provider_formats as formats
from tests.support.provider import Provider

Call = tuple[str, dict[str, Any]]
Made = tuple[str, str, str]
"""A call's id, tool and arguments."""
KEY = "sk-test-0123456789abcdef"


def _chat(text: str, calls: Sequence[Made]) -> bytes:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "scripted"}
    made = [
        {"index": n, "id": id, "type": "function", "function": {"name": tool, "arguments": given}}
        for n, (id, tool, given) in enumerate(calls)
    ]
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"role": "assistant", "reasoning_content": "A thought in chat."}, None),
        ({"content": text}, None),
        *(({"tool_calls": [each]}, None) for each in made),
        ({}, "tool_calls" if calls else "stop"),
    ]
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _anthropic(text: str, calls: Sequence[Made]) -> bytes:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": "A thought of Claude."},
                {"type": "signature_delta", "signature": "Q2xhdWRl"},
            ],
        ),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]),
        *(
            (
                {"type": "tool_use", "id": id, "name": tool, "input": {}},
                [{"type": "input_json_delta", "partial_json": given}],
            )
            for id, tool, given in calls
        ),
    ]
    told = [
        event
        for n, (start, deltas) in enumerate(blocks)
        for event in (
            {"type": "content_block_start", "index": n, "content_block": start},
            *({"type": "content_block_delta", "index": n, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": n},
        )
    ]
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    end = {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 3}}
    return formats.events(formats.A_START, *told, end, {"type": "message_stop"})


def _responses(text: str, calls: Sequence[Made]) -> bytes:
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "ZW5j"}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    content = {"type": "output_text", "text": text, "annotations": []}
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    steps: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": 0, "item": thought},
        {"type": "response.output_item.done", "output_index": 0, "item": thought},
        {"type": "response.output_item.added", "output_index": 1, "item": {**said, "content": []}},
        {"type": "response.content_part.added", **place, "part": {**content, "text": ""}},
        {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []},
        {"type": "response.output_item.done", "output_index": 1, "item": {**said, "content": [content]}},
    ]
    for n, (id, tool, given) in enumerate(calls, 2):
        call = {"id": f"fc_{id}", "type": "function_call", "status": "completed", "name": tool, "call_id": id}
        steps += [
            {"type": "response.output_item.added", "output_index": n, "item": {**call, "arguments": ""}},
            {
                "type": "response.function_call_arguments.delta",
                "item_id": f"fc_{id}",
                "output_index": n,
                "delta": given,
            },
            {"type": "response.output_item.done", "output_index": n, "item": {**call, "arguments": given}},
        ]
    numbered = ({**step, "sequence_number": n} for n, step in enumerate(steps, 1))
    return formats.events(formats.R_START, *numbered, formats.R_END)


def _chat_steps(asked: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """What each message calls, and what it answers."""
    for message in asked["messages"]:
        answered = [message["tool_call_id"]] if message["role"] == "tool" else []
        yield [call["id"] for call in message.get("tool_calls") or ()], answered


def _responses_steps(asked: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    for item in asked["input"]:
        kind = item.get("type")
        yield (
            [item["call_id"]] if kind == "function_call" else [],
            [item["call_id"]] if kind == "function_call_output" else [],
        )


def _anthropic_steps(asked: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    for message in asked["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        yield (
            [block["id"] for block in blocks if block["type"] == "tool_use"],
            [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"],
        )


class Wire(NamedTuple):
    """How one provider is spoken to."""

    model: str
    address_variable: str
    key_variable: str
    path: str
    """What its clients expect in the address."""
    write: Callable[[str, Sequence[Made]], bytes]
    steps: Callable[[dict[str, Any]], Iterator[tuple[list[str], list[str]]]]

    def environ(self, provider: Provider) -> dict[str, str]:
        address = provider.url.removesuffix("/v1") + self.path
        return {self.address_variable: address, self.key_variable: KEY, "CO_TUI_MODEL": self.model}

    def broken_pairs(self, asked: dict[str, Any]) -> list[str]:
        """Calls that are not answered before anything else comes, and answers without a call."""
        found: list[str] = []
        unanswered: list[str] = []
        for calls, answers in self.steps(asked):
            found += [f"orphan {each}" for each in answers if each not in unanswered]
            unanswered = [each for each in unanswered if each not in answers]
            if not calls and not answers:
                found += [f"unanswered {each}" for each in unanswered]
                unanswered = []
            unanswered += calls
        return found + [f"unanswered {each}" for each in unanswered]


WIRES = {
    "chat": Wire("openai-chat:scripted", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", _chat, _chat_steps),
    "responses": Wire(
        "openai-responses:gpt-6-sol", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", _responses, _responses_steps
    ),
    "anthropic": Wire(
        "anthropic:claude-sonnet-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "", _anthropic, _anthropic_steps
    ),
}
