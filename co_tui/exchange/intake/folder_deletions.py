"""The deletions in a folder that machines share: a small file for each session that was deleted or came back."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from co_tui.events.wording import counted
from co_tui.paths import write_atomically
from co_tui.store.port import Reading, Store
from co_tui.store.store_errors import SessionBusy
from co_tui.store.stored_values import Deletion
from co_tui.store.sync.deleted_words import MOST_CHARS, deleted_upto, tips_of
from co_tui.store.sync.placing import Carry, OtherSession, delete_elsewhere

FOLDER: Final = "deleted"
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT[0-9:.]{8,20}Z)\+{0,99}")
_MOST_BYTES: Final = MOST_CHARS + 4_000
_DIGESTS: Final = re.compile(r"[A-Za-z0-9_-]+")
_MOST_EVENTS: Final = 10**9


def deletions_in(folder: Path) -> dict[Path, Deletion]:
    """What was decided, by file. There may be several files for a session: programs that sync keep both of two."""
    found = ((file, _read(file)) for file in sorted((folder / FOLDER).glob("*.json")))
    return {file: deletion for file, deletion in found if deletion is not None}


def latest(folder: Path) -> dict[str, Deletion]:
    """The latest decision about each session."""
    last: dict[str, Deletion] = {}
    for each in sorted(deletions_in(folder).values(), key=lambda deletion: deletion.age):
        last[each.session_id] = each
    return last


def write_deletions(reading: Reading, folder: Path) -> None:
    """Write what was decided here, unless the folder has a later decision."""
    there = latest(folder)
    for deletion in reading.deletions():
        known = there.get(deletion.session_id)
        # One that does not say what it is about could delete anything.
        is_safe = deletion.said and _SAFE_ID.fullmatch(deletion.session_id)
        if is_safe and (known is None or known.age < deletion.age):
            fields = {"session_id": deletion.session_id, "at": deletion.at, "seq": deletion.seq}
            text = json.dumps({**fields, "deleted": deletion.is_deleted, "said": deletion.said})
            write_atomically(folder / FOLDER / f"{deletion.session_id}.json", f"{text}\n")


def apply_deletions(store: Store, folder: Path, carry: Carry) -> Iterator[str]:
    """Delete here what was deleted elsewhere; yields a sentence for what people should know."""
    found = latest(folder).values()
    before = len(_here(store, found))
    for deletion in found:
        try:
            fork = delete_elsewhere(store, deletion, carry=carry)
        except SessionBusy:
            yield f"Session {deletion.session_id} was deleted elsewhere, but is open. Close it, then try again."
            continue
        except OtherSession as why:
            yield str(why)
            continue
        if fork:
            yield f"Session {deletion.session_id} was deleted elsewhere. What was added here is in session {fork}."
    if deleted := before - len(_here(store, found)):
        yield f"{counted(deleted, 'session')} deleted here, as elsewhere."


def preview_deletions(store: Store, folder: Path) -> str:
    """What `apply_deletions` would delete, in a sentence; empty for nothing."""
    found = len(_here(store, latest(folder).values()))
    return f"{counted(found, 'session')} would be deleted here, as elsewhere." if found else ""


def _here(store: Store, deletions: Iterable[Deletion]) -> list[str]:
    """The sessions here that others decided to delete, later than anything that was decided here."""
    with store.reading() as reading:
        return [each.session_id for each in deletions if each.is_deleted and _is_pending(reading, each)]


def _is_pending(reading: Reading, deletion: Deletion) -> bool:
    known = reading.deletion(deletion.session_id)
    is_new = known is None or known.age < deletion.age
    return is_new and deleted_upto(deletion, tips_of(reading.events(deletion.session_id))) is not None


def _read(file: Path) -> Deletion | None:
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        record = json.loads(file.read_text(encoding="utf-8"))
        session_id, at, said = (record[name] for name in ("session_id", "at", "said"))
        seq, is_deleted = record["seq"], record["deleted"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    are_texts = all(isinstance(each, str) for each in (session_id, at, said))
    if not are_texts or type(seq) is not int or not isinstance(is_deleted, bool) or not 0 <= seq <= _MOST_EVENTS:
        return None
    is_valid = _SAFE_ID.fullmatch(session_id) and _is_time(at) and _DIGESTS.fullmatch(said)
    return Deletion(session_id, at, seq, is_deleted, said) if is_valid else None


def _is_time(at: str) -> bool:
    found = _TIME.fullmatch(at)
    try:
        return found is not None and bool(datetime.fromisoformat(found[1]))
    except ValueError:
        return False
