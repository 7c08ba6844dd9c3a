"""The resources of one server: listed for completion, and read when a prompt names one."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent

from co_tui.agent.mcp.server_tools import LISTING_S, leaf
from co_tui.agent.mcp.tool_results import result_content, result_text
from co_tui.inert import one_line

MOST_LISTED: Final = 500
LONGEST_URI: Final = 500


class ServerResource(NamedTuple):
    """A resource as it is offered."""

    server: str
    uri: str
    title: str

    @property
    def name(self) -> str:
        """How a prompt names it, after the `@`."""
        return f"{self.server}:{self.uri}"


class ResourceUnreadable(Exception):
    """Why a resource cannot be read, as a sentence."""


class ServerResources:
    """What a running server offers to read."""

    def __init__(self, toolset: MCPToolset[Any], server: str, timeout_s: float, secrets: Sequence[str]) -> None:
        self._toolset = toolset
        self._server = server
        self._timeout_s = timeout_s
        self._secrets = secrets

    async def listed(self) -> list[ServerResource]:
        """Those that can be typed; none if the server does not answer."""
        try:
            async with asyncio.timeout(LISTING_S):
                found = await self._toolset.list_resources()
        except Exception:
            return []
        return [
            ServerResource(self._server, each.uri, one_line(each.title or each.name or "", 80))
            for each in found[:MOST_LISTED]
            if len(each.uri) <= LONGEST_URI and each.uri.isprintable() and '"' not in each.uri
        ]

    async def read(self, uri: str) -> str | list[str | BinaryContent]:
        """Its text and images, bounded and without secrets. Raises `ResourceUnreadable`."""
        try:
            async with asyncio.timeout(self._timeout_s):
                content = await self._toolset.read_resource(uri)
        except TimeoutError:
            raise ResourceUnreadable(
                f"MCP server {self._server} did not answer within {self._timeout_s:g} s."
            ) from None
        except Exception as error:
            why = one_line(result_text(leaf(error), self._secrets), 200)
            raise ResourceUnreadable(
                f"MCP server {self._server} cannot read {one_line(uri, 100)}: {why.rstrip('.')}."
            ) from None
        return result_content(content, self._secrets)
