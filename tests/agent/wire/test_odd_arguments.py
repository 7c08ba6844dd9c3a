"""Odd arguments of a tool call, on each provider's wire: the session can still be sent, stored and resumed (X1)."""

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart

from co_tui.agent.model_messages import read_messages
from co_tui.events.storable import storable_arguments
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.agent.models.test_switching import END, PAIRS
from tests.support import provider_formats as formats
from tests.support.cases import each_case
from tests.support.long_run import LONG_RUN
from tests.support.provider import Provider, Reply
from tests.support.provider_sessions import session_with

pytestmark = pytest.mark.filterwarnings("ignore")

WORK = {
    "chat": formats.chat_work,
    "responses": formats.responses_work,
    "anthropic": formats.anthropic_work,
    "google": formats.google_work,
}
ODD = {
    "NaN": '{"a": NaN}',
    "Infinity": '{"a": Infinity}',
    "-Infinity": '{"a": -Infinity}',
    "too large a float": '{"a": 1e999}',
    "too small a float": '{"a": -1e999}',
    "NaN deep inside": '{"a": {"b": [1, {"c": NaN}]}}',
    "a list of infinities": '{"a": [Infinity, 1e999, -1e400, 1.5]}',
    "NaN as a key": '{"NaN": NaN, "Infinity": 1e999}',
    "NaN alone": "NaN",
    "Infinity in a list": "[1e999]",
    "half a character": '{"a": "\\ud83d"}',
    "the other half": '{"a": "\\ude00"}',
    "both halves": '{"a": "\\ud83d\\ude00"}',
    "halves in the wrong order": '{"a": "\\ude00\\ud83d"}',
    "half a character in a key": '{"\\udfff": 1}',
    "a NUL": '{"a": "x\\u0000y", "\\u0000": 1}',
    "control characters": '{"a": "\\u001b[31m\\u0007\\u202e"}',
    "no character at all": '{"a": "\\uffff\\ufdd0"}',
    "nested 70 deep": '{"a": ' + "[" * 70 + "]" * 70 + "}",
    "nested 190 deep": '{"a": ' + "[" * 190 + "]" * 190 + "}",
    "nested 300 deep": '{"a":' * 300 + "1" + "}" * 300,
    "nested 900 deep": '{"a": ' + "[" * 900 + "]" * 900 + "}",
    "nested 10,000 deep": '{"a": ' + "[" * 10_000 + "]" * 10_000 + "}",
    "400 digits": '{"a": ' + "9" * 400 + "}",
    "5,000 digits": '{"a": ' + "9" * 5_000 + "}",
    "5,000 digits behind the point": '{"a": 0.' + "1" * 5_000 + "}",
    "a whole number beyond 64 bits": '{"a": 18446744073709551617, "b": -9223372036854775809}',
    "minus nothing": '{"a": -0.0, "b": -0}',
    "a key twice": '{"a": 1, "a": 2}',
    "a key twice, inside": '{"a": {"b": "first", "b": "last"}}',
    "no key": '{"": ""}',
    "a key of 5,000 characters": '{"' + "k" * 5_000 + '": 1}',
    "500 keys": json.dumps({f"key {n}": n for n in range(500)}),
    "a list": "[1, 2, 3]",
    "a text": '"look"',
    "a number": "42",
    "null": "null",
    "nothing": "",
    "blanks": " \n\t ",
    "half of it": '{"a": "lo',
    "two of them": '{"a": 1}{"b": 2}',
    "no JSON": "look(at='this')",
    "a comma too many": '{"a": 1,}',
    "a byte order mark": "\ufeff{}",
    "too small to be told from nothing": '{"a": 1e-999}',
    "an exponent of 5,000 digits": '{"a": 1e' + "9" * 5_000 + "}",
    "a text of 20,000 characters": '{"a": "' + "long " * 4_000 + '"}',
    "a list of 5,000 numbers": json.dumps({"a": list(range(5_000))}),
    "a line break within a text": '{"a": "x\ny"}',
    "an escape that there is not": '{"a": "\\x41"}',
    "half an escape": '{"a": "\\u00',
    "line separators": '{"a": "\u2028\u2029\u0085"}',
    "single quotes": "{'a': 1}",
    "a comment": '{"a": 1} // one',
    "a fence": '```json\n{"a": 1}\n```',
    "true": "true",
    "a list of nothing": "[[], [[]]]",
    "JSON in a text": '"{\\"a\\": NaN}"',
    "names of Python": '{"__proto__": null, "__class__": "x", "self": 1, "kwargs": {}}',
}
assert len(ODD) >= 40
A_TURN = 20
"""So many of them come in one turn, one step after the other."""


def weigh(a: float) -> str:
    """A tool that does not take what is no number."""
    return f"It weighs {a}."


def refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


def arguments_sent(name: str, sent: dict[str, Any]) -> Iterator[Any]:
    """The arguments of each call in a request, read as strictly as a provider may."""
    match name:
        case "chat":
            texts = [call["function"]["arguments"] for m in sent["messages"] for call in m.get("tool_calls") or ()]
            yield from (json.loads(text, parse_constant=refuse) for text in texts)
        case "responses":
            texts = [item["arguments"] for item in sent["input"] if item.get("type") == "function_call"]
            yield from (json.loads(text, parse_constant=refuse) for text in texts)
        case "anthropic":
            blocks = [block for message in sent["messages"] for block in message["content"]]
            yield from (block["input"] for block in blocks if block["type"] == "tool_use")
        case "google":
            parts = [part for content in sent["contents"] for part in content["parts"] if "functionCall" in part]
            yield from (part["functionCall"].get("args", {}) for part in parts)


