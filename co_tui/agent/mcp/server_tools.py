"""The tools of one server as an agent gets them: named after it, and bounded in number, size and time."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from co_tui.agent.mcp.tool_results import bounded, result_content, result_text
from co_tui.agent.tool_names import mcp_tool_name
from co_tui.events.storable import storable, storable_text

MOST_TOOLS: Final = 64
MOST_DEFINITION_CHARS: Final = 20_000
MOST_DEFINITIONS_CHARS: Final = 100_000
"""Of one server, whatever the window: all of it goes with every request."""
FRAME_CHARS: Final = 100
"""Of a definition beside its description and its parameters: its name, and what providers put around it."""
LONGEST_NAME: Final = 64
"""As much as providers take."""
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf", "not", "enum")
"""What no provider takes at the top of a tool's parameters; the server checks its arguments itself."""
LISTING_S: Final = 10.0
"""How long a server may take to tell its tools anew."""


@dataclass
class ServerTools(WrapperToolset[Any]):
    """Whoever runs the server opens and closes it; a run of an agent does neither."""

    server: str
    timeout_s: float
    is_running: Callable[[], bool]
    secrets: Sequence[str] = ()
    count: int = 0
    """How many there are."""
    room_chars: int = MOST_DEFINITIONS_CHARS
    """How long their definitions may be together."""
    left_out: int = 0
    """And how many more that are too many or too large."""
    unlisted: bool = False
    """Whether the server failed to list them for the latest request."""
    _names: dict[str, str] = field(default_factory=dict)
    """The server's own name of each tool."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: Any) -> bool | None:
        return None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        if not self.is_running():
            return {}
        try:
            async with asyncio.timeout(LISTING_S):
                told = await super().get_tools(ctx)
        except Exception:  # its calls say what is wrong with it
            self.unlisted = True
            return {}
        self.unlisted = False
        chosen = dict(_within_limits(self.server, told, min(self.room_chars, MOST_DEFINITIONS_CHARS)))
        self.count, self.left_out = len(chosen), len(told) - len(chosen)
        self._names = {new: tool.tool_def.name for new, tool in chosen.items()}
        return {
            new: replace(tool, toolset=self, tool_def=_definition(new, tool.tool_def)) for new, tool in chosen.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        own = self._names.get(name)
        if own is None or not self.is_running():
            raise ToolFailed(f"The MCP server {self.server} is not running.")
        tool = replace(tool, tool_def=replace(tool.tool_def, name=own))
        try:
            async with asyncio.timeout(self.timeout_s):
                result = await super().call_tool(own, tool_args, replace(ctx, tool_name=own), tool)
        except TimeoutError:
            raise ToolFailed(
                f"The MCP server {self.server} gave no result within {self.timeout_s:g} s; the call was given up."
            ) from None
        except (ModelRetry, ToolFailed) as refused:
            raise ToolFailed(result_text(refused.message, self.secrets)) from None
        except Exception as error:
            told = result_text(f"The MCP server {self.server} failed: {leaf(error)}", self.secrets)
            raise ToolFailed(told) from None
        return result_content(result, self.secrets)


def leaf(error: BaseException) -> str:
    """What an error says, without the groups that it came in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _within_limits(server: str, told: dict[str, ToolsetTool[Any]], left: int) -> Iterator[tuple[str, ToolsetTool[Any]]]:
    """Those that fit, each under a name that providers take and no other has."""
    used = set[str]()
    for own, tool in list(told.items())[:MOST_TOOLS]:
        size = _chars(tool.tool_def)
        new = mcp_tool_name(server, re.sub("[^A-Za-z0-9_-]", "_", own))[:LONGEST_NAME]
        if size <= min(MOST_DEFINITION_CHARS, left) and new not in used:
            used.add(new)
            left -= size
            yield new, tool


def _chars(told: ToolDefinition) -> int:
    try:
        return FRAME_CHARS + len(json.dumps(told.parameters_json_schema)) + len(told.description or "")
    except (ValueError, TypeError, RecursionError):
        return MOST_DEFINITION_CHARS + 1


def _definition(name: str, told: ToolDefinition) -> ToolDefinition:
    """Only what a model needs. Providers refuse every tool when one takes something else than a plain object."""
    plain = {key: each for key, each in told.parameters_json_schema.items() if key not in _ALTERNATIVES}
    schema = {**storable(plain), "type": "object"}
    return replace(
        told,
        name=name,
        description=bounded(storable_text(told.description or "")),
        parameters_json_schema=schema,
        return_schema=None,
        metadata={key: value for key, value in (told.metadata or {}).items() if key == "task"},
    )
