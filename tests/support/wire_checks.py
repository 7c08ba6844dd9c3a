"""Read a request off each provider's wire, and answer one that breaks the wire's rules as the provider does."""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

from co_tui.agent.wire.rules.blocks import Block
from co_tui.agent.wire.rules.breaches import Refusal
from co_tui.agent.wire.rules.wires import refusal

Json = dict[str, Any]


def refused(path: str, asked: Json) -> tuple[int, bytes] | None:
    """The status and body of the refusal of a request posted to a path; None if it obeys the rules."""
    wire = wire_at(path)
    if wire is None:
        return None
    most, answer = MOST_BYTES.get(wire, (None, None))
    body = json.dumps(asked)
    if most is None or len(body) <= most:
        marks = [Block(-1, "user", "cache")] * body.count('"cache_control": {')
        answer = refusal(wire, [*READ[wire](asked)], [*_tools(asked), *marks], _mode(wire, asked))
    return (answer.status, _body(wire, answer)) if answer else None


def wire_at(path: str) -> str | None:
    """The wire that is spoken at a path."""
    ends = {"/chat/completions": "chat", "/responses": "responses", "/messages": "anthropic", "/converse": "bedrock"}
    path = path.partition("?")[0].removesuffix("/count_tokens").removesuffix("-stream")
    if path.endswith((":generateContent", ":streamGenerateContent", ":countTokens")):
        return "google"
    return next((wire for end, wire in ends.items() if path.endswith(end)), None)


MOST_BYTES = {
    "anthropic": (32_000_000, Refusal(413, "Request exceeds the maximum size")),
    "google": (20_971_520, Refusal(400, "Request payload size exceeds the limit: 20971520 bytes.")),
    "bedrock": (
        25_000_000,
        Refusal(
            400,
            "1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less "
            "than or equal to 25000000",
        ),
    ),
}
"""Sources: anthropics/anthropic-sdk-python#938 and https://platform.claude.com/docs/en/api/errors;
google-gemini/deprecated-generative-ai-android#26 for Gemini's words (with 4 MB; 20 MB is in its guides, and
MaKTaiL/gemini-srt-translator#63 saw 300 MB); langchain-ai/langchain-aws#419. OpenAI names no such limit."""


def _mode(wire: str, asked: Json) -> str:
    """The scope of rules that only some requests have to obey."""
    if wire == "responses":
        return "stateless" if asked.get("store") is False else ""
    return str((asked.get("thinking") or {}).get("type", "")) if wire == "anthropic" else ""


def _body(wire: str, answer: Refusal) -> bytes:
    kind = "request_too_large" if answer.status == 413 else "invalid_request_error"
    errors: dict[str, Json] = {
        "anthropic": {"type": "error", "error": {"type": kind, "message": answer.words}},
        "google": {"error": {"code": answer.status, "message": answer.words, "status": "INVALID_ARGUMENT"}},
        "bedrock": {"message": answer.words},
    }
    openai = {"error": {"message": answer.words, "type": kind, "param": None, "code": None}}
    return json.dumps(errors.get(wire, openai)).encode()


def _tools(asked: Json) -> Iterator[Block]:
    listed = asked.get("tools") or (asked.get("toolConfig") or {}).get("tools") or ()
    declared = [each for tool in listed for each in tool.get("functionDeclarations") or (tool,)]
    for at, tool in enumerate(declared):
        name = (tool.get("function") or tool.get("toolSpec") or tool).get("name")
        if name:
            yield Block(-1, "user", "tool", at, name=name)


def _content(number: int, role: Any, items: list[Json], read: Callable[[Json, Block], Block]) -> Iterator[Block]:
    if not items:
        yield Block(number, role, "empty")
    yield from (read(item, Block(number, role, "other", at)) for at, item in enumerate(items))


BINDING = ("claude-fable-5-1", "claude-fable-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
"""Models whose thoughts are only valid after what they were written after."""
UNBOUND = "dW5ib3VuZA=="
"""The signature of scripted thoughts, which the provider replaces by one that names what came before."""


def signature(asked: Json, before: int | None = None) -> str:
    """Names the system prompt, the tools and the messages before a position, without the marks for the cache."""
    prefix = [asked.get("system"), asked.get("tools"), asked["messages"][:before]]
    return hashlib.sha256(json.dumps(_unmarked(prefix)).encode()).hexdigest()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != "cache_control"}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value


def anthropic(asked: Json) -> Iterator[Block]:
    drops = ((asked.get("thinking") or {}).get("block_binding") or {}).get("prefix_mismatch_behavior") == "drop_block"
    binds = str(asked.get("model")).startswith(BINDING) and not drops

    def block(item: Json, bare: Block) -> Block:
        match item["type"]:
            case "text":
                return bare._replace(kind="text", text=item["text"])
            case "thinking" | "redacted_thinking":
                sign = item.get("signature") or item.get("data") or ""
                bound = not binds or sign in ("", signature(asked, bare.message))
                return bare._replace(kind="thinking", text=item.get("thinking", ""), signed=bool(sign), bound=bound)
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
    declared = bool((asked.get("toolConfig") or {}).get("tools"))

    def block(item: Json, bare: Block) -> Block:
        if call := item.get("toolUse"):
            return bare._replace(kind="call", id=call["toolUseId"], name=call["name"], declared=declared)
        if result := item.get("toolResult"):
            text = "" if result.get("status") == "error" and not result["content"] else None
            return bare._replace(kind="result", id=result["toolUseId"], text=text, declared=declared)
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
