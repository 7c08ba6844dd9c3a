"""`co-tui sessions --prune`, `--restore`, `--delete`, `--pin` and `--unpin`: what is kept, and for how long."""

from datetime import UTC, datetime

from co_tui.headless.output import DONE, CommandContext, put, put_json, say, table
from co_tui.session.clean_up import retention_policy
from co_tui.session.event_wording import clean_up_text
from co_tui.store.housekeeping import CleanUp, clean_up, due, pin, put_into_trash, take_out_of_trash
from co_tui.store.stored_values import SessionRow


def prune(context: CommandContext, *, dry_run: bool, as_json: bool) -> int:
    """Put what was not used for `retention_days` into the trash, and delete what was there too long; or tell which."""
    days = context.loaded.settings.retention_days
    what = due(context.store, retention_days=days, policy=retention_policy(context.loaded), now=datetime.now(UTC))
    done = what if dry_run else clean_up(context.store, what)
    _list(done, as_json=as_json)
    if not days:
        say("retention_days is 0: no session is too old. `co-tui config retention_days 30` puts those into the trash "
            "that were not used for 30 days.")  # fmt: skip
    say(clean_up_text(done, days, dry_run=dry_run) or "Nothing to clean up.")
    return DONE


def restore(context: CommandContext, name: str) -> int:
    row = _named(context, name)
    if not row.trashed:
        say(f"Session {row.id} is not in the trash.")
        return DONE
    take_out_of_trash(context.store, row.id)
    return _done(row, "out of the trash")


def delete(context: CommandContext, name: str) -> int:
    row = _named(context, name)
    if row.trashed:
        say(f"Session {row.id} is in the trash already.")
        return DONE
    put_into_trash(context.store, row.id)
    return _done(row, f"in the trash; `co-tui sessions --restore {row.id}` brings it back")


def set_pinned(context: CommandContext, name: str, *, pinned: bool) -> int:
    row = _named(context, name)
    if row.pinned != pinned:
        pin(context.store, row.id, pinned=pinned)
    return _done(row, "pinned" if pinned else "no longer pinned")


def _named(context: CommandContext, name: str) -> SessionRow:
    with context.store.reading() as reading:
        return reading.session(name)


def _done(row: SessionRow, what: str) -> int:
    say(f"{row.title or row.id}: {what}.")
    return DONE


def _list(done: CleanUp, *, as_json: bool) -> None:
    listed = [("trash", row) for row in done.trashed] + [("delete", row) for row in done.deleted]
    if as_json:
        for action, row in listed:
            put_json({"action": action, **row.as_json()})
    elif listed:
        cells = ((action, row.id, f"{_day(row.updated)}", row.title or "(no prompt yet)") for action, row in listed)
        put(table(("ACTION", "ID", "LAST USED", "TITLE"), cells))


def _day(timestamp: str) -> str:
    return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d}"
