"""`co-tui import`: sessions of other programs become ordinary sessions."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from co_tui.events import Message
from co_tui.events.wording import counted
from co_tui.exchange.importers import ImportedSession, ImportRefused, load
from co_tui.exchange.importers.default_folders import files_in, files_of
from co_tui.exchange.importers.programs.co_tui_log import NAME as CO_TUI
from co_tui.exchange.importers.programs.opencode import is_storage
from co_tui.headless.output import DONE, FAILED, CommandContext, put, put_json, say
from co_tui.inert import inert, one_line
from co_tui.paths import path_text
from co_tui.store.stored_values import ImportOutcome

PROGRESS_EVERY_S = 1.0
MAX_REFUSALS_SHOWN = 20
"""For files that were not named; the rest are counted."""
TITLE_CHARS = 72


@dataclass(slots=True)
class _Tally:
    """What came of all files so far."""

    imported: int = 0
    known: int = 0
    refused: int = 0
    refused_by_name: int = 0

    @property
    def code(self) -> int:
        """A file that was named and cannot be read is a failure; one of many in a folder is not."""
        return FAILED if self.refused_by_name or not (self.imported or self.known) else DONE


def import_sessions(
    context: CommandContext,
    files: Sequence[Path],
    *,
    program: str | None,
    environ: Mapping[str, str],
    home: Path,
    as_json: bool,
) -> int:
    """Store the sessions of the files, of the folders among them, and of a program's own places."""
    found = [*_named(files), *((file, False) for file in (files_of(program, environ, home) if program else ()))]
    if not found:
        say(f"No sessions of {program} found." if program else "No file to import there.")
        return FAILED
    tally, reported = _Tally(), time.monotonic()
    for number, (file, is_named) in enumerate(found, 1):
        _import(context, file, is_named, tally, as_json=as_json)
        if len(found) > 1 and time.monotonic() - reported >= PROGRESS_EVERY_S:
            reported = time.monotonic()
            say(f"{number:,} of {len(found):,} files, {tally.imported:,} sessions imported")
    if len(found) > 1:
        say(_summary(tally))
    return tally.code


def _named(files: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it was named itself rather than its folder."""
    for file in files:
        if file.is_dir() and not is_storage(file):
            yield from ((each, False) for each in files_in(file))
        else:
            yield file, True


def _import(context: CommandContext, file: Path, is_named: bool, tally: _Tally, *, as_json: bool) -> None:
    try:
        sessions: Iterable[ImportedSession] = load(file)
    except ImportRefused as refused:
        _refuse(file, str(refused), is_named, tally, as_json=as_json)
        return
    for session in sessions:
        # A session of ours that moves here is as old as it is; what others kept comes in new.
        outcome = context.store.writing().import_log(session.log, keeps_age=session.source == CO_TUI).result()
        is_new, is_restored = outcome is ImportOutcome.NEW, outcome is ImportOutcome.RESTORED
        restored = {"restored": True} if is_restored else {}
        tally.imported += is_new
        tally.known += not is_new
        if as_json:
            put_json({"file": path_text(file), **_as_json(session), "imported": is_new, **restored})
        else:
            notes = () if is_new else (_already_here(context, session), *(["restored from the trash"] * is_restored))
            put(_line(session, ", ".join(notes)))


def _refuse(file: Path, why: str, is_named: bool, tally: _Tally, *, as_json: bool) -> None:
    tally.refused += 1
    tally.refused_by_name += is_named
    if as_json:
        put_json({"file": path_text(file), "refused": why})
    if is_named or tally.refused <= MAX_REFUSALS_SHOWN:
        say(why)


def _as_json(session: ImportedSession) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "source": session.source,
        "title": session.title,
        "messages": len(session.messages),
        "skipped": session.skipped,
        "left_out": dict(session.left_out),
    }


def _already_here(context: CommandContext, session: ImportedSession) -> str:
    """What was stored once is left alone, also when the program has gone on with it since."""
    said = sum(isinstance(event.fact, Message) for event in session.log)
    with context.store.reading() as reading:
        more = said - reading.session(session.session_id).messages
    return f"already imported; the file has {counted(more, 'message')} more" if more > 0 else "already imported"


def _line(session: ImportedSession, already_here: str) -> str:
    skipped = f"{counted(session.skipped, 'damaged line')} skipped" if session.skipped else ""
    left_out = ", ".join(f"{count:,} {kind}" for kind, count in session.left_out.items())
    left_out = f"left out: {left_out}" if left_out else ""
    notes = ", ".join(filter(None, (counted(len(session.messages), "message"), skipped, already_here, left_out)))
    return inert(f"{session.session_id}  {one_line(session.title, TITLE_CHARS) or '(no prompt)'}  ({notes})")


def _summary(tally: _Tally) -> str:
    known = f", {tally.known:,} already imported" if tally.known else ""
    refused = f", {counted(tally.refused, 'file')} not imported" if tally.refused else ""
    return f"{counted(tally.imported, 'session')} imported{known}{refused}."
