"""`co-tui sessions --copy-to URL` and `--copy-from URL`: the sessions of one database, in another."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.redact import keys_in
from co_tui.exchange.intake.copying import copy_sessions
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, CommandContext, say
from co_tui.headless.sessions.copy_tally import CopyTally
from co_tui.session.approvals.marks import Marks
from co_tui.session.synced_files import SyncedFiles
from co_tui.store.port import Store

MAX_SESSIONS: Final = 1_000_000


class CopyOptions(NamedTuple):
    """Which sessions to copy, and how to report it."""

    names: Sequence[str] = ()
    search: str = ""
    dry_run: bool = False
    as_json: bool = False


def copy(
    context: CommandContext, other: Store, options: CopyOptions, environ: Mapping[str, str], *, back: bool = False
) -> int:
    """Copy to the other store, or `back` from it. What is open and grew is left; the same command continues."""
    KeptKeys(context.paths).hide_all()
    source, target = (other, context.store) if back else (context.store, other)
    ids = _ids(source, options)
    tally = CopyTally("copied", len(ids), as_json=options.as_json)
    try:
        border = Marks(context.paths.machine_key).counted
        for brought in copy_sessions(source, target, ids, keys_in(environ), border, dry_run=options.dry_run):
            tally.count(brought)
        if not options.dry_run:
            for store in (source, target):  # the files here are copies of both
                SyncedFiles(context.paths, store.sync.files).refresh_stored(tally.same)
    except KeyboardInterrupt:
        say(f"Stopped: {tally.text}. The same command continues.")
        return INTERRUPTED
    except Exception:
        say(f"Stopped: {tally.text}. The same command continues.")
        raise
    there = other.sync.server or other.location
    from_, to = (there, context.store.location) if back else (context.store.location, there)
    say(f"{tally.text}: from {from_} to {to}.")
    if options.dry_run:
        say("Nothing was copied: this was a dry run.")
    return FAILED if tally.refused else DONE


def _ids(source: Store, options: CopyOptions) -> list[str]:
    """All sessions, those in the trash, too; or those that are named or found."""
    with source.reading() as reading:
        if options.names:
            return list(dict.fromkeys(reading.session(name).id for name in options.names))
        found = reading.sessions(MAX_SESSIONS, options.search)
        return [row.id for row in (*found, *reading.sessions(MAX_SESSIONS, options.search, in_trash=True))]
