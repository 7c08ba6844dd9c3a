"""Each rule of each wire: a request that breaks it is refused in the provider's own words, a sound one is not."""

import json
import re
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.agent.wire.rules.blocks import blocks_of
from co_tui.agent.wire.rules.wires import RULES, refusal, refused_by
from tests.support.cases import each_case
from tests.support.wire_checks import refused, signature

PATHS = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "google": "/v1beta/models/gemini:streamGenerateContent?alt=sse",
    "bedrock": "/model/claude/converse",
}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(said: str = "said") -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(id: str = "a") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "look", "input": {}}


def result(id: str = "a") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "seen"}


def thinking(signature: str = "c2ln") -> dict[str, Any]:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def messages(*given: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(given), **more}


def named(name: str) -> list[dict[str, Any]]:
    return [{"name": name}]


FIRST = messages(user(text()), model="claude-opus-5-5", system="a system prompt")
PRESERVED = FIRST | messages(user(text()), assistant(thinking(signature(FIRST)), text()), user(text()))
ANTHROPIC = [
    (messages(assistant(text()), user(text())), "first message must use"),
    (messages(user(text()), assistant(text())), "does not support assistant message prefill"),
    (messages(user(text()), assistant(), user(text())), "messages.1: all messages must have non-empty content"),
    (messages(user(text(" \n"))), "must contain non-whitespace text"),
    (messages(user(text()), assistant(thinking()), user(text())), "cannot be `thinking`"),
    (messages(user(text()), assistant(text(), thinking()), user(text())), "cannot be `thinking`"),
    (messages(user(text()), assistant(thinking(""), text()), user(text())), "Invalid `signature`"),
    (messages(user(text()), assistant(use()), user(text())), "ids were found without `tool_result`"),
    (messages(user(text()), assistant(use()), user(text(), result())), "ids were found without `tool_result`"),
    (messages(user(text()), assistant(use()), user(result(), result())), "Found multiple `tool_result` blocks"),
    (messages(user(text()), assistant(text()), user(result())), "unexpected `tool_use_id`"),
    (messages(user(text()), *[assistant(use()), user(result())] * 2), "ids must be unique"),
    (messages(user(text()), assistant(use("a b")), user(result("a b"))), "String should match pattern"),
    (messages(user(text()), assistant(use() | {"name": "x" * 201}), user(result())), "at most 200 characters"),
    (messages(user(text()), tools=named("a tool")), "tools.0.custom.name"),
    (messages(user(text()), tools=named("look") * 2), "Tool names must be unique."),
    (messages(user(*[text() | {"cache_control": {"type": "ephemeral"}}] * 5)), "may be provided. Found 5."),
    (PRESERVED | {"system": "another"}, "messages.1.content.0: Invalid `signature` in `thinking` block. The block is"),
    (
        messages(user(text()), assistant(thinking(), use()), user(result()), thinking={"type": "disabled"}),
        "messages.1.content.0: When thinking is disabled",
    ),
    (
        messages(user(text()), assistant(use()), user(result()), thinking={"type": "enabled"}),
        "messages.1.content.0.type: Expected `thinking`",
    ),
]


