"""What the other host may answer to each kind of question: how much, and in which form. It may lie."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from co_tui.session.snapshots.entries import FileEntry, Uncovered
from co_tui.session.tools.folder.safe_texts import LARGEST_TEXT_BYTES
from co_tui.session.workplace.host.program.remote_commands import PIECE_BYTES
from co_tui.session.workplace.host.program.remote_files import LARGEST_BYTES
from co_tui.session.workplace.host.program.remote_processes import PIECE_BYTES as OUTPUT_BYTES
from co_tui.session.workplace.host.program.remote_program import ATTACHED_BYTES

Reader = Callable[[Any], Any]
"""Returns the value. Raises ValueError for one of another form."""
_SMALL_BYTES: Final = 100_000
_SNAPSHOT_BYTES: Final = 30_000_000
"""50,000 files and 100,000 reasons why others are not covered."""
FEW_BYTES: Final = 4_000_000
"""So little can be read, whatever it holds."""
BYTES_A_VALUE: Final = 12
"""At least, on average, in a longer answer: one of empty lists would take 30 times as much memory."""
_IN_BASE_64: Final = 1.4


def _of(*kinds: type) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError("another type")
        return value

    return read


def _values(kind: type[tuple[Any, ...]]) -> Reader:
    """A named tuple of plain values."""

    def read(value: Any) -> Any:
        if not isinstance(value, kind) or not all(isinstance(each, str | int) for each in value):
            raise ValueError("another type")
        return value

    return read


def _many(reader: Reader) -> Reader:
    return lambda value: tuple(map(reader, _of(tuple)(value)))


def _pieces(*readers: Reader) -> Reader:
    return lambda value: tuple(reader(each) for reader, each in zip(readers, _of(tuple)(value), strict=True))


def _table(reader: Reader) -> Reader:
    return lambda value: {name: reader(each) for name, each in _of(dict)(value).items()}


def _fields(**readers: Reader) -> Reader:
    def read(value: Any) -> Any:
        known: Mapping[str, Any] = _of(dict)(value)
        if missing := readers.keys() - known.keys():
            raise ValueError(f"without {missing}")
        return {name: reader(known[name]) for name, reader in readers.items()}

    return read


def _nothing(value: Any) -> None:
    """It is done."""


def _as_it_is(value: Any) -> Any:
    """Checked by the caller."""
    return value


_text, _flag, _number = _of(str), _of(bool), _of(int)
_perhaps_text, _perhaps_number = _of(str, type(None)), _of(int, type(None))
_place = {"platform": _text, "shell": _text, "repository": _text, "branch": _text, "changed": _perhaps_number}
_entry = _pieces(_text, _text, _flag, _perhaps_number)
_covered = {"uncovered": _table(_values(Uncovered))}


def _bytes(value: Any) -> bytes:
    return base64.b64decode(_text(value))


def _set_aside(value: Any) -> Any:
    return value and _many(_pieces(_text, _perhaps_text, _flag))(value)


class Answer(NamedTuple):
    """The form of an answer, and its most bytes."""

    read: Reader
    most_bytes: int = _SMALL_BYTES


ANSWERS: Final = {
    "begin": Answer(_fields(folder=_text, home=_text, guarded=_table(_text), **_place)),
    "surroundings": Answer(_fields(**_place)),
    "list_files": Answer(_text, _SNAPSHOT_BYTES),
    "branch_changes": Answer(_pieces(_text, _bytes), FEW_BYTES),
    "attached_file": Answer(_bytes, int(ATTACHED_BYTES * _IN_BASE_64)),
    "texts.project": Answer(_text),
    "texts.stat": Answer(_entry),
    "texts.list": Answer(_many(_entry), FEW_BYTES),
    "texts.read": Answer(_bytes, int(LARGEST_TEXT_BYTES * _IN_BASE_64)),
    "texts.find": Answer(_pieces(_text, _flag, _flag)),
    "verdict": Answer(_as_it_is, FEW_BYTES),
    "sandbox": Answer(_fields(failure=_text, hides=_flag, home=_many(_text), arguments=_many(_text)), FEW_BYTES),
    "guard_begin": Answer(_fields(read_only=_many(_text), pinned=_many(_text), created=_set_aside), FEW_BYTES),
    "guard_end": Answer(_set_aside, FEW_BYTES),
    "guard_check": Answer(_set_aside, FEW_BYTES),
    "is_protected": Answer(_flag),
    "accept": Answer(_nothing),
    "snapshots.take": Answer(
        _fields(id=_text, before=_text, set=_table(_values(FileEntry)), gone=_many(_text), **_covered), _SNAPSHOT_BYTES
    ),
    "snapshots.read": Answer(_fields(entries=_table(_values(FileEntry)), **_covered), _SNAPSHOT_BYTES),
    "snapshots.carry_out": Answer(_many(_text), _SNAPSHOT_BYTES),
    "snapshots.commits": Answer(_many(_text), FEW_BYTES),
    "snapshots.remove_parts": Answer(_nothing),
    "snapshots.line_counts": Answer(_table(_pieces(_number, _number)), _SNAPSHOT_BYTES),
    "snapshots.changes": Answer(_fields(files=_many(_pieces(_text, _text, _text)), left_out=_number), _SNAPSHOT_BYTES),
    "commands.prepare": Answer(_text),
    "commands.begin": Answer(_nothing),
    "commands.now": Answer(_fields(running=_flag, code=_perhaps_number, output=_text, printed=_flag)),
    "commands.read": Answer(_pieces(_bytes, _number), int(PIECE_BYTES * _IN_BASE_64)),
    "commands.end": Answer(_nothing),
    "commands.end_all": Answer(_nothing),
    "commands.have_processes": Answer(_flag),
    "processes.start": Answer(_nothing),
    "processes.read": Answer(
        _fields(stdout=_bytes, stderr=_bytes, code=_perhaps_number), int(4 * OUTPUT_BYTES * _IN_BASE_64)
    ),
    "processes.kill": Answer(_nothing),
    "files.read": Answer(_bytes, int(LARGEST_BYTES * _IN_BASE_64)),
    "files.write": Answer(_nothing),
    "files.stat": Answer(_entry),
    "files.list": Answer(_many(_entry), _SNAPSHOT_BYTES),
    "files.make": Answer(_nothing),
    "files.remove": Answer(_nothing),
    "files.exists": Answer(_flag),
    "files.real": Answer(_text),
}
"""By the name of the call."""


def has_too_many_values(data: bytes) -> bool:
    """Whether reading an answer would take far more memory than the answer itself. What is in texts counts, too."""
    return len(data) > FEW_BYTES and sum(map(data.count, (b",", b"[", b"{"))) > len(data) // BYTES_A_VALUE
