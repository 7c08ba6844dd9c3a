"""Read a request off each provider's wire, and answer one that breaks the wire's rules as the provider does."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from co_tui.agent.wire.rules.blocks import Block
from co_tui.agent.wire.rules.wires import refusal

Json = dict[str, Any]


def refused(path: str, asked: Json) -> tuple[int, bytes] | None:
    """The status and body of the refusal of a request posted to a path; None if it obeys the rules."""
    wire = wire_at(path)
    if wire is None:
        return None
    body = json.dumps(asked)
    if len(body) > MOST_BYTES[wire]:
        return 413, _body(wire, "Request exceeds the maximum size")
    thinks = (asked.get("thinking") or {}).get("type") == "enabled" if wire == "anthropic" else False
    words = refusal(wire, [*READ[wire](asked)], [*_tools(asked)], thinks=thinks)
    return (400, _body(wire, words)) if words else None


def wire_at(path: str) -> str | None:
    """The wire that is spoken at a path."""
    ends = {"/chat/completions": "chat", "/responses": "responses", "/messages": "anthropic", "/converse": "bedrock"}
    path = path.partition("?")[0]
    if ":generateContent" in path or ":streamGenerateContent" in path:
        return "google"
    return next((wire for end, wire in ends.items() if path.endswith(end)), None)


MOST_BYTES = {
    "anthropic": 32_000_000,
    "responses": 32_000_000,
    "chat": 32_000_000,
    "google": 20_971_520,
    "bedrock": 32_000_000,
}
"""Anthropic's "Request size limits" and Gemini's limit for inline data; the others name none, and get the same."""


def _body(wire: str, words: str) -> bytes:
    errors: dict[str, Json] = {
        "anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": words}},
        "google": {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}},
        "bedrock": {"message": words},
    }
    openai = {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}
    return json.dumps(errors.get(wire, openai)).encode()


def _tools(asked: Json) -> Iterator[Block]:
    listed = asked.get("tools") or ()
    declared = [each for tool in listed for each in tool.get("functionDeclarations") or (tool,)]
    for at, tool in enumerate(declared):
        name = (tool.get("function") or tool).get("name")
        if name:
            yield Block(-1, "user", "tool", at, name=name)


def _content(number: int, role: Any, items: list[Json], read: Callable[[Json, Block], Block]) -> Iterator[Block]:
    if not items:
        yield Block(number, role, "empty")
    yield from (read(item, Block(number, role, "other", at)) for at, item in enumerate(items))


def anthropic(asked: Json) -> Iterator[Block]:
    def block(item: Json, bare: Block) -> Block:
        match item["type"]:
            case "text":
                return bare._replace(kind="text", text=item["text"])
            case "thinking" | "redacted_thinking":
                signed = bool(item.get("signature") or item.get("data"))
                return bare._replace(kind="thinking", text=item.get("thinking", ""), signed=signed)
            case "tool_use":
                return bare._replace(kind="call", id=item["id"], name=item["name"])
            case "tool_result":
                return bare._replace(kind="result", id=item["tool_use_id"])
            case _:
                return bare

    for number, message in enumerate(asked["messages"]):
        content = message["content"]
        items = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from _content(number, "user" if message["role"] == "system" else message["role"], items, block)


def chat(asked: Json) -> Iterator[Block]:
    for number, message in enumerate(asked["messages"]):
        role: Any = "assistant" if message["role"] == "assistant" else "user"
        if message["role"] == "tool":
            yield Block(number, role, "result", id=message["tool_call_id"])
            continue
        content, calls = message.get("content"), message.get("tool_calls") or ()
        if content is None and not calls:
            yield Block(number, role, "empty")
        if content is not None:
            yield Block(number, role, "text", text=content if isinstance(content, str) else None)
        for at, call in enumerate(calls):
            yield Block(number, role, "call", at, id=call["id"], name=call["function"]["name"])


def responses(asked: Json) -> Iterator[Block]:
    given = asked["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for number, item in enumerate(items):
        bare, own = Block(number, "assistant", "other"), item.get("id") or ""
        match item.get("type", "message"):
            case "message":
                content = item["content"]
                said = content if isinstance(content, str) else "".join(each.get("text", "") for each in content)
                role: Any = "assistant" if item["role"] == "assistant" else "user"
                yield bare._replace(role=role, kind="text", text=said, item=own)
            case "reasoning":
                yield bare._replace(kind="thinking", item=own, signed=bool(item.get("encrypted_content")))
            case "function_call":
                yield bare._replace(kind="call", id=item["call_id"], name=item["name"], item=own)
            case "function_call_output":
                yield bare._replace(role="user", kind="result", id=item["call_id"])
            case _:
                yield bare._replace(item=own)


def google(asked: Json) -> Iterator[Block]:
    def block(item: Json, bare: Block) -> Block:
        signed = "thoughtSignature" in item
        if "functionCall" in item:
            call = item["functionCall"]
            return bare._replace(kind="call", id=call.get("id") or call["name"], name=call["name"], signed=signed)
        if "functionResponse" in item:
            answer = item["functionResponse"]
            return bare._replace(kind="result", id=answer.get("id") or answer["name"])
        if item.get("thought"):
            return bare._replace(kind="thinking", text=item.get("text"), signed=signed)
        return bare._replace(kind="text", text=item["text"]) if "text" in item else bare

    for number, content in enumerate(asked["contents"]):
        role = "assistant" if content.get("role") == "model" else "user"
        yield from _content(number, role, content.get("parts") or [], block)


def bedrock(asked: Json) -> Iterator[Block]:
    def block(item: Json, bare: Block) -> Block:
        if "toolUse" in item:
            return bare._replace(kind="call", id=item["toolUse"]["toolUseId"], name=item["toolUse"]["name"])
        if "toolResult" in item:
            return bare._replace(kind="result", id=item["toolResult"]["toolUseId"])
        if "reasoningContent" in item:
            return bare._replace(kind="thinking", signed="signature" in str(item))
        return bare._replace(kind="text", text=item["text"]) if "text" in item else bare

    for number, message in enumerate(asked["messages"]):
        yield from _content(number, message["role"], message["content"], block)


READ: dict[str, Callable[[Json], Iterator[Block]]] = {
    "anthropic": anthropic,
    "chat": chat,
    "responses": responses,
    "google": google,
    "bedrock": bedrock,
}
