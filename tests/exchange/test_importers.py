"""Importers, on files that a test writes: what is kept, what is paired, and what damage does."""

import json
import pkgutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ThinkingPart, ToolCallPart, ToolReturnPart

from co_tui.events import CompactionComplete, SessionStart, UsageInfo
from co_tui.events.stored_messages import text_of
from co_tui.exchange.importers import ImportedSession, ImportRefused, importers, load, programs
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import SessionState
from tests.support.environments import facts
from tests.support.foreign import (
    claude_call,
    claude_result,
    claude_row,
    codex_row,
    codex_said,
    counts,
    write_lines,
)


def one(file: Path) -> ImportedSession:
    (session,) = load(file)
    return session


def loaded(tmp_path: Path, rows: list[Any]) -> ImportedSession:
    return one(write_lines(tmp_path / "session.jsonl", rows))


def history_texts(state: SessionState) -> list[str]:
    return [text_of(part.get("content")) for entry in state.history for part in entry.message["parts"]]


def pairs_of(session: ImportedSession) -> list[tuple[Any, str]]:
    """The arguments of each call with the result right behind it."""
    found, calls = [], {}
    for message in session.messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part.args
            elif isinstance(part, ToolReturnPart):
                found.append((calls.get(part.tool_call_id), str(part.content)))
    return found


# What is kept


def test_times_models_thoughts_titles_and_figures_are_kept(tmp_path: Path) -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 7}
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}]
    session = loaded(
        tmp_path,
        [
            claude_row("user", "hi", 1, gitBranch="main"),
            claude_row("assistant", blocks, 62, message={"model": "claude-x", "usage": usage}),
            {"type": "custom-title", "customTitle": "Greetings"},
            {"type": "ai-title", "aiTitle": "Another"},
        ],
    )
    assert session.title == "Greetings" and session.source == "claude-code"
    assert session.log[0].timestamp == "2025-03-01T10:00:01.000000Z"
    assert session.log[-1].timestamp == "2025-03-01T10:01:02.000000Z"
    (start,) = facts(list(session.log), SessionStart)
    assert (start.cwd, start.branch, start.model) == ("/work", "main", "")
    reply = session.messages[1]
    assert isinstance(reply, ModelResponse) and isinstance(reply.parts[0], ThinkingPart)
    assert (reply.model_name, reply.usage.input_tokens, reply.usage.cache_read_tokens) == ("claude-x", 125, 100)
    (measured,) = facts(list(session.log), UsageInfo)
    assert (measured.current_tokens, measured.measured, measured.limit_known) == (132, "provider", False)


def test_pieces_of_one_reply_are_one_reply(tmp_path: Path) -> None:
    """Claude Code writes a row for each block of a reply."""
    m1 = {"message": {"id": "m1"}}
    session = loaded(
        tmp_path,
        [
            claude_row("user", "go"),
            claude_row("assistant", [claude_call("a", path="1")], **m1),
            claude_row("assistant", [claude_call("b", path="2")], **m1),
            claude_row("user", [claude_result("b", "two")]),
            claude_row("user", [claude_result("a", "one")]),
        ],
    )
    assert [len(message.parts) for message in session.messages] == [1, 2, 1, 1]
    assert pairs_of(session) == [({"path": "2"}, "two"), ({"path": "1"}, "one")]
    assert counts(session.messages)["pairs"] == 2


@pytest.mark.parametrize("metadata", [{"trigger": "manual", "preTokens": 9_000}, {}])
def test_a_compaction_is_between_what_went_and_what_came(tmp_path: Path, metadata: dict[str, Any]) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "timestamp": "2025-03-01T10:00:30Z"}
    session = loaded(
        tmp_path,
        [
            claude_row("user", "the old prompt"),
            claude_row("assistant", "an old answer"),
            {**boundary, "compactMetadata": metadata},
            claude_row("user", "All that was said, in short.", 31, isCompactSummary=True),
            claude_row("user", "the new prompt", 40),
        ],
    )
    (done,) = facts(list(session.log), CompactionComplete)
    assert done.success and len(done.replaced) == 2 and done.summary == "All that was said, in short."
    assert done.trigger == ("manual" if metadata else "background")
    assert done.pre_tokens == metadata.get("preTokens", done.pre_tokens) > done.post_tokens > 0
    state = replay(session.log)
    assert history_texts(state) == ["All that was said, in short.", "the new prompt"]
    assert len(state.transcript) == 3 and state.turn == 2


RAN_LS = "[The user ran a command. It ran in pi.]\n$ ls\n\na.txt"


