"""`co-tui backup FILE`: all sessions and files of this installation in one file."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.redact import keys_in
from co_tui.events.wording import counted
from co_tui.exchange.backup.archive import BackupWriter, Totals
from co_tui.exchange.backup.making import Making, add_files, add_sessions, all_sessions
from co_tui.headless.output import DONE, FAILED, CommandContext, put_json, say
from co_tui.paths import link_target, path_text, replaced_atomically, wrong_target
from co_tui.session.synced_files import SyncedFiles
from co_tui.store.store_errors import StoreError

PROGRESS_EVERY_S: Final = 5.0
_UNITS: Final = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


def backup(
    context: CommandContext,
    file: Path,
    environ: Mapping[str, str],
    *,
    force: bool = False,
    snapshots: bool = False,
    as_json: bool = False,
) -> int:
    """Write the file in one step: it is whole, or not there."""
    if wrong := wrong_target(file):
        say(wrong)
        return FAILED
    if os.path.lexists(file) and not force:
        say(f"{path_text(file)} exists. Name another file, or replace it with --force.")
        return FAILED
    file = link_target(file)
    KeptKeys(context.paths).hide_all()
    keys = keys_in(environ)
    try:
        context.store.sync.complete()
    except StoreError as error:
        say(f"{error} The backup has what is on this machine.")
    names, progress = all_sessions(context.store), _Progress()
    with replaced_atomically(file) as stream, BackupWriter(stream, file.parent) as writer:
        for trouble in add_sessions(writer, context.store, names, keys, progress.report):
            say(trouble)
        SyncedFiles(context.paths, context.store.sync.files).refresh_stored(names)
        for trouble in add_files(writer, context.paths, keys, snapshots=snapshots):
            say(trouble)
        totals = writer.finish()
    if as_json:
        put_json({"file": path_text(file), **totals._asdict(), "file_bytes": file.stat().st_size})
    say(f"{totals_text(totals)} in {path_text(file)} ({size_text(file.stat().st_size)}).")
    return DONE


def totals_text(totals: Totals) -> str:
    sessions, events, files, _ = totals
    return f"{counted(sessions, 'session')} with {counted(events, 'event')} and {counted(files, 'file')}"


def size_text(count: int) -> str:
    """812 bytes, 3.4 MB."""
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return counted(count, "byte")


class _Progress:
    def __init__(self) -> None:
        self._reported = time.monotonic()

    def report(self, making: Making) -> None:
        if time.monotonic() - self._reported >= PROGRESS_EVERY_S:
            self._reported = time.monotonic()
            say(f"{making.sessions:,} of {counted(making.of_sessions, 'session')}, {size_text(making.bytes)}")
