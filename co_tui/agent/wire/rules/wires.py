"""The rules of each wire, with the words with which its provider refuses a request (status 400).

Sources are the providers' reference pages, named at each wire, and their error messages as users reported them in
public issues, some without their ends. Rules marked "from memory" have no such report at hand.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.agent.wire.rules import breaches
from co_tui.agent.wire.rules.blocks import Block, blocks_of


class Rule(NamedTuple):
    """What breaks it, and the provider's words, into which the fields of the block are filled."""

    find: breaches.Find
    words: str
    scope: Literal["request", "message", "tools"] = "request"
    """`message`: a message alone shows that it is broken, whichever provider it is converted for."""


def refusal(wire: str, blocks: Sequence[Block], tools: Sequence[Block] = (), *, thinks: bool = False) -> str:
    """The words with which the provider refuses the request; empty if it obeys all rules. `thinks`: the request asks
    for Anthropic's extended thinking with a budget."""
    for rule in RULES[wire] + (THINKING_RULES if thinks else ()):
        for breach in rule.find(tools if rule.scope == "tools" else blocks):
            return rule.words.format(**breach.block._asdict(), **breach.more)
    return ""


def refused_by(message: ModelMessage) -> list[str]:
    """The wires that would refuse this message in any request."""
    blocks = [*blocks_of([message])]
    return [
        wire for wire, rules in RULES.items() if any(rule.scope == "message" and [*rule.find(blocks)] for rule in rules)
    ]


def _too_long(what: str, most: int) -> str:
    counted = f"Expected a string with maximum length {most}, but got a string with length {{length}} instead."
    return f"Invalid '{what}': string too long. {counted}"