def test_what_a_compaction_kept_stays_with_the_results_of_its_calls(tmp_path: Path) -> None:
    def entry(id: str, message: dict[str, Any]) -> dict[str, Any]:
        return {"type": "message", "id": id, "timestamp": "2025-03-01T10:00:00Z", "message": message}

    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "x"}}
    session = loaded(
        tmp_path,
        [
            {"type": "session", "id": "p", "cwd": "/w", "timestamp": "2025-03-01T10:00:00Z"},
            entry("1", {"role": "user", "content": "old"}),
            entry("2", {"role": "assistant", "content": [call], "model": "m"}),
            entry("3", {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "x is 1"}),
            entry("4", {"role": "user", "content": "kept"}),
            {"type": "compaction", "id": "5", "summary": "In short.", "firstKeptEntryId": "4", "tokensBefore": 50_000},
            entry("6", {"role": "assistant", "content": [{"type": "text", "text": "Right."}], "model": "m"}),
            entry("7", {"role": "bashExecution", "command": "ls", "output": "a.txt"}),
        ],
    )
    assert history_texts(replay(session.log)) == ["In short.", "kept", "Right.", RAN_LS]
    assert [row.turn for row in replay(session.log).transcript] == [1, 1, 1, 2, 2, 2], "a command is no prompt"


