"""Importers of further programs, on a small session of each with everything in it."""

import copy
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolReturnPart

from co_tui.events import CompactionComplete, SessionStart, UsageInfo
from co_tui.events.event import event_json
from co_tui.exchange.exporters import exported
from co_tui.exchange.importers import ImportedSession, ImportRefused, builder, load
from co_tui.exchange.importers.default_folders import files_in
from co_tui.session.state.derive import replay
from tests.exchange.test_importers import history_texts, one
from tests.exchange.test_odd_values import ODD, places, put_at
from tests.support.environments import facts
from tests.support.foreign import counts, write_lines
from tests.support.foreign_programs import (
    AIDER,
    CHATGPT,
    CLAUDE_AI,
    CLINE,
    COPILOT,
    KIMI,
    OTHER_FORMS,
    PROGRAMS,
    copilot,
    goose_database,
)
from tests.support.long_run import drawn

EXAMPLES = drawn(8)
PARTS = ("prompts", "replies", "calls", "results", "pairs", "thoughts", "images")
IMPORTED: dict[str, tuple[int, ...]] = {
    "copilot-cli": (4, 2, 1, 1, 1, 1, 2),
    "cline": (1, 2, 1, 1, 1, 1, 1),
    "kimi": (4, 1, 1, 1, 1, 1, 1),
    "goose": (3, 2, 1, 1, 1, 1, 1),
    "chatgpt": (1, 3, 1, 1, 1, 1, 0),
    "claude-ai": (1, 3, 1, 1, 1, 1, 0),
    "qwen-code": (3, 2, 1, 1, 1, 1, 1),
}
"""How many of each of `PARTS`; a summary of earlier messages is a prompt."""
LEFT_OUT: dict[str, dict[str, int]] = {
    "copilot-cli": {
        "system prompts": 1,
        "notices of the program": 1,
        "records of sub-agents": 1,
        "approvals": 1,
        "hook output": 1,
        "other records": 1,
    },
    "cline": {"system prompts": 1, "hidden thinking": 1},
    "kimi": {
        "system prompts": 1,
        "requests to the model": 1,
        "records of usage": 1,
        "approvals": 1,
        "other records": 1,
    },
    "goose": {"hidden thinking": 1, "notices of the program": 1},
    "chatgpt": {
        "empty messages": 1,
        "custom instructions": 1,
        "images": 1,
        "attached files": 1,
        "notices of the program": 1,
    },
    "claude-ai": {"attached files": 1, "notices of the program": 1, "other parts": 1},
    "qwen-code": {"telemetry": 1, "records of sub-agents": 1},
}
GOES_ON_WITH: dict[str, list[str]] = {
    "copilot-cli": ["In short.", "[Note from copilot-cli, not from the user]\nGo on.", "Done."],
    "kimi": ["go", "In short.", "never sent"],
    "goose": ["In short.", "and?", "Done."],
    "qwen-code": ["In short.", "Got it.", "and?", "Done."],
}
"""What the model sees after compactions and going back."""


def tally(messages: Sequence[ModelMessage]) -> tuple[int, ...]:
    found = counts(messages)
    parts = [part for message in messages for part in message.parts]
    contents: list[Any] = [getattr(part, "content", None) for part in parts]
    found["thoughts"] = sum(isinstance(part, ThinkingPart) for part in parts)
    found["images"] = sum(isinstance(each, BinaryContent) for it in contents if isinstance(it, list) for each in it)
    return tuple(found[kind] for kind in PARTS)


def session_of(tmp_path: Path, rows: list[Any]) -> ImportedSession:
    return one(write_lines(tmp_path / "session.jsonl", rows))


# What is kept


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_is_imported_or_said_to_be_left_out(tmp_path: Path, name: str) -> None:
    session = session_of(tmp_path, PROGRAMS[name])
    assert session.source == name and session.skipped == 0
    assert tally(session.messages) == IMPORTED[name]
    assert dict(session.left_out) == LEFT_OUT[name]
    assert session.log[0].timestamp.startswith("2025-03-01T10:00:0")
    assert session.title == ("go" if name in ("cline", "kimi") else "A title")
    again = session_of(tmp_path, PROGRAMS[name])
    assert again.session_id == session.session_id


