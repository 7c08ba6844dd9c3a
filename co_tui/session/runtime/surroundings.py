"""What the model knows about where it works: date, platform, shell, folder, branch and state of the repository.

The system prompt has what was true when the session began, so that it stays the same and providers can cache it. What
changed since comes as a short note with the next prompt.
"""

import asyncio
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic_ai.messages import ModelRequest, TextContent, UserPromptPart

from co_tui.agent.models.model_handle import ModelHandle
from co_tui.agent.permissions.git_state import changed_files
from co_tui.events import Surroundings
from co_tui.events.facts.base import MARK
from co_tui.events.stored_messages import ATTACHED
from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.session.checkout import repository_of
from co_tui.session.environment import Environment

if TYPE_CHECKING:
    from co_tui.session.host.remote_host import RemoteHost

LONGEST_S: Final = 2.0
"""For the state of the repository; a session starts without it if it takes longer."""
NAME_CHARS: Final = 200
NOTE: Final = "session note"
"""The name of a note in the chat."""


async def surroundings_at_start(environment: Environment, model_handle: ModelHandle) -> dict[str, str]:
    """What a new session logs about where it works; nothing if it does not work in a folder."""
    if not environment.works_in_folder or not model_handle.takes_tools:
        return {}
    if environment.host is not None:
        found = await asyncio.to_thread(surroundings_there, environment.host, with_state=True)
    else:
        found = await _with_state(environment.cwd, environment.environ)
    return {name: getattr(found, name) for name in Surroundings.FIELDS if name != MARK}


async def _with_state(folder: Path, environ: Mapping[str, str]) -> Surroundings:
    now = await asyncio.to_thread(surroundings_now, folder, environ)
    changed: int | None = None
    if now.branch:
        with suppress(TimeoutError):
            changed = await asyncio.wait_for(asyncio.to_thread(changed_files, folder, _for_git(environ)), LONGEST_S)
    return now.but(state=_state_text(changed))


def surroundings_now(folder: Path, environ: Mapping[str, str]) -> Surroundings:
    """What may change and is quickly read; without the state of the repository, which every edit changes."""
    return Surroundings(
        date=f"{date.today():%Y-%m-%d, %A}",
        platform=f"{platform.system()} {platform.release()} ({platform.machine()})",
        shell=one_line(Path(environ.get("SHELL") or "sh").name, NAME_CHARS),
        folder=path_text(folder),
        branch=one_line(repository_of(folder)[1], NAME_CHARS),
    )


def surroundings_there(host: "RemoteHost", *, with_state: bool = False) -> Surroundings:
    """The same on another host, as it said last if it does not answer. Blocks."""
    try:
        said = host.surroundings(with_state=with_state)
    except OSError:
        said = {"platform": "", "shell": "", "branch": host.repository[1], "changed": None}
    return Surroundings(
        date=f"{date.today():%Y-%m-%d, %A}",
        platform=f"{said['platform']} on {host.address.host}",
        shell=said["shell"],
        folder=host.folder,
        branch=said["branch"],
        state=_state_text(said["changed"]),
    )


def _state_text(changed: int | None) -> str:
    return "" if changed is None else "no changes" if not changed else f"{changed:,} changed or new files"


def surroundings_text(began: Surroundings | None) -> str:
    """For the system prompt. The folder is named there already."""
    if began is None:
        return ""
    state = f" with {began.state}" if began.state else ""
    git = f" Git: branch {began.branch}{state}." if began.branch else " There is no git repository."
    return (
        f"When this session began: {began.date}; {began.platform}; the user's shell is {began.shell}.{git} "
        "A note with a prompt reports changes."
    )


def change_note(known: Surroundings | None, now: Surroundings) -> str:
    """What changed since `known`; empty for nothing. An older session knows nothing yet."""
    if known is None:
        return f"[Now: {now.date}; {now.platform}.{f' Git branch {now.branch}.' if now.branch else ''}]"
    changes = [
        f"{name} {after or 'none'}{f' (was {one_line(before, NAME_CHARS)})' if before and name != 'date' else ''}"
        for name, before, after in (
            ("date", known.date, now.date),
            ("platform", known.platform, now.platform),
            ("folder", known.folder, now.folder),
            ("git branch", known.branch, now.branch),
        )
        if before != after
    ]
    return f"[Changed meanwhile: {'; '.join(changes)}.]" if changes else ""


def with_note(prompt: ModelRequest, note: str) -> ModelRequest:
    """The prompt, followed by a note that is not the user's."""
    part = prompt.parts[0]
    assert isinstance(part, UserPromptPart)
    content = [part.content] if isinstance(part.content, str) else list(part.content)
    marked = TextContent(f"\n\n{note}", metadata={ATTACHED: NOTE})
    return replace(prompt, parts=[replace(part, content=[*content, marked]), *prompt.parts[1:]])


def _for_git(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables git needs: where programs are, and whose configuration to read."""
    return {name: environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in environ}
