"""A context board as Markdown: one learning a line, for people to read and to edit.

    - Tests run with `uv run pytest -n 1`. <!-- 3f9a2c1b 2026-03-04T15:16:00+00:00 20260304-151600-a1b2c3 -->

Only lines that begin with `- ` or `* ` are learnings; all others are a person's own and stay where they are.
What the latest change removed is below its own heading, and what it added is marked: so that the file alone, which
is replaced in one step, says how to take that change back.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from co_tui.inert import one_line

ENTRY_CHARS: Final = 500
MAX_ENTRIES: Final = 200
TAKEN_OUT: Final = "## Taken out by the latest change"
_NEW: Final = "new"
_ENTRY: Final = re.compile(
    r"[-*] +(?P<text>.*?)(?:\s*<!-- (?P<id>[0-9a-f]{8}) (?P<added>\S+) (?P<session>\S+)(?P<new> new)? -->)?\s*"
)
_NEW_MARK: Final = re.compile(r" new -->(?=\s*$)")
_FENCE: Final = re.compile(r"\s{0,3}(```|~~~)")
_HEAD: Final = re.compile(r"# Context board|New sessions in .* begin with these\.")
_COMMENT: Final = re.compile(r"<!--|-->")


class BoardEntry(NamedTuple):
    """One learning."""

    id: str
    text: str
    added: str = ""
    """When, in ISO 8601; empty for what a person wrote into the file."""
    session_id: str = ""


class BoardChange(NamedTuple):
    """What came and what went."""

    added: Sequence[BoardEntry] = ()
    pruned: Sequence[BoardEntry] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.pruned)


class Board(NamedTuple):
    """The learnings about one branch of one repository, oldest first, and its latest change."""

    entries: tuple[BoardEntry, ...] = ()
    latest: BoardChange = BoardChange()

    def changed(self, added: Iterable[BoardEntry], pruned: Collection[str]) -> "Board":
        """With one change more. What says the same as an entry that stays is not added, nor what finds no room."""
        gone = tuple(entry for entry in self.entries if entry.id in pruned)
        kept = [entry for entry in self.entries if entry.id not in pruned]
        said = {_normalised(entry.text) for entry in kept}
        new: list[BoardEntry] = []
        for entry in added:
            if (
                (normalised := _normalised(entry.text))
                and normalised not in said
                and len(kept) + len(new) < MAX_ENTRIES
            ):
                said.add(normalised)
                new.append(entry)
        change = BoardChange(tuple(new), gone)
        return Board((*kept, *new), change) if change else self

    def undone(self) -> "Board":
        """Without its latest change; once more, and that change is there again."""
        added = {entry.id for entry in self.latest.added}
        kept = [entry for entry in self.entries if entry.id not in added]
        present = {entry.id for entry in kept}
        back = tuple(entry for entry in self.latest.pruned if entry.id not in present)
        gone = tuple(entry for entry in self.entries if entry.id in added)
        return Board(tuple(sorted((*kept, *back), key=lambda entry: entry.added)), BoardChange(back, gone))


def safe_entry_text(text: str) -> str:
    """A learning that stays on its line, whatever it holds, and ends no comment of ours."""
    return _COMMENT.sub("⟨--⟩", one_line(text, ENTRY_CHARS))


def board_text(board: Board, repository: str, branch: str, before: str = "") -> str:
    """The whole file. Of the one before, from which the board was read, every line that is no entry stays in place."""
    current, _ = _split(before if before.strip() else _head(repository, branch))
    gone = [_line(entry, new=False) for entry in board.latest.pruned]
    blocks = ["\n".join(_with_entries(current, board)).rstrip()]
    blocks += [TAKEN_OUT, "\n".join(gone)] if gone else []
    return "\n\n".join(filter(None, blocks)) + "\n"


def read_board(text: str) -> Board:
    """The board in a file, also with entries that a person wrote there; what says the same twice is one entry."""
    current, gone = _split(text)
    entries = _entries(current)
    new = {line.entry.id for line in current if line.entry and line.is_new}
    return Board(tuple(entries), BoardChange(tuple(e for e in entries if e.id in new), tuple(_entries(gone))))


def own_lines(text: str) -> list[str]:
    """What a person wrote into the file that is no learning, without blank lines."""
    current, _ = _split(text)
    written = (line.written for line in current if line.entry is None)
    return [line for line in written if line.strip() and not _HEAD.fullmatch(line.strip())]


class _FileLine(NamedTuple):
    """A line as it is written, and the entry it holds, if it is one."""

    written: str
    entry: BoardEntry | None = None
    is_marked: bool = False
    """Whether it was written by us."""
    is_new: bool = False


def _head(repository: str, branch: str) -> str:
    where = f"{one_line(repository, 400)}{f', branch {one_line(branch, 200)}' if branch else ''}"
    return f"# Context board\n\nNew sessions in {where} begin with these."


def _split(text: str) -> tuple[list[_FileLine], list[_FileLine]]:
    """The current lines, and those that the latest change removed; a person's lines among the latter are current."""
    lines = _file_lines(text)
    at = next((n for n, line in enumerate(lines) if line.written.strip() == TAKEN_OUT), len(lines))
    below = lines[at + 1 :]
    end = next((n for n, line in enumerate(below) if line.written.strip() and not line.entry), len(below))
    own = [line for line in below[:end] if line.entry and not line.is_marked]
    return [*lines[:at], *own, *below[end:]], [line for line in below[:end] if line.is_marked]


