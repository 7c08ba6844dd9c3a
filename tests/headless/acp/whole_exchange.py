"""All that an editor does with co-tui, once: for checks of what is said."""

import asyncio
import json
import sys

from acp.helpers import text_block
from acp.schema import EnvVariable, McpServerStdio

from tests.headless.acp.editor import RecordingEditor, connected
from tests.support.command import CliCommand
from tests.support.mcp_talk import ODD
from tests.support.provider import Provider, Reply

WRITE = ("write_file", json.dumps({"path": "a.txt", "content": "one\n"}))
READ = ("read_file", json.dumps({"path": "a.txt"}))
RUN = ("run_command", json.dumps({"command": "make all"}))
PLAN = ("write_plan", json.dumps({"items": [{"content": "Look", "status": "completed"}, {"content": "Write"}]}))
STYLE = {"header": "Colour", "question": "Which colour?", "options": [{"label": "red", "description": "warm"}]}
ASK = ("ask_user_question", json.dumps({"questions": [{**STYLE, "options": [*STYLE["options"], {"label": "blue"}]}]}))
FORM = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "sides": {"type": "array", "items": {"anyOf": [{"const": "n", "title": "North"}]}},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "weight": {"type": "number", "default": 0.5},
        "sure": {"type": "boolean", "default": True},
        "note": {"type": "string", "maxLength": 10},
    },
    "required": ["count"],
}
FILLED = {"size": "l", "sides": ["n"], "count": 3, "sure": False, "note": ""}


async def whole_exchange(command: CliCommand, provider: Provider) -> RecordingEditor:
    """A turn with a plan, permission, terminal, question and form, a cancelled one, then load, fork and delete."""
    command.environ |= {"CO_TUI_CONTEXT_WINDOW": "60000", "CO_TUI_COMMAND_SANDBOX": "off"}
    provider.script = [
        Reply(text="First.", tools=(PLAN, WRITE)),
        Reply(text="", tool=READ),
        Reply(text="", tool=RUN),
        Reply(text="", tool=ASK),
        Reply(text="", tool=("mcp__odd__ask", "{}")),
        Reply(text="All done."),
        Reply(text="", tool=("write_file", json.dumps({"path": "b.txt", "content": "two\n"}))),
        Reply(text="Forked."),
    ]
    server = McpServerStdio(
        name="odd", command=sys.executable, args=[str(ODD)], env=[EnvVariable(name="FORM", value=json.dumps(FORM))]
    )
    editor = RecordingEditor("once", "once", "once")
    editor.filled = [{"choice": "1"}, {"count": 9}, dict(FILLED)]
    here = str(command.cwd)
    async with connected(command, editor, fs=True, terminal=True, forms=True) as agent:
        id = (await agent.new_session(cwd=here, mcp_servers=[server])).session_id
        assert (await agent.prompt(session_id=id, prompt=[text_block("Begin")])).stop_reason == "end_turn"
        editor.asking.clear()
        turn = asyncio.create_task(agent.prompt(session_id=id, prompt=[text_block("Again")]))
        await editor.asking.wait()
        await agent.cancel(session_id=id)
        assert (await turn).stop_reason == "cancelled"
        await agent.set_session_mode(session_id=id, mode_id="plan")
        await agent.set_config_option(session_id=id, config_id="policy", value="codex")
        await agent.close_session(session_id=id)
        await agent.list_sessions(cwd=here)
        await agent.load_session(cwd=here, session_id=id, mcp_servers=[])
        await agent.prompt(session_id=id, prompt=[text_block("/compact")])
        fork = (await agent.fork_session(session_id=id, cwd=here, mcp_servers=[])).session_id
        await agent.prompt(session_id=fork, prompt=[text_block("Continue")])
        await agent._conn.send_request("session/delete", {"sessionId": id})
    return editor
