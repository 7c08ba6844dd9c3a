"""`co-tui export --all -o FOLDER`: a log of each session, for a folder that is synced between machines."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.redact import keys_in
from co_tui.events import Event
from co_tui.events.wording import counted
from co_tui.exchange.exporters import SUFFIXES, exported
from co_tui.exchange.intake.folder_deletions import latest, write_deletions
from co_tui.headless.output import DONE, FAILED, CommandContext, put, say
from co_tui.paths import path_text, write_atomically
from co_tui.store.port import Reading, Store
from co_tui.store.stored_values import Deletion, SessionRow
from co_tui.store.sync.deleted_words import deleted_upto, tips_of

MAX_SESSIONS: Final = 1_000_000
_TAIL_BYTES: Final = 1_000_000
"""How much of a file's end is read first to find its last event."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class _News(Enum):
    """What a file has that is not stored here."""

    NONE = 0
    SOME = 1
    """Or it is not a log of ours."""
    BRANCH = 2
    """The session went on differently."""


def export_all(context: CommandContext, folder: Path, environ: Mapping[str, str]) -> int:
    """Write the logs and deletions that changed. A file with something that is not here is left alone: import it first.

    Where the session went on differently here, that is written as the fork that it becomes by the import.
    """
    KeptKeys(context.paths).hide_all()
    export = _Export(context.store, folder, keys_in(environ))
    with context.store.reading() as reading:
        export.run(reading)
    for file in export.kept:
        say(f"{path_text(file)} has something new. Import it, then export again.")
    say(f"{counted(export.done, 'session')} exported, {export.unchanged:,} unchanged.")
    return FAILED if export.kept else DONE


class _Export:
    def __init__(self, store: Store, folder: Path, keys: Sequence[str]) -> None:
        self._store, self._folder, self._keys = store, folder, keys
        self.done = self.unchanged = 0
        self.kept: list[Path] = []

    def run(self, reading: Reading) -> None:
        write_deletions(reading, self._folder)
        deleted = {session_id: each for session_id, each in latest(self._folder).items() if each.is_deleted}
        rows = [row for in_trash in (False, True) for row in reading.sessions(MAX_SESSIONS, in_trash=in_trash)]
        for row in rows:
            if not row.owner:
                self._session(reading, row, deleted.get(row.id))
        for session_id in deleted.keys() - {row.id for row in rows}:
            file = self._file(session_id)
            if file.exists() and self._news(file) is _News.NONE:
                file.unlink()

    def _session(self, reading: Reading, row: SessionRow, deletion: Deletion | None) -> None:
        file = self._file(row.id)
        (last,) = reading.last_events(row.id, 1)
        if _last_event(file) == (last.seq, last.timestamp):
            self.unchanged += 1
        elif deletion is not None and deleted_upto(deletion, tips_of(reading.events(row.id))) is not None:
            self.kept.append(file)
        elif (news := self._news(file)) is _News.NONE:
            self._write(file, list(reading.events(row.id)))
        else:
            self.kept.append(file)
            if news is _News.BRANCH and not self._store.sync.server:
                self._write_fork(file, list(reading.events(row.id)))

    def _file(self, session_id: str) -> Path:
        return self._folder / f"{_UNSAFE.sub('_', session_id)}{SUFFIXES['jsonl']}"

    def _news(self, file: Path) -> _News:
        if not file.exists():
            return _News.NONE
        from co_tui.exchange.importers import ImportRefused, load
        from co_tui.exchange.intake.take_in import Outcome, look_up

        try:
            found = {look_up(self._store, session, from_folder=True).outcome for session in load(file)}
        except ImportRefused:
            return _News.SOME
        return _News.BRANCH if Outcome.FORKED in found else _News.SOME if found - {Outcome.KNOWN} else _News.NONE

    def _write(self, file: Path, log: Sequence[Event]) -> None:
        write_atomically(file, "".join(exported(log, "jsonl", self._keys)))
        put(path_text(file))
        self.done += 1

    def _write_fork(self, file: Path, log: Sequence[Event]) -> None:
        """The branch here as its own session, unless the folder has it."""
        from co_tui.exchange.importers import load
        from co_tui.store.sync.branches import forked, has_conversation, shared_seq

        theirs = next((session.log for session in load(file) if session.session_id == log[0].session_id), ())
        shared = shared_seq(log, theirs)
        if not (theirs and has_conversation(log[shared:])):
            return
        fork = forked(log, shared)
        target = self._file(fork[0].session_id)
        known = next((session.log for session in load(target)), ()) if target.exists() else ()
        if shared_seq(fork, known) == len(known) < len(fork):
            self._write(target, fork)


def _last_line(file: Path) -> bytes:
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        tail = min(_TAIL_BYTES, size)
        while True:
            stream.seek(size - tail)
            before, _, last = stream.read(tail).rstrip(b"\n").rpartition(b"\n")
            if before or tail == size:
                return last
            tail = min(4 * tail, size)


def _last_event(file: Path) -> tuple[int, str] | None:
    """The seq and time of the last event in a log; None when there is none."""
    try:
        record = json.loads(_last_line(file))
        return record["seq"], record["timestamp"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