def said(role: str, content: str = "said", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def calls(id: str = "a", name: str = "look", **more: Any) -> dict[str, Any]:
    return item("function_call", call_id=id, name=name, arguments="{}", **more)


def output(id: str = "a") -> dict[str, Any]:
    return item("function_call_output", call_id=id, output="seen")


def inputs(*given: Any, **more: Any) -> dict[str, Any]:
    return {"input": list(given), **more}


REASONING = item("reasoning", id="rs_1", summary=[])
ENCRYPTED = REASONING | {"encrypted_content": "ZW5j"}
RESPONSES = [
    (inputs(said("user"), REASONING), "'rs_1' of type 'reasoning' was provided without its required following item"),
    (inputs(REASONING, said("user")), "without its required following item"),
    (inputs(said("assistant", id="msg_1")), "'msg_1' of type 'message' was provided without its required 'reasoning'"),
    (inputs(calls() | {"id": "fc_1"}, output()), "'fc_1' of type 'function_call' was provided without"),
    (inputs(REASONING, said("assistant"), store=False), "Item with id 'rs_1' not found. Items are not persisted"),
    (inputs(REASONING, said("assistant", id="m1")), "'input[1].id': 'm1'. Expected an ID that begins with 'msg'"),
    (inputs(REASONING | {"id": "1"}, said("assistant")), "'input[0].id': '1'. Expected an ID that begins with 'rs'"),
    (inputs(REASONING, calls(id="a") | {"id": "1"}, output()), "'input[1].id': '1'. Expected an ID that begins with"),
    (inputs(*[REASONING, said("assistant"), said("user")] * 2), "Duplicate item found with id rs_1"),
    (inputs(*[calls(), output()] * 2), "Duplicate 'call_id': a"),
    (inputs(calls(), said("user")), "No tool output found for function call a."),
    (inputs(output()), "No tool call found for function call output with call_id a."),
    (inputs(calls("x" * 65), output("x" * 65)), "'input[0].call_id': string too long"),
    (inputs(REASONING | {"id": "rs_" * 22}, said("assistant")), "'input[0].id': string too long"),
    (inputs(said("user", "x" * 10_485_761)), "'input[0].content': string too long"),
    (inputs(calls(name="a tool"), output()), "does not match pattern"),
]


def call(id: str = "a", name: str = "look") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def calling(*made: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def tool(id: str = "a") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "seen"}


def functions(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name}} for name in names]


CHAT = [
    (messages(said("user"), {"role": "assistant", "content": None}), "expected a string, got null"),
    (messages(said("user"), calling(call(), call("b")), tool()), "did not have response messages: b"),
    (messages(said("user"), calling(call()), tool(), tool()), "'tool_call_id' of 'a', in messages[2] and messages[3]."),
    (messages(said("user"), tool()), "must be a response to a preceeding message with 'tool_calls'"),
    (messages(said("user"), calling(call("x" * 41)), tool("x" * 41)), "maximum length 40"),
    (messages(said("user", "x" * 10_485_761)), "'messages[0].content': string too long"),
    (messages(said("user"), calling(call(name="a tool")), tool()), "does not match pattern"),
    (messages(said("user"), tools=functions("a tool")), "Invalid 'tools[0].function.name': string does not match"),
    (messages(said("user"), tools=functions("x" * 65)), "maximum length 64, but got a string with length 65"),
    (messages(said("user"), tools=functions(*(f"t{n}" for n in range(129)))), "got an array with length 129 instead"),
]


