"""What an editor opens was stored before: its log decides nothing that an editor's user did not."""

import json
from pathlib import Path

import pytest
from acp.core import RequestError
from acp.helpers import text_block
from acp.schema import McpServerStdio

from co_tui.events import Message, PolicyChange, SessionStart
from tests.headless.acp.editor import RecordingEditor, connected
from tests.settings.test_policy_files import GOOD, touching
from tests.support.command import CliCommand
from tests.support.stores import store_in
from tests.support.waiting import until

SAID = {
    "kind": "request",
    "parts": [{"part_kind": "user-prompt", "content": "Hello", "timestamp": "2026-11-16T10:00:00Z"}],
}


def store(command: CliCommand, session_id: str, policy: str, *, changed: bool) -> None:
    """A session that was imported when its policy was not looked at."""
    named = PolicyChange(from_="balanced", to=policy) if changed else None
    start = SessionStart(cwd=str(command.cwd), policy="" if changed else policy)
    facts = [start, Message(turn=1, message=json.loads(json.dumps(SAID))), *([named] if named else [])]
    with store_in(command.home) as there:
        there.writing().append(session_id, facts).result()


@pytest.mark.parametrize("changed", [False, True])
async def test_a_log_never_names_python_to_run(served: CliCommand, tmp_path: Path, changed: bool) -> None:
    ran = tmp_path / "ran"
    policy = served.cwd / "evil.py"
    policy.write_text(f"{touching(ran)}{GOOD}")
    editor = RecordingEditor()
    async with connected(served, editor) as agent:
        for opening in (agent.load_session, agent.resume_session, agent.fork_session):
            name = opening.__name__
            store(served, name, str(policy) if changed else "evil.py", changed=changed)
            await opening(cwd=str(served.cwd), session_id=name, mcp_servers=[])  # type: ignore[operator]
        assert not ran.exists()
        with pytest.raises(RequestError, match=r"There is no policy ./evil\.py\. Choose from: "):
            await agent.set_config_option(session_id="load_session", config_id="policy", value="./evil.py")
        sentence = "The policy of this session is a file: name it again with --policy"
        await until(lambda: editor.said().count(sentence) == 3)
    assert not ran.exists()


async def test_a_policy_that_the_command_line_names_can_be_chosen_again(served: CliCommand, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    (served.cwd / "mine.py").write_text(f"{touching(ran)}{GOOD}")
    async with connected(served, RecordingEditor(), "--policy", "mine.py") as agent:
        id = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
        for policy in ("codex", str(served.cwd / "mine.py")):
            options = (await agent.set_config_option(session_id=id, config_id="policy", value=policy)).config_options
            assert [each.current_value for each in options if each.id == "policy"] == [policy]
    assert ran.exists()


async def test_servers_of_an_editor_have_names_as_those_of_the_settings(served: CliCommand) -> None:
    def server(name: str) -> McpServerStdio:
        return McpServerStdio(name=name, command="touch", args=[f"started-{len(name)}"], env=[])

    editor = RecordingEditor()
    names = ("good__x", "two\nlines", "ok")
    served.environ["CO_TUI_CONTEXT_WINDOW"] = "32000"  # with room for the tools
    async with connected(served, editor) as agent:
        new = await agent.new_session(cwd=str(served.cwd), mcp_servers=[server(name) for name in names])
        await until(lambda: "two lines" in editor.said())
        await agent.new_session(cwd=str(served.cwd), mcp_servers=[server(f"s{n}") for n in range(40)])
        await until(lambda: "10 more MCP servers of the editor are left out: at most 30 are used." in editor.said())
        await agent.prompt(session_id=new.session_id, prompt=[text_block("Hello")])
    said = editor.said()
    assert said.count("(the editor) is not allowed. Use a name of at most 30 letters and digits") == 2
    assert [each.name for each in served.cwd.glob("started-*")] == ["started-2"]
