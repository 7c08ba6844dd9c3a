"""Small scripts as hooks, and sessions that run them."""

import json
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart

from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from tests.support.approving import left, log_of
from tests.support.working import Working, working_in


def hook(folder: Path, text: str, matcher: str = "", name: str = "hook") -> tuple[HookEntry, ...]:
    """A script that keeps its input in `NAME.jsonl`."""
    script = folder.parent / f"{name}.sh"
    script.write_text(f"cat >> {folder.parent}/{name}.jsonl\n{text}\n")
    return (HookEntry(f"sh {script}", matcher),)


def heard(folder: Path, name: str = "hook") -> list[dict[str, Any]]:
    file = folder.parent / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def said(output: dict[str, Any]) -> str:
    return f"echo '{json.dumps(output)}'"


def specific(**fields: Any) -> str:
    return said({"hookSpecificOutput": fields})


async def worked(
    folder: Path,
    home: Path,
    model: Working,
    person: Unattended | None = None,
    outcome: Outcome = Outcome.DONE,
    **settings: Any,
) -> tuple[list[Any], Session]:
    """A session after one prompt, and its log."""
    environment = working_in(folder, home, model, person or Unattended(), **settings)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is outcome
    log = log_of(environment, session)
    await left(environment, session)
    return log, session


def user_texts(model: Working) -> list[str]:
    last = [message for message in model.requests[-1] if isinstance(message, ModelRequest)]
    return [str(part.content) for message in last for part in message.parts if isinstance(part, UserPromptPart)]
