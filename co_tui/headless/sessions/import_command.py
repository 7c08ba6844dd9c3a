"""`co-tui import`: sessions of other programs become ordinary sessions."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from co_tui.events.wording import counted
from co_tui.exchange.importers import ImportedSession
from co_tui.exchange.importers.default_folders import files_in, files_of, files_of_all
from co_tui.exchange.importers.programs.opencode import is_storage
from co_tui.exchange.intake.folder_deletions import apply_deletions, deletions_in, preview_deletions
from co_tui.exchange.intake.growth import Reading
from co_tui.exchange.intake.import_files import FileImport, ImportTally, import_files
from co_tui.exchange.intake.take_in import Outcome, TakenIn
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, CommandContext, put, put_json, say, table
from co_tui.headless.sessions.copy_tally import TITLE_CHARS, growth_text
from co_tui.inert import inert, one_line
from co_tui.paths import path_text
from co_tui.store.sync.branches import FORKS
from co_tui.store.sync.placing import carry_files

PROGRESS_EVERY_S = 1.0
LONG_S = 5.0
"""How long one step of one file may take before it is said, and said again."""
MAX_REFUSALS_SHOWN = 20
"""For files that were not named; the rest are counted."""
_NAMED = ""
"""In place of a program, for files that were named."""


class ImportOptions(NamedTuple):
    """What to import, and how to report it."""

    files: Sequence[Path] = ()
    program: str | None = None
    all_programs: bool = False
    dry_run: bool = False
    as_json: bool = False
    again: bool = False
    """Read again what older readers imported."""


class _Found(NamedTuple):
    """A file to import."""

    file: Path
    program: str
    is_named: bool


def import_sessions(context: CommandContext, options: ImportOptions, environ: Mapping[str, str], home: Path) -> int:
    """Store the sessions of the files, of the folders among them, and of programs' own places."""
    found = [*_named(options.files), *_of_programs(options, environ, home)]
    folders = [folder for folder in options.files if deletions_in(folder)]
    if not found and not folders:
        say(_nothing_found(options))
        return DONE if options.all_programs else FAILED
    run = _Run(context, options, found)
    try:
        for folder in folders:
            for sentence in _deleted(context, folder, dry_run=options.dry_run):
                say(sentence)
        if not found:
            return DONE
        run.go()
    except KeyboardInterrupt:
        done = f"Stopped after {run.total.files:,} of {counted(len(found), 'file')}"
        say(f"{done}: {run.total.text}. The same command continues.")
        return INTERRUPTED
    if options.dry_run:
        run.print_plan()
    elif len(found) > 1:
        say(f"{run.total.text}.")
    if offer := "" if options.again else run.total.offer:
        say(offer)
    return run.code


def _deleted(context: CommandContext, folder: Path, *, dry_run: bool) -> Iterator[str]:
    if not dry_run:
        yield from apply_deletions(context.store, folder, carry_files(context.paths))
    elif sentence := preview_deletions(context.store, folder):
        yield sentence


def _named(files: Sequence[Path]) -> Iterator[_Found]:
    """Each file, and whether it was named itself rather than its folder."""
    for file in files:
        if file.is_dir() and not is_storage(file):
            yield from (_Found(each, _NAMED, False) for each in _in_folder(file))
        else:
            yield _Found(file, _NAMED, True)


def _in_folder(folder: Path) -> list[Path]:
    """The files of sessions, forks first: they say which branch of a session is a fork elsewhere."""
    deletions = deletions_in(folder)
    files = [file for file in files_in(folder) if file not in deletions]
    return sorted(files, key=lambda file: not file.name.startswith(f"{FORKS}-"))


def _of_programs(options: ImportOptions, environ: Mapping[str, str], home: Path) -> Iterator[_Found]:
    if options.all_programs:
        programs = files_of_all(environ, home)
    else:
        programs = {options.program: files_of(options.program, environ, home)} if options.program else {}
    for program, files in programs.items():
        yield from (_Found(file, program, False) for file in files)


def _nothing_found(options: ImportOptions) -> str:
    if options.all_programs:
        return "No sessions of other programs found on this machine."
    return f"No sessions of {options.program} found." if options.program else "No file to import there."


class _LongWork:
    """Says what takes long, and for how long it has, from a thread of its own."""

    def __init__(self) -> None:
        self._what, self._since = "", 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._report, name="import progress", daemon=True)

    def begin(self, what: str) -> None:
        self._what, self._since = what, time.monotonic()

    def _report(self) -> None:
        while not self._ended.wait(LONG_S):
            seconds = time.monotonic() - self._since
            if self._what and seconds >= LONG_S:
                say(f"{self._what}, {seconds:,.0f} s so far")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._ended.set()
        self._thread.join()