@pytest.mark.parametrize("name", GOES_ON_WITH)
def test_compactions_and_going_back_leave_what_the_model_would_see(tmp_path: Path, name: str) -> None:
    session = session_of(tmp_path, PROGRAMS[name])
    assert history_texts(replay(session.log)) == GOES_ON_WITH[name]
    (compaction,) = facts(list(session.log), CompactionComplete)
    assert compaction.summarised_by == name
    assert compaction.pre_tokens == 99 or name == "goose"


@pytest.mark.parametrize("name", ["copilot-cli", "kimi", "cline", "goose", "qwen-code"])
def test_models_tokens_and_places_are_kept(tmp_path: Path, name: str) -> None:
    session = session_of(tmp_path, PROGRAMS[name])
    (reply, *_) = [message for message in session.messages if isinstance(message, ModelResponse)]
    assert (reply.model_name, reply.usage.input_tokens, reply.usage.output_tokens) == ("m-1", 50, 5)
    assert [fact.input_tokens for fact in facts(list(session.log), UsageInfo)] == [50]
    (start,) = facts(list(session.log), SessionStart)
    assert start.cwd == ("" if name == "cline" else "/w")


@pytest.mark.parametrize("name", ["copilot-cli", "kimi", "goose"])
def test_a_failed_call_stays_one(tmp_path: Path, name: str) -> None:
    parts = [part for message in session_of(tmp_path, PROGRAMS[name]).messages for part in message.parts]
    assert [part.outcome for part in parts if isinstance(part, ToolReturnPart)] == ["failed"]


def test_older_forms_are_imported_too(tmp_path: Path) -> None:
    found = {name: session_of(tmp_path, rows) for name, rows in OTHER_FORMS.items()}
    assert {name: session.source for name, session in found.items()} == {name: name for name in OTHER_FORMS}
    assert tally(found["cline"].messages) == (2, 2, 1, 1, 1, 0, 0), "a call that was written as XML is one"
    assert found["cline"].title == "go" and dict(found["cline"].left_out) == {"notes on the environment": 2}
    assert tally(found["kimi"].messages) == (1, 2, 1, 1, 1, 1, 0)
    assert dict(found["kimi"].left_out) == {"notices of the program": 2}
    assert tally(found["goose"].messages) == IMPORTED["goose"]
    snapshot = {
        "sessionId": "s",
        "startTime": "2025-03-01T10:00:00Z",
        "chatMessages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "Done."}],
        "timeline": [{"type": "user"}, {"type": "copilot"}],
    }
    old = session_of(tmp_path, [snapshot])
    assert (old.source, len(old.messages), dict(old.left_out)) == ("copilot-cli", 2, {"lines of the screen": 2})


def test_the_database_of_goose_has_its_sessions(tmp_path: Path) -> None:
    session = one(goose_database(tmp_path / "sessions.db"))
    assert tally(session.messages) == IMPORTED["goose"] and session.title == "A title"
    assert dict(session.left_out) == {**LEFT_OUT["goose"], "sessions of sub-agents": 1}
    replies = [message.model_name for message in session.messages if isinstance(message, ModelResponse)]
    assert replies == ["m-1", "m-0"], "its own, else that of the session"


def test_cline_goes_on_with_the_context_that_it_compacted(tmp_path: Path) -> None:
    (tmp_path / "1_a.messages.json").write_text(json.dumps(CLINE[0]))
    about = {"version": 1, "session_id": "1_a", "messages_path": "/etc/passwd", "cwd": "/w"}
    (tmp_path / "1_a.json").write_text(json.dumps({**about, "metadata": {"title": "A title"}}))
    summary = {"kind": "compaction_summary", "summary": "In short.", "tokensBefore": 99}
    kept = [{"role": "user", "content": "Summary", "metadata": summary}, CLINE[0]["messages"][3]]
    compacted = {**CLINE[0], "updated_at": "2025-03-01T10:01:00Z", "messages": kept}
    (tmp_path / "1_a.compaction.json").write_text(json.dumps(compacted))
    session = one(tmp_path / "1_a.messages.json")
    assert session.title == "A title" and facts(list(session.log), SessionStart)[0].cwd == "/w"
    assert history_texts(replay(session.log)) == ["In short.", "Done."]
    for name in ("1_a.json", "1_a.compaction.json"):
        with pytest.raises(ImportRefused, match="only part of a Cline session"):
            load(tmp_path / name)
    (tmp_path / "1_a.messages.json").unlink()
    alone = one(tmp_path / "1_a.compaction.json")
    assert alone.session_id != session.session_id and len(alone.messages) == 2


