"""The lens on the next request, and the MCP servers."""

from co_tui.session.slash.conversation_commands import compact_now
from co_tui.session.slash.reports_commands import require_restart
from co_tui.ui.commands.host import CommandHost, command


@command("lens")
async def lens(host: CommandHost, _: str) -> None:
    from co_tui.ui.commands.lens_source import OpenSubject, StoredSubject
    from co_tui.ui.lens.lens_screen import LensScreen

    session = None if host.sessions.is_read_only else host.opened()
    subject = OpenSubject(host, session) if session is not None else StoredSubject(host)
    upto = await host.ask(lambda: LensScreen(subject))
    if upto is not None and session is not None:
        await compact_now(host, session, upto=upto)


@command("mcp")
async def mcp(host: CommandHost, arguments: str) -> None:
    from co_tui.ui.commands.mcp_editor import McpEditor
    from co_tui.ui.settings.mcp_screen import McpScreen

    require_restart(arguments)
    editor = McpEditor(host)
    if arguments:
        editor.restart()
    await host.ask(lambda: McpScreen(editor))
