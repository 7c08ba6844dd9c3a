"""The prompts that MCP servers offer, for slash commands: bounded in number, size and time."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from co_tui.agent.mcp.tool_results import result_text
from co_tui.agent.tool_names import mcp_tool_name
from co_tui.inert import one_line

MOST_PROMPTS: Final = 100
MOST_ARGUMENTS: Final = 20
LISTING_S: Final = 10.0
TEXT_CHARS: Final = 200


class PromptRefusedByServer(Exception):
    """Why a server's prompt cannot be used, as a sentence."""


class ServerPrompt(NamedTuple):
    """A prompt of a server; names are the server's own."""

    server: str
    own_name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its slash command, as in Claude Code: `mcp__SERVER__PROMPT`."""
        return mcp_tool_name(self.server, re.sub(r"[^\w.-]", "_", self.own_name))

    @property
    def hint(self) -> str:
        """Its arguments as people read them."""
        return " ".join(one_line(each if each in self.required else f"[{each}]", 30) for each in self.arguments)

    def filled(self, words: Sequence[str]) -> dict[str, str]:
        """The arguments in order; the last one gets all that is left. Raises `PromptRefusedByServer`."""
        count = len(self.arguments)
        given = [*words[: count - 1], " ".join(words[count - 1 :])] if len(words) > count > 0 else list(words)
        named = dict(zip(self.arguments, given, strict=False))
        if missing := [each for each in self.arguments if each in self.required and each not in named]:
            needed = one_line(", ".join(missing), TEXT_CHARS)
            raise PromptRefusedByServer(f"/{self.name} needs {needed}. Use /{self.name} {self.hint}.")
        return named


async def list_prompts(toolset: Any, server: str) -> tuple[ServerPrompt, ...]:
    """The prompts of a running server; none if it offers none or does not answer."""
    try:
        async with asyncio.timeout(LISTING_S):
            listed = await toolset.list_prompts()
    except Exception:  # its tools work all the same
        return ()
    return tuple(_prompt(each, server) for each in listed[:MOST_PROMPTS])


def _prompt(listed: Any, server: str) -> ServerPrompt:
    arguments = (listed.arguments or [])[:MOST_ARGUMENTS]
    return ServerPrompt(
        server=server,
        own_name=str(listed.name),
        description=one_line(str(listed.description or listed.title or ""), TEXT_CHARS),
        arguments=tuple(str(each.name) for each in arguments),
        required=frozenset(str(each.name) for each in arguments if each.required),
    )


async def prompt_text(
    toolset: Any, prompt: ServerPrompt, arguments: Mapping[str, str], timeout_s: float, secrets: Sequence[str]
) -> str:
    """The text a server writes for its prompt. Raises `PromptRefusedByServer`."""
    from co_tui.agent.mcp.server_tools import leaf

    try:
        async with asyncio.timeout(timeout_s):
            result = await toolset.get_prompt(prompt.own_name, dict(arguments))
    except TimeoutError:
        raise PromptRefusedByServer(f"MCP server {prompt.server} did not answer within {timeout_s:g} s.") from None
    except Exception as error:
        why = one_line(result_text(leaf(error), secrets), TEXT_CHARS)
        raise PromptRefusedByServer(f"MCP server {prompt.server} refused /{prompt.name}: {why}.") from None
    text = result_text("\n\n".join(_texts(result.messages)), secrets).strip()
    if not text:
        raise PromptRefusedByServer(f"MCP server {prompt.server} returned no text for /{prompt.name}.")
    return text


def _texts(messages: Iterable[Any]) -> Iterable[str]:
    """The text of each message; what is no text is named."""
    for message in messages:
        text = getattr(message.content, "content", None)
        yield text if isinstance(text, str) else f"[{type(message.content).__name__} is left out]"
