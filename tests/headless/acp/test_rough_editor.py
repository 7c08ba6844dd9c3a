"""Editors that send anything, cancel at any moment, and die."""

import asyncio
import itertools
import json
import re
import socket
import threading
from typing import Any

import pytest
from acp.helpers import text_block

from co_tui.headless.acp.acp_command import NO_PIPES, NOT_INTRODUCED
from co_tui.headless.acp.message_lines import MessageLines
from tests.headless.acp.editor import RecordingEditor, connected, start_acp
from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S, until, wait_until

ODD_LINES = (
    "no JSON",
    "[" * 100_000,
    "[]",
    "5",
    json.dumps({"jsonrpc": "2.0", "id": [1], "result": {}}),
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": 5}),
)


class Rough:
    """An editor that writes lines by itself."""

    def __init__(self, command: CliCommand) -> None:
        self.process, writing, reading = start_acp(command)
        self._writing, self._reading_from = open(writing, "w", encoding="utf-8"), open(reading, encoding="utf-8")
        self.got: list[dict[str, Any]] = []
        """Every line of standard output."""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        with self._reading_from as lines:
            self.got.extend(json.loads(line) for line in lines)

    def write(self, line: str) -> None:
        self._writing.write(f"{line}\n")
        self._writing.flush()

    def send(self, id: int | None, method: str, **params: Any) -> None:
        number = {"id": id} if id is not None else {}
        self.write(json.dumps({"jsonrpc": "2.0", **number, "method": method, "params": params}))

    def answer(self, id: int) -> dict[str, Any]:
        wait_until(lambda: any(each.get("id") == id and "method" not in each for each in self.got))
        return next(each for each in self.got if each.get("id") == id and "method" not in each)

    def said(self) -> str:
        """What came of the replies; they come in pieces."""
        updates = [each["params"]["update"] for each in self.got if each.get("method") == "session/update"]
        return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")

    def leave(self) -> tuple[int, str]:
        """Close standard input, as an editor that dies; returns the exit code, and what was written for people."""
        self._writing.close()
        _, errors = self.process.communicate(PATIENCE_S)
        self._reading.join(PATIENCE_S)
        return self.process.wait(), errors


def test_odd_lines_are_answered_and_a_dead_editor_leaves_a_whole_session(
    served: CliCommand, provider: Provider
) -> None:
    served.environ["CO_TUI_CONTEXT_WINDOW"] = "32000"
    editor = Rough(served)
    editor.send(0, "session/new", cwd=str(served.cwd), mcpServers=[])
    assert editor.answer(0)["error"]["message"] == NOT_INTRODUCED and not list(served.home.rglob("*"))
    for line in ODD_LINES:
        editor.write(line)
    editor.send(None, "$/cancel_request", requestId=7)
    editor.send(1, "initialize", protocolVersion=65_000, clientCapabilities={"unknown": {}}, extra=1)
    editor.send(2, "session/prompt", sessionId="x", prompt=[{"type": "text"}])
    editor.send(3, "session/new", cwd="here", mcpServers=[])
    editor.send(4, "does/not_exist")
    assert editor.answer(1)["result"]["protocolVersion"] == 1
    assert editor.answer(2)["error"]["message"].startswith("session/prompt: prompt.0.")
    assert "absolute path" in editor.answer(3)["error"]["message"]
    assert editor.answer(4)["error"]["code"] == -32601
    refused = [each["error"]["code"] for each in editor.got if "id" in each and each["id"] is None]
    assert refused == [-32700, -32700, -32600, -32600, -32600, -32600]

    for number in (10, 11):
        editor.send(number, "session/new", cwd=str(served.cwd), mcpServers=[])
    first, second = (editor.answer(number)["result"]["sessionId"] for number in (10, 11))
    editor.send(12, "session/set_mode", sessionId=first, modeId="fast")
    editor.send(13, "session/set_config_option", sessionId=first, configId="colour", value="red")
    assert "Choose from: ask" in editor.answer(12)["error"]["message"]
    assert "There is no option colour." in editor.answer(13)["error"]["message"]
    held = threading.Event()
    provider.script = [Reply(text="Held back.", until=held), Reply(text="Meanwhile.")]
    editor.send(20, "session/prompt", sessionId=first, prompt=[{"type": "text", "text": "One"}])
    wait_until(lambda: provider.requests)
    editor.send(21, "session/prompt", sessionId=second, prompt=[{"type": "text", "text": "Two"}])
    assert editor.answer(21)["result"]["stopReason"] == "end_turn"
    held.set()
    assert editor.answer(20)["result"]["stopReason"] == "end_turn"

    provider.script = [Reply(text="Half of it", open_end=True)]
    editor.send(22, "session/prompt", sessionId=first, prompt=[{"type": "text", "text": "Three"}])
    wait_until(lambda: "Half of it" in editor.said())
    code, errors = editor.leave()
    assert (code, errors) == (0, "") and editor.got[-1] == {
        "jsonrpc": "2.0",
        "id": 22,
        "result": {"stopReason": "cancelled"},
    }
    assert "Half of it" in served("show", first).out


