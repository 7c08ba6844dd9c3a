"""MCP servers at an address: their key goes to them alone, and what they send is bounded."""

import json
from pathlib import Path

import pytest

from co_tui.agent.mcp.servers import load_connection
from co_tui.session.turns.turn import Outcome
from co_tui.settings.mcp_servers import McpServer
from tests.support.mcp_over_http import mcp_over_http, sending_to
from tests.support.mcp_talk import Talk

KEY = {"Authorization": "Bearer ${MY}"}


async def test_a_tool_is_called_with_the_key_that_the_settings_name(folder: Path, home: Path) -> None:
    with mcp_over_http() as (address, seen):
        step = ("mcp__sums__double", {"number": 21})
        servers = {"sums": McpServer(url=address, headers=KEY)}
        async with Talk(folder, home, step, ("mcp__sums__flood", {}), mcp_servers=servers) as talk:
            assert await talk.say("double it") is Outcome.DONE
    assert seen and all(headers["authorization"] == "Bearer key-0123456789" for headers in seen)
    doubled, flood = talk.model.returned
    assert doubled == "42" and len(flood) < 1_000 and "key-0123456789" not in str(talk.session.state.history)


async def test_a_key_follows_no_redirect(folder: Path, home: Path) -> None:
    with mcp_over_http() as (address, seen), sending_to(address) as first:
        async with Talk(folder, home, mcp_servers={"sums": McpServer(url=first, headers=KEY)}) as talk:
            assert await talk.say("hello") is Outcome.DONE
    assert not seen
    (error,) = talk.errors
    assert "it answered with HTTP 307, a redirect" in error.what and "key-0123456789" not in error.what


async def test_one_that_wants_another_key_is_reported(folder: Path, home: Path) -> None:
    with sending_to("", 401) as address:
        async with Talk(folder, home, mcp_servers={"sums": McpServer(url=address, headers=KEY)}) as talk:
            assert await talk.say("hello") is Outcome.DONE
    (error,) = talk.errors
    assert error.what == "MCP server sums failed: it answered with HTTP 401."


@pytest.mark.parametrize("depth", [10, 400, 3_000])
def test_a_deep_value_in_a_message_loses_only_itself(depth: int) -> None:
    load_connection()
    from mcp.client import streamable_http

    from co_tui.agent.mcp.child_server import MOST_DEPTH

    deep = '{"a": ["x]}", ' * depth + "1" + "]}" * depth
    text = (
        f'{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": [{{"name": "small"}}, {{"name": "deep", "s": {deep}}}]}}}}'
    )
    for message in (text, text.encode()):
        small, found = streamable_http.jsonrpc_message_adapter.validate_json(message, by_name=False).result["tools"]
        assert (small["name"], found["name"]) == ("small", "deep")
        assert (json.dumps(found["s"]).count("null") == 1) is (depth > MOST_DEPTH)


def test_looking_for_deep_values_is_bounded() -> None:
    """Each text is read once, not from each of its quotes again, and long messages are left to the library."""
    load_connection()
    from co_tui.agent.mcp.child_server import MOST_DEPTH, MOST_NESTED_BYTES, without_depth

    deep = b"[" * (MOST_DEPTH + 1)
    assert b"null" in without_depth(deep + b'"\\""]')
    assert b"null" not in without_depth(deep + b'"\\"]'), "the bracket is part of a text that does not end"
    assert b"null" not in without_depth(deep + b"]" + b" " * MOST_NESTED_BYTES)