_ANTHROPIC: Final = (
    Rule(breaches.not_from_user_first, 'messages: first message must use the "user" role'),  # from memory
    Rule(
        breaches.not_from_user_last,
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    Rule(
        breaches.empty,
        "messages.{message}: all messages must have non-empty content except for the optional final assistant message",
        scope="message",
    ),
    Rule(breaches.blank, "messages: text content blocks must contain non-whitespace text", scope="message"),
    Rule(
        breaches.thinking_last,
        "messages.{message}: The final block in an assistant message cannot be `thinking`.",
        scope="message",
    ),
    Rule(breaches.unsigned, "messages.{message}.content.{at}: Invalid `signature` in `thinking` block"),
    Rule(
        breaches.unanswered,
        "messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    Rule(
        breaches.without_call,
        "messages.{message}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    Rule(breaches.repeated("id", "call"), "messages.{message}.content.{at}: `tool_use` ids must be unique"),
    Rule(
        breaches.not_matching("id", r"[a-zA-Z0-9_-]+", "call"),
        "messages.{message}.content.{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,128}", "tool"),
        "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        scope="tools",
    ),
)
"""Messages API reference; "Handle tool calls" (results directly after calls, and first in their message); "Extended
thinking" (signatures, thinking before tool use); "Migrating to Claude 4.6" (no prefill)."""
THINKING_RULES: Final = (
    Rule(
        breaches.starts_without_thinking,
        "messages.{message}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block.",
    ),
)
_RESPONSES: Final = (
    Rule(
        breaches.reasoning_alone,
        "Item '{item}' of type 'reasoning' was provided without its required following item.",
        scope="message",
    ),
    Rule(
        breaches.item_without_reasoning,
        "Item '{item}' of type '{type}' was provided without its required 'reasoning' item: 'rs_…'.",
    ),
    Rule(
        breaches.repeated("item"),
        "Duplicate item found with id {item}. Remove duplicate items from your input and try again.",
    ),
    Rule(breaches.repeated("id", "call"), "Duplicate 'call_id': {id}"),  # from a compatible server
    Rule(breaches.unanswered, "No tool output found for function call {id}."),
    Rule(breaches.without_call, "No tool call found for function call output with call_id {id}."),
    Rule(breaches.longer_than(64, "id", "call"), _too_long("input[{message}].call_id", 64)),
    Rule(breaches.longer_than(64, "item", "text", "thinking", "call"), _too_long("input[{message}].id", 64)),
    Rule(breaches.longer_than(10_485_760, "text", "text"), _too_long("input[{message}].content", 10_485_760)),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,64}", "call"),
        "Invalid 'input[{message}].name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
    ),
)
"""Responses API reference, "Create a model response"; guides "Reasoning" (keep reasoning items with what follows them)
and "Function calling". Where the results are is checked more strictly than there: directly after the calls."""
_CHAT: Final = (
    Rule(breaches.empty, "Invalid value for 'content': expected a string, got null."),
    Rule(
        breaches.unanswered,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {id}",
    ),
    Rule(
        breaches.without_call,
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ),
    Rule(breaches.longer_than(40, "id", "call"), _too_long("messages[{message}].tool_calls[{at}].id", 40)),
    Rule(breaches.longer_than(10_485_760, "text", "text"), _too_long("messages[{message}].content", 10_485_760)),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,64}", "call"),
        "Invalid 'messages[{message}].tool_calls[{at}].function.name': string does not match pattern. Expected a "
        "string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    ),
    Rule(
        breaches.more_tools_than(128),
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but "
        "got an array with length {count} instead.",
        scope="tools",
    ),
)
"""Chat Completions API reference, "Create chat completion"; guide "Function calling"."""
_GOOGLE: Final = (
    Rule(breaches.empty, "* GenerateContentRequest.contents[{message}].parts: contents.parts must not be empty."),
    Rule(
        breaches.not_from_user_first,
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    Rule(
        breaches.call_after_reply,
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    Rule(
        breaches.unanswered,
        "Please ensure that the number of function response parts is equal to the number of function call parts of "
        "the function call turn.",
    ),
    Rule(
        breaches.without_call,
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    Rule(
        breaches.unsigned_call,
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        "call `{name}`, position {message}.",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", "tool"),
        "* GenerateContentRequest.tools[0].function_declarations[{at}].name: Invalid function name. Must start with a "
        "letter or an underscore.",
        scope="tools",
    ),
)
"""Gemini API reference, "Generating content"; guides "Function calling" and "Thought signatures"."""
_BEDROCK: Final = (
    Rule(
        breaches.not_from_user_first,
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    ),
    Rule(
        breaches.same_role_again,
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
        "user and assistant roles and try again.",
    ),
    Rule(
        breaches.empty,
        "The content field in the Message object at messages.{message} is empty. Add a ContentBlock object to the "
        "content field and try again.",
        scope="message",
    ),
    Rule(
        breaches.blank,
        "The text field in the ContentBlock object at messages.{message}.content.{at} is blank. Add text to the text "
        "field, and try again.",
        scope="message",
    ),
    Rule(
        breaches.thinking_last,
        "messages.{message}: The final block in an assistant message cannot be `thinking`.",
        scope="message",
    ),
    Rule(breaches.unanswered, "Expected toolResult blocks at messages.{message}.content for the following Ids: {id}"),
    Rule(
        breaches.without_call,
        "The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse blocks of "
        "previous turn.",
    ),
    Rule(  # from memory
        breaches.repeated("id", "call"), "The toolUse blocks at messages.{message}.content contain duplicate Ids: {id}"
    ),
    Rule(
        breaches.not_matching("id", r"[a-zA-Z0-9_-]{1,64}", "call"),
        "Value '{id}' at 'messages.{message}.member.content.{at}.member.toolUse.toolUseId' failed to satisfy "
        "constraint. Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
    ),
)
"""Amazon Bedrock API reference, "Converse", "Message", "ToolUseBlock" and "ToolResultBlock"; and the rules of
Claude's models there."""
RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "anthropic": _ANTHROPIC,
    "responses": _RESPONSES,
    "chat": _CHAT,
    "google": _GOOGLE,
    "bedrock": _BEDROCK,
}