def test_bad_folders_and_links_are_sentences_and_close_nothing(served: CliCommand, provider: Provider) -> None:
    """A session stays open when a load of it is refused."""
    served.environ["CO_TUI_CONTEXT_WINDOW"] = "32000"
    editor = Rough(served)
    editor.send(1, "initialize", protocolVersion=1, clientCapabilities={})
    cwd = str(served.cwd)
    editor.send(2, "session/new", cwd=cwd, mcpServers=[])
    session = editor.answer(2)["result"]["sessionId"]
    hello = [{"type": "text", "text": "hello"}]
    editor.send(3, "session/prompt", sessionId=session, prompt=hello)
    assert editor.answer(3)["result"]["stopReason"] == "end_turn"
    folders: list[dict[str, Any]] = [
        *({"cwd": path} for path in (f"{cwd}/gone", "here", f"{cwd}/a\0b", f"/{'x' * 5_000}", f"{cwd}/\udcff", "")),
        *({"cwd": cwd, "additionalDirectories": [path]} for path in ("here", f"/{'x' * 5_000}", f"{cwd}/a\0b")),
    ]
    ids = itertools.count(10)
    for method in ("session/load", "session/resume", "session/fork", "session/new"):
        for folder in folders:
            own = {} if method == "session/new" else {"sessionId": session}
            editor.send(id := next(ids), method, mcpServers=[], **own, **folder)
            error = editor.answer(id)["error"]
            assert error["code"] == -32602 and re.search(r"(folder|path)\b.*\.$", error["message"]), (method, error)
    for uri in (
        "file://[bad",
        f"file:///{'x' * 5_000}",
        "file:///a%00b",
        "file:///gone/away.txt",
        "http://[",
        "\udcff",
    ):
        link = {"type": "resource_link", "uri": uri, "name": "notes"}
        given = {"type": "resource", "resource": {"uri": uri, "text": "some words"}}
        for block in (link, given):
            editor.send(id := next(ids), "session/prompt", sessionId=session, prompt=[*hello, block])
            answer = editor.answer(id)
            error = answer.get("error", {"code": -32602, "message": "It is only named."})
            assert error["code"] == -32602 and error["message"].endswith("."), (block, answer)
    editor.send(500, "session/prompt", sessionId=session, prompt=hello)
    assert editor.answer(500)["result"]["stopReason"] == "end_turn"
    assert editor.leave()[0] == 0


async def test_cancel_ends_a_reply_a_command_a_compaction_and_what_waits(
    served: CliCommand, provider: Provider
) -> None:
    served.environ |= {"CO_TUI_CONTEXT_WINDOW": "32000", "CO_TUI_COMMAND_SANDBOX": "off"}
    run = ("run_command", json.dumps({"command": "echo begun && sleep 600"}))
    editor = RecordingEditor("once")
    async with connected(served, editor) as agent:
        id = (await agent.new_session(cwd=str(served.cwd), mcp_servers=[])).session_id

        def prompt(text: str) -> "asyncio.Task[Any]":
            return asyncio.create_task(agent.prompt(session_id=id, prompt=[text_block(text)]))

        async def cancelled(*turns: "asyncio.Task[Any]") -> None:
            await agent.cancel(session_id=id)
            assert [(await turn).stop_reason for turn in turns] == ["cancelled"] * len(turns)

        provider.script = [Reply(text="Half of it. " * 60, open_end=True)]
        first, waiting = prompt("One"), prompt("Two")
        await until(lambda: "Half" in editor.said())
        await cancelled(first, waiting)
        provider.script = [Reply(text="", tool=run)]
        turn = prompt("Run it")
        await until(lambda: "begun" in str(editor.of("tool_call_update")[-1:]))
        await cancelled(turn)
        assert editor.of("tool_call_update")[-1].status == "failed"
        provider.summaries = [Reply(until=threading.Event())]
        turn = prompt("/compact")
        await until(lambda: provider.summary_requests)
        await cancelled(turn)
        assert (await prompt("And now?")).stop_reason == "end_turn"


async def lines(limit: int) -> tuple[MessageLines, asyncio.StreamReader, socket.socket]:
    """A transport whose other end reads nothing, and what it reads itself."""
    near, far = socket.socketpair()
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    _, writer = await asyncio.open_connection(sock=near)
    reader = asyncio.StreamReader(limit=limit)
    return MessageLines(reader, writer), reader, far


async def test_a_message_that_is_too_long_is_dropped_and_the_next_one_read() -> None:
    transport, reader, far = await lines(100)
    reader.feed_data(b"x" * 1_000 + b"\n" + b'{"id": 1}\n' + b'{"id": 2, "error": "odd"}')
    reader.feed_eof()
    assert await transport.receive() == {"id": 1}
    second = await transport.receive()
    assert second is not None and second["error"]["message"] == "odd"
    assert await transport.receive() is None
    assert "at most" in json.loads(far.recv(1_000))["error"]["message"]
    await transport.close()
    far.close()


async def test_an_editor_that_does_not_read_holds_up_no_end() -> None:
    transport, _, far = await lines(100)

    async def send() -> None:
        while True:
            await transport.send({"text": "x" * 100_000})

    sending = asyncio.create_task(send())
    await until(lambda: transport._writer.transport.get_write_buffer_size() > 64_000)
    sending.cancel()
    waiting = asyncio.create_task(transport.send({"text": "last"}))
    await asyncio.sleep(0)
    assert not waiting.done()
    transport.leave()
    await asyncio.wait_for(waiting, PATIENCE_S)
    far.close()
    await transport.close()
    with pytest.raises(ConnectionError):
        await transport.send({})


def test_input_that_is_not_a_pipe_is_refused_at_once(served: CliCommand) -> None:
    process = served.start_loaded("acp")
    assert process.communicate(PATIENCE_S) == ("", f"co-tui: {NO_PIPES}\n") and process.returncode == 2
