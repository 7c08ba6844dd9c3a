"""Commands about what is shown."""

import asyncio

from co_tui.actions import COMMANDS
from co_tui.help import Topic, no_topic, page, topic_named
from co_tui.session.slash.command_host import CommandHost, WrongArguments, command
from co_tui.session.slash.settings_commands import config
from co_tui.session.slash.typed_command import own_commands
from co_tui.settings import commands_in_force, rules


@command("help")
async def show_help(host: CommandHost, name: str) -> None:
    """A topic; without one, the commands that need no screen, and those from files."""
    if name:
        host.answer(page(named(name)))
        return
    files = await asyncio.to_thread(commands_in_force, host.launch.paths, host.launch.cwd, host.launch.settings)
    rows = [row for row in (*COMMANDS, *own_commands(files)) if not row.instead]
    typed = [f"{row.slash} {row.arguments}".rstrip() for row in rows]
    width = max(map(len, typed))
    host.answer(
        "\n".join(f"{each.ljust(width)}  {row.described}".rstrip() for each, row in zip(typed, rows, strict=True))
    )


def named(topic: str) -> Topic:
    """Raises `WrongArguments`."""
    if (found := topic_named(topic)) is None:
        raise WrongArguments(no_topic(topic))
    return found


@command("theme")
async def theme(host: CommandHost, name: str) -> None:
    """A name is saved as a setting."""
    if not name:
        raise WrongArguments(f"Name a theme: /theme THEME. Use one of {', '.join(rules()['theme'].choices)}.")
    await config(host, f"theme {name}")
