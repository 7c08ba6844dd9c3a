"""The wires of the providers: replies as each streams them, and whether a request keeps its pairs."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.support import bedrock
from tests.support import provider_formats as formats
from tests.support.provider import Provider, Reply
from tests.support.waiting import HANGING_S
from tests.support.wire_checks import UNBOUND

Call = tuple[str, dict[str, Any]]
Made = tuple[str, str, str]
"""A call's id, tool and arguments."""
KEY = "sk-test-0123456789abcdef"


def _chat(reply: "Spoken") -> Iterator[bytes]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "scripted"}
    made = [
        {"index": n, "id": id, "type": "function", "function": {"name": tool, "arguments": given}}
        for n, (id, tool, given) in enumerate(reply.calls)
    ]
    deltas: list[tuple[dict[str, Any], str | None]] = [
        *(({"role": "assistant", "reasoning_content": each}, None) for each in reply.thoughts),
        *([({"role": "assistant", "content": reply.text}, None)] if reply.text else []),
        *(({"tool_calls": [each]}, None) for each in made),
        ({}, "length" if reply.too_long else "tool_calls" if made else "stop"),
    ]
    for delta, end in deltas:
        chunk = {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        yield f"data: {json.dumps(chunk)}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _anthropic(reply: "Spoken") -> Iterator[bytes]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        *(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": each},
                    {"type": "signature_delta", "signature": UNBOUND},
                ],
            )
            for each in reply.thoughts
        ),
        *([({"type": "text", "text": ""}, [{"type": "text_delta", "text": reply.text}])] if reply.text else []),
        *(
            (
                {"type": "tool_use", "id": id, "name": tool, "input": {}},
                [{"type": "input_json_delta", "partial_json": given}],
            )
            for id, tool, given in reply.calls
        ),
    ]
    yield formats.events(formats.A_START)
    for n, (start, deltas) in enumerate(blocks):
        yield formats.events({"type": "content_block_start", "index": n, "content_block": start})
        for delta in deltas:
            yield formats.events({"type": "content_block_delta", "index": n, "delta": delta})
        yield formats.events({"type": "content_block_stop", "index": n})
    reason = "max_tokens" if reply.too_long else "tool_use" if reply.calls else "end_turn"
    stop = {"stop_reason": reason, "stop_sequence": None}
    yield formats.events({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 3}})
    yield formats.events({"type": "message_stop"})


def _responses(reply: "Spoken") -> Iterator[bytes]:
    steps: list[dict[str, Any]] = []
    for thought in reply.thoughts:
        at, id = _place(steps), f"rs_{len(steps)}"
        item = {"id": id, "type": "reasoning", "summary": [], "encrypted_content": None}
        summary = [{"type": "summary_text", "text": thought}]
        where = {"item_id": id, "output_index": at, "summary_index": 0}
        steps += [
            {"type": "response.output_item.added", "output_index": at, "item": item},
            {"type": "response.reasoning_summary_part.added", **where, "part": {"type": "summary_text", "text": ""}},
            {"type": "response.reasoning_summary_text.delta", **where, "delta": thought},
            {
                "type": "response.output_item.done",
                "output_index": at,
                "item": {**item, "summary": summary, "encrypted_content": "ZW5j"},
            },
        ]
    if reply.text:
        at, id = _place(steps), f"msg_{len(steps)}"
        said = {"id": id, "type": "message", "role": "assistant", "status": "completed"}
        content = {"type": "output_text", "text": reply.text, "annotations": []}
        place = {"item_id": id, "output_index": at, "content_index": 0}
        steps += [
            {"type": "response.output_item.added", "output_index": at, "item": {**said, "content": []}},
            {"type": "response.content_part.added", **place, "part": {**content, "text": ""}},
            {"type": "response.output_text.delta", **place, "delta": reply.text, "logprobs": []},
            {"type": "response.output_item.done", "output_index": at, "item": {**said, "content": [content]}},
        ]
    for id, tool, given in reply.calls:
        at, own = _place(steps), f"fc_{len(steps)}"
        call = {"id": own, "type": "function_call", "status": "completed", "name": tool, "call_id": id}
        steps += [
            {"type": "response.output_item.added", "output_index": at, "item": {**call, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "item_id": own, "output_index": at, "delta": given},
            {"type": "response.output_item.done", "output_index": at, "item": {**call, "arguments": given}},
        ]
    yield formats.events(formats.R_START)
    yield from (formats.events({**step, "sequence_number": n}) for n, step in enumerate(steps, 1))
    yield formats.events(formats.R_INCOMPLETE if reply.too_long else formats.R_END)


def _place(steps: Sequence[dict[str, Any]]) -> int:
    return sum(step["type"] == "response.output_item.added" for step in steps)


def _google(reply: "Spoken") -> Iterator[bytes]:
    parts: list[dict[str, Any]] = [
        *({"text": each, "thought": True} for each in reply.thoughts),
        *([{"text": reply.text}] if reply.text else []),
        *(
            {"functionCall": {"name": tool, "args": json.loads(given), "id": id}, "thoughtSignature": "R2VtaW5p"}
            for id, tool, given in reply.calls
        ),
    ]
    end = "MAX_TOKENS" if reply.too_long else "STOP"
    for part, finish in [*((part, None) for part in parts), ({"text": ""}, end)]:
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
        candidate |= {"finishReason": finish} if finish else {}
        body = {"candidates": [candidate], "modelVersion": "gemini-flash-latest"}
        yield f"data: {json.dumps(body)}\n\n".encode()


SPEAK: dict[str, Callable[["Spoken"], Iterator[bytes]]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
    "bedrock": lambda reply: bedrock.events(reply.thoughts, reply.text, reply.calls, too_long=reply.too_long),
}


class Spoken(NamedTuple):
    """A reply in any provider's form: thoughts, then a text, then calls."""

    text: str = ""
    calls: Sequence[Made] = ()
    thoughts: Sequence[str] = ("A thought.",)
    too_long: bool = False
    """Whether it ends at the output limit."""

    def on(self, wire: str, *, upto: int | None = None, stays_open: bool = False) -> Reply:
        """As it streams; only its first events if `upto` is given, after which the connection ends or is silent."""
        pieces = b"".join([*SPEAK[wire](self)][:upto])
        return Reply(raw=(pieces, HANGING_S) if stays_open else (pieces,))


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
    name: str
    steps: Callable[[dict[str, Any]], Iterator[tuple[list[str], list[str]]]]

    def write(self, text: str, calls: Sequence[Made]) -> bytes:
        return b"".join(SPEAK[self.name](Spoken(text, calls)))

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
    "chat": Wire("openai-chat:scripted", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "chat", _chat_steps),
    "responses": Wire(
        "openai-responses:gpt-6-sol", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "responses", _responses_steps
    ),
    "anthropic": Wire(
        "anthropic:claude-sonnet-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "", "anthropic", _anthropic_steps
    ),
}
