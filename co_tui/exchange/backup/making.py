"""Make a backup: the log of every session as far as it is when its turn comes, and the files that belong to it."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.agent.redact import HIDDEN
from co_tui.exchange.backup.archive import PIECE_BYTES, BackupWriter
from co_tui.exchange.backup.names import SAFE_ID, HomeFile, LeftOut, home_files, reply_name
from co_tui.exchange.exporters import exported
from co_tui.paths import Paths, path_text
from co_tui.store.port import Reading, Store

MAX_SESSIONS: Final = 1_000_000
_TRIES: Final = 5
"""To read a partial reply that does not become an event while it is read."""


class Making(NamedTuple):
    """How far a backup is."""

    sessions: int
    of_sessions: int
    bytes: int


def all_sessions(store: Store) -> list[str]:
    """The ids of all sessions, those in the trash, too."""
    with store.reading() as reading:
        return [row.id for trash in (False, True) for row in reading.sessions(MAX_SESSIONS, in_trash=trash)]


def add_sessions(
    writer: BackupWriter, store: Store, names: Sequence[str], keys: Sequence[str], report: Callable[[Making], None]
) -> Iterator[str]:
    """Add sessions; the user's own keys are hidden. Yields a sentence for each that cannot be added."""
    with store.reading() as reading:
        for number, session_id in enumerate(names, 1):
            if SAFE_ID.fullmatch(session_id):
                _add_session(writer, reading, session_id, keys)
            else:
                yield f"Session {session_id} has an id that no file can have. It is not in the backup."
            report(Making(number, len(names), writer.totals.bytes))


def _add_session(writer: BackupWriter, reading: Reading, session_id: str, keys: Sequence[str]) -> None:
    seq, reply = _state_of(reading, session_id)
    if not seq:
        return  # deleted since
    writer.add_log(session_id, exported(reading.events(session_id, upto=seq), "jsonl", keys))
    if reply:
        pieces = (_without(f"{json.dumps(body)}\n".encode(), keys) for body in reply)
        writer.add_file(reply_name(session_id), pieces)


def _state_of(reading: Reading, session_id: str) -> tuple[int, Sequence[str]]:
    """The seq of the last event, 0 for none, and the pieces of a reply that is written after it."""
    seq = _last_seq(reading, session_id)
    for _ in range(_TRIES):
        reply = reading.partial_reply(session_id)
        before, seq = seq, _last_seq(reading, session_id)
        if seq == before:
            return seq, reply
    return seq, ()


def _last_seq(reading: Reading, session_id: str) -> int:
    found = reading.last_events(session_id, 1)
    return (found[0].seq or 0) if found else 0


def add_files(writer: BackupWriter, paths: Paths, keys: Sequence[str], *, snapshots: bool) -> Iterator[str]:
    """Add the installation's files, without the user's own keys. Yields a sentence for each that is left out."""
    for file in home_files(paths, snapshots=snapshots):
        if isinstance(file, LeftOut):
            yield f"{path_text(file.path)} is not in the backup: {file.why}."
            continue
        try:
            status = file.path.stat()
            writer.add_file(
                file.name, _content(file, keys), int(status.st_mtime), executable=bool(status.st_mode & 0o100)
            )
        except FileNotFoundError:
            continue  # deleted since
        except _Unreadable as why:
            yield f"Cannot read {path_text(file.path)}: {why}. It is not in the backup."


class _Unreadable(Exception):
    pass


def _content(file: HomeFile, keys: Sequence[str]) -> Iterator[bytes]:
    """The content, with keys hidden wherever two pieces meet, too."""
    overlap = max((len(key.encode()) for key in keys), default=1) - 1
    held = b""
    for piece in _pieces(file.path):
        held = _without(held + piece, keys)
        cut = max(0, len(held) - overlap)
        yield held[:cut]
        held = held[cut:]
    yield held


def _pieces(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            while piece := stream.read(PIECE_BYTES):
                yield piece
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _Unreadable(error.strerror or error) from None


def _without(content: bytes, keys: Iterable[str]) -> bytes:
    for key in keys:
        content = content.replace(key.encode(errors="surrogateescape"), HIDDEN.encode())
    return content
