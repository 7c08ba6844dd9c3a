"""Commands that switch sessions, and the dialog that renames one."""

from functools import partial
from typing import TYPE_CHECKING

from co_tui.session.slash import sessions_commands as without_dialog
from co_tui.ui.background import in_thread
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.dialogs.simple_dialogs import AskScreen
from co_tui.ui.heavy_imports import import_locked
from co_tui.ui.sessions.sessions_screen import SessionsScreen

if TYPE_CHECKING:
    from co_tui.store.port import Store


@command("sessions")
async def browse(host: CommandHost, _: str) -> None:
    launch, sessions = host.launch, host.sessions
    chosen = await host.ask(
        lambda: SessionsScreen(launch.store, launch.workplace.text, sessions.session_id, editor=sessions.stored)
    )
    if chosen is None:
        return
    if not chosen.forks:
        if not chosen.at or chosen.session_id != sessions.session_id:
            await _switch(host, chosen.session_id)
        if chosen.at and sessions.session_id == chosen.session_id:
            await host.view.show_message(chosen.at)
        return
    await sessions.stored.fork(chosen.session_id, chosen.upto)
    if chosen.prompt:
        host.give_back(chosen.prompt)
    host.say("Forked. The original is unchanged.")


@command("resume")
async def resume(host: CommandHost, name: str) -> None:
    if not name:
        await browse(host, "")
        return
    await _switch(host, await host.sessions.stored.find(name))


async def _switch(host: CommandHost, session_id: str) -> None:
    if session_id == host.sessions.session_id:
        host.say("That session is already open.")
    else:
        await host.sessions.switch_session(session_id)


@command("new")
async def new(host: CommandHost, _: str) -> None:
    await host.sessions.begin_session()


@command("example")
async def example(host: CommandHost, _: str) -> None:
    """Copying it imports the engine, which may still be loading."""
    await host.sessions.switch_session(await in_thread(import_locked, partial(_copied, host.launch.store)))


def _copied(store: "Store") -> str:
    from co_tui.exchange.intake.example import copy_example

    return copy_example(store)


@command("import")
async def import_sessions(host: CommandHost, _: str) -> None:
    await host.other_programs.ask()


@command("rename")
async def rename(host: CommandHost, title: str) -> None:
    if title := title or await _title(host, host.opened().state.title):
        await without_dialog.rename(host, title)


async def _title(host: CommandHost, present: str) -> str:
    return (await host.ask(lambda: AskScreen("Name of this session", present)) or "").strip()
