"""The tools of one server as agents get them: prefixed with its name, and bounded in number, size and time."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from co_tui.agent.mcp.elicitation import Elicitations
from co_tui.agent.mcp.tool_results import MOST_RESULT_CHARS, bounded, result_content, result_text
from co_tui.agent.tool_names import mcp_tool_name
from co_tui.events.storable import storable, storable_text
from co_tui.inert import inert

MOST_TOOLS: Final = 64
MOST_DEFINITION_CHARS: Final = 20_000
MOST_DEFINITIONS_CHARS: Final = 100_000
"""For one server, whatever the window: definitions are part of every request."""
FRAME_CHARS: Final = 100
"""Estimated size of a definition without description and parameters."""
MOST_DEPTH: Final = 50
"""Of a tool's parameters, in nested values; what prepares a request for a provider follows them down."""
LONGEST_NAME: Final = 64
"""The longest tool name providers accept."""
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf", "not", "enum")
"""Schema keys no provider accepts at the top level; the server validates its arguments itself."""
LISTING_S: Final = 10.0
"""How long a server may take to list its tools again."""


@dataclass
class ServerTools(WrapperToolset[Any]):
    """A toolset that agent runs neither open nor close: `McpServers` does."""

    server: str
    timeout_s: float
    is_running: Callable[[], bool]
    elicitations: Elicitations
    secrets: Sequence[str] = ()
    count: int = 0
    """How many tools are offered."""
    room_chars: int = MOST_DEFINITIONS_CHARS
    """The limit of all definitions together."""
    left_out: int = 0
    """How many tools exceed the limits."""
    unlisted: bool = False
    """Whether the server failed to list them for the latest request."""
    read_only: frozenset[str] = frozenset()
    """Our names of the tools that the server marks as read-only."""
    _names: dict[str, str] = field(default_factory=dict)
    """Our name of each tool → the server's."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: Any) -> bool | None:
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        if not self.is_running():
            return {}
        try:
            async with asyncio.timeout(LISTING_S):
                listed = await super().get_tools(ctx)
        except Exception:  # calls will report what is wrong
            self.unlisted = True
            return {}
        self.unlisted = False
        chosen = dict(_within_limits(self.server, listed, min(self.room_chars, MOST_DEFINITIONS_CHARS)))
        self.count, self.left_out = len(chosen), len(listed) - len(chosen)
        self.read_only = frozenset(new for new, tool in chosen.items() if _is_marked_read_only(tool.tool_def))
        self._names = {new: tool.tool_def.name for new, tool in chosen.items()}
        return {
            new: replace(tool, toolset=self, tool_def=_definition(new, tool.tool_def)) for new, tool in chosen.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        own = self._names.get(name)
        if own is None or not self.is_running():
            raise ToolFailed(f"MCP server {self.server} is not running.")
        tool = replace(tool, tool_def=replace(tool.tool_def, name=own))
        try:
            async with self.elicitations.during_call(self.timeout_s):
                result = await super().call_tool(own, tool_args, replace(ctx, tool_name=own), tool)
        except TimeoutError:
            raise ToolFailed(
                f"MCP server {self.server} did not answer within {self.timeout_s:g} s; the call was cancelled."
            ) from None
        except (ModelRetry, ToolFailed) as refused:
            raise ToolFailed(result_text(refused.message, self.secrets, most_chars=MOST_RESULT_CHARS)) from None
        except Exception as error:
            text = f"MCP server {self.server} failed: {leaf(error)}"
            raise ToolFailed(result_text(text, self.secrets, most_chars=MOST_RESULT_CHARS)) from None
        return result_content(result, self.secrets, most_chars=MOST_RESULT_CHARS)


def leaf(error: BaseException) -> str:
    """The message of an error, taken out of exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _within_limits(
    server: str, tools: dict[str, ToolsetTool[Any]], left: int
) -> Iterator[tuple[str, ToolsetTool[Any]]]:
    """The tools that fit, each under a unique name that providers accept."""
    used = set[str]()
    for own, tool in list(tools.items())[:MOST_TOOLS]:
        size = _chars(tool.tool_def)
        new = mcp_tool_name(server, re.sub("[^A-Za-z0-9_-]", "_", own))[:LONGEST_NAME]
        if size <= min(MOST_DEFINITION_CHARS, left) and new not in used:
            used.add(new)
            left -= size
            yield new, tool


def _chars(tool: ToolDefinition) -> int:
    """Its size; too large if it is nested too deep."""
    try:
        text = json.dumps(tool.parameters_json_schema)
    except (ValueError, TypeError, RecursionError):
        return MOST_DEFINITION_CHARS + 1
    too_deep = _is_deeper(tool.parameters_json_schema, MOST_DEPTH)
    return MOST_DEFINITION_CHARS + 1 if too_deep else FRAME_CHARS + len(text) + len(tool.description or "")


def _is_deeper(value: Any, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deeper(each, most - 1) for each in inner)


def _inert(value: Any) -> Any:
    """The same with inert texts and names."""
    if isinstance(value, dict):
        return {inert(name): _inert(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_inert(each) for each in value]
    return inert(value) if isinstance(value, str) else value


def _is_marked_read_only(tool: ToolDefinition) -> bool:
    annotations = (tool.metadata or {}).get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("readOnlyHint") is True


def _definition(name: str, tool: ToolDefinition) -> ToolDefinition:
    """The definition with only what a model needs. Providers refuse all tools when one does not take a plain object."""
    plain = {key: each for key, each in tool.parameters_json_schema.items() if key not in _ALTERNATIVES}
    schema = {**_inert(storable(plain)), "type": "object"}
    return replace(
        tool,
        name=name,
        description=bounded(inert(storable_text(tool.description or ""))),
        parameters_json_schema=schema,
        return_schema=None,
        metadata={key: value for key, value in (tool.metadata or {}).items() if key == "task"},
    )
