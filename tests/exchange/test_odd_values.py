"""Whatever value is in the place of another: a file is imported or refused, and nothing else happens."""

import copy
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_tui.events.event import event_json
from co_tui.exchange.exporters import EXPORTERS, exported
from co_tui.exchange.importers import ImportRefused, load
from co_tui.session.state.derive import replay
from tests.support.foreign import claude_call, claude_result, claude_row, codex_row, codex_said, write_lines
from tests.support.foreign_samples import ANTHROPIC, CLAUDE_ROWS, GEMINI_CHAT
from tests.support.long_run import drawn

ODD: list[Any] = [
    *(None, True, 3, -1.5, 1e308, 10**30, "", "x", "\ud800", [], {}, [[]], [{}], {"a": {}}, [None, "s", 4]),
    *({"type": "text"}, {"type": ["x"]}, [{"type": "tool_result"}]),
]
TIME = "2025-03-01T10:00:00Z"
CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
OPENCODE_INFO = {"id": "s", "projectID": "p", "directory": "/w", "title": "t", "time": {"created": 1740823200000}}
OPENCODE_TOOL = {"status": "completed", "input": {"a": 1}, "output": "ok", "time": {"end": 1740823200000}}
FILES: dict[str, list[Any]] = {
    "claude code": [
        claude_row("user", [{"type": "text", "text": "go"}], uuid="1"),
        claude_row(
            "assistant", [claude_call("c", path="x")], message={"id": "m", "model": "x", "usage": {"input_tokens": 1}}
        ),
        claude_row("user", [claude_result("c", [{"type": "text", "text": "ok"}])], parentUuid="1"),
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 5}},
        claude_row("user", "in short", isCompactSummary=True),
        {"type": "custom-title", "customTitle": "t"},
    ],
    "codex": [
        codex_row("session_meta", id="t", cwd="/w", git={"branch": "b"}),
        codex_said("user", "go"),
        codex_row("response_item", type="function_call", name="f", arguments="{}", call_id="c"),
        codex_row("response_item", type="function_call_output", call_id="c", output={"content": "ok", "success": True}),
        codex_row("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 1}}),
        codex_row("compacted", message="m", replacement_history=[{"type": "message", "role": "user", "content": "x"}]),
    ],
    "gemini cli": [
        {"sessionId": "g", "projectHash": "h", "startTime": TIME, "directories": ["/w"]},
        {"id": "1", "type": "user", "timestamp": TIME, "content": [{"text": "go"}]},
        {
            "id": "2",
            "type": "gemini",
            "timestamp": TIME,
            "content": "x",
            "thoughts": [{"subject": "s"}],
            "toolCalls": [
                {"id": "c", "name": "f", "args": {}, "result": [{"functionResponse": {"response": {"output": "o"}}}]}
            ],
            "tokens": {"input": 1},
        },
        {"$set": {"summary": "t", "messages": [{"id": "1", "type": "user", "content": "go"}]}},
        {"$rewindTo": "9"},
    ],
    "pi": [
        {"type": "session", "id": "p", "cwd": "/w", "timestamp": TIME},
        {"type": "message", "id": "1", "timestamp": TIME, "message": {"role": "user", "content": "go"}},
        {
            "type": "message",
            "id": "2",
            "parentId": "1",
            "timestamp": TIME,
            "message": {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "c", "name": "f", "arguments": {}}],
            },
        },
        {"type": "message", "id": "3", "message": {"role": "toolResult", "toolCallId": "c", "content": "ok"}},
        {"type": "compaction", "summary": "s", "firstKeptEntryId": "3", "tokensBefore": 9},
    ],
    "opencode": [
        {
            "info": OPENCODE_INFO,
            "messages": [
                {
                    "info": {"id": "1", "role": "user", "time": {"created": 1}},
                    "parts": [{"type": "text", "text": "go"}],
                },
                {
                    "info": {"id": "2", "role": "assistant", "tokens": {"input": 1, "cache": {"read": 1}}},
                    "parts": [{"type": "tool", "callID": "c", "tool": "f", "state": OPENCODE_TOOL}],
                },
                {"info": {"id": "3", "role": "assistant", "summary": True}, "parts": [{"type": "text", "text": "s"}]},
            ],
        }
    ],
    "openai": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL], "usage": {"prompt_tokens": 1}},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ],
    "co-tui": [
        {
            "session_id": "s",
            "seq": seq,
            "type": kind,
            "timestamp": TIME,
            "version": 1,
            "payload": payload,
        }
        for seq, (kind, payload) in enumerate(
            [
                ("session.start", {"model": "m"}),
                (
                    "message",
                    {
                        "turn": 1,
                        "message": {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "go"}]},
                    },
                ),
                ("session.compaction_complete", {"success": True, "replaced": [[2, 0]], "replacement": []}),
            ],
            1,
        )
    ],
}


MORE: dict[str, list[Any]] = {
    "claude code, all kinds": CLAUDE_ROWS,
    "gemini cli, saved chat": GEMINI_CHAT,
    "anthropic": ANTHROPIC["messages"],
}


def places(value: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def put_at(value: Any, path: tuple[int | str, ...], odd: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = copy.deepcopy(odd)


@pytest.mark.parametrize("name", [*FILES, *MORE])
@given(data=st.data())
@settings(
    max_examples=drawn(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_file_is_imported_or_refused_whatever_is_in_it(tmp_path: Path, name: str, data: st.DataObject) -> None:
    rows = copy.deepcopy((FILES | MORE)[name])
    for _ in range(data.draw(st.integers(0, 4))):
        put_at(rows, data.draw(st.sampled_from(list(places(rows)))), data.draw(st.sampled_from(ODD)))
    file = tmp_path / "odd.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    try:
        sessions = load(file)
    except ImportRefused as refused:
        assert str(file) in str(refused)
        return
    for session in sessions:
        assert replay(session.log).seq == len(session.log)
        for event in session.log:
            event_json(event).encode()
        for form in EXPORTERS:
            assert "".join(exported(session.log, form))


@pytest.mark.parametrize("name", FILES)
def test_each_of_them_is_imported_as_it_is(tmp_path: Path, name: str) -> None:
    file = tmp_path / "good.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in FILES[name]))
    (session,) = load(file)
    assert session.source.replace("-", "") == name.replace(" ", "").replace("-", "") and session.skipped == 0


@pytest.mark.parametrize("name", [name for name in FILES if name != "opencode"])
def test_a_file_whose_first_line_is_damaged_is_still_known(tmp_path: Path, name: str) -> None:
    first, *rest = (json.dumps(row) for row in FILES[name])
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join([first[: len(first) // 2], *rest]))
    (session,) = load(file)
    assert session.source.replace("-", "") == name.replace(" ", "").replace("-", "") and session.skipped == 1


def test_what_has_no_time_is_not_of_the_future_because_its_file_is(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "talk.jsonl", [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    )
    os.utime(file, (253_402_300_799, 253_402_300_799))
    (session,) = load(file)
    assert {event.timestamp[:4] for event in session.log} == {str(datetime.now(UTC).year)}
