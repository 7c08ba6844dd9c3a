"""Commands that export, share and rename the session."""

import asyncio
from pathlib import Path

from co_tui.inert import one_line
from co_tui.paths import link_target, path_text, write_atomically, wrong_target
from co_tui.session.launch import Launch
from co_tui.session.slash.command_host import CommandHost, WrongArguments, command
from co_tui.store.store_errors import StoreError


@command("export")
async def export(host: CommandHost, arguments: str) -> None:
    """Export to this folder unless a file is named; asks before replacing a file."""
    host.require_writable()
    session_id = host.session_id or host.opened().id
    form, file, is_named = _export_to(arguments, host.launch.workplace.saves_in, session_id)
    if is_named and not file.suffix and not set(arguments) & set("/\\ "):
        name = one_line(arguments, 40)
        raise WrongArguments(f"Unknown format {name!r}. Use markdown, jsonl or html, or a file such as {name}.md.")
    if wrong := wrong_target(file):
        raise WrongArguments(one_line(wrong, 300))
    replaces = is_named and (file.exists() or file.is_symlink())
    file = link_target(file) if is_named else file
    if not replaces or await host.confirm(f"Replace {one_line(path_text(file), 200)}?"):
        await write_export(host.launch, session_id, form, file)
        host.say(f"Exported to {one_line(path_text(file), 200)}.")


def _export_to(arguments: str, cwd: Path, session_id: str) -> tuple[str, Path, bool]:
    """The format, the file, and whether the user named it. Raises `WrongArguments`."""
    from co_tui.exchange.exporters import EXPORTERS, UnknownEnding, format_of

    word, _, rest = arguments.partition(" ")
    form, name = (word, rest.strip()) if word in EXPORTERS else ("", arguments.strip())
    try:
        form = form or (format_of(name) if name else "markdown")
    except UnknownEnding as unknown:
        raise WrongArguments(f"{unknown} Such as /export html {one_line(name, 40)}.") from None
    return form, cwd / Path(name).expanduser() if name else export_file(cwd, session_id, form), bool(name)


def export_file(folder: Path, session_id: str, form: str) -> Path:
    """The default file name of an exported session."""
    from co_tui.exchange.exporters import SUFFIXES

    return folder / f"co-tui-{session_id}{SUFFIXES[form]}"


async def write_export(launch: Launch, session_id: str, form: str, file: Path) -> None:
    """Write a session in a thread. Raises `StoreError` if it cannot be read or the file cannot be written."""

    def write() -> None:
        from co_tui.agent.keys.kept_keys import KeptKeys
        from co_tui.agent.redact import keys_in
        from co_tui.exchange.exporters import exported

        KeptKeys(launch.paths).hide_all()
        with launch.store.reading() as reading:
            text = "".join(exported(reading.events(session_id), form, keys_in(launch.environ)))
        write_atomically(file, text)

    try:
        await asyncio.to_thread(write)
    except OSError as error:
        message = f"Cannot write {one_line(path_text(file), 200)}: {error.strerror or error}."
        raise StoreError(message) from None


@command("share")
async def share(host: CommandHost, arguments: str) -> None:
    if arguments not in ("", "on", "off"):
        raise WrongArguments(f"/share takes nothing or `off`, not {one_line(arguments, 40)!r}.")
    host.require_writable()
    store, session_id = host.launch.store, host.session_id or host.opened().id
    await asyncio.wrap_future(store.sync.share(session_id, shared=arguments != "off"))
    to_all = f"Shared: all users of {one_line(store.sync.server, 200)} can read and fork it. /share off stops it."
    host.say(to_all if arguments != "off" else "No longer shared.")


@command("rename")
async def rename(host: CommandHost, title: str) -> None:
    session = host.opened()
    if not title:
        raise WrongArguments("Name the session: /rename TITLE.")
    await session.rename(one_line(title, 200))
    host.done(f"Renamed to {session.state.title}.")
