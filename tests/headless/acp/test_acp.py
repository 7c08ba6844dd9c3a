"""`co-tui acp` as an editor sees it: the protocol's own client drives the process."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from acp.core import RequestError
from acp.helpers import image_block, resource_link_block, text_block
from acp.schema import AgentMessageChunk

from co_tui.events import Event, Message, StreamDelta
from co_tui.headless.acp.open_sessions import replayed
from co_tui.headless.acp.updates import Updates
from co_tui.session.state.derive import replay
from tests.exchange.test_imported_images import png
from tests.headless.acp.editor import RecordingEditor, connected
from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.waiting import until

WRITE = ("write_file", json.dumps({"path": "a.txt", "content": "one\n"}))
PLAN = ("write_plan", json.dumps({"items": [{"content": "Look", "status": "completed"}, {"content": "Write"}]}))


@pytest.fixture
def served(served: CliCommand) -> CliCommand:
    """With a window that has room for the tools."""
    served.environ["CO_TUI_CONTEXT_WINDOW"] = "32000"
    return served


async def test_modes_that_the_home_folder_does_not_allow_are_not_offered(served: CliCommand) -> None:
    served.environ["HOME"] = str(served.cwd)
    (served.cwd / "below").mkdir()
    async with connected(served, RecordingEditor("session")) as agent:
        session = await agent.new_session(cwd=str(served.cwd), mcp_servers=[])
        below = await agent.new_session(cwd=str(served.cwd / "below"), mcp_servers=[])
    assert session.modes is not None and below.modes is not None
    assert [mode.id for mode in session.modes.available_modes] == ["ask", "plan"]
    assert [mode.id for mode in below.modes.available_modes] == ["ask", "edits", "plan", "auto"]


async def test_a_turn_with_a_plan_and_a_call_that_needs_permission(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="First.", tools=(PLAN, WRITE)), Reply(text="All done.")]
    editor = RecordingEditor("session")
    async with connected(served, editor) as agent:
        session = await agent.new_session(cwd=str(served.cwd), mcp_servers=[])
        assert session.modes is not None and session.modes.current_mode_id == "ask"
        assert [option.id for option in session.config_options or ()] == ["mode", "model", "policy"]
        answer = await agent.prompt(session_id=session.session_id, prompt=[text_block("Write a file")])
        kinds = editor.kinds()
    assert answer.stop_reason == "end_turn" and (served.cwd / "a.txt").read_text() == "one\n"
    assert "First." in editor.said() and editor.said().rstrip().endswith("All done.")
    (plan,) = editor.of("plan")
    assert [(step.content, step.status) for step in plan.entries] == [("Look", "completed"), ("Write", "pending")]
    ((call, options),) = editor.asked
    assert (call.kind, call.title) == ("edit", "write a.txt")
    assert [(change.path, change.new_text) for change in call.content or ()] == [(str(served.cwd / "a.txt"), "one")]  # type: ignore[union-attr]
    assert [option.option_id for option in options] == ["once", "session", "project", "deny"]
    assert [each.tool_call_id for each in editor.of("tool_call")] == [call.tool_call_id]
    assert editor.of("tool_call_update")[-1].status == "completed"
    assert kinds[-1] != "available_commands_update" and "usage_update" in kinds
    assert editor.of("usage_update")[-1].size == 32_000
    again = served("run", "-p", "And now?", "--continue")
    assert again.err.splitlines()[0] == "co-tui: Still allowed in this session: edits of top-level files."


async def test_a_stored_session_is_listed_replayed_forked_switched_and_deleted(
    served: CliCommand, provider: Provider
) -> None:
    provider.script = [Reply(text="", tool=WRITE), Reply(text="Written.")]
    first = RecordingEditor("once")
    async with connected(served, first) as agent:
        id = (await agent.new_session(cwd=str(served.cwd), mcp_servers=[])).session_id
        await agent.prompt(session_id=id, prompt=[text_block("Write the heron")])
    editor = RecordingEditor()
    async with connected(served, editor) as agent:
        (listed,) = (await agent.list_sessions(cwd=str(served.cwd))).sessions
        assert (listed.session_id, listed.title, listed.cwd) == (id, "Write the heron", str(served.cwd))
        await agent.load_session(cwd=str(served.cwd), session_id=id, mcp_servers=[])
        assert editor.said("user_message_chunk") == "Write the heron" and editor.said().strip() == "Written."
        (call,), (done,) = editor.of("tool_call"), editor.of("tool_call_update")
        assert call.title == "write a.txt" and done.status == "completed" and done.content[0].new_text == "one"
        await agent.set_session_mode(session_id=id, mode_id="plan")
        changed = await agent.set_config_option(session_id=id, config_id="policy", value="codex")
        assert changed is not None
        assert [option.current_value for option in changed.config_options if option.id != "model"] == ["plan", "codex"]
        await agent.prompt(session_id=id, prompt=[text_block("/context")])
        assert "tokens" in editor.said() and "conversation" in editor.said()
        requests = len(provider.requests)
        await agent.prompt(session_id=id, prompt=[text_block("/contxt")])
        assert "Unknown command /contxt. Did you mean /context?" in editor.said()
        await agent.prompt(session_id=id, prompt=[text_block("/lens")])
        assert "/lens needs the screen." in editor.said() and len(provider.requests) == requests
        offered = {each.name for each in editor.of("available_commands_update")[-1].available_commands}
        assert {"compact", "history", "undo"} <= offered and "lens" not in offered
        fork = (await agent.fork_session(session_id=id, cwd=str(served.cwd), mcp_servers=[])).session_id
        await agent.prompt(session_id=fork, prompt=[text_block("And now?")])
        assert "Write the heron" in json.dumps(provider.requests[-1]["messages"])
        await agent._conn.send_request("session/delete", {"sessionId": id})
        assert [each.session_id for each in (await agent.list_sessions()).sessions] == [fork]


async def test_cancelling_ends_a_turn_that_waits_for_permission(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="", tool=WRITE)]
    editor = RecordingEditor()
    async with connected(served, editor) as agent:
        id = (await agent.new_session(cwd=str(served.cwd), mcp_servers=[])).session_id
        turn = asyncio.create_task(agent.prompt(session_id=id, prompt=[text_block("Write a file")]))
        await editor.asking.wait()
        await agent.cancel(session_id=id)
        assert (await turn).stop_reason == "cancelled" and not (served.cwd / "a.txt").exists()
        assert (await agent.prompt(session_id=id, prompt=[text_block("Go on")])).stop_reason == "end_turn"


async def test_an_editors_unsaved_text_and_its_terminal_are_used(served: CliCommand, provider: Provider) -> None:
    served.environ["CO_TUI_COMMAND_SANDBOX"] = "off"
    (served.cwd / "note.txt").write_text("saved\n")
    read = ("read_file", json.dumps({"path": "note.txt"}))
    link = resource_link_block("note.txt", (served.cwd / "note.txt").as_uri())
    edit = ("edit_file", json.dumps({"path": "note.txt", "old_text": "unsaved", "new_text": "changed"}))
    run = ("run_command", json.dumps({"command": "make all"}))
    provider.script = [Reply(text="", tool=read), Reply(text="", tool=edit), Reply(text="", tool=run), Reply()]
    editor = RecordingEditor("once", "once")
    note = str(served.cwd / "note.txt")
    editor.texts[note] = "unsaved\n"
    async with connected(served, editor, fs=True, terminal=True) as agent:
        id = (await agent.new_session(cwd=str(served.cwd), mcp_servers=[])).session_id
        await agent.prompt(session_id=id, prompt=[text_block("Change this, then build: "), link])
        assert editor.texts[note] == "changed\n" == (served.cwd / "note.txt").read_text()
        await agent.prompt(session_id=id, prompt=[text_block("/rewind 1 files")])
        assert (served.cwd / "note.txt").read_text() == "saved\n"
    (judged,), _ = editor.asked[0][0].content, editor.asked[0][1]
    assert (judged.old_text, judged.new_text) == ("unsaved", "changed")  # type: ignore[union-attr]
    assert [line.splitlines()[-1] for line in editor.commands] == ["make all"]
    results = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "tool"]
    assert "unsaved" in json.dumps(provider.requests[0]["messages"]), "also of a file that belongs to the prompt"
    assert "unsaved" in results[0] and "said in the editor" in results[2]
    shown = [part.type for update in editor.of("tool_call_update") for part in update.content or ()]
    assert "terminal" in shown


async def test_images_files_and_further_folders_go_with_a_prompt(
    served: CliCommand, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lib = tmp_path_factory.mktemp("lib")
    editor = RecordingEditor()
    (served.cwd / "heron.txt").write_text("grey and tall")
    link = resource_link_block("heron.txt", (served.cwd / "heron.txt").as_uri())
    image = image_block(base64.b64encode(png()).decode(), "image/png")
    async with connected(served, editor) as agent:
        further = [str(lib), str(lib / "none")]
        new = await agent.new_session(cwd=str(served.cwd), mcp_servers=[], additional_directories=further)
        await until(lambda: f"There is no folder {lib}/none." in editor.said())
        await agent.prompt(session_id=new.session_id, prompt=[text_block("What is in "), link, image])
    sent = json.dumps(provider.requests[-1]["messages"])
    assert f"further folders, in which the tools work, too; give whole paths there: {lib}." in sent
    assert "What is in heron.txt" in sent and "grey and tall" in sent and "data:image/png;base64" in sent


async def test_what_cannot_be_done_is_said_in_a_sentence(co_tui: CliCommand, tmp_path: Path) -> None:
    co_tui.environ["CO_TUI_MODEL"] = "anthropic:claude-sonnet-5"
    here: dict[str, Any] = {"cwd": str(co_tui.cwd), "mcp_servers": []}
    async with connected(co_tui, RecordingEditor()) as agent:
        with pytest.raises(RequestError, match="co-tui login"):
            await agent.new_session(**here)
        with pytest.raises(RequestError, match="not a folder with an absolute path"):
            await agent.new_session(cwd="nowhere", mcp_servers=[])
        with pytest.raises(RequestError, match=r"\.\./lib is not an absolute path"):
            await agent.new_session(**here, additional_directories=["../lib"])
        with pytest.raises(RequestError, match="not open"):
            await agent.prompt(session_id="none", prompt=[text_block("Hello")])
        with pytest.raises(RequestError, match="No session"):
            await agent.load_session(session_id="none", **here)


def test_a_login_that_an_editor_starts_is_the_ordinary_one(co_tui: CliCommand) -> None:
    result = co_tui("acp", "--login")
    assert result.code == 2 and result.err.startswith("co-tui: Name a provider: ")


def test_no_message_has_the_id_of_another_also_when_a_session_is_loaded_again() -> None:
    said = Message(turn=1, message={"kind": "response", "parts": [{"part_kind": "text", "content": "Hello."}]})
    delta = StreamDelta(turn=1, part=0, kind="text", text="Hello.")
    log = [Event(session_id="s", seq=seq, timestamp="2026-11-16T10:00:00Z", fact=said) for seq in range(1, 5)]
    streamed = Event(session_id="s", seq=None, timestamp="2026-11-16T10:00:00Z", fact=delta)
    state = replay(log)
    ids = [each.message_id for each in replayed(state, Path()) if isinstance(each, AgentMessageChunk)]
    for updates in (Updates(Path(), list), Updates(Path(), list)):
        for event in log:
            (chunk,) = updates.of(streamed, state)
            assert isinstance(chunk, AgentMessageChunk) and not list(updates.of(event, state))
            ids.append(chunk.message_id)
    assert len(set(ids)) == len(ids) == 12
