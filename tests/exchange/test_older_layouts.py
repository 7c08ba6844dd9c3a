"""Layouts and forms of older versions: opencode by project, Cline and Roo Code with XML in their texts."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.events import SessionStart
from co_tui.exchange.importers import ImportedSession, load
from co_tui.exchange.importers.default_folders import files_in, files_of
from co_tui.exchange.importers.xml_calls import blocks_of_text, results_in
from tests.support.foreign import counts

MS = 1_740_823_200_000


def write(file: Path, value: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value))
    return file


def opencode_by_project(home: Path, *, inside: bool) -> Path:
    """A session of a version that kept one storage a project; `inside`: with the parts in its messages."""
    session = home / ".local/share/opencode/project/home-me-work/storage/session"
    times = {"created": MS, "updated": MS + 9_000}
    write(session / "info/ses_1.json", {"id": "ses_1", "version": "0.3.0", "title": "The note", "time": times})
    asked: dict[str, Any] = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": MS}}
    said: dict[str, Any] = {"id": "msg_2", "sessionID": "ses_1", "role": "assistant"}
    about = {"modelID": "m", "providerID": "p", "tokens": {"input": 9, "output": 2}, "path": {"cwd": "/work"}}
    prompt, call = {"type": "text", "text": "read it"}, {"type": "tool", "callID": "c1", "tool": "read"}
    if inside:
        invoked = {"state": "result", "toolCallId": "c1", "toolName": "read", "args": {"f": "a"}, "result": "hello"}
        asked |= {"parts": [prompt], "metadata": {"time": {"created": MS}}}
        said |= {"parts": [{"type": "tool-invocation", "toolInvocation": invoked}, {"type": "text", "text": "Done."}]}
        said["metadata"] = {"time": {"created": MS + 1_000}, "assistant": about}
    else:
        said |= {"time": {"created": MS + 1_000}, **about}
        state = {"status": "completed", "input": {"f": "a"}, "output": "hello"}
        write(session / "part/ses_1/msg_1/prt_1.json", prompt)
        write(session / "part/ses_1/msg_2/prt_2.json", call | {"state": state})
        write(session / "part/ses_1/msg_2/prt_3.json", {"type": "text", "text": "Done."})
    write(session / "message/ses_1/msg_1.json", asked)
    write(session / "message/ses_1/msg_2.json", said)
    return session.parent


@pytest.mark.parametrize("inside", [False, True])
def test_opencode_by_project_is_found_and_read(tmp_path: Path, inside: bool) -> None:
    storage = opencode_by_project(tmp_path, inside=inside)
    (file,) = files_of("opencode", {}, tmp_path)
    assert files_in(tmp_path) == [file]
    for place in (file, storage):
        (session,) = load(place)
        found = counts(session.messages)
        assert (found["prompts"], found["replies"], found["calls"], found["pairs"]) == (1, 2, 1, 1)
        assert session.title == "The note" and session.log[0].timestamp.startswith("2025-03-01T10:00:00")
        assert isinstance(start := session.log[0].fact, SessionStart) and start.cwd == "/work"


def task(folder: Path, *rows: tuple[str, Any], shown: list[dict[str, Any]] | None = None) -> ImportedSession:
    place = folder / "tasks" / str(MS)
    if shown is not None:
        write(place / "ui_messages.json", shown)
    (session,) = load(
        write(place / "api_conversation_history.json", [{"role": role, "content": text} for role, text in rows])
    )
    return session


WROTE = "I write it.\n<write_to_file>\n<path>a.html</path>\n<content>\n<path>x</path>\n</content>\n</write_to_file>"
SAID = "The user said:\n<feedback>\nMake it blue\n</feedback>"
RETURNED = f"[write_to_file for 'a.html'] Result:\n\nsaved\n<answer>42</answer>\n{SAID}"
TALK = (("user", "<task>\nWrite a page\n</task>"), ("assistant", WROTE), ("user", RETURNED), ("assistant", "Done."))


def test_xml_calls_are_calls_with_their_results_and_the_users_words_stay_theirs(tmp_path: Path) -> None:
    session = task(tmp_path, *TALK)
    parts = [part for message in session.messages for part in message.parts]
    (call,) = (part for part in parts if isinstance(part, ToolCallPart))
    (result,) = (part for part in parts if isinstance(part, ToolReturnPart))
    assert call.args == {"path": "a.html", "content": "<path>x</path>"}
    assert (result.tool_call_id, result.tool_name) == (call.tool_call_id, "write_to_file")
    assert str(result.content).startswith("saved")
    assert [part.content for part in parts if isinstance(part, UserPromptPart)] == ["Write a page", "Make it blue"]


def test_a_task_without_times_has_those_of_its_folder_and_of_the_screens_half(tmp_path: Path) -> None:
    times = [event.timestamp for event in task(tmp_path, *TALK).log]
    assert times[0] == times[-1] and datetime.fromisoformat(times[0]) == datetime.fromtimestamp(MS / 1_000, UTC)
    say = [("text", 0), ("api_req_started", 1), ("text", 2), ("tool", 3), ("api_req_started", 60), ("text", 61)]
    shown = [{"ts": MS + second * 1_000, "type": "say", "say": what} for what, second in say]
    messages = [event.timestamp for event in task(tmp_path, *TALK, shown=shown).log if event.type == "message"]
    assert [time[17:19] for time in messages] == ["01", "02", "00", "00", "01"], "the result and what was said with it"


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("user", "<environment_details>\n</environment_details>"),
        ("user", "[list_files for '.'] Result:\na"),
        ("assistant", "<list_files>\n<path>.</path>\n</list_files>"),
    ],
)
def test_what_only_they_write_makes_a_task_one_of_cline_or_roo(tmp_path: Path, role: str, text: str) -> None:
    rows = [{"role": "user", "content": "hi"}, {"role": role, "content": [{"type": "text", "text": text}]}]
    assert load(write(tmp_path / "copy.json", rows))[0].source == "cline"


QUOTED = "Like this:\n```xml\n<read_file>\n<path>a</path>\n</read_file>\n```"


def test_a_chat_that_quotes_their_tags_is_none_of_theirs(tmp_path: Path) -> None:
    rows = [{"role": "user", "content": "<task>How does Cline call?</task>"}, {"role": "assistant", "content": QUOTED}]
    assert load(write(tmp_path / "chat.json", rows))[0].source != "cline"


def test_what_a_task_quotes_stays_text_and_other_blocks_stay(tmp_path: Path) -> None:
    used = {"type": "tool_use", "id": "1", "name": "list_files", "input": {}}
    thought = {"type": "thinking", "thinking": "hm"}
    said: list[Any] = ["<task>\nRead `<answer>`\n</task>", QUOTED, "and?", [thought, text_block(WROTE)], RETURNED]
    said += [[text_block(WROTE), used], "ok", QUOTED, "[read_file for 'a'] Result:\nx"]
    session = task(tmp_path, *((("assistant" if number % 2 else "user"), each) for number, each in enumerate(said)))
    parts = [[part.part_kind for part in each.parts] for each in session.messages if each.kind == "response"]
    assert parts[0] == ["text"], "only quoted"
    assert parts[1] == ["thinking", "text", "tool-call"]
    assert parts[2] == ["text", "tool-call"], "what is called as a block is not called as XML as well"
    assert parts[3] == ["text", "tool-call", "text"], "answered, so it was a call"
    first = session.messages[0].parts[0]
    assert isinstance(first, UserPromptPart) and first.content == "Read `<answer>`"


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_what_is_not_a_whole_call_or_result_stays_text() -> None:
    cut = "Look:\n<read_file>\n<path>a"
    assert [block["type"] for block in blocks_of_text(cut)] == ["text"]
    assert [block["type"] for block in blocks_of_text("Use `<read_file>` or <b>x</b>")] == ["text"]
    assert not results_in("as said: [read_file for 'a'] Result:")
    assert [each.tool for each in results_in("[read_file for 'a'] Result:\nx\n[list_files] Result: y")] == [
        "read_file",
        "list_files",
    ]
