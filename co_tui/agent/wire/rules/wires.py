"""The rules of each wire, with the words with which its provider refuses a request, and the source of each.

A source is an issue or pull request of a project on GitHub in which the words were reported, or the address of a page.
It also says where a rule is stricter than its source, and where the words are not the provider's own.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage

from co_tui.agent.wire.rules import breaches
from co_tui.agent.wire.rules.blocks import Block, blocks_of
from co_tui.agent.wire.rules.breaches import Refusal, Rule


def refusal(wire: str, blocks: Sequence[Block], tools: Sequence[Block] = (), mode: str = "") -> Refusal | None:
    """How the provider refuses the request; None if it obeys all rules. `mode` is a scope that applies to it."""
    for rule in RULES[wire]:
        if rule.scope in ("request", "message", "tools", mode):
            for breach in rule.find(tools if rule.scope == "tools" else blocks):
                return Refusal(rule.status, rule.words.format(**breach.block._asdict(), **breach.more))
    return None


def refused_by(message: ModelMessage) -> list[str]:
    """The wires that would refuse this message in any request."""
    blocks = [*blocks_of([message])]
    return [
        wire for wire, rules in RULES.items() if any(rule.scope == "message" and [*rule.find(blocks)] for rule in rules)
    ]


_TOO_LONG: Final = (
    "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length {length} "
    "instead."
)
_NO_MATCH: Final = (
    "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
)
_UNSATISFIED: Final = (
    "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular "
    "expression pattern: [%s]+"
)
_CLAUDE_DOCS: Final = "https://platform.claude.com/docs/en"
_BEDROCK_DOCS: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference"
_ANTHROPIC: Final = (
    Rule(
        breaches.not_from_user_first,
        'messages: first message must use the "user" role',
        "lobehub/lobehub#1601; anthropics/anthropic-sdk-typescript#622: now only when Claude is served elsewhere",
    ),
    Rule(
        breaches.not_from_user_last,
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        f"smallmain/vscode-unify-chat-provider#249; from 4.6: {_CLAUDE_DOCS}/about-claude/models/migration-guide",
    ),
    Rule(
        breaches.empty,
        "messages.{message}: all messages must have non-empty content except for the optional final assistant message",
        "anthropics/claude-code#6774",
        "message",
    ),
    Rule(
        breaches.blank,
        "messages: text content blocks must contain non-whitespace text",
        "anthropics/claude-code#23440",
        "message",
    ),
    Rule(
        breaches.thinking_last,
        "messages.{message}: The final block in an assistant message cannot be `thinking`.",
        "NousResearch/hermes-agent#13010; router-for-me/CLIProxyAPI#5321 saw it for the last message only: stricter",
        "message",
    ),
    Rule(
        breaches.unsigned,
        "messages.{message}.content.{at}: Invalid `signature` in `thinking` block",
        "anthropics/claude-code#10627; code-yeongyu/oh-my-openagent#2775: also for a missing signature",
    ),
    Rule(
        breaches.unbound,
        "messages.{message}.content.{at}: Invalid `signature` in `thinking` block. The block is bound to a different "
        'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
        f"anomalyco/opencode#48637; {_CLAUDE_DOCS}/build-with-claude/preserved-thinking",
    ),
    Rule(
        breaches.unanswered,
        "messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        f"anthropics/claude-code#1237; results come first: {_CLAUDE_DOCS}/agents-and-tools/tool-use/handle-tool-calls",
    ),
    Rule(
        breaches.answered_twice,
        "messages.{message}.content.{at}: each tool_use must have a single result. Found multiple `tool_result` blocks "
        "with id: {id}",
        "anthropics/claude-code#14110",
    ),
    Rule(
        breaches.without_call,
        "messages.{message}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        "anthropics/claude-code#13460",
    ),
    Rule(
        breaches.repeated("id", "call"),
        "messages.{message}.content.{at}: `tool_use` ids must be unique",
        "anthropics/claude-code#20901",
    ),
    Rule(
        breaches.not_matching("id", r"[a-zA-Z0-9_-]+", "call"),
        "messages.{message}.content.{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        "BlockRunAI/ClawRouter#17",
    ),
    Rule(
        breaches.longer_than(200, "name", "call"),
        "messages.{message}.content.{at}.tool_use.name: String should have at most 200 characters",
        "anthropics/claude-code#2673",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,128}", "tool"),
        "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        "modelcontextprotocol/modelcontextprotocol#1345",
        "tools",
    ),
    Rule(breaches.repeated("name", "tool"), "tools: Tool names must be unique.", "microsoft/vscode#278073", "tools"),
    Rule(
        breaches.more_than(4, "cache"),
        "A maximum of 4 blocks with cache_control may be provided. Found {count}.",
        "tghamm/Anthropic.SDK#50",
        "tools",
    ),
    Rule(
        breaches.starts_without_thinking,
        "messages.{message}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
        "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To "
        "avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        "Kilo-Org/kilocode#5219",
        "enabled",
    ),
    Rule(
        breaches.thinking_in_work,
        "messages.{message}.content.{at}: When thinking is disabled, an `assistant` message in the final position "
        "cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.",
        "tailcallhq/forgecode#1853",
        "disabled",
    ),
)
_RESPONSES: Final = (
    Rule(
        breaches.reasoning_alone,
        "Item '{item}' of type 'reasoning' was provided without its required following item.",
        "continuedev/continue#8933",
        "message",
    ),
    Rule(
        breaches.item_without_reasoning,
        "Item '{item}' of type '{type}' was provided without its required 'reasoning' item: 'rs_…'.",
        "continuedev/continue#11309; stricter: only items that were written after reasoning need it",
    ),
    Rule(
        breaches.not_stored,
        "Item with id '{item}' not found. Items are not persisted when `store` is set to false. Try again with `store` "
        "set to true, or remove this item from your input.",
        "can1357/oh-my-pi#41",
        "stateless",
        status=404,
    ),
    Rule(
        breaches.foreign_item,
        "Invalid 'input[{message}].id': '{item}'. Expected an ID that begins with '{prefix}'.",
        "openai/codex#33176 (msg); jlcodes99/cockpit-tools#2090 (rs); nodetool-ai/nodetool#4252 (fc)",
    ),
    Rule(
        breaches.repeated("item"),
        "Duplicate item found with id {item}. Remove duplicate items from your input and try again.",
        "openai/openai-agents-python#1789",
    ),
    Rule(
        breaches.repeated("id", "call"),
        "Duplicate 'call_id': {id}",
        "earendil-works/pi#9057, from a compatible server; no report of OpenAI's own words found",
    ),
    Rule(
        breaches.unanswered,
        "No tool output found for function call {id}.",
        "tjardoo/openai-client#124; stricter: directly after the calls",
    ),
    Rule(
        breaches.without_call,
        "No tool call found for function call output with call_id {id}.",
        "continuedev/continue#10092",
    ),
    Rule(
        breaches.longer_than(64, "id", "call"), _TOO_LONG % ("input[{message}].call_id", 64), "AnswerDotAI/fastllm#45"
    ),
    Rule(
        breaches.longer_than(64, "item", "text", "thinking", "call"),
        _TOO_LONG % ("input[{message}].id", 64),
        "github/app#499",
    ),
    Rule(
        breaches.longer_than(10_485_760, "text", "text"),
        _TOO_LONG % ("input[{message}].content", 10_485_760),
        "VectorlyApp/bluebox#31",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,64}", "call"),
        _NO_MATCH % "input[{message}].name",
        "decolua/9router#444 for an empty name; otherwise the words of chat requests, no report found",
    ),
)
_CHAT: Final = (
    Rule(breaches.empty, "Invalid value for 'content': expected a string, got null.", "langchain-ai/langchainjs#4153"),
    Rule(
        breaches.unanswered,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {id}",
        "router-for-me/CLIProxyAPI#2798",
    ),
    Rule(
        breaches.answered_twice,
        "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{first}] and "
        "messages[{message}].",
        "agno-agi/agno#5116",
    ),
    Rule(
        breaches.without_call,
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "smarter-sh/smarter#264",
    ),
    Rule(
        breaches.longer_than(40, "id", "call"),
        _TOO_LONG % ("messages[{message}].tool_calls[{at}].id", 40),
        "anomalyco/opencode#12653; vercel/ai#8132 could not repeat it in July 2026",
    ),
    Rule(
        breaches.longer_than(10_485_760, "text", "text"),
        _TOO_LONG % ("messages[{message}].content", 10_485_760),
        "FlowiseAI/Flowise#5085",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,64}", "call"),
        _NO_MATCH % "messages[{message}].tool_calls[{at}].function.name",
        "mcp-use/mcp-use#90",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]+", "tool"),
        _NO_MATCH % "tools[{at}].function.name",
        "brekkylab/ailoy#109",
        "tools",
    ),
    Rule(
        breaches.longer_than(64, "name", "tool"),
        _TOO_LONG % ("tools[{at}].function.name", 64),
        "mrexodia/ida-pro-mcp#129, from a compatible server",
        "tools",
    ),
    Rule(
        breaches.more_than(128, "tool"),
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but "
        "got an array with length {count} instead.",
        "vishalmysore/Tools4AI#16",
        "tools",
    ),
)
_GOOGLE: Final = (
    Rule(
        breaches.empty,
        "* GenerateContentRequest.contents[{message}].parts: contents.parts must not be empty.",
        "aaif-goose/goose#1585",
    ),
    Rule(
        breaches.not_from_user_last,
        "Requests ending with a model turn are not supported.",
        "anomalyco/opencode#47034; LibreChat-AI/agents#323: models since 3.6 Flash and 3.5 Flash-Lite",
    ),
    Rule(
        breaches.call_not_after_user,
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "google-gemini/gemini-cli#11814",
    ),
    Rule(
        breaches.unanswered,
        "Please ensure that the number of function response parts is equal to the number of function call parts of "
        "the function call turn.",
        "google-gemini/gemini-cli#16415",
    ),
    Rule(
        breaches.without_call,
        "Please ensure that function response turn comes immediately after a function call turn.",
        "langchain-ai/langchain#27799",
    ),
    Rule(
        breaches.unsigned_call,
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        "call `default_api:{name}`, position {message}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        "lbjlaq/Antigravity-Manager#139; https://ai.google.dev/gemini-api/docs/thought-signatures",
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", "tool"),
        "* GenerateContentRequest.tools[0].function_declarations[{at}].name: Invalid function name. Must start with a "
        "letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes "
        "(-), with a maximum length of 64.",
        "router-for-me/Cli-Proxy-API-Management-Center#120",
        "tools",
    ),
    Rule(
        breaches.repeated("name", "tool"),
        "Duplicate function declaration found: {name}",
        "rikkahub/rikkahub#1311",
        "tools",
    ),
)
_BEDROCK: Final = (
    Rule(
        breaches.not_from_user_first,
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        "langgenius/dify#12340",
    ),
    Rule(
        breaches.same_role_again,
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
        "user and assistant roles and try again.",
        "CopilotKit/CopilotKit#736",
    ),
    Rule(
        breaches.empty,
        "The content field in the Message object at messages.{message} is empty. Add a ContentBlock object to the "
        "content field and try again.",
        "langchain-ai/langchain#26968",
        "message",
    ),
    Rule(
        breaches.blank,
        "The text field in the ContentBlock object at messages.{message}.content.{at} is blank. Add text to the text "
        "field, and try again.",
        "aws-samples/bedrock-engineer#8",
        "message",
    ),
    Rule(
        breaches.thinking_last,
        "messages.{message}: The final block in an assistant message cannot be `thinking`.",
        "the rule of Claude's own wire; no report from Bedrock found",
        "message",
    ),
    Rule(
        breaches.undeclared,
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        "langgenius/dify#16421",
    ),
    Rule(
        breaches.unanswered,
        "Expected toolResult blocks at messages.{next}.content for the following Ids: {id}",
        "agno-agi/agno#6698",
    ),
    Rule(
        breaches.without_call,
        "The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse blocks of "
        "previous turn.",
        "Just-Curieous/Curie#16",
    ),
    Rule(
        breaches.empty_failure,
        "The content field at messages.{message}.content.{at}.toolResult cannot be empty when status value is error.",
        "aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15",
    ),
    Rule(
        breaches.repeated("id", "call"),
        "The toolUse blocks at messages.{message}.content contain duplicate Ids: {id}",
        "bvcyber/Cyber-AutoAgent-ng#72; stricter: reported for one message",
    ),
    *(
        Rule(
            breaches.not_matching(field, f"[{taken}]{{1,64}}", "call"),
            _UNSATISFIED % (f"{{{field}}}", f"messages.{{nth}}.member.content.{{nth_at}}.member.toolUse.{name}", taken),
            f"{_BEDROCK_DOCS}/API_runtime_ToolUseBlock.html and botocore 1.44; words as reported for names of tools",
        )
        for field, name, taken in (("id", "toolUseId", "a-zA-Z0-9_.:-"), ("name", "name", "a-zA-Z0-9_-"))
    ),
    Rule(
        breaches.not_matching("name", r"[a-zA-Z0-9_-]{1,64}", "tool"),
        _UNSATISFIED % ("{name}", "toolConfig.tools.{nth_at}.member.toolSpec.name", "a-zA-Z0-9_-"),
        "aws-samples/remote-swe-agents#457",
        "tools",
    ),
)
RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "anthropic": _ANTHROPIC,
    "responses": _RESPONSES,
    "chat": _CHAT,
    "google": _GOOGLE,
    "bedrock": _BEDROCK,
}
