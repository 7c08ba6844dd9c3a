"""Commands that go from one session to another."""

from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.ui.commands.host import NO_SESSION, CommandHost
from co_tui.ui.commands.registry import command


@command("sessions")
async def browse(host: CommandHost, _: str) -> None:
    from co_tui.ui.screens.sessions import SessionsScreen

    launch, sessions = host.settings.launch, host.sessions
    chosen = await host.ask(
        lambda: SessionsScreen(launch.store, path_text(launch.cwd), sessions.session_id, editor=sessions)
    )
    if chosen:
        await resume(host, chosen)


@command("resume")
async def resume(host: CommandHost, name: str) -> None:
    if not name:
        await browse(host, "")
        return
    session_id = host.sessions.find_session(name)
    if session_id == host.sessions.session_id:
        host.say("That session is open already.")
    else:
        await host.sessions.switch_session(session_id)


@command("new")
async def new(host: CommandHost, _: str) -> None:
    await host.sessions.begin_session()


@command("rename")
async def rename(host: CommandHost, title: str) -> None:
    session = host.session
    if session is None:
        host.fail(NO_SESSION)
    elif title := title or await _title(host, session.state.title):
        await session.rename(one_line(title, 200))


async def _title(host: CommandHost, present: str) -> str:
    from co_tui.ui.screens.question import AskScreen

    return (await host.ask(lambda: AskScreen("Name of this session", present)) or "").strip()
