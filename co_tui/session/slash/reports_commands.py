"""Commands that report on the session."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from co_tui.events.wording import counted, money, percent
from co_tui.inert import one_line
from co_tui.session.event_wording import ASSUMED, cost_text
from co_tui.session.slash.command_host import CommandHost, WrongArguments, command
from co_tui.session.slash.conversation_commands import clear
from co_tui.session.state.context_report import context_report
from co_tui.session.state.derive import replay
from co_tui.session.state.out_of_context import out_of_context

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState
    from co_tui.store.notes.checkpoints import Checkpoint

NOTHING_SENT = "Nothing sent yet. Send a prompt first."


@command("history")
async def history(host: CommandHost, _: str) -> None:
    state = await _whole_state(host)
    settings = host.session.settings if host.session is not None else host.launch.settings
    if settings.history_turns == "requests":
        requests = sum(entry.message.get("kind") == "request" for entry in state.history)
        host.answer(f"{counted(requests, 'turn')}, {counted(len(state.history), 'message')}.")
        return
    said, removed = sum(not entry.agent for entry in state.transcript), len(out_of_context(state).removals)
    host.answer(f"{counted(state.turn, 'turn')}. The model sees {said - removed:,} of {counted(said, 'message')}.")


@command("context")
async def context(host: CommandHost, arguments: str) -> None:
    if arguments == "clear":
        await clear(host, "")
    elif arguments == "instructions":
        _show_instructions(host)
    elif arguments:
        raise WrongArguments(f"/context takes nothing, `instructions` or `clear`, not {one_line(arguments, 40)!r}.")
    else:
        await _show_context(host)


async def _show_context(host: CommandHost) -> None:
    state = await _whole_state(host)
    if state.usage is None:
        host.say(NOTHING_SENT)
        return
    figures = context_report(state)
    roles = "  ".join(f"{role} {count}" for role, count in figures["roles"].items()) or "none"
    assumed = limit_note(figures)
    measured = "counted by the provider" if figures["measured"] == "provider" else "estimated"
    host.answer(
        f"context       {figures['current_tokens']:,} of {figures['token_limit']:,} tokens{assumed}, "
        f"{percent(figures['share'])}, {measured}\n"
        f"system        {figures['system_tokens']:,}\n"
        f"{_board(figures)}"
        f"tools         {figures['tool_definition_tokens']:,}\n"
        f"conversation  {figures['conversation_tokens']:,}\n"
        f"messages      {figures['messages_count']}  ({roles}){not_sent(figures)}\n"
        f"characters    {figures['characters']:,}\n"
        f"cost          {session_cost(figures)}"
        f"{_of(host.launch.settings.max_session_cost)}\n"
        f"{await _today(host)}"
    )


def session_cost(figures: Mapping[str, Any]) -> str:
    return cost_text(figures["cost"], figures["summary_cost"], figures["assumed_cost"], model=figures["model"])


def limit_note(figures: Mapping[str, Any]) -> str:
    """Whether the window is assumed, and from where."""
    if figures["limit_known"]:
        return ""
    return f" ({ASSUMED if figures['limit_source'] else 'assumed'})"


def not_sent(figures: Mapping[str, Any]) -> str:
    """How many messages of the history are not sent, if any."""
    return f", {count:,} of them not sent" if (count := figures["messages_not_sent"]) else ""


def _of(limit: float) -> str:
    return f", limit {money(limit)}" if limit else ""


async def _today(host: CommandHost) -> str:
    """What all sessions cost today, from the log."""
    from co_tui.session.turns.spending import start_of_today

    launch = host.launch

    def read() -> float:
        with launch.store.reading() as reading:
            return reading.spent_since(start_of_today())

    spent = await asyncio.to_thread(read)
    return f"today         {money(spent)} in all sessions{_of(launch.settings.max_daily_cost)}"


async def _whole_state(host: CommandHost) -> "SessionState":
    """The session's own state, which may be ahead of the screen; one that is not open here is read from its log."""
    if host.session is not None:
        return host.session.state
    store, session_id = host.launch.store, host.session_id
    if not session_id:
        return host.state

    def read() -> "SessionState":
        with store.reading() as reading:
            return replay(reading.events(session_id))

    return await asyncio.to_thread(read)


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
    host.answer(f"{scaffold.instructions or 'No instructions.'}\n\ntools  {tools}")


@command("session")
async def session(host: CommandHost, arguments: str) -> None:
    if arguments not in ("", "checkpoints"):
        raise WrongArguments(f"/session takes `checkpoints`, not {one_line(arguments, 40)!r}.")
    if found := _checkpoints(host):
        host.answer("\n".join(f"{each.number:>3}  {each.title}\n     {each.path}" for each in found))
    else:
        now = f"{host.shortcut_for('compact')} compacts now"
        host.say(f"No checkpoints yet; every compaction writes one. {now}.")


def _checkpoints(host: CommandHost) -> "Sequence[Checkpoint]":
    if host.session is not None:
        return host.session.compaction_files.listed()
    from co_tui.store.notes.checkpoints import Checkpoints

    session_id = host.session_id
    return Checkpoints(host.launch.paths.session(session_id)).list() if session_id else ()


def require_restart(arguments: str) -> None:
    """Raises `WrongArguments` for arguments that `/mcp` does not take."""
    if arguments not in ("", "restart"):
        raise WrongArguments(f"/mcp takes nothing or `restart`, not {one_line(arguments, 40)!r}.")


@command("mcp")
async def mcp(host: CommandHost, arguments: str) -> None:
    require_restart(arguments)
    from co_tui.agent.mcp.servers import server_states

    servers = server_states(host.launch.loaded, await host.server_reports(restart=bool(arguments)))
    width = max((len(name) for name, _ in servers), default=0)
    file = host.launch.paths.config_file
    none = f"No MCP servers. Add `[mcp_servers.NAME]` with a `command` or `url` to {file}."
    host.answer("\n".join(f"{name.ljust(width)}  {state}" for name, state in servers) or none)


@command("doctor")
async def doctor(host: CommandHost, _: str) -> None:
    """What `co-tui doctor` reports, by that command itself: it waits for servers and reads the whole store."""
    from asyncio.subprocess import DEVNULL, PIPE, STDOUT

    host.notice("Checking the installation.")
    launch = host.launch
    # Without -P, a module in the user's folder could shadow one of ours.
    checking = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "co_tui", "doctor"),
        cwd=launch.cwd,
        env=dict(launch.environ),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
    )
    try:
        report = (await checking.communicate())[0]
    finally:
        if checking.returncode is None:
            checking.kill()
    host.answer(report.decode(errors="replace").rstrip())