def parts_of(message: ModelMessage) -> list[tuple[str, str]]:
    return [
        (part.part_kind, str(getattr(part, "content", None) or getattr(part, "args", ""))) for part in message.parts
    ]


@pytest.mark.parametrize("name", ["copilot-cli", "kimi", "goose", "qwen-code"])
def test_a_file_that_grew_is_the_same_session_with_more_at_its_end(tmp_path: Path, name: str) -> None:
    rows = PROGRAMS[name]
    whole = session_of(tmp_path, rows)
    first = next(number for number in range(1, len(rows)) if "go" in json.dumps(rows[number - 1]))
    for number in range(first + 1, len(rows)):
        session = session_of(tmp_path, rows[:number])
        assert session.session_id == whole.session_id
        *before, last = map(parts_of, session.messages)
        assert before == [parts_of(message) for message in whole.messages[: len(before)]]
        assert last == parts_of(whole.messages[len(before)])[: len(last)], "a reply may still be written"


# aider


def test_each_start_of_aider_is_a_session(tmp_path: Path) -> None:
    file = tmp_path / ".aider.chat.history.md"
    file.write_text(AIDER)
    first, second = load(file)
    assert [first.title, second.title, second.source] == ["go", "hi", "aider"]
    assert tally(first.messages) == (2, 2, 0, 0, 0, 1, 0) and tally(second.messages)[:2] == (1, 1)
    assert dict(first.left_out) == {"lines of aider's own output": 4, "commands to aider": 1, "empty sessions": 1}
    prompt, reply = first.messages[:2]
    assert [part.content for part in prompt.parts] == ["go\n\non"]  # type: ignore[union-attr]  # a prompt
    assert isinstance(reply, ModelResponse) and reply.model_name == "m-1"
    assert [part.content for part in reply.parts if isinstance(part, TextPart)] == [
        "On it.\n\n> a quote of the model\n#### a heading of the model"
    ]
    assert facts(list(first.log), SessionStart)[0].cwd == str(tmp_path)
    file.write_text(AIDER.replace("  \n", "\n"))
    assert [session.title for session in load(file)] == ["go", "hi"], "also without the spaces at the ends of lines"
    assert files_in(tmp_path) == [file]


def test_aiders_log_of_requests_is_refused_with_the_file_to_take(tmp_path: Path) -> None:
    file = tmp_path / "llm.history"
    file.write_text("TO LLM 2025-03-01T10:00:00\n-------\nSYSTEM You are.\n")
    with pytest.raises(ImportRefused, match=r"Import \.aider\.chat\.history\.md"):
        load(file)


@given(text=st.text(st.sampled_from("#> /!\n-►*THINKANSWER ab"), max_size=400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=EXAMPLES)
def test_any_text_of_aider_is_imported_or_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "any.md"
    file.write_text(f"# aider chat started at {text[:20]}\n{text}")
    try:
        sessions = load(file)
    except ImportRefused as refused:
        assert str(file) in str(refused)
        return
    assert all(replay(session.log).seq == len(session.log) for session in sessions)


# Branches


def test_other_branches_of_chatgpt_are_gone_back_from(tmp_path: Path) -> None:
    session = session_of(tmp_path, CHATGPT)
    texts = history_texts(replay(session.log))
    assert texts[0].startswith("[image]\ngo") and texts[-1] == "Done." and "Another answer." not in texts
    assert any("Another answer." in event_json(event) for event in session.log)


def test_an_answer_that_was_asked_for_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    session = session_of(tmp_path, CLAUDE_AI)
    texts = history_texts(replay(session.log))
    assert texts[0] == "go\n\n[file: a.txt]\nx = 1\n\n[file: shot.png]" and "Another answer." not in texts


def test_nodes_in_cycles_cost_no_message_and_no_history(tmp_path: Path) -> None:
    nodes = {key: {"message": None, "parent": key, "children": [key]} for key in "ab"}
    nodes |= {
        "c": {"message": None, "parent": "d", "children": []},
        "d": {"message": None, "parent": "c", "children": []},
    }
    conversation = {**CHATGPT[0], "mapping": {**CHATGPT[0]["mapping"], **nodes}, "current_node": "c"}
    session = session_of(tmp_path, [conversation])
    whole = session_of(tmp_path, CHATGPT)
    assert (session.messages, session.left_out) == (whole.messages, whole.left_out)
    assert history_texts(replay(session.log)) == history_texts(replay(whole.log))


def test_a_tree_of_branches_without_end_costs_no_more_than_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "MAX_NAMED_AGAIN", 10)
    first = CLAUDE_AI[0]["chat_messages"][0]
    again = [{**first, "uuid": f"b{number}", "parent_message_uuid": "m1"} for number in range(20)]
    session = session_of(tmp_path, [{**CLAUDE_AI[0], "chat_messages": [first, *again]}])
    assert session.left_out["messages of other branches"] == 8 and len(session.messages) == 21 - 8
    ids = [entry.message["metadata"]["co_tui_foreign_id"] for entry in replay(session.log).history]
    assert ids == ["m1", "b19"]


