"""Commands that switch, export and rename sessions."""

from pathlib import Path

from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.ui.commands.host import NO_SESSION, CommandHost, why_not_open
from co_tui.ui.commands.registry import command
from co_tui.ui.control.stored_sessions import export_file, write_export


@command("sessions")
async def browse(host: CommandHost, _: str) -> None:
    from co_tui.ui.sessions.sessions_screen import SessionsScreen

    launch, sessions = host.settings.launch, host.sessions
    chosen = await host.ask(
        lambda: SessionsScreen(launch.store, launch.where, sessions.session_id, editor=sessions.stored)
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
        host.sessions.sender.give_back(chosen.prompt)
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


@command("import")
async def import_sessions(host: CommandHost, _: str) -> None:
    await host.other_programs.ask()


@command("export")
async def export(host: CommandHost, arguments: str) -> None:
    """Export to this folder unless a file is named; asks before replacing a file."""
    session_id = host.sessions.session_id
    if not session_id:
        host.fail(NO_SESSION)
        return
    form, file, is_named = _export_to(arguments, host.settings.launch.saves_in, session_id)
    if is_named and not file.suffix and not set(arguments) & set("/\\ "):
        name = one_line(arguments, 40)
        host.fail(f"Unknown format {name!r}. Use markdown, jsonl or html, or a file such as {name}.md.")
    elif file.is_dir():
        host.fail(f"{one_line(path_text(file), 200)} is a folder. Name a file.")
    elif not (is_named and file.exists()) or await host.confirm(f"Replace {one_line(path_text(file), 200)}?"):
        await _write(host, file, session_id, form)


def _export_to(arguments: str, cwd: Path, session_id: str) -> tuple[str, Path, bool]:
    """The format, the file, and whether the user named it."""
    from co_tui.exchange.exporters import EXPORTERS, format_of

    word, _, rest = arguments.partition(" ")
    form, name = (word, rest.strip()) if word in EXPORTERS else ("", arguments.strip())
    form = form or (format_of(name) if name else "markdown")
    return form, cwd / Path(name).expanduser() if name else export_file(cwd, session_id, form), bool(name)


async def _write(host: CommandHost, file: Path, session_id: str, form: str) -> None:
    await write_export(host.settings.launch, session_id, form, file)
    host.say(f"Exported to {one_line(path_text(file), 200)}.")


@command("share")
async def share(host: CommandHost, arguments: str) -> None:
    session_id, store = host.sessions.session_id, host.settings.launch.store
    if arguments not in ("", "on", "off"):
        host.fail(f"/share takes nothing or `off`, not {one_line(arguments, 40)!r}.")
    elif not session_id:
        host.fail(NO_SESSION)
    else:
        await host.sessions.stored.share(session_id, shared=arguments != "off")
        to_all = f"Shared: all users of {one_line(store.location, 200)} can read and fork it. /share off stops it."
        host.say(to_all if arguments != "off" else "No longer shared.")


@command("rename")
async def rename(host: CommandHost, title: str) -> None:
    session = host.session
    if session is None:
        host.fail(why_not_open(host))
    elif title := title or await _title(host, session.state.title):
        await session.rename(one_line(title, 200))


async def _title(host: CommandHost, present: str) -> str:
    from co_tui.ui.dialogs.simple_dialogs import AskScreen

    return (await host.ask(lambda: AskScreen("Name of this session", present)) or "").strip()
