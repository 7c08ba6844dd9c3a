"""Commands that export, share and rename the session."""

import asyncio
import contextlib
import itertools
from pathlib import Path

from co_tui.inert import one_line
from co_tui.paths import OWNER_ONLY_FILE, link_target, path_text, write_atomically, wrong_target
from co_tui.session.launch import Launch
from co_tui.session.slash.command_host import CommandHost, WrongArguments, command
from co_tui.store.store_errors import StoreError


@command("export")
async def export(host: CommandHost, arguments: str) -> None:
    """Export to a new file of this folder unless one is named; asks before replacing that."""
    host.require_writable()
    session_id = host.session_id or host.opened().id
    form, file = _export_to(arguments, host.launch.workplace.saves_in)
    if file is not None:
        if not file.suffix and not set(arguments) & set("/\\ "):
            name = one_line(arguments, 40)
            raise WrongArguments(f"Unknown format {name!r}. Use markdown, jsonl or html, or a file such as {name}.md.")
        if wrong := wrong_target(file):
            raise WrongArguments(one_line(wrong, 300))
        replaces = file.exists() or file.is_symlink()
        file = link_target(file)
        if replaces and not await host.confirm(f"Replace {one_line(path_text(file), 200)}?"):
            return
    written = await write_export(host.launch, session_id, form, file)
    host.say(f"Exported to {one_line(path_text(written), 200)}.")


def _export_to(arguments: str, cwd: Path) -> tuple[str, Path | None]:
    """The format, and the file if the user named one. Raises `WrongArguments`."""
    from co_tui.exchange.exporters import EXPORTERS, UnknownEnding, format_of

    word, _, rest = arguments.partition(" ")
    form, name = (word, rest.strip()) if word in EXPORTERS else ("", arguments.strip())
    try:
        form = form or (format_of(name) if name else "markdown")
    except UnknownEnding as unknown:
        raise WrongArguments(f"{unknown} Such as /export html {one_line(name, 40)}.") from None
    return form, cwd / Path(name).expanduser() if name else None


def _new_file(folder: Path, session_id: str, form: str) -> Path:
    """An empty file in the folder, of a name that nothing has."""
    from co_tui.exchange.exporters import SUFFIXES

    for number in itertools.count(1):
        file = folder / f"co-tui-{session_id}{f'-{number}' if number > 1 else ''}{SUFFIXES[form]}"
        with contextlib.suppress(FileExistsError):
            file.touch(mode=OWNER_ONLY_FILE, exist_ok=False)
            break
    return file


async def write_export(launch: Launch, session_id: str, form: str, file: Path | None = None) -> Path:
    """Write a session in a thread, to a new file of the present folder unless one is named; returns the file.

    Raises `StoreError` if it cannot be read or the file cannot be written.
    """
    folder = launch.workplace.saves_in

    def write() -> Path:
        from co_tui.agent.keys.kept_keys import KeptKeys
        from co_tui.agent.redact import keys_in
        from co_tui.exchange.exporters import exported

        KeptKeys(launch.paths).hide_all()
        with launch.store.reading() as reading:
            text = "".join(exported(reading.events(session_id), form, keys_in(launch.environ)))
        target = file or _new_file(folder, session_id, form)
        try:
            write_atomically(target, text)
        except BaseException:
            if file is None:
                target.unlink(missing_ok=True)
            raise
        return target

    try:
        return await asyncio.to_thread(write)
    except OSError as error:
        message = f"Cannot write {one_line(path_text(file or folder), 200)}: {error.strerror or error}."
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
