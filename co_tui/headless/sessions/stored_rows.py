"""Find stored sessions, with what a server has of them, and say what is only on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.headless.output import CommandContext, say
from co_tui.store.store_errors import SessionNotFound

if TYPE_CHECKING:
    from collections.abc import Collection

    from co_tui.store.port import Reading
    from co_tui.store.stored_values import SessionRow


def stored_row(name: str, context: CommandContext) -> "SessionRow":
    """The stored session of that name; one that is not here yet is pulled. Raises `StoreError`."""
    try:
        return _row(name, context)
    except SessionNotFound as unknown:
        if trouble := context.store.sync.refresh():
            raise SessionNotFound(f"{unknown} {trouble}") from None
        return _row(name, context)


def _row(name: str, context: CommandContext) -> "SessionRow":
    with context.store.reading() as reading:
        return reading.session(name)


def stored_session(name: str | None, context: CommandContext, cwd: Path, *, at_once: bool = False) -> "SessionRow":
    """The named session, else the latest, `at_once` without asking a server. Raises `StoreError` when there is none."""
    if name is not None:
        return stored_row(name, context)
    if not at_once:
        refresh(context)
    with context.store.reading() as reading:
        return latest_row(reading, context, cwd)


def latest_row(
    reading: "Reading", context: CommandContext, cwd: Path, *, without: "Collection[str]" = ()
) -> "SessionRow":
    """The latest session, one `without` only if there is no other. Raises `StoreError` when there is none."""
    from co_tui.session.repository_identity import same_folders

    where, also = context.workplace.text, same_folders(reading, cwd)
    row = reading.latest(where, also=also, without=without) or reading.latest(where, also=also)
    if row is None:
        raise SessionNotFound("No session to continue. Start one without --continue.")
    return row


def latest_here(context: CommandContext, cwd: Path) -> "SessionRow | None":
    """The newest session of this folder that is not open; None when there is none."""
    from co_tui.session.repository_identity import same_folders

    with context.store.reading() as reading:
        where, also = context.workplace.text, same_folders(reading, cwd)
        row = reading.latest(where, also=also, without=context.store.claimed())
    return row if row is not None and row.cwd in (where, *also) else None


def refresh(context: CommandContext, session_id: str = "") -> None:
    """Pull what is new of a session, or of all; says why if that is not possible."""
    if trouble := context.store.sync.refresh(session_id):
        say(trouble)


def say_unpushed(context: CommandContext) -> None:
    """Say what is only on this machine, if anything is."""
    if unpushed := context.store.sync.unpushed():
        say(f"{unpushed.text}.")


def unpushed_text(context: CommandContext) -> str:
    """What is only on this machine, and why; empty if all is pushed."""
    unpushed = context.store.sync.unpushed()
    return f"{unpushed.text}. {unpushed.reason}".rstrip() if unpushed else ""