# Odd values


@pytest.mark.parametrize("rows", [*PROGRAMS.values(), *OTHER_FORMS.values()])
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_file_is_imported_or_refused_whatever_is_in_it(tmp_path: Path, rows: list[Any], data: st.DataObject) -> None:
    odd = copy.deepcopy(rows)
    for _ in range(data.draw(st.integers(1, 4))):
        put_at(odd, data.draw(st.sampled_from(list(places(odd)))), data.draw(st.sampled_from(ODD)))
    file = write_lines(tmp_path / "odd.jsonl", odd)
    try:
        sessions = load(file)
    except ImportRefused as refused:
        assert str(file) in str(refused)
        return
    for session in sessions:
        assert replay(session.log).seq == len(session.log)
        assert all(count > 0 for count in session.left_out.values())
        assert "".join(exported(session.log, "jsonl")).encode()


@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_database_of_goose_is_imported_or_refused_whatever_is_in_it(tmp_path: Path, data: st.DataObject) -> None:
    file = tmp_path / "sessions.db"
    file.unlink(missing_ok=True)
    goose_database(file)
    tables = {
        "sessions": ("name", "working_dir", "session_type", "parent_session_id", "model_config_json"),
        "messages": ("message_id", "role", "content_json", "created_timestamp", "metadata_json"),
    }
    odd = st.sampled_from([b"\xff", 1e308, -1, "", "[", "[[]]", '[{"type": 3}]', '{"a": NaN}', "null", "[" * 3_000])
    with sqlite3.connect(file) as connection:
        table = data.draw(st.sampled_from(list(tables)))
        column = data.draw(st.sampled_from(tables[table]))
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid % 2 = 1", (data.draw(odd),))
    connection.close()
    try:
        sessions = load(file)
    except ImportRefused as refused:
        assert str(file) in str(refused)
        return
    assert all(replay(session.log).seq == len(session.log) for session in sessions)


@pytest.mark.parametrize("name", ["copilot-cli", "kimi", "goose", "qwen-code"])
def test_a_file_whose_first_line_is_damaged_is_still_known(tmp_path: Path, name: str) -> None:
    first, *rest = (json.dumps(row) for row in PROGRAMS[name])
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join([first[: len(first) // 2], *rest]))
    session = one(file)
    assert (session.source, session.skipped) == (name, 1)


def test_a_record_of_copilot_that_the_user_asked_for_is_a_call_of_its_own(tmp_path: Path) -> None:
    rows = [
        copilot("user.message", 1, {"content": "go"}),
        copilot("tool.execution_start", 2, {"toolCallId": "x", "toolName": "bash", "arguments": {"command": "ls"}}),
        copilot("tool.execution_complete", 3, {"toolCallId": "x", "success": True, "result": {"content": "a"}}),
    ]
    assert tally(session_of(tmp_path, [COPILOT[0], *rows]).messages)[:5] == (1, 1, 1, 1, 1)


def test_the_second_file_of_kimi_cli_is_refused_with_the_file_to_take(tmp_path: Path) -> None:
    rows = [KIMI[0], {"timestamp": 1.0, "message": {"type": "TurnBegin", "payload": {"user_input": "go"}}}]
    with pytest.raises(ImportRefused, match=r"Import context\.jsonl"):
        load(write_lines(tmp_path / "wire.jsonl", rows))
