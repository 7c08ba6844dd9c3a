"""The conversation as a file for hooks: Claude Code's form, appended, and readable by its owner only."""

import json
import stat
from pathlib import Path
from typing import Any

from co_tui.session.approvals.questions import Unattended
from co_tui.session.hooks.transcript import FILE
from co_tui.session.session import Session
from tests.support.approving import left
from tests.support.environments import ScriptedModel
from tests.support.hook_scripts import heard, hook
from tests.support.working import Working, working_in


def lines_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def said(file: Path) -> list[tuple[str, Any]]:
    """Who said what, by kind of block."""
    return [(line["type"], block["type"]) for line in lines_in(file) for block in line["message"]["content"]]


async def talk(folder: Path, home: Path, model: ScriptedModel, resumed: str = "", **settings: Any) -> tuple[str, Path]:
    """A session with one prompt; its id, and where its transcript belongs."""
    environment = working_in(folder, home, model, Unattended(), **settings)
    if resumed:
        session = await Session.resume(environment, resumed)
    else:
        session = await Session.start(environment, "scripted")
    await session.submit("look at a")
    await left(environment, session)
    return session.id, environment.paths.session(session.id) / FILE


async def test_a_script_finds_the_conversation_up_to_now(folder: Path, home: Path) -> None:
    (folder / "a").write_text("x")
    model = Working(("read_file", {"path": "a"}), ("delegate_task", {"agent_name": "self", "task": "look"}))
    _, file = await talk(folder, home, model, hooks={"stop": hook(folder, "")})
    assert heard(folder)[0]["transcript_path"] == str(file) and stat.S_IMODE(file.stat().st_mode) == 0o600
    call, answer = ("assistant", "tool_use"), ("user", "tool_result")
    assert said(file) == [("user", "text"), call, answer, call, answer, ("assistant", "text")], "and no delegate's"
    prompt, used, result, *_ = (line["message"]["content"][0] for line in lines_in(file))
    assert prompt == {"type": "text", "text": "look at a"}
    assert (used["name"], used["input"]["file_path"]) == ("Read", f"{folder}/a")
    assert result["tool_use_id"] == used["id"] and "is_error" not in result
    assert all(line["message"]["role"] == line["type"] for line in lines_in(file))


async def test_it_is_appended_to_and_never_written_again(folder: Path, home: Path) -> None:
    hooks = {"stop": hook(folder, "")}
    session_id, file = await talk(folder, home, Working(), hooks=hooks)
    first = file.read_text()
    file.write_text(first.replace("look at a", "LOOK AT A"))  # a mark that only stays if nothing is written again
    await talk(folder, home, Working(), session_id, hooks=hooks)
    assert file.read_text().startswith(first.replace("look at a", "LOOK AT A"))
    assert said(file) == [("user", "text"), ("assistant", "text")] * 2


async def test_a_line_that_was_cut_off_is_mended_and_hooks_may_come_late(folder: Path, home: Path) -> None:
    session_id, file = await talk(folder, home, Working())
    assert not file.exists(), "no hooks, no file"
    file.write_text('{"type": "user", "mess')
    file.chmod(0o644)
    await talk(folder, home, Working(), session_id, hooks={"userPromptSubmit": hook(folder, "")})
    assert said(file) == [("user", "text"), ("assistant", "text")] * 2 and file.stat().st_mode & 0o077 == 0


async def test_a_private_session_leaves_none(folder: Path, home: Path) -> None:
    environment = working_in(folder, home, Working(), Unattended(), hooks={"stop": hook(folder, "")})
    environment.private = True
    session = await Session.start(environment, "scripted")
    await session.submit("look at a")
    assert heard(folder)[0]["transcript_path"] == "" and not (environment.paths.session(session.id) / FILE).exists()
    await left(environment, session)