class _Run:
    """Goes through the files and reports each."""

    def __init__(self, context: CommandContext, options: ImportOptions, found: Sequence[_Found]) -> None:
        self._context, self._options, self._found = context, options, found
        self._by_program: dict[str, ImportTally] = {}
        self._refused_by_name = 0
        self.total = ImportTally()

    @property
    def code(self) -> int:
        """A file that was named and cannot be read is a failure; one of many in a folder is not."""
        return FAILED if self._refused_by_name or not (self.total.sessions or self._options.all_programs) else DONE

    def go(self) -> None:
        reported = time.monotonic()
        files = (each.file for each in self._found)
        of_folders = {each.file for each in self._found if each.program == _NAMED and not each.is_named}
        carry = carry_files(self._context.paths)
        with _LongWork() as work:
            imports = import_files(
                self._context.store,
                files,
                dry_run=self._options.dry_run,
                of_folders=of_folders,
                carry=carry,
                again=self._options.again,
                begun=work.begin,
            )
            for number, (found, done) in enumerate(zip(self._found, imports, strict=True), 1):
                self._count(found, done)
                self._report(found, done)
                if len(self._found) > 1 and time.monotonic() - reported >= PROGRESS_EVERY_S:
                    reported = time.monotonic()
                    say(f"{number:,} of {len(self._found):,} files, {self._progress}")

    @property
    def _progress(self) -> str:
        return f"{self.total.sessions:,} sessions" if self._options.dry_run else f"{self.total.new:,} sessions imported"

    def _count(self, found: _Found, done: FileImport) -> None:
        self.total.add(done)
        self._by_program.setdefault(found.program, ImportTally()).add(done)
        self._refused_by_name += found.is_named and bool(done.refused)

    def _report(self, found: _Found, done: FileImport) -> None:
        for why in done.refused:
            if self._options.as_json and not self._options.dry_run:
                put_json({"file": path_text(done.file), "refused": why})
            if found.is_named or self.total.refused <= MAX_REFUSALS_SHOWN:
                say(why)
        for session, taken in () if self._options.dry_run else done.sessions:
            if self._options.as_json:
                put_json({"file": path_text(done.file), **_as_json(session, taken)})
            else:
                put(_line(session, taken))

    def print_plan(self) -> None:
        """What an import would do, by program."""
        if self._options.as_json:
            for program, tally in self._by_program.items():
                put_json({"program": program or None, **_plan_as_json(tally)})
            return
        header = ("PROGRAM", "FILES", "SESSIONS", "NEW", "GROWN", "FORKS", "KNOWN", "NOT IMPORTED", "READ BETTER")
        rows = [
            (program or "(named)", *(f"{number:,}" for number in _plan_as_json(tally).values()))
            for program, tally in self._by_program.items()
        ]
        put(table(header, rows))
        say("Nothing was imported: this was a dry run.")


def _plan_as_json(tally: ImportTally) -> dict[str, int]:
    return {
        "files": tally.files,
        "sessions": tally.sessions,
        "new": tally.new,
        "grown": tally.grown,
        "forks": tally.forks,
        "known": tally.known,
        "refused": tally.refused,
        "better": tally.better,
    }


def _as_json(session: ImportedSession, taken: TakenIn) -> dict[str, Any]:
    return {
        "session_id": taken.session_id,
        "source": session.source,
        "title": session.title,
        "messages": session.message_count,
        **({"delegations": count} if (count := session.delegation_count) else {}),
        "skipped": session.skipped,
        "left_out": dict(session.left_out),
        "imported": taken.outcome in (Outcome.NEW, Outcome.FORKED),
        **({"continued": taken.added, "added_events": taken.added_events} if taken.added_events else {}),
        **({"renamed": taken.renamed} if taken.renamed else {}),
        **({"fork_of": taken.fork_of} if taken.fork_of else {}),
        **({"restored": True} if taken.restored else {}),
        **({"reading": taken.reading.value} if taken.reading is not Reading.SAME else {}),
    }


def _line(session: ImportedSession, taken: TakenIn) -> str:
    skipped = f"{counted(session.skipped, 'damaged line')} skipped" if session.skipped else ""
    left_out = ", ".join(f"{count:,} {kind}" for kind, count in session.left_out.items())
    left_out = f"left out: {left_out}" if left_out else ""
    restored = "restored from the trash" if taken.restored else ""
    messages = counted(session.message_count, "message")
    delegations = counted(count, "delegation") if (count := session.delegation_count) else ""
    notes = ", ".join(filter(None, (messages, delegations, skipped, _outcome_text(taken), restored, left_out)))
    return inert(f"{taken.session_id}  {one_line(session.title, TITLE_CHARS) or '(no prompt)'}  ({notes})")


def _outcome_text(taken: TakenIn) -> str:
    match taken.outcome:
        case Outcome.NEW:
            return ""
        case Outcome.KNOWN:
            if taken.reading is Reading.CONTINUED:
                return "continued here, so it is not read again"
            return "deleted; name its file to restore it" if taken.deleted else "already imported"
        case Outcome.CONTINUED:
            return "read again" if taken.reading is Reading.AGAIN else growth_text(taken)
        case Outcome.FORKED:
            return f"a fork: {taken.fork_of} was continued differently here"
