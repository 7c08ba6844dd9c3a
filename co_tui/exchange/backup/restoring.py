"""Restore a backup: logs by the idempotent steps of an import, files where none differs. Doing it again changes
nothing; one that was cut off is completed by the same command."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import IO, Final, NamedTuple, TypeAlias

from co_tui.events import Event, is_durable
from co_tui.events.decisions import PUBLIC_MODEL, Border, Source
from co_tui.events.event import decode
from co_tui.events.storable import storable
from co_tui.exchange.backup.archive import PIECE_BYTES, Backup, Entry
from co_tui.exchange.backup.names import APPROVALS, FILES, SETTINGS, path_of, session_of_log, session_of_reply
from co_tui.exchange.importers.foreign_files import MAX_LINE_BYTES
from co_tui.exchange.importers.imported import ImportRefused
from co_tui.exchange.importers.programs.co_tui_log import MAX_MISSING_EVENTS
from co_tui.exchange.intake.copying import CopiedSession, bring_reply
from co_tui.exchange.intake.take_in import Outcome, TakenIn, import_unchanged, look_up_exactly
from co_tui.kept_file import WAIT_S, file_lock, lock_of
from co_tui.paths import Paths, link_target, path_text, replaced_atomically
from co_tui.settings.context_settings import ContextSettings
from co_tui.settings.files import LIMIT_BYTES, parsed
from co_tui.settings.policies.policy_files import built_in_names
from co_tui.settings.rules import SettingsError
from co_tui.store.port import Store
from co_tui.store.sync.branches import has_conversation
from co_tui.store.sync.files.kinds import lock_of_folder
from co_tui.store.sync.placing import is_known

_MORE_DEPTH: Final = -8
"""A log's line has more levels than what was made storable when it was written."""
_TIME_CHARS: Final = 64
_MOST: Final = 10**15
"""Larger numbers are damage, and no database takes them."""

_RUNNING_FOLDERS: Final = ("config/skills/", "config/agents/", "config/commands/")
_HARMLESS_KEYS: Final = frozenset(
    (
        *ContextSettings.FIELDS,
        *("reasoning_effort", "theme", "reduced_motion", "images", "notifications", "keys", "compaction_timeout_s"),
        *("memory_limit_mb", "agent_max_steps", "max_session_cost", "max_daily_cost", "command_timeout_s"),
        *("retention_days", "daily_memory", "memory_search", "board_tokens", "board_updates", "request_timeout_s"),
        *("max_retries", "hook_timeout_s"),
    )
)
"""Settings that run nothing, allow nothing and send nothing elsewhere."""

_IN_MEMORY_BYTES: Final = 8_000_000
_OF_SESSIONS: Final = ("data/sessions/", "state/snapshots/")
_DRAFTS: Final = "state/drafts/"
_BOARDS: Final = "data/boards/"
_IN_LOCKED_FOLDERS: Final = (_DRAFTS, "data/memory/")
"""Folders with one lock for all their files."""


class FileOutcome(Enum):
    """What becomes of a file of a backup."""

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    REPLACED = "replaced"
    KEPT = "kept"
    """The one here differs, and stays."""
    WITHHELD = "withheld"
    """It can decide what runs, and was not asked for."""
    REFUSED = "refused"


class RestoredFile(NamedTuple):
    """What came of a file."""

    name: str
    outcome: FileOutcome
    why: str = ""


Restored: TypeAlias = CopiedSession | RestoredFile


class RestoreOptions(NamedTuple):
    """How to restore."""

    dry_run: bool = False
    force: bool = False
    """Replace files that differ."""
    with_config: bool = False
    """Restore what decides what runs, in files and logs."""


