"""Commands that report on the session."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from co_tui.events.wording import percent
from co_tui.inert import one_line
from co_tui.session.state.context_report import context_report
from co_tui.ui.commands.conversation_commands import clear, compact_now
from co_tui.ui.commands.host import CommandHost, why_not_open
from co_tui.ui.commands.registry import command
from co_tui.ui.formatting import cost_text, money

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState
    from co_tui.store.notes.checkpoints import Checkpoint

NOTHING_SENT = "Nothing sent yet. Send a prompt first."


@command("history")
async def history(host: CommandHost, _: str) -> None:
    state = await _whole_state(host)
    host.say(
        f"{state.turn} {'turn' if state.turn == 1 else 'turns'}. "
        f"The model sees {len(state.history)} of {len(state.transcript)} messages."
    )


@command("context")
async def context(host: CommandHost, arguments: str) -> None:
    if arguments == "clear":
        await clear(host, "")
        return
    if arguments == "instructions":
        _show_instructions(host)
        return
    if arguments:
        host.fail(f"/context takes nothing, `instructions` or `clear`, not {one_line(arguments, 40)!r}.")
        return
    state = await _whole_state(host)
    if state.usage is None:
        host.say(NOTHING_SENT)
        return
    figures = context_report(state)
    roles = "  ".join(f"{role} {count}" for role, count in figures["roles"].items()) or "none"
    assumed = "" if figures["limit_known"] else " (assumed)"
    measured = "counted by the provider" if figures["measured"] == "provider" else "estimated"
    host.say(
        f"context       {figures['current_tokens']:,} of {figures['token_limit']:,} tokens{assumed}, "
        f"{percent(figures['share'])}, {measured}\n"
        f"system        {figures['system_tokens']:,}\n"
        f"{_board(figures)}"
        f"tools         {figures['tool_definition_tokens']:,}\n"
        f"conversation  {figures['conversation_tokens']:,}\n"
        f"messages      {figures['messages_count']}  ({roles})\n"
        f"characters    {figures['characters']:,}\n"
        f"cost          {cost_text(figures['cost'], figures['summary_cost'], model=figures['model'])}"
        f"{_of(host.settings.launch.settings.max_session_cost)}\n"
        f"{await _today(host)}"
    )


def _of(limit: float) -> str:
    return f", limit {money(limit)}" if limit else ""


async def _today(host: CommandHost) -> str:
    """What all sessions cost today, from the log."""
    from co_tui.session.turns.spending import today_begun

    launch = host.settings.launch

    def read() -> float:
        with launch.store.reading() as reading:
            return reading.spent_since(today_begun())

    spent = await asyncio.to_thread(read)
    return f"today         {money(spent)} in all sessions{_of(launch.settings.max_daily_cost)}"


async def _whole_state(host: CommandHost) -> "SessionState":
    """The session's own state, which may be ahead of the screen; one that is not open here is read from its log."""
    if host.session is not None:
        return host.session.state
    if not host.sessions.session_id:
        return host.state
    from co_tui.ui.commands.lens_source import StoredSubject

    return await asyncio.to_thread(StoredSubject(host).read)


def _board(figures: Mapping[str, Any]) -> str:
    """A line for the context board's share of the system tokens; empty without a board."""
    if not figures["board_entries"]:
        return ""
    tokens, notes = figures["board_tokens"], figures["board_entries"]
    return f"  board       ~{tokens:,} of them: {notes} {'note' if notes == 1 else 'notes'} from earlier sessions\n"


def _show_instructions(host: CommandHost) -> None:
    """Show the instructions sent before the conversation, and the tools."""
    scaffold = host.session.history.scaffold if host.session is not None else None
    if scaffold is None or not (scaffold.instructions or scaffold.tools):
        host.say(NOTHING_SENT)
        return
    tools = ", ".join(one_line(tool.name, 40) for tool in scaffold.tools) or "none"
    host.say(f"{scaffold.instructions or 'No instructions.'}\n\ntools  {tools}")


@command("lens")
async def lens(host: CommandHost, arguments: str) -> None:
    if arguments:
        host.fail(f"/lens takes nothing, not {one_line(arguments, 40)!r}.")
    elif (session := host.session) is None and not host.sessions.is_read_only:
        host.say(why_not_open(host))
    else:
        from co_tui.ui.commands.lens_source import OpenSubject, StoredSubject
        from co_tui.ui.lens.lens_screen import LensScreen

        subject = OpenSubject(host, session) if session is not None else StoredSubject(host)
        upto = await host.ask(lambda: LensScreen(subject))
        if upto is not None and session is not None:
            await compact_now(host, session, upto=upto)


@command("session")
async def session(host: CommandHost, arguments: str) -> None:
    if arguments not in ("", "checkpoints"):
        host.fail(f"/session takes `checkpoints`, not {one_line(arguments, 40)!r}.")
        return
    found = _checkpoints(host)
    if not found:
        now = f"{host.view.shortcut_for('compact')} compacts now"
        host.say(f"No checkpoints yet; every compaction writes one. {now}.")
        return
    host.say("\n".join(f"{each.number:>3}  {each.title}\n     {each.path}" for each in found))


def _checkpoints(host: CommandHost) -> "Sequence[Checkpoint]":
    if host.session is not None:
        return host.session.compaction_files.listed()
    from co_tui.store.notes.checkpoints import Checkpoints

    session_id = host.sessions.session_id
    return Checkpoints(host.settings.launch.paths.session(session_id)).list() if session_id else ()


@command("mcp")
async def mcp(host: CommandHost, arguments: str) -> None:
    if arguments not in ("", "restart"):
        host.fail(f"/mcp takes nothing or `restart`, not {one_line(arguments, 40)!r}.")
        return
    if arguments:
        host.sessions.restart_mcp_servers()
    from co_tui.agent.mcp.servers import server_states

    servers = server_states(host.settings.launch.loaded, host.sessions.backend.server_reports())
    width = max((len(name) for name, _ in servers), default=0)
    none = "No MCP servers. Add `[mcp_servers.NAME]` with a `command` or `url` to config.toml."
    host.say("\n".join(f"{name.ljust(width)}  {state}" for name, state in servers) or none)
