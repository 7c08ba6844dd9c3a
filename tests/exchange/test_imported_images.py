"""Images in sessions of other programs: those with their bytes are kept as images, all others are named."""

import base64
import io
import json
import sqlite3
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic_ai.messages import BinaryContent, FilePart, ModelMessage

from co_tui.events.content import prompt_text
from co_tui.exchange.importers import builder, load
from co_tui.exchange.openai_format import to_chat
from tests.support.foreign import claude_call, claude_result, claude_row, codex_row, write_lines
from tests.support.long_run import also_in_a_long_run


def png(shade: int = 0) -> bytes:
    file = io.BytesIO()
    Image.new("L", (2, 1), shade).save(file, "PNG")
    return file.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def data_url(data: bytes) -> str:
    return f"data:image/png;base64,{encoded(data)}"


def claude(data: bytes) -> list[Any]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": encoded(data)}}
    return [
        claude_row("user", [image, {"type": "text", "text": "look"}]),
        claude_row("assistant", [claude_call("1")]),
        claude_row("user", [claude_result("1", [image])]),
    ]


def codex(data: bytes) -> list[Any]:
    image = {"type": "input_image", "image_url": data_url(data)}
    content = [{"type": "input_text", "text": "look"}, image]
    return [
        codex_row("response_item", 0, type="message", role="user", content=content),
        codex_row("response_item", 1, type="image_generation_call", id="ig", result=encoded(data)),
    ]


def openai(data: bytes) -> list[Any]:
    image = {"type": "image_url", "image_url": {"url": data_url(data)}}
    call = {"id": "1", "type": "function", "function": {"name": "shot", "arguments": "{}"}}
    said = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": [image]},
    ]
    return [{"id": "a", "messages": said}]


def gemini(data: bytes) -> list[Any]:
    image = {"inlineData": {"mimeType": "image/png", "data": encoded(data)}}
    returned = [{"functionResponse": {"id": "1", "response": {"output": "done"}, "parts": [image]}}]
    call = {"id": "1", "name": "shot", "args": {}, "result": returned}
    return [
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z"},
        {"id": "1", "type": "user", "content": [{"text": "look"}, image]},
        {"id": "2", "type": "gemini", "content": "so", "toolCalls": [call]},
    ]


def pi(data: bytes) -> list[Any]:
    image = {"type": "image", "data": encoded(data), "mimeType": "image/png"}
    call = {"type": "toolCall", "id": "1", "name": "read", "arguments": {}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
        {"role": "assistant", "content": [call]},
        {"role": "toolResult", "toolCallId": "1", "toolName": "read", "content": [image]},
    ]
    return [{"type": "message", "id": str(n), "message": message} for n, message in enumerate(messages)]


def opencode(data: bytes) -> list[Any]:
    info = {"id": "s", "projectID": "p", "directory": "/", "time": {"created": 1}}
    file = {"type": "file", "mime": "image/png", "filename": "a.png", "url": data_url(data)}
    done = {"status": "completed", "input": {}, "output": "read", "attachments": [file]}
    call = {"type": "tool", "tool": "read", "callID": "1", "state": done}
    messages = [
        {
            "info": {"id": "1", "role": "user", "time": {"created": 1}},
            "parts": [{"type": "text", "text": "look"}, file],
        },
        {"info": {"id": "2", "role": "assistant", "time": {"created": 2}}, "parts": [call]},
    ]
    return [{"info": info, "messages": messages}]


PROGRAMS = [claude, codex, openai, gemini, pi, opencode]


def imported(tmp_path: Path, rows: list[Any]) -> list[ModelMessage]:
    (session,) = load(write_lines(tmp_path / "session.jsonl", rows))
    return list(session.messages)


def images_in(messages: list[ModelMessage]) -> list[bytes]:
    found: list[bytes] = []
    for part in (part for message in messages for part in message.parts):
        content: Any = [part.content] if isinstance(part, FilePart) else getattr(part, "content", None)
        for item in content if isinstance(content, list) else ():
            if isinstance(item, BinaryContent):
                assert item.media_type == "image/png", "as its bytes tell"
                found.append(item.data)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_images_with_their_bytes_stay_images(tmp_path: Path, program: Any) -> None:
    messages = imported(tmp_path, program(png()))
    assert images_in(messages) == [png()] * 2, "of the prompt, and of a result or a reply"
    assert messages[0].parts[0].content[0] == "look"  # type: ignore[union-attr,index]  # a prompt
    (chat, *_) = to_chat(messages)
    assert chat["content"][0]["text"] == "look" and chat["content"][1]["image_url"]["url"] == data_url(png())


NO_IMAGES = {"none": b"rubbish", "cut": png()[:20], "large": png() + bytes(5_000_000)}


@pytest.mark.parametrize(
    ("program", "kind"),
    also_in_a_long_run(
        [*product(PROGRAMS, ("none", "cut")), (codex, "large")],
        [(program, "large") for program in PROGRAMS if program is not codex],
    ),
)
def test_what_is_no_image_that_can_be_shown_is_reported(tmp_path: Path, program: Any, kind: str) -> None:
    messages = imported(tmp_path, program(NO_IMAGES[kind]))
    assert not images_in(messages)
    said = prompt_text(messages[0].parts[0].content)  # type: ignore[union-attr]  # a prompt
    assert said.strip("\n") in ("look", "[image: image/jpeg]\nlook") or said.startswith(("look\n[", "look\n\n["))
    assert len(said) < 1_000


def test_an_address_stays_one(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    content = [{"type": "text", "text": "look"}, image, {"type": "file", "file": {"file_id": "7"}}]
    (message,) = imported(tmp_path, [{"messages": [{"role": "user", "content": content}]}])
    assert message.parts[0].content == "look\n[image: https://example.org/a.png]\n[attachment]"  # type: ignore[union-attr]
    codex_image = {"type": "input_image", "image_url": "https://example.org/b.png"}
    row = codex_row("response_item", 0, type="message", role="user", content=[codex_image])
    (message,) = imported(tmp_path, [row])
    assert message.parts[0].content == "[image: https://example.org/b.png]"  # type: ignore[union-attr]


def test_beyond_some_size_images_of_a_session_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_SESSION_IMAGE_BYTES", len(png()))
    prompt, _, result = imported(tmp_path, openai(png()))
    assert len(images_in([prompt])) == 1 and result.parts[0].content == "[image/png]"  # type: ignore[union-attr]


def test_attachments_of_llm(tmp_path: Path) -> None:
    with sqlite3.connect(file := tmp_path / "logs.db") as database:
        database.executescript(
            """CREATE TABLE conversations (id, name); CREATE TABLE responses
            (id, model, prompt, system, response, conversation_id, datetime_utc);
            CREATE TABLE attachments (id, type, path, url, content);
            CREATE TABLE prompt_attachments (response_id, attachment_id, "order");"""
        )
        database.execute("INSERT INTO responses VALUES ('r', 'm', 'look', '', 'seen', 'c', '2026-01-01')")
        rows = [("a", "image/png", None, None, png()), ("b", "image/png", None, "https://example.org/b.png", None)]
        database.executemany("INSERT INTO attachments VALUES (?, ?, ?, ?, ?)", rows)
        database.executemany("INSERT INTO prompt_attachments VALUES ('r', ?, ?)", [("a", 0), ("b", 1)])
    (session,) = load(file)
    assert images_in(list(session.messages)) == [png()]
    assert "[attachment: https://example.org/b.png]" in json.dumps(prompt_text(session.messages[0].parts[0].content))  # type: ignore[union-attr]