class Restoring:
    """Restores what a backup holds into a store and its folders."""

    def __init__(self, store: Store, paths: Paths, options: RestoreOptions, border: Border) -> None:
        """`border` takes away what logs decide, unless the user made the backup."""
        self._store, self._paths, self._options, self._border = store, paths, options, border
        self._forks: dict[str, str] = {}
        """By the id of a session in the backup, that of the fork it is here."""
        self._latest = ("", 0)
        """The session whose log came last, and the seq of its last event; empty when it became a fork."""

    def restore(self, backup: Backup) -> Iterator[Restored]:
        """Restore one entry after the other. Raises `BackupRefused` and `StoreError`."""
        for entry in backup.entries():
            if session_id := session_of_log(entry.name):
                yield self._session(session_id, entry)
            elif session_id := session_of_reply(entry.name):
                self._reply(session_id, entry)
            else:
                yield self._file(entry)

    def _session(self, session_id: str, entry: Entry) -> CopiedSession:
        self._latest = ("", 0)
        try:
            taken, last_seq = self._taken(session_id, log_lines(session_id, entry.content))
        except ImportRefused as why:
            return CopiedSession(session_id, refused=str(why))
        if taken.session_id != session_id:
            self._forks[session_id] = taken.session_id
        else:
            self._latest = (session_id, last_seq)
        return CopiedSession(session_id, taken)

    def _taken(self, session_id: str, lines: Sequence[bytes]) -> tuple[TakenIn, int]:
        """What came of a log, and the seq of its last event. One whose end is known is not read any further."""
        end = _end(session_id, lines)
        with self._store.reading() as reading:
            if end and is_known(reading, end):
                return TakenIn(Outcome.KNOWN, session_id), end[-1].seq or 0
            log = self._passed(read_log(session_id, lines))
            if self._options.dry_run:
                return look_up_exactly(reading, log), log[-1].seq or 0
        return import_unchanged(self._store, log), log[-1].seq or 0

    def _passed(self, log: list[Event]) -> list[Event]:
        return log if self._options.with_config else list(self._border(log, Source.OTHERS))

    def _reply(self, session_id: str, entry: Entry) -> None:
        """A reply that was being written: only after the very event it was written after."""
        if self._options.dry_run or self._latest[0] != session_id:
            return
        try:
            pieces = read_reply(session_id, entry.content)
        except ImportRefused:
            return
        bring_reply(self._store, session_id, self._latest[1], pieces)

    def _file(self, entry: Entry) -> RestoredFile:
        target = path_of(self._paths, self._name_here(entry.name))
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as content:
            for piece in entry.pieces():
                content.write(piece)
            try:
                with nullcontext() if self._options.dry_run else _locked(entry.name, target):
                    outcome, why = self._decided(entry, target, content)
                    if outcome in (FileOutcome.RESTORED, FileOutcome.REPLACED) and not self._options.dry_run:
                        content.seek(0)
                        _write(target, content, entry)
            except (NotADirectoryError, IsADirectoryError, FileExistsError, PermissionError) as error:
                outcome, why = FileOutcome.REFUSED, error.strerror or str(error)
        return RestoredFile(path_text(target), outcome, why)

    def _name_here(self, name: str) -> str:
        """Files of a session that became a fork belong to the fork."""
        for folder in _OF_SESSIONS:
            session_id, slash, rest = name.removeprefix(folder).partition("/")
            if name.startswith(folder) and session_id in self._forks:
                return f"{folder}{self._forks[session_id]}{slash}{rest}"
        session_id, dot, rest = name.removeprefix(_DRAFTS).partition(".")
        if name.startswith(_DRAFTS) and session_id in self._forks:
            return f"{_DRAFTS}{self._forks[session_id]}{dot}{rest}"
        return name

    def _decided(self, entry: Entry, target: Path, content: IO[bytes]) -> tuple[FileOutcome, str]:
        exists = os.path.lexists(target)
        if exists and _is_same(target, content):
            return FileOutcome.UNCHANGED, ""
        if not self._options.with_config and is_running_part(entry.name):
            content.seek(0)
            if why := reason_to_ask(entry.name, content.read(LIMIT_BYTES + 1)):
                return FileOutcome.WITHHELD, why
        if not exists:
            return FileOutcome.RESTORED, ""
        return (FileOutcome.REPLACED, "") if self._options.force else (FileOutcome.KEPT, "the one here differs")


def _end(session_id: str, lines: Sequence[bytes]) -> list[Event]:
    """A log from its last message on; empty if that is not to be read."""
    end: list[Event] = []
    for line in reversed(lines):
        event = event_of(line)
        if event is None or event.session_id != session_id:
            return []
        end.insert(0, event)
        if has_conversation(end):
            break
    return end


def _is_same(file: Path, content: IO[bytes]) -> bool:
    content.seek(0)
    try:
        with file.open("rb") as stream:
            while True:
                mine, theirs = stream.read(PIECE_BYTES), content.read(PIECE_BYTES)
                if mine != theirs:
                    return False
                if not mine:
                    return True
    except OSError:
        return False


def _locked(name: str, target: Path) -> AbstractContextManager[None]:
    """Keep other processes from changing a file that several change."""
    if name.startswith(_IN_LOCKED_FOLDERS):
        return file_lock(lock_of_folder(target), wait_s=WAIT_S)
    return file_lock(lock_of(target), wait_s=WAIT_S) if name in FILES or name.startswith(_BOARDS) else nullcontext()


