"""All an editor does, in one exchange; every message of it is checked against the protocol's own models."""

import json

import pytest

from tests.headless.acp.exchange import Exchanged, check_exchange
from tests.headless.acp.whole_exchange import FILLED, whole_exchange
from tests.support.cases import each_case
from tests.support.command import CliCommand
from tests.support.provider import Provider


async def test_questions_of_the_model_and_of_a_server_are_forms(served: CliCommand, provider: Provider) -> None:
    editor = await whole_exchange(served, provider)
    (question, choices), (first, fields), (again, _) = editor.forms
    assert question == "Which colour?"
    assert [each["title"] for each in choices["properties"]["choice"]["oneOf"]] == ["red", "blue"]
    assert first.startswith("MCP server odd asks: ") and "Which one?" in first and "\x1b" not in first
    assert fields["required"] == ["count"] and fields["properties"]["count"]["maximum"] == 5
    assert "count: Enter a whole number of at least 1 and at most 5." in again
    last = max(provider.requests, key=lambda request: len(request["messages"]))["messages"]
    results = [json.loads(each["content"]) for each in last if each["role"] == "tool" and each["content"][:1] == "{"]
    sent = {name: value for name, value in FILLED.items() if value != ""}
    assert results == [{"Colour": ["blue"]}, {"action": "accept", "content": sent}]


@each_case(
    "update",
    [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a", "colour": "red"}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}},
        {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "read", "status": "odd"},
    ],
)
def test_a_message_that_the_protocol_does_not_know_is_found(update: object) -> None:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "1", "update": update}}
    with pytest.raises((AssertionError, ValueError)):
        check_exchange([Exchanged(True, message)])
