"""`co-tui export --all -o FOLDER`: a log of each session, for a folder that is synced between machines."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.redact import keys_in
from co_tui.events.wording import counted
from co_tui.exchange.exporters import SUFFIXES, exported
from co_tui.headless.output import DONE, FAILED, CommandContext, put, say
from co_tui.paths import path_text, write_atomically
from co_tui.store.port import Reading
from co_tui.store.stored_values import SessionRow

MAX_SESSIONS: Final = 1_000_000
_TAIL_BYTES: Final = 1_000_000
"""How much of a file's end is read to find its last event."""
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


def export_all(context: CommandContext, folder: Path, environ: Mapping[str, str]) -> int:
    """Write the logs that changed. A file with something that is not here is left alone: import it first."""
    KeptKeys(context.paths).hide_all()
    keys = keys_in(environ)
    done = unchanged = 0
    kept: list[Path] = []
    with context.store.reading() as reading:
        for row in reading.sessions(limit=MAX_SESSIONS):
            file = folder / f"{_UNSAFE.sub('_', row.id)}{SUFFIXES['jsonl']}"
            if _last_event(file) == _newest(reading, row):
                unchanged += 1
            elif _has_more(reading, file):
                kept.append(file)
            else:
                write_atomically(file, "".join(exported(reading.events(row.id), "jsonl", keys)))
                put(path_text(file))
                done += 1
    for file in kept:
        say(f"{path_text(file)} has something new. Import it, then export again.")
    say(f"{counted(done, 'session')} exported, {unchanged:,} unchanged.")
    return FAILED if kept else DONE


def _newest(reading: Reading, row: SessionRow) -> tuple[int, str]:
    (event,) = reading.last_events(row.id, 1)
    return event.seq or 0, event.timestamp


def _last_event(file: Path) -> tuple[int, str] | None:
    """The seq and time of the last event in a log; None when there is none."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
            last = stream.read().rstrip(b"\n").rpartition(b"\n")[2]
        record = json.loads(last)
        return record["seq"], record["timestamp"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _has_more(reading: Reading, file: Path) -> bool:
    """Whether the file holds anything that is not stored here, or is no log of ours."""
    if not file.exists():
        return False
    from co_tui.exchange.importers import ImportRefused, load
    from co_tui.exchange.intake.take_in import Outcome, look_up

    try:
        return any(look_up(reading, session).outcome is not Outcome.KNOWN for session in load(file))
    except ImportRefused:
        return True
