"""`co-tui sessions`: list, search, pin, trash, restore, prune and delete stored sessions."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from co_tui.events.wording import counted, local_text, local_time, percent
from co_tui.headless.output import DONE, FAILED, WRONG_USAGE, CommandContext, has_terminal, put, put_json, say, table
from co_tui.headless.sessions.stored_rows import refresh, say_unpushed, stored_row
from co_tui.inert import inert, one_line
from co_tui.session.event_wording import clean_up_text, cost_text
from co_tui.session.workplace.host.address import recorded_address
from co_tui.store.housekeeping import (
    CleanUp,
    clean_up,
    delete_forever,
    delete_trash,
    move_to_trash,
    pin,
    planned_clean_up,
    restore_from_trash,
)
from co_tui.store.port import Reading
from co_tui.store.stored_values import SessionRow

if TYPE_CHECKING:
    from argparse import Namespace
    from types import SimpleNamespace


def sessions_command(context: CommandContext, options: "Namespace | SimpleNamespace") -> int:
    if wrong := _misplaced(options):
        say(wrong)
        return WRONG_USAGE
    if options.prune:
        return _prune(context, dry_run=options.dry_run, as_json=options.json, verbose=options.verbose)
    if options.empty_trash:
        return _empty_trash(context, yes=options.yes)
    if options.restore is not None:
        return _restore(context, options.restore)
    if options.delete is not None:
        if options.forever:
            return _delete_forever(context, options.delete, yes=options.yes)
        return _delete(context, options.delete)
    return _set_or_list(context, options)


def _set_or_list(context: CommandContext, options: "Namespace | SimpleNamespace") -> int:
    for name, pinned in ((options.pin, True), (options.unpin, False)):
        if name is not None:
            return _set_pinned(context, name, pinned=pinned)
    for name, shared in ((options.share, True), (options.unshare, False)):
        if name is not None:
            return _set_shared(context, name, shared=shared)
    return _list_sessions(
        context, search=options.search, limit=options.limit, as_json=options.json, in_trash=options.trash
    )


def _misplaced(options: "Namespace | SimpleNamespace") -> str:
    """What to say about an option without the one it belongs to; empty if there is none."""
    if options.ids:
        return "IDs work only with --copy-to or --copy-from. Print a session with `co-tui show ID`."
    if options.dry_run and not options.prune:
        return "--dry-run works only with --prune, --copy-to or --copy-from."
    if options.verbose and not options.prune:
        return "--verbose works only with --prune."
    if options.forever and options.delete is None:
        return "--forever works only with --delete ID."
    if options.yes and not (options.forever or options.empty_trash):
        return "--yes works only with --delete ID --forever or --empty-trash."
    return ""


def _list_sessions(context: CommandContext, *, search: str, limit: int, as_json: bool, in_trash: bool = False) -> int:
    """List the newest sessions, with those that a server has."""
    refresh(context)
    with context.store.reading() as reading:
        rows = reading.sessions(limit=limit, search=search, in_trash=in_trash)
        not_searched = len(reading.not_fetched()) if search and not in_trash else 0
        if search and reading.search(search, limit=1).is_incomplete:
            say("Older messages cannot all be found yet: an upgrade continues while co-tui is open.")
        if as_json:
            for row in rows:
                put_json({**row.as_json(), **(_match(reading, row.id, search) if search else {})})
    if not as_json:
        _print_rows(rows, search, in_trash=in_trash)
    if not_searched:
        shared = counted(not_searched, "shared session")
        say(f"Not searched: {shared} whose text is not here yet. `co-tui show` fetches it.")
    say_unpushed(context)
    return DONE


def _print_rows(rows: Sequence[SessionRow], search: str, *, in_trash: bool) -> None:
    if rows:
        put(table(("ID", "UPDATED", "MESSAGES", "CONTEXT", "COST", "TITLE"), map(_cells, rows)))
        if others := sorted({row.owner for row in rows if row.owner}):
            say(f"Shared by {one_line(', '.join(others), 200)}: read with `co-tui show`, copy with --fork.")
    elif search:
        say(f"No session{' in the trash' if in_trash else ''} contains {search!r}.")
    else:
        say("The trash is empty." if in_trash else "No sessions yet. `co-tui run -p …` starts one.")


def _match(reading: Reading, session_id: str, search: str) -> dict[str, object]:
    """The newest message of a session that holds the words; nothing when only its title does."""
    hits = reading.search(search, session_id=session_id, limit=1).hits
    if not hits:
        return {}
    hit = hits[0]
    snippet = {"text": hit.snippet.text, "places": hit.snippet.spans}
    return {"match": {"seq": hit.seq, "role": hit.role, "tool": hit.tool, **snippet}}


def _cells(row: SessionRow) -> tuple[str, ...]:
    updated = local_time(row.updated)
    share = percent(row.share) if row.share is not None else "–"
    cost = cost_text(row.known_cost, model=row.model) if row.tokens else "–"
    title = row.title or "(no prompt yet)"
    if whose := _whose(row):
        title += f" ({whose})"
    if (address := recorded_address(row.cwd)) is not None:
        title += f" (on {one_line(address.host, 60)})"
    return row.id, f"{updated:%Y-%m-%d %H:%M}", str(row.messages), share, cost, title


def _whose(row: SessionRow) -> str:
    return f"of {one_line(row.owner, 40)}" if row.owner else ("shared" if row.shared else "")


def _prune(context: CommandContext, *, dry_run: bool, as_json: bool, verbose: bool) -> int:
    """Put what was not used for `retention_days` into the trash, and delete what was there too long.

    Says how many, or would be; `verbose` lists each.
    """
    from co_tui.session.clean_up import retention_policy

    days = context.loaded.settings.retention_days
    what = planned_clean_up(
        context.store, retention_days=days, policy=retention_policy(context.loaded), now=datetime.now(UTC)
    )
    done = what if dry_run else clean_up(context.store, what)
    if as_json or verbose:
        _list_cleaned_up(done, as_json=as_json)
    if not days:
        say("retention_days is 0: sessions never expire. Try `co-tui config retention_days 30`.")  # fmt: skip
    say(clean_up_text(done, days, dry_run=dry_run) or "Nothing to clean up.")
    return DONE


def _restore(context: CommandContext, name: str) -> int:
    row = stored_row(name, context)
    if not row.trashed:
        say(f"Session {row.id} is not in the trash.")
        return DONE
    restore_from_trash(context.store, row.id)
    return _done(row, "restored from the trash")


def _delete(context: CommandContext, name: str) -> int:
    row = stored_row(name, context)
    if row.trashed:
        say(f"Session {row.id} is already in the trash. --forever deletes it.")
        return DONE
    move_to_trash(context.store, row.id)
    return _done(row, f"in the trash; `co-tui sessions --restore {row.id}` restores it")


def _delete_forever(context: CommandContext, name: str, *, yes: bool) -> int:
    row = stored_row(name, context)
    if yes and name != row.id:
        # The same line run twice would find another session, whose id begins with the same letters.
        say(f"--yes needs the whole id. Did you mean {row.id}?")
        return WRONG_USAGE
    what = f"“{one_line(row.title, 50)}”" if row.title else f"session {row.id}"
    if not _agreed(f"Delete {what} with its {counted(row.messages, 'message')} forever?", yes=yes):
        return FAILED
    delete_forever(context.store, row.id)
    return _done(row, "deleted")


def _empty_trash(context: CommandContext, *, yes: bool) -> int:
    with context.store.reading() as reading:
        rows = reading.sessions(limit=reading.count(in_trash=True), in_trash=True)
    if not rows:
        say("The trash is empty.")
        return DONE
    question = f"Delete {counted(len(rows), 'session')} in the trash forever?"
    if not _agreed(question, yes=yes):
        return FAILED
    deleted = sum(1 for _ in delete_trash(context.store, rows))
    left = len(rows) - deleted
    kept = f" {counted(left, 'session')} opened or restored just now: not deleted." if left else ""
    say(f"{counted(deleted, 'session')} deleted.{kept}")
    return DONE


def _agreed(question: str, *, yes: bool) -> bool:
    """Ask in a terminal, where anything but yes means no; elsewhere `--yes` must be given."""
    if yes:
        return True
    if not has_terminal():
        say(f"{question} Add --yes to do it without a terminal.")
        return False
    print(f"{inert(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    say("Nothing was deleted.")
    return False


def _set_pinned(context: CommandContext, name: str, *, pinned: bool) -> int:
    row = stored_row(name, context)
    if row.pinned != pinned:
        pin(context.store, row.id, pinned=pinned)
    return _done(row, "pinned" if pinned else "unpinned")


def _set_shared(context: CommandContext, name: str, *, shared: bool) -> int:
    row = stored_row(name, context)
    context.store.sync.share(row.id, shared=shared).result()
    to_all = f"shared: all users of {context.store.sync.server} can read and fork it"
    return _done(row, to_all if shared else "no longer shared")


def _done(row: SessionRow, what: str) -> int:
    say(f"{row.title or row.id}: {what}.")
    return DONE


def _list_cleaned_up(done: CleanUp, *, as_json: bool) -> None:
    listed = [("trash", row) for row in done.trashed] + [("delete", row) for row in done.deleted]
    if as_json:
        for action, row in listed:
            put_json({"action": action, **row.as_json()})
    elif listed:
        days = [local_text(row.updated, "%Y-%m-%d") for _, row in listed]
        cells = (
            (action, row.id, day, row.title or "(no prompt yet)")
            for (action, row), day in zip(listed, days, strict=True)
        )
        put(table(("ACTION", "ID", "LAST USED", "TITLE"), cells))