def _file_lines(text: str) -> list[_FileLine]:
    lines = text.split("\n")
    code = _lines_of_code(lines)
    found: list[_FileLine] = []
    said: dict[str, str] = {}
    for number, written in enumerate(lines):
        line = _FileLine(written) if number in code else _file_line(written)
        if (entry := line.entry) and said.setdefault(entry.id, entry.text) != entry.text:
            # A copy that was changed by hand is an entry of its own.
            entry = entry._replace(id=_id_of(entry.text))
            line = _FileLine(_line(entry, new=False), entry, is_marked=True)
        found.append(line)
    return found


def _lines_of_code(lines: Sequence[str]) -> set[int]:
    """Which of them stand between fences; a fence that is never closed is none."""
    code: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence and opened is None:
            opened = number, fence[1]
        elif fence and opened and fence[1] == opened[1]:
            code.update(range(opened[0], number + 1))
            opened = None
    return code


def _file_line(written: str) -> _FileLine:
    read = _ENTRY.fullmatch(written.strip())
    said = safe_entry_text(read["text"]) if read else ""
    if read is None or not said:
        return _FileLine(written)
    entry = BoardEntry(read["id"] or _id_of(said), said, read["added"] or "", _session(read["session"]))
    return _FileLine(written, entry, is_marked=bool(read["id"]), is_new=bool(read["new"]))


def _entries(lines: Iterable[_FileLine]) -> list[BoardEntry]:
    """Those of some lines, each once."""
    found: dict[str, BoardEntry] = {}
    for line in lines:
        if line.entry:
            found.setdefault(line.entry.id, line.entry)
    return list(found.values())


def _with_entries(current: Sequence[_FileLine], board: Board) -> list[str]:
    """The lines that stand, without the entries that left the board, and with those that came to it."""
    present, new = {entry.id for entry in board.entries}, {entry.id for entry in board.latest.added}
    kept = [line for line in current if line.entry is None or line.entry.id in present]
    lines = [_NEW_MARK.sub(" -->", line.written) if line.is_new else line.written for line in kept]
    ids = [line.entry.id if line.entry else "" for line in kept]
    follower = ""
    for entry in reversed(board.entries):
        if entry.id not in ids:
            at = ids.index(follower) if follower else _end_of_entries(lines, ids)
            lines.insert(at, _line(entry, new=entry.id in new))
            ids.insert(at, entry.id)
        follower = entry.id
    return lines


def _end_of_entries(lines: list[str], ids: list[str]) -> int:
    """Where one more goes: below the last entry and what belongs to it, else below all there is, after a blank line."""
    last = max((n for n, id_ in enumerate(ids) if id_), default=None)
    if last is not None:
        below = lines[last + 1 :]
        return (
            last + 1 + next((n for n, line in enumerate(below) if not line.strip() or line[0] not in " \t"), len(below))
        )
    while lines and not lines[-1].strip():
        del lines[-1], ids[-1]
    if lines:
        lines.append("")
        ids.append("")
    return len(lines)


def _id_of(said: str) -> str:
    """Of what a person wrote: it is known by what it says."""
    return hashlib.sha256(said.encode()).hexdigest()[:8]


def _session(written: str | None) -> str:
    return "" if written in (None, "-") else str(written)


def _line(entry: BoardEntry, *, new: bool) -> str:
    session = re.sub(r"[\s<>]+", "", entry.session_id)[:120] or "-"
    mark = f" {_NEW}" if new else ""
    return f"- {safe_entry_text(entry.text)} <!-- {entry.id} {entry.added or '-'} {session}{mark} -->"


def _normalised(text: str) -> str:
    """The words of a learning alone: case, marks and blanks make no difference."""
    return "".join(re.findall(r"\w+", text.lower()))