def test_codex_items_become_replies_and_its_compaction_what_is_left(tmp_path: Path) -> None:
    def call(id: str, number: int) -> dict[str, Any]:
        return codex_row("response_item", number, type="function_call", name="shell", arguments="{}", call_id=id)

    def output(id: str, number: int) -> dict[str, Any]:
        return codex_row("response_item", number, type="function_call_output", call_id=id, output=f"of {id}")

    tokens = {"input_tokens": 90, "cached_input_tokens": 64, "output_tokens": 10}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix it"}]}
    session = loaded(
        tmp_path,
        [
            codex_row("session_meta", id="t1", cwd="/w", git={"branch": "dev"}),
            codex_row("turn_context", model="gpt-x"),
            codex_said("user", "<environment_context>here</environment_context>", 1),
            codex_said("user", "fix it", 1),
            codex_row("response_item", 2, type="reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
            call("a", 3),
            call("b", 4),
            output("b", 5),
            output("a", 6),
            codex_row(
                "event_msg", 6, type="token_count", info={"last_token_usage": tokens, "model_context_window": 500}
            ),
            codex_said("assistant", "Done.", 7),
            codex_row("compacted", 8, message="In short.", replacement_history=[said]),
            codex_said("user", "next", 9),
        ],
    )
    assert session.title == "fix it"
    kinds = [[part.part_kind for part in message.parts] for message in session.messages]
    assert kinds[2] == ["thinking", "tool-call", "tool-call"]
    assert counts(session.messages)["pairs"] == 2
    (measured,) = facts(list(session.log), UsageInfo)
    assert (measured.current_tokens, measured.token_limit, measured.model) == (100, 500, "gpt-x")
    assert (measured.input_tokens, measured.cached_tokens) == (90, 64), "what was cached is part of the input"
    assert history_texts(replay(session.log)) == ["fix it", "next"]


def test_gemini_records_change_what_was_written_before(tmp_path: Path) -> None:
    def said(id: str, content: str, kind: str = "user") -> dict[str, Any]:
        return {"id": id, "timestamp": "2025-03-01T10:00:00Z", "type": kind, "content": content}

    session = loaded(
        tmp_path,
        [
            {"sessionId": "g", "projectHash": "x", "startTime": "2025-03-01T10:00:00Z"},
            said("1", "draft"),
            said("1", "final"),
            said("2", "wrong", "gemini"),
            {"$rewindTo": "2"},
            said("3", "right", "gemini"),
            {"$set": {"summary": "Named"}},
        ],
    )
    assert session.title == "Named" and history_texts(replay(session.log)) == ["final", "right"]


def test_llm_tools_and_fragments(tmp_path: Path) -> None:
    file = tmp_path / "logs.db"
    with sqlite3.connect(file) as database:
        database.executescript(
            """
            CREATE TABLE conversations(id TEXT, name TEXT, model TEXT);
            CREATE TABLE responses(id TEXT, model TEXT, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT,
                datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, reasoning TEXT);
            CREATE TABLE tool_calls(id INTEGER, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
            CREATE TABLE tool_results(id INTEGER, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT,
                exception TEXT);
            CREATE TABLE fragments(id INTEGER, content TEXT);
            CREATE TABLE prompt_fragments(response_id TEXT, fragment_id INTEGER, "order" INTEGER);
            INSERT INTO conversations VALUES('c', 'Weather', 'm');
            INSERT INTO responses VALUES('r1', 'm', 'rain?', 'Be brief.', '', 'c', '2025-03-01T10:00:00', 10, 5, 'hm');
            INSERT INTO responses VALUES('r2', 'm', '', 'Be brief.', 'No.', 'c', '2025-03-01T10:00:05', 20, 5, NULL);
            INSERT INTO responses VALUES('r3', 'm', 'alone', NULL, 'Yes.', NULL, '2025-03-02T10:00:05', 0, 0, NULL);
            INSERT INTO tool_calls VALUES(1, 'r1', 'sky', '{"at": "home"}', 't1');
            INSERT INTO tool_results VALUES(1, 'r2', 'sky', 'clear', 't1', NULL);
            INSERT INTO fragments VALUES(1, 'the manual');
            INSERT INTO prompt_fragments VALUES('r1', 1, 0);
            """
        )
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(file.read_bytes().replace(b"prompt_fragments", b"prompt\xff\xfeagments"))
    with pytest.raises(ImportRefused, match=r"Cannot read database .*damaged.db"):
        load(damaged)
    alone, weather = load(file)
    assert (alone.title, weather.title) == ("alone", "Weather")
    assert pairs_of(weather) == [({"at": "home"}, "clear")]
    assert history_texts(replay(weather.log))[:2] == ["Be brief.", "the manual\n\nrain?"]


def test_opencode_database_and_its_compaction(tmp_path: Path) -> None:
    file = tmp_path / "opencode.db"
    tool = {
        "type": "tool",
        "callID": "c",
        "tool": "bash",
        "state": {"status": "completed", "input": {}, "output": "ok"},
    }
    messages = [
        ("m1", {"role": "user"}, [{"type": "text", "text": "old"}]),
        ("m2", {"role": "assistant", "modelID": "x"}, [tool, {"type": "text", "text": "done"}]),
        ("m3", {"role": "user"}, [{"type": "text", "text": "kept"}]),
        ("m4", {"role": "user"}, [{"type": "compaction", "auto": True, "tail_start_id": "m3"}]),
        ("m5", {"role": "assistant", "summary": True}, [{"type": "text", "text": "In short."}]),
        ("m6", {"role": "assistant", "error": {"name": "MessageAbortedError"}}, [{"type": "text", "text": "half"}]),
    ]
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE session(id TEXT, title TEXT, directory TEXT, time_created INTEGER)")
        database.execute("CREATE TABLE message(id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute("CREATE TABLE part(id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        database.execute("INSERT INTO session VALUES('s', 'Titled', '/w', 1740823200000)")
        for number, (id, data, parts) in enumerate(messages):
            row = (id, "s", 1740823200000 + number, json.dumps(data))
            database.execute("INSERT INTO message VALUES(?, ?, ?, ?)", row)
            for place, part in enumerate(parts):
                database.execute("INSERT INTO part VALUES(?, ?, 's', ?)", (f"{id}-{place}", id, json.dumps(part)))
    session = one(file)
    assert history_texts(replay(session.log)) == ["In short.", "kept", "half"]
    kinds = [[part.part_kind for part in message.parts] for message in session.messages]
    assert kinds[1:4] == [["tool-call"], ["tool-return"], ["text"]], "words after a call came after its result"
    assert replay(session.log).history[-1].interrupted


@pytest.mark.parametrize("form", ["conversations", "messages", "one object"])
def test_openai_style_in_each_of_its_forms(tmp_path: Path, form: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    chat = [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "assistant", "content": "It is one."},
    ]
    file = tmp_path / "chat.json"
    if form == "conversations":
        write_lines(file, [{"id": 1, "messages": chat}])
    elif form == "messages":
        write_lines(file, chat)
    else:
        file.write_text(json.dumps({"messages": chat}, indent=1))
    session = one(file)
    assert session.source == "openai" and session.title == "look" and pairs_of(session) == [('{"a": 1}', "1")]
    assert isinstance(session.messages[2].parts[0], ThinkingPart)


def test_what_the_user_went_back_from_was_said_but_no_longer_counts(tmp_path: Path) -> None:
    def row(kind: str, text: str, id: str, parent: str | None, number: int) -> dict[str, Any]:
        return claude_row(kind, text, number, uuid=id, parentUuid=parent)

    session = loaded(
        tmp_path,
        [
            row("user", "one", "1", None, 1),
            row("assistant", "first", "2", "1", 2),
            row("user", "wrong", "3", "2", 3),
            row("assistant", "second", "4", "3", 4),
            row("user", "right", "5", "2", 5),
            row("assistant", "third", "6", "5", 6),
            {"type": "system", "subtype": "turn_duration", "uuid": "7", "parentUuid": "6"},
            row("user", "two", "8", "7", 7),
        ],
    )
    state = replay(session.log)
    assert history_texts(state) == ["one", "first", "right", "third", "two"]
    assert len(session.messages) == len(state.transcript) == 7


# Pairing


def test_reused_ids_are_paired_by_their_place(tmp_path: Path) -> None:
    session = loaded(
        tmp_path,
        [
            claude_row("user", "go"),
            claude_row("assistant", [claude_call("x", path="never answered")]),
            claude_row("assistant", [claude_call("x", path="1"), claude_call("x", path="2")]),
            claude_row("user", [claude_result("x", "one"), claude_result("x", "two")]),
            claude_row("assistant", [claude_call("x", path="3")]),
            claude_row("user", [claude_result("x", "three")]),
        ],
    )
    assert pairs_of(session) == [({"path": "1"}, "one"), ({"path": "2"}, "two"), ({"path": "3"}, "three")]
    ids = [
        part.tool_call_id for message in session.messages for part in message.parts if isinstance(part, ToolCallPart)
    ]
    assert len(set(ids)) == len(ids) == 4


def test_a_late_result_goes_back_to_its_call_and_one_without_a_call_stays_where_it_was(tmp_path: Path) -> None:
    session = loaded(
        tmp_path,
        [
            claude_row("assistant", [claude_call("a")]),
            claude_row("user", "meanwhile"),
            claude_row("user", [claude_result("nobody", "?")]),
            claude_row("user", [claude_result("a", "late")]),
            claude_row("user", [claude_result("a", "again")]),
        ],
    )
    contents = [part.content for message in session.messages[1:] for part in message.parts]  # type: ignore[union-attr]
    assert contents == ["late", "meanwhile", "?", "again"]


def test_calls_and_results_without_ids_go_by_their_order(tmp_path: Path) -> None:
    rows = [
        {"timestamp": "2025-03-01T10:00:00Z", "role": "user", "content": "go"},
        {"timestamp": "2025-03-01T10:00:01Z", "type": "tool_call", "function": {"name": "a"}, "arguments": "one"},
        {"timestamp": "2025-03-01T10:00:01Z", "type": "tool_call", "function": {"name": "b"}, "arguments": "two"},
        {"timestamp": "2025-03-01T10:00:02Z", "type": "tool_result", "name": "b", "result": "of b"},
        {"timestamp": "2025-03-01T10:00:02Z", "type": "tool_result", "name": "a", "result": "of a"},
    ]
    assert pairs_of(loaded(tmp_path, rows)) == [({"input": "two"}, "of b"), ({"input": "one"}, "of a")]


# Identity


def test_the_same_session_has_the_same_id_wherever_its_file_is(tmp_path: Path) -> None:
    rows = [claude_row("user", "hi")]
    here, there = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    longer = [*rows, claude_row("assistant", "hello")]
    assert one(write_lines(here, rows)).session_id == one(write_lines(there, longer)).session_id
    chat = [{"role": "user", "content": "hi"}]
    other = [{"role": "user", "content": "ho"}]
    ids = [one(write_lines(tmp_path / f"{n}.jsonl", each)).session_id for n, each in enumerate((chat, chat, other))]
    assert ids[0] == ids[1] != ids[2], "without an id, what was said tells them apart"


def test_loading_twice_gives_the_same(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "s.jsonl", [claude_row("user", "hi"), claude_row("assistant", [claude_call("")])])
    first, second = one(file), one(file)
    assert first.log == second.log and first.messages == second.messages
    assert all(isinstance(message, ModelRequest | ModelResponse) for message in first.messages)


# A new importer

DIARY = """
from co_tui.exchange.importers.importer import DocumentImporter
from co_tui.exchange.importers.programs import openai_chat


def recognises(document):
    return any("diary" in record for record in document.records)


def load(document):
    said = [{"role": "user", "content": record["diary"]} for record in document.records]
    return openai_chat.load(document._replace(records=[{"messages": said}]))


IMPORTERS = (DocumentImporter("Diary", recognises, load),)
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file in the folder of importers."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "diary.py").write_text(DIARY)
    monkeypatch.setattr(programs, "__path__", [*programs.__path__, str(tmp_path / "more")])
    importers.cache_clear()
    yield
    importers.cache_clear()
    sys.modules.pop(f"{programs.__name__}.diary", None)


@pytest.mark.usefixtures("added")
def test_an_importer_is_one_file(tmp_path: Path) -> None:
    assert loaded(tmp_path, [{"diary": "Dear diary"}]).title == "Dear diary"
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ImportRefused, match=r"Supported: .*, Copilot CLI, Diary, Gemini CLI"):
        load(tmp_path / "other.jsonl")


def test_every_module_of_a_program_declares_its_importer() -> None:
    names = {module.name for module in pkgutil.iter_modules(programs.__path__)}
    modules = {name: __import__(f"{programs.__name__}.{name}", fromlist=["IMPORTERS"]) for name in names}
    assert {name for name, module in modules.items() if not hasattr(module, "IMPORTERS")} == set()
    assert {id(each) for module in modules.values() for each in module.IMPORTERS} == {id(each) for each in importers()}
