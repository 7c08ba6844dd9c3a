"""What becomes of the things that programs write besides prompts, replies, calls and results."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from co_tui.context.request.repair import repair
from co_tui.events import Rewind, SessionStart, UsageInfo
from co_tui.events.stored_messages import pieces, text_of
from co_tui.exchange.importers import ImportedSession, ImportRefused, load
from co_tui.exchange.importers.builder import PROVIDER
from co_tui.session.state.derive import replay
from tests.support.environments import facts
from tests.support.foreign import claude_call, claude_result, claude_row, codex_row, codex_said, write_lines
from tests.support.foreign_samples import ANTHROPIC, CLAUDE_ROWS, CODEX_FIRST_ROWS, CODEX_ROWS, SAMPLES


def loaded(tmp_path: Path, rows: list[Any], name: str = "session.jsonl") -> ImportedSession:
    (session,) = load(write_lines(tmp_path / name, rows))
    return session


def sample(name: str, tmp_path: Path) -> ImportedSession:
    (session,) = load(SAMPLES[name][1](tmp_path))
    return session


def spoken(session: ImportedSession) -> list[tuple[str, str]]:
    """What is seen of the session: who says it, and the first words."""
    return [
        (role, " ".join(text.split())[:40])
        for entry in replay(session.log).transcript
        for role, text, _ in pieces(entry.message)
    ]


def history(session: ImportedSession) -> list[str]:
    return [text_of(part.get("content")) for entry in replay(session.log).history for part in entry.message["parts"]]


# Claude Code


def test_a_session_of_claude_code_tells_who_said_what(tmp_path: Path) -> None:
    session = loaded(tmp_path, CLAUDE_ROWS)
    assert [said for said in spoken(session) if said[0] not in ("thinking", "tool_call")] == [
        ("command", "[The user ran a command. It ran in claud"),
        ("user", "is it raining? [image: image/png] [image"),
        ("note", "[Note from claude-code, not from the use"),
        ("tool_result", "Weather https://example.invalid/rain"),
        ("assistant", "No rain."),
        ("tool_result", "done"),
        ("user", "and tomorrow?"),
        ("user", "in Rome, too"),
        ("assistant", "Sunny"),
        ("user", "/review"),
        ("attached", "## claude-code Review all changes."),
        ("assistant", "Fine."),
        ("command", "[The user ran a command. It ran in claud"),
    ]
    everything = str(session.messages)
    assert "what the file says" in everything and "$ ls\\n\\na.txt" in everything and "Set model to opus" in everything
    for words in ("<command-name>", "<local-command", "<bash-", "Request interrupted", "API Error"):
        assert words not in everything


def test_what_the_user_stopped_is_an_interrupted_reply(tmp_path: Path) -> None:
    transcript = replay(loaded(tmp_path, CLAUDE_ROWS).log).transcript
    stopped = [entry.message["parts"][0]["content"] for entry in transcript if entry.interrupted]
    assert stopped == ["Sunny"]


def test_a_search_on_the_providers_side_is_a_call_with_its_result(tmp_path: Path) -> None:
    session = loaded(tmp_path, CLAUDE_ROWS)
    sent = repair(session.messages)
    assert "Interrupted by user." not in str(sent)
    calls = [part for message in sent for part in message.parts if isinstance(part, ToolCallPart)]
    results = {p.tool_call_id: p for message in sent for p in message.parts if isinstance(p, ToolReturnPart)}
    assert calls[0].tool_name == "web_search" and "https://example.invalid/rain" in str(results[calls[0].tool_call_id])


def test_a_queued_prompt_is_said_once_wherever_the_program_wrote_it(tmp_path: Path) -> None:
    def queue(operation: str, content: str = "") -> dict[str, Any]:
        row = {"type": "queue-operation", "operation": operation, "timestamp": "2025-03-01T10:00:05Z"}
        return row | ({"content": content} if content else {})

    rows = [
        claude_row("user", "go on", 1),
        claude_row("assistant", [claude_call("a")], 2),
        queue("enqueue", "go on"),
        queue("enqueue", "no row has this"),
        queue("enqueue", "taken back"),
        queue("dequeue"),
        claude_row("user", [claude_result("a")], 3),
        queue("remove", "no row has this"),
        claude_row("user", "go on", 6),
        queue("popAll"),
        queue("enqueue", "still waiting"),
        claude_row("assistant", "Fine.", 7),
    ]
    session = loaded(tmp_path, rows)
    said = [text for role, text in spoken(session) if role == "user"]
    assert said == ["go on", "no row has this", "go on", "still waiting"]
    assert session.left_out == {"queued prompts that were taken back": 1}


def test_a_last_command_waits_for_what_comes_of_it(tmp_path: Path) -> None:
    rows = [claude_row("user", "hi", 1), claude_row("user", "<command-name>/cost</command-name>", 2)]
    assert loaded(tmp_path, rows).left_out == {"unfinished commands": 1}
    rows.append(claude_row("user", "<local-command-stdout>$1</local-command-stdout>", 2))
    assert spoken(loaded(tmp_path, rows))[1:] == [("command", "[The user ran a command. It ran in claud")]


def test_a_resumed_session_that_begins_with_the_rows_of_another_is_its_own(tmp_path: Path) -> None:
    first = [claude_row("user", "hi", 1, uuid="1"), claude_row("assistant", "hello", 2, uuid="2")]
    resumed = [*first, claude_row("user", "again", 3, uuid="3", sessionId="s-2")]
    grown = [*resumed, claude_row("assistant", "yes", 4, uuid="4", sessionId="s-2")]
    ids = [loaded(tmp_path, rows, f"{n}.jsonl").session_id for n, rows in enumerate((first, resumed, grown, first))]
    assert ids[0] == ids[3] != ids[1] == ids[2]


# Codex CLI


def test_turns_that_codex_rolled_back_no_longer_count(tmp_path: Path) -> None:
    session = loaded(tmp_path, CODEX_ROWS)
    assert [text for text in history(session) if text in ("one", "first", "two", "second", "three", "third")] == [
        "one",
        "first",
        "three",
        "third",
    ]
    assert "second" in str(session.messages) and len(facts(list(session.log), Rewind)) == 1
    all_back = [
        *CODEX_ROWS,
        codex_row("event_msg", 12, type="thread_rolled_back", num_turns=9),
        codex_said("user", "x"),
    ]
    assert history(loaded(tmp_path, all_back))[1:] == ["x"], "what the program told the model before stays"


def test_codex_replies_keep_their_provider_and_what_was_cached(tmp_path: Path) -> None:
    usage = {"input_tokens": 90, "cached_input_tokens": 64, "output_tokens": 10}
    session = loaded(tmp_path, [*CODEX_ROWS, codex_row("event_msg", 12, type="turn.completed", usage=usage)])
    (measured,) = facts(list(session.log), UsageInfo)
    assert (measured.input_tokens, measured.cached_tokens) == (90, 64)
    reply = session.messages[-1]
    assert isinstance(reply, ModelResponse) and reply.metadata is not None and reply.metadata[PROVIDER] == "openai"


@pytest.mark.parametrize("form", ["rows", "one object"])
def test_the_first_formats_of_codex(tmp_path: Path, form: str) -> None:
    file = write_lines(tmp_path / "rollout.jsonl", CODEX_FIRST_ROWS)
    if form == "one object":
        head, _, *items = CODEX_FIRST_ROWS
        file.write_text(json.dumps({"session": head, "items": items}, indent=1))
    (session,) = load(file)
    assert session.source == "codex" and history(session) == ["hello", "greet", "Hi."]
    (start,) = facts(list(session.log), SessionStart)
    assert start.branch == "main" and session.log[0].timestamp.startswith("2025-06-10T10:00:00")


# Gemini CLI and llm


@pytest.mark.parametrize("name", ["Gemini CLI, saved chat", "Gemini CLI, list", "llm, threads"])
def test_calls_of_saved_chats_and_threads_have_their_results(tmp_path: Path, name: str) -> None:
    session = sample(name, tmp_path)
    calls = [part for message in session.messages for part in message.parts if isinstance(part, ToolCallPart)]
    results = [part for message in session.messages for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [call.tool_call_id for call in calls] == [result.tool_call_id for result in results] and len(calls) == 1
    assert results[0].content in ("words", "clear")


def test_a_checkpoint_of_gemini_is_what_the_model_saw(tmp_path: Path) -> None:
    seen = [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "hello"}]}]
    checkpoint = {"history": [{"type": "user", "text": "hi"}], "clientHistory": seen, "toolCall": {"name": "write"}}
    session = loaded(tmp_path, [checkpoint])
    assert session.source == "gemini-cli" and history(session) == ["hi", "hello"]


def test_a_thread_of_llm_keeps_its_fragments_model_and_tokens(tmp_path: Path) -> None:
    session = sample("llm, threads", tmp_path)
    assert session.title == "Weather" and "the manual: rain?" in history(session)
    last = session.messages[-1]
    assert isinstance(last, ModelResponse) and (last.model_name, last.usage.input_tokens) == ("m", 20)


# Chat formats


@pytest.mark.parametrize("form", ["object", "list", "lines", "conversations"])
def test_anthropic_style_in_each_of_its_forms(tmp_path: Path, form: str) -> None:
    file = tmp_path / "chat.json"
    messages = ANTHROPIC["messages"]
    if form in ("object", "list"):
        file.write_text(json.dumps(ANTHROPIC if form == "object" else messages, indent=1))
    else:
        write_lines(file, messages if form == "lines" else [ANTHROPIC])
    (session,) = load(file)
    assert session.source == "anthropic" and session.title == "rain?"
    assert "[attachment]" not in str(session.messages) and "Interrupted by user." not in str(repair(session.messages))
    order = [role for role, _ in spoken(session)]
    said = ["user", "thinking", "tool_call", "tool_result", "tool_call", "tool_result", "assistant", "user"]
    assert order == [*(["system"] if form in ("object", "conversations") else []), *said]


@pytest.mark.parametrize(
    "name", ["OpenAI's chat format", "Anthropic's chat format", "Gemini CLI, saved chat", "Gemini CLI, list"]
)
def test_a_conversation_without_an_id_is_the_same_when_it_has_grown(tmp_path: Path, name: str) -> None:
    file = SAMPLES[name][1](tmp_path)
    before = load(file)[0]
    if file.suffix == ".jsonl":
        file.write_text(file.read_text() + json.dumps({"role": "user", "content": "more"}) + "\n")
    else:
        whole = json.loads(file.read_text())
        messages = whole if isinstance(whole, list) else whole.get("messages") or whole["history"]
        messages.append({"role": "user", "content": "more", "parts": [{"text": "more"}]})
        file.write_text(json.dumps(whole))
    after = load(file)[0]
    assert (after.session_id, len(after.messages)) == (before.session_id, len(before.messages) + 1)


def test_several_conversations_of_a_file_that_begin_alike_are_several(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "hi"}
    replies = [{"role": "assistant", "content": words} for words in ("hello", "good day")]
    sessions = load(write_lines(tmp_path / "chats.jsonl", [{"messages": [asked, reply]} for reply in replies]))
    assert len({session.session_id for session in sessions}) == 2


def test_calls_in_blocks_of_no_known_program_are_refused_and_not_taken_for_text(tmp_path: Path) -> None:
    request = {"type": "toolRequest", "id": "1", "toolCall": {"status": "success", "value": {"name": "x"}}}
    rows = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, {"role": "assistant", "content": [request]}]
    with pytest.raises(ImportRefused, match="JSON in an unknown format"):
        load(write_lines(tmp_path / "chat.jsonl", rows))


def test_openai_style_calls_of_the_older_and_the_custom_kind(tmp_path: Path) -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    session = loaded(
        tmp_path,
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
            {"role": "function", "name": "f", "content": "one"},
            {"role": "assistant", "content": None, "tool_calls": [custom]},
            {"role": "tool", "tool_call_id": "c", "content": "two"},
        ],
    )
    calls = [part for message in session.messages for part in message.parts if isinstance(part, ToolCallPart)]
    assert [(call.tool_name, call.args) for call in calls] == [("f", '{"a": 1}'), ("patch", {"input": "*** Begin"})]
    assert "Interrupted by user." not in str(repair(session.messages))
