"""The slash commands that an editor can offer."""

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    UnstructuredCommandInput,
)

from co_tui.actions import COMMANDS, SlashCommand
from co_tui.session.slash.typed_command import own_commands
from co_tui.settings import CommandFiles


def commands_update(files: CommandFiles) -> AvailableCommandsUpdate:
    """The built-in commands that need no screen, and those of the user's files."""
    rows = [*own_commands(files), *(row for row in COMMANDS if not row.instead)]
    return AvailableCommandsUpdate(
        session_update="available_commands_update", available_commands=[_available(row) for row in rows]
    )


def _available(row: SlashCommand) -> AvailableCommand:
    hint = AvailableCommandInput(root=UnstructuredCommandInput(hint=row.arguments)) if row.arguments else None
    return AvailableCommand(name=row.name, description=row.help or row.name, input=hint)
