"""What the model knows about where it works: date, platform, shell, folder, branch and state of the repository.

The system prompt has what was true when the session began, so that it stays the same and providers can cache it. What
changed since comes as a short note with the next prompt.
"""

from dataclasses import replace
from typing import Final

from pydantic_ai.messages import ModelRequest, TextContent, UserPromptPart

from co_tui.agent.models.model_handle import ModelHandle
from co_tui.events import Surroundings
from co_tui.events.facts.base import MARK
from co_tui.events.stored_messages import ATTACHED
from co_tui.inert import one_line
from co_tui.session.environment import Environment

NAME_CHARS: Final = 200
NOTE: Final = "session note"
"""The name of a note in the chat."""


async def surroundings_at_start(environment: Environment, model_handle: ModelHandle) -> dict[str, str]:
    """What a new session logs about where it works; nothing if it does not work in a folder."""
    if not environment.works_in_folder or not model_handle.takes_tools:
        return {}
    found = await environment.workplace.surroundings(environment.environ, with_state=True)
    return {name: getattr(found, name) for name in Surroundings.FIELDS if name != MARK}


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
    return f"[Changed since: {'; '.join(changes)}.]" if changes else ""


def with_note(prompt: ModelRequest, note: str) -> ModelRequest:
    """The prompt, followed by a note that is not the user's."""
    part = prompt.parts[0]
    assert isinstance(part, UserPromptPart)
    content = [part.content] if isinstance(part.content, str) else list(part.content)
    marked = TextContent(f"\n\n{note}", metadata={ATTACHED: NOTE})
    return replace(prompt, parts=[replace(part, content=[*content, marked]), *prompt.parts[1:]])
