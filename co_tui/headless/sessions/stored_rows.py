"""Find stored sessions, with what a server has of them, and say what is only on this machine."""

from typing import TYPE_CHECKING

from co_tui.headless.output import CommandContext, say
from co_tui.store.store_errors import SessionNotFound

if TYPE_CHECKING:
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