@each_case("arguments", ["{}", '{"a": 1.50, "b": [true, null]}', '{"a": "é\\u00e9"}', "", "no JSON", None, {"a": 1}])
def test_arguments_that_are_not_odd_stay_as_they_are(arguments: Any) -> None:
    assert storable_arguments(arguments) == arguments


@each_case(
    ("odd", "stored"),
    [
        ("NaN", '{"a": null}'),
        ("NaN deep inside", '{"a": {"b": [1, {"c": null}]}}'),
        ("a list of infinities", '{"a": [null, null, null, 1.5]}'),
        ("half a character", '{"a": "\ufffd"}'),
        ("a key twice, inside", '{"a": {"b": "last"}}'),
        ("400 digits", '{"a": null}'),
    ],
)
def test_odd_arguments_are_stored_as_strict_json(odd: str, stored: str) -> None:
    assert storable_arguments(ODD[odd]) == stored
    read = json.loads(ODD[odd])
    if odd != "a key twice, inside":
        assert storable_arguments(read) == json.loads(stored)


def test_a_session_that_was_stuck_is_readable_again() -> None:
    """Older versions logged the arguments as they came."""
    part = {"part_kind": "tool-call", "tool_name": "look", "args": '{"a": NaN}', "tool_call_id": "c1"}
    (read,) = read_messages([{"kind": "response", "parts": [part]}])
    (call,) = read.parts
    assert isinstance(call, ToolCallPart) and call.args_as_dict() == {"a": None}


def is_readable_by_google(arguments: str) -> bool:
    """Its arguments are part of the reply itself: what is no object, broken into lines, or nested so deeply that it
    depends on the stack whether it can be read, is refused with it.

    Its library takes every line separator of Unicode for the end of a line.
    """
    try:
        whole = isinstance(json.loads(arguments), dict) and len(arguments.splitlines()) == 1
        return whole and arguments.count("[") < 500
    except (ValueError, RecursionError):
        return False


def kinds_for(name: str) -> list[str]:
    """Each kind comes on one wire, and what Google's refuses with the whole reply on another one, too; in a long run
    on all four."""
    own = dict(zip(ODD, cycle(WORK), strict=False))
    refused = [kind for kind in ODD if own[kind] == "google" and not is_readable_by_google(ODD[kind])]
    return [kind for kind in ODD if LONG_RUN or own[kind] == name or (name == "chat" and kind in refused)]


def turns(name: str) -> Iterator[tuple[list[str], bool]]:
    """The kinds that come in each turn, and whether it must succeed.

    The longest come last: every request after them carries them, too.
    """
    kinds = sorted(kinds_for(name), key=lambda kind: len(ODD[kind]))
    whole = [kind for kind in kinds if name != "google" or is_readable_by_google(ODD[kind])]
    for start in range(0, len(whole), A_TURN):
        yield whole[start : start + A_TURN], True
    yield from (([kind], False) for kind in kinds if kind not in whole)


@pytest.mark.parametrize("name", WORK)
async def test_a_session_survives_odd_arguments(home: Path, provider: Provider, name: str) -> None:
    """One session meets them all; each must leave it fit for the turns after it, and for another process."""
    calls = 0
    whole: dict[str, Any] = {"compaction": "none", "truncation": "off", "max_retries": 0}
    async with session_with(home, provider, name, tools=[weigh], **whole) as session:
        for kinds, must_succeed in turns(name):
            called = [(tool_for(kind, name), ODD[kind]) for kind in kinds]
            replies = [WORK[name](tool, f"call_{n}", odd) for n, (tool, odd) in enumerate(called, calls)]
            provider.script = [*(Reply(raw=(reply,)) for reply in replies), END[name]]
            outcome = await session.submit(f"Look: {', '.join(kinds)}.")
            assert outcome is Outcome.DONE or not must_succeed, (kinds, session.state.timeline[-1])
            calls += len(called) if outcome is Outcome.DONE else 0
            check_request(provider.requests[-1], name, calls, f"{kinds}")
        for later in ("one turn later", "two turns later"):
            await check_turn(session, provider, name, calls, later)
        environment, stored = session._environment, session.state
        assert await environment.stored_state(session.id) == stored
        await session.close()
        resumed = await Session.resume(environment, session.id)
        await check_turn(resumed, provider, name, calls, "resumed")
        await resumed.close()
    kinds = len(kinds_for(name))
    assert calls == kinds or (name == "google" and calls > kinds / 2)


def tool_for(kind: str, name: str) -> str:
    """Each kind reaches each tool: what a tool makes of it depends on no wire."""
    return ("look", "weigh")[(list(ODD).index(kind) + list(WORK).index(name)) % 2]


async def check_turn(session: Session, provider: Provider, name: str, calls: int, prompt: str) -> None:
    provider.script = [END[name]]
    assert await session.submit(prompt) is Outcome.DONE, prompt
    check_request(provider.requests[-1], name, calls, prompt)


def check_request(sent: dict[str, Any], name: str, calls: int, prompt: str) -> None:
    """It is strict JSON, and every call is answered."""
    json.dumps(sent, allow_nan=False).encode()
    found = list(arguments_sent(name, sent))
    assert all(isinstance(each, dict) for each in found), prompt
    assert len(found) == len(list(PAIRS[name](sent))) == calls, prompt
