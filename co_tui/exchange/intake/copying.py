"""Copy sessions from one store to another, by the idempotent steps of an import: a second time changes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from co_tui.agent.redact import HIDDEN
from co_tui.events import Event
from co_tui.events.decisions import Border, Source
from co_tui.exchange.exporters.hiding import without_keys
from co_tui.exchange.importers.imported import ImportRefused
from co_tui.exchange.intake.take_in import Outcome, TakenIn, import_unchanged, look_up_exactly
from co_tui.store.port import Reading, Store
from co_tui.store.store_errors import SessionBusy
from co_tui.store.sync.branches import has_conversation
from co_tui.store.sync.placing import is_known

END_EVENTS: Final = 20
"""How much of a log is compared first."""


class CopiedSession(NamedTuple):
    """What came of a session that was copied or restored."""

    session_id: str
    """Where it came from."""
    taken: TakenIn | None = None
    refused: str = ""


def copy_sessions(
    source: Store, target: Store, names: Iterable[str], keys: Sequence[str], border: Border, *, dry_run: bool = False
) -> Iterator[CopiedSession]:
    """Copy one session after the other, without the user's own keys and what others may have decided. Raises
    `StoreError`."""
    with source.reading() as reading, target.reading() as there:
        for session_id in names:
            log = _news(reading, there, session_id, keys)
            if not log:
                continue  # deleted since
            if reading.is_from_elsewhere(session_id):
                log = list(border(log, Source.OTHERS if reading.session(session_id).owner else Source.OWN))
            try:
                taken = look_up_exactly(there, log) if dry_run else import_unchanged(target, log)
            except ImportRefused as why:
                yield CopiedSession(session_id, refused=str(why))
                continue
            reply = () if dry_run or taken.outcome is Outcome.FORKED else reading.partial_reply(session_id)
            if reply and session_id not in source.claimed():
                hidden = [_hidden(piece, keys) for piece in reply]
                bring_reply(target, session_id, log[-1].seq or 0, hidden)
            yield CopiedSession(session_id, taken)


def _news(reading: Reading, there: Reading, session_id: str, keys: Sequence[str]) -> list[Event]:
    """The log, or only its end if the other store has that."""
    end = reading.last_events(session_id, END_EVENTS)
    upto = end[-1].seq if end else 0
    if has_conversation(end) and is_known(there, end):
        return end
    return list(without_keys(reading.events(session_id, upto=upto), keys, and_lookalikes=False))


def _hidden(text: str, keys: Sequence[str]) -> str:
    for key in keys:
        text = text.replace(key, HIDDEN)
    return text


def bring_reply(store: Store, session_id: str, after_seq: int, pieces: Sequence[str]) -> None:
    """Save a reply that was being written, if the session is still at the very event it was written after."""
    with store.reading() as reading:
        last = reading.last_events(session_id, 1)
        kept = list(reading.partial_reply(session_id))
    if not last or last[0].seq != after_seq or len(kept) >= len(pieces) or kept != list(pieces[: len(kept)]):
        return
    try:
        with store.claim(session_id):
            for number, piece in enumerate(pieces):
                store.writing().save_reply(session_id, number, piece).result()
    except SessionBusy:
        return  # it is open: its own reply goes on
