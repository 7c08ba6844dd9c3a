"""The slash commands that co-tui itself offers in an editor."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, NamedTuple

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    UnstructuredCommandInput,
)

from co_tui.session.session import Session
from co_tui.session.state.history_edits import NothingToUndo


class OwnCommand(NamedTuple):
    description: str
    run: Callable[[Session, str], Awaitable[str]]
    """Gets what was typed after the name; returns what to say, if anything."""
    hint: str = ""
    """What may be typed after the name."""


async def _compact(session: Session, focus: str) -> str:
    await session.compact(focus)
    return ""  # its events say it


async def _undo(session: Session, _: str) -> str:
    try:
        await session.edits.undo()
    except NothingToUndo as nothing:
        return str(nothing)
    return f"Undone. The model sees {len(session.state.history)} messages again."


async def _context(session: Session, _: str) -> str:
    usage = session.state.usage
    if usage is None:
        return "Nothing was sent yet."
    parts = (
        ("system", usage.system_tokens),
        ("tools", usage.tool_definition_tokens),
        ("conversation", usage.conversation_tokens),
    )
    figures = ", ".join(f"{name} {count:,}" for name, count in parts)
    return f"{usage.current_tokens:,} of {usage.token_limit:,} tokens: {figures}."


COMMANDS: Final[Mapping[str, OwnCommand]] = {
    "compact": OwnCommand("Compact the conversation now", _compact, "what to keep"),
    "context": OwnCommand("Show what fills the context", _context),
    "undo": OwnCommand("Undo the last compaction or rewind", _undo),
}


def commands_update(files: Iterable[tuple[str, str, str]]) -> AvailableCommandsUpdate:
    """Our commands, and those of the user's files: name, description and hint of each."""
    own = [(name, command.description, command.hint) for name, command in COMMANDS.items()]
    commands = [
        AvailableCommand(
            name=name,
            description=description or name,
            input=AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None,
        )
        for name, description, hint in {each[0]: each for each in (*files, *own)}.values()
    ]
    return AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)