def turn(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def contents(*given: Any, **more: Any) -> dict[str, Any]:
    return {"contents": list(given), **more}


ASKED, FUNCTION = turn("user", {"text": "said"}), {"functionCall": {"name": "look", "args": {}}}
SIGNED, SEEN = {**FUNCTION, "thoughtSignature": "c2ln"}, turn("user", {"functionResponse": {"name": "look"}})
GOOGLE = [
    (contents(turn("user")), "contents[0].parts: contents.parts must not be empty"),
    (contents(ASKED, turn("model", {"text": "said"})), "Requests ending with a model turn are not supported."),
    (contents(turn("model", SIGNED), SEEN), "comes immediately after a user turn"),
    (contents(ASKED, turn("model", {"text": "said"}), turn("model", SIGNED), SEEN), "comes immediately after a user"),
    (contents(ASKED, turn("model", SIGNED), ASKED), "number of function response parts is equal"),
    (contents(ASKED, SEEN), "function response turn comes immediately after a function call turn"),
    (contents(ASKED, turn("model", FUNCTION), SEEN), "missing a thought_signature"),
    (contents(ASKED, tools=[{"functionDeclarations": named("1 tool")}]), "Invalid function name"),
    (
        contents(ASKED, tools=[{"functionDeclarations": named("look") * 2}]),
        "Duplicate function declaration found: look",
    ),
]
B_USE: dict[str, Any] = {"toolUse": {"toolUseId": "a", "name": "look"}}
B_RESULT: dict[str, Any] = {"toolResult": {"toolUseId": "a", "content": []}}
B_FAILED = B_RESULT["toolResult"] | {"status": "error"}
B_TEXT, B_THOUGHT = {"text": "said"}, {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
TOOLS: dict[str, Any] = {"toolConfig": {"tools": [{"toolSpec": {"name": "look"}}]}}


def looking(**more: Any) -> dict[str, Any]:
    """A call and its result, both with other values."""
    use, seen = B_USE["toolUse"] | more, B_RESULT["toolResult"] | {"toolUseId": more.get("toolUseId", "a")}
    return messages(user(B_TEXT), assistant({"toolUse": use}), user({"toolResult": seen}), **TOOLS)


BEDROCK = [
    (messages(assistant(B_TEXT), user(B_TEXT)), "must start with a user message"),
    (messages(user(B_TEXT), user(B_TEXT)), "must alternate between user and assistant roles"),
    (messages(user()), "messages.0 is empty"),
    (messages(user({"text": " "})), "messages.0.content.0 is blank"),
    (messages(user(B_TEXT), assistant(B_THOUGHT), user(B_TEXT)), "cannot be `thinking`"),
    (messages(user(B_TEXT), assistant(B_USE), user(B_RESULT)), "The toolConfig field must be defined"),
    (messages(user(B_TEXT), assistant(B_USE), user(B_TEXT), **TOOLS), "messages.2.content for the following Ids: a"),
    (messages(user(B_TEXT), assistant(B_TEXT), user(B_RESULT), **TOOLS), "exceeds the number of toolUse blocks"),
    (
        messages(user(B_TEXT), assistant(B_USE), user({"toolResult": B_FAILED}), **TOOLS),
        "messages.2.content.0.toolResult cannot be empty",
    ),
    (messages(user(B_TEXT), *[assistant(B_USE), user(B_RESULT)] * 2, **TOOLS), "duplicate Ids: a"),
    (looking(toolUseId="a b"), "'a b' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed"),
    (looking(name="a tool"), "'a tool' at 'messages.2.member.content.1.member.toolUse.name' failed"),
    (
        messages(user(B_TEXT), toolConfig={"tools": [{"toolSpec": {"name": "a tool"}}]}),
        "'a tool' at 'toolConfig.tools.1.member.toolSpec.name' failed",
    ),
]
BROKEN = {"anthropic": ANTHROPIC, "responses": RESPONSES, "chat": CHAT, "google": GOOGLE, "bedrock": BEDROCK}
DROPS = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
SOUND = [
    ("anthropic", messages(user(text()), assistant(thinking(), text(), use()), user(result(), text()))),
    ("anthropic", messages(user(text()), assistant(thinking(), use()), user(result()), thinking={"type": "enabled"})),
    ("anthropic", PRESERVED | {"tools": None, "messages": [*PRESERVED["messages"], assistant(text()), user(text())]}),
    ("anthropic", PRESERVED | {"system": "another", "thinking": DROPS}),
    ("anthropic", PRESERVED | {"system": "another", "model": "claude-opus-5"}),
    ("responses", inputs(said("user"), REASONING, said("assistant", id="msg_1"), calls(), output())),
    ("responses", inputs(said("user"), ENCRYPTED, said("assistant"), store=False)),
    ("responses", inputs(said("user"), REASONING, calls(), calls("b"), output(), output("b"), said("user"))),
    ("chat", messages(said("user"), calling(call(), call("b")), tool(), tool("b"), said("assistant", ""))),
    ("chat", messages(said("user"), *[calling(call()), tool()] * 2)),
    ("google", contents(ASKED, turn("model", {"text": "hm", "thought": True}, SIGNED), SEEN, ASKED)),
    ("google", contents(ASKED, turn("model", FUNCTION), SEEN, ASKED)),
    ("google", contents(turn("model", {"text": "said"}), ASKED)),
    ("bedrock", messages(user(B_TEXT), assistant(B_THOUGHT, B_USE), user(B_RESULT, B_TEXT), **TOOLS)),
]


CASES = [(wire, asked, words) for wire, cases in BROKEN.items() for asked, words in cases]


def answered(wire: str, asked: dict[str, Any]) -> str:
    """The message of the refusal."""
    answer = refused(PATHS[wire], asked)
    assert answer is not None and answer[0] in (400, 404)
    body = json.loads(answer[1])
    return str(body["message"] if wire == "bedrock" else body["error"]["message"])


@each_case(("wire", "asked", "words"), CASES)
def test_a_request_that_breaks_a_rule_is_refused(wire: str, asked: dict[str, Any], words: str) -> None:
    assert words in answered(wire, asked)


@each_case("wire", RULES)
def test_every_rule_is_among_them_and_has_a_source(wire: str) -> None:
    refusals = [answered(wire, asked) for asked, _ in BROKEN[wire]]
    for rule in RULES[wire]:
        assert "#" in rule.source or "https://" in rule.source or "no report" in rule.source
        pieces = re.split(r"\{\w+\}", rule.words.replace("{{", "{").replace("}}", "}"))
        assert any(all(piece in each for piece in pieces) for each in refusals), rule.words


@each_case(("wire", "asked"), SOUND)
def test_a_sound_request_is_answered(wire: str, asked: dict[str, Any]) -> None:
    assert refused(PATHS[wire], asked) is None


def test_too_large_a_request_is_refused() -> None:
    answer = refused(PATHS["google"], contents(turn("user", {"text": "x" * 21_000_000})))
    assert answer is not None and answer[0] == 400 and b"exceeds the limit: 20971520 bytes" in answer[1]


@each_case("path", ["/v1/messages/count_tokens", "/v1/messages?beta=true", "/model/claude/converse-stream"])
def test_the_same_rules_hold_at_other_paths_of_a_wire(path: str) -> None:
    assert refused(path, messages(user()))


NOT_PROVIDERS = {"test_counting.py": "only counts tokens", "mcp_over_http.py": "has tools, no model"}


def test_every_fake_provider_of_the_suite_checks_the_rules() -> None:
    tests = Path(__file__).parents[2]
    servers = {file.name: text for file in tests.rglob("*.py") if "def do_POST" in (text := file.read_text("utf-8"))}
    unchecked = {name for name, text in servers.items() if "refused(self.path, asked)" not in text}
    assert unchecked - {Path(__file__).name} == NOT_PROVIDERS.keys()


def test_messages_are_judged_as_requests_are() -> None:
    prompt, call = ModelRequest(parts=[UserPromptPart("go")]), ToolCallPart("look", {}, tool_call_id="a")
    seen = ModelRequest(parts=[ToolReturnPart("look", "seen", tool_call_id="a")])
    sound: list[ModelMessage] = [
        prompt,
        ModelResponse(parts=[ThinkingPart("hm", signature="c2ln"), call]),
        seen,
        prompt,
    ]
    alone = ModelResponse(parts=[TextPart("said"), ThinkingPart("hm", signature="c2ln")])
    for wire in RULES:
        assert refusal(wire, [*blocks_of(sound)]) is None, wire
        assert refusal(wire, [*blocks_of(sound[:2])]), wire
    assert set(refused_by(alone)) == {"anthropic", "responses", "bedrock"}
    assert set(refused_by(ModelResponse(parts=[TextPart("\n")]))) == {"anthropic", "bedrock"}
    assert refused_by(prompt) == refused_by(seen) == []