def _write(target: Path, content: IO[bytes], entry: Entry) -> None:
    with replaced_atomically(link_target(target)) as stream:
        shutil.copyfileobj(content, stream, PIECE_BYTES)
    if entry.executable and entry.name.startswith("config/"):
        target.chmod(0o700)
    if entry.modified > 0:
        os.utime(target, (entry.modified, entry.modified))


def is_running_part(name: str) -> bool:
    """Whether a file has to be looked at, or needs a yes by its name alone."""
    is_policy = name.startswith("config/policies/") and not name.endswith(".toml")
    return is_policy or name in (SETTINGS, APPROVALS) or name.startswith(_RUNNING_FOLDERS)


def reason_to_ask(name: str, content: bytes) -> str:
    """Why a file needs a yes, for people; empty when it needs none."""
    if name == SETTINGS:
        settings = _deciding_settings(content)
        return f"sets {', '.join(settings)}" if settings else ""
    if name == APPROVALS:
        return "allows tools without a question"
    return "can decide what runs" if is_running_part(name) else ""


def _deciding_settings(content: bytes) -> list[str]:
    try:
        table = parsed(content[: LIMIT_BYTES + 1].decode("utf-8-sig"), Path(SETTINGS))
    except (SettingsError, UnicodeDecodeError):
        return ["what cannot be read"]
    if len(content) > LIMIT_BYTES:
        return ["too much"]
    return sorted(key[:40] for key, value in table.items() if not _is_harmless(key, value))


def _is_harmless(key: str, value: object) -> bool:
    match key, value:
        case (("model" | "summarization_model"), str(name)):
            return PUBLIC_MODEL.fullmatch(name) is not None
        case "policy", str(name):  # a policy of one's own may be withheld, and nothing starts without it
            return name in built_in_names()
        case "mode", ("ask" | "plan"):
            return True
        case "permissions", dict(table):
            return not table.get("allow")
        case _:
            return key in _HARMLESS_KEYS


def log_lines(session_id: str, content: IO[bytes]) -> list[bytes]:
    """The lines of a log. Raises `ImportRefused`."""
    if lines := list(_lines(session_id, content)):
        return lines
    raise ImportRefused(f"The log of session {session_id} is empty.")


def read_log(session_id: str, lines: Iterable[bytes]) -> list[Event]:
    """All events, exactly. Raises `ImportRefused` for anything but a whole log of that session."""
    log: list[Event] = []
    last = missing = 0
    for number, line in enumerate(lines, 1):
        event = event_of(line)
        if event is None or event.session_id != session_id or not is_durable(event.fact) or not _is_time(event):
            raise ImportRefused(
                f"The log of session {session_id} is damaged: line {number:,} is not one of its events."
            )
        seq = event.seq or 0
        missing += seq - last - 1
        if seq <= last or missing > MAX_MISSING_EVENTS or (last == 0 and seq != 1):
            raise ImportRefused(f"The log of session {session_id} is damaged: line {number:,} is out of order.")
        last = seq
        log.append(event)
    return log


def read_reply(session_id: str, content: IO[bytes]) -> list[str]:
    """The pieces of a reply that was being written. Raises `ImportRefused`."""
    pieces = []
    for line in _lines(session_id, content):
        piece = _value(line)
        if not isinstance(piece, str):
            raise ImportRefused(f"The partial reply of session {session_id} is damaged.")
        pieces.append(piece)
    return pieces


def _lines(session_id: str, content: IO[bytes]) -> Iterator[bytes]:
    while line := content.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise ImportRefused(f"The log of session {session_id} has a line of over {MAX_LINE_BYTES:,} bytes.")
        yield line


def event_of(line: bytes) -> Event | None:
    """The event of a line; None when it is none."""
    record = _value(line)
    if not isinstance(record, dict) or not _is_number(record.get("version")) or not _is_number(record.get("seq")):
        return None
    try:
        return decode(record)
    except ValueError:
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST


def _value(line: bytes) -> object:
    try:
        return storable(json.loads(line), _MORE_DEPTH)
    except (ValueError, RecursionError):
        return None


def _is_time(event: Event) -> bool:
    try:
        return len(event.timestamp) <= _TIME_CHARS and bool(datetime.fromisoformat(event.timestamp))
    except ValueError:
        return False
