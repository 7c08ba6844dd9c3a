"""A context board as Markdown: one learning a line, for people to read and to edit.

    - Tests run with `uv run pytest -n 1`. <!-- 3f9a2c1b 2026-03-04T15:16:00+00:00 20260304-151600-a1b2c3 -->

What the latest change took out stands below its own heading, and what it added is marked: so that the file alone, which
is replaced in one step, says how to take that change back.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from co_tui.inert import one_line

ENTRY_CHARS: Final = 500
MOST_ENTRIES: Final = 200
TAKEN_OUT: Final = "## Taken out by the latest change"
_NEW: Final = "new"
_LINE: Final = re.compile(
    r"(?:[-*] +)?(?P<text>.*?)(?:\s*<!-- (?P<id>[0-9a-f]{8}) (?P<added>\S+) (?P<session>\S+)(?P<new> new)? -->)?\s*"
)
_COMMENT: Final = re.compile(r"<!--|-->")
_NOT_AN_ENTRY: Final = re.compile(r"#|New sessions in .* begin with these\.$")


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
        said = {_alike(entry.text) for entry in kept}
        new: list[BoardEntry] = []
        for entry in added:
            if (alike := _alike(entry.text)) and alike not in said and len(kept) + len(new) < MOST_ENTRIES:
                said.add(alike)
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


def board_text(board: Board, repository: str, branch: str) -> str:
    """The whole file."""
    where = f"{one_line(repository, 400)}{f', branch {one_line(branch, 200)}' if branch else ''}"
    added = {entry.id for entry in board.latest.added}
    lines = [_line(entry, new=entry.id in added) for entry in board.entries]
    gone = [_line(entry, new=False) for entry in board.latest.pruned]
    blocks = ["# Context board", f"New sessions in {where} begin with these."]
    blocks += ["\n".join(lines)] if lines else []
    blocks += [TAKEN_OUT, "\n".join(gone)] if gone else []
    return "\n\n".join(blocks) + "\n"


def read_board(text: str) -> Board:
    """The board in a file, also with lines that a person wrote there."""
    standing, _, gone = text.partition(f"\n{TAKEN_OUT}\n")
    entries, new = _entries(standing)
    return Board(tuple(entries), BoardChange(tuple(e for e in entries if e.id in new), tuple(_entries(gone)[0])))


def _entries(text: str) -> tuple[list[BoardEntry], set[str]]:
    """Those of a text, each once, and which of them are marked as new."""
    found: dict[str, BoardEntry] = {}
    new: set[str] = set()
    for line in map(str.strip, text.split("\n")):
        read = None if _NOT_AN_ENTRY.match(line) else _LINE.fullmatch(line)
        said = safe_entry_text(read["text"]) if read else ""
        if read is None or not said:
            continue
        entry_id = read["id"] or hashlib.sha256(said.encode()).hexdigest()[:8]
        found.setdefault(entry_id, BoardEntry(entry_id, said, read["added"] or "", _session(read["session"])))
        if read["new"]:
            new.add(entry_id)
    return list(found.values()), new


def _session(written: str | None) -> str:
    return "" if written in (None, "-") else str(written)


def _line(entry: BoardEntry, *, new: bool) -> str:
    session = re.sub(r"[\s<>]+", "", entry.session_id)[:120] or "-"
    mark = f" {_NEW}" if new else ""
    return f"- {safe_entry_text(entry.text)} <!-- {entry.id} {entry.added or '-'} {session}{mark} -->"


def _alike(text: str) -> str:
    """The words of a learning alone: case, marks and blanks make no difference."""
    return "".join(re.findall(r"\w+", text.lower()))
