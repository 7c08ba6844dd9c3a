"""Merging what two machines made of one file: nothing that either added is lost, whatever the order."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.store.notes.board_text import read_board
from co_tui.store.notes.context_board import ContextBoard, new_entry
from co_tui.store.notes.daily_memory import DailyMemory
from co_tui.store.sync.files.kinds import KINDS, is_in_folder
from tests.support.cases import each_case
from tests.support.long_run import drawn

DAY = datetime(2026, 3, 4)
STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["add", "add", "remove", "sync"])), max_size=14)


class MemoryFile:
    """A day of memory."""

    kind = "memory"

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._memory = DailyMemory(folder)
        self.file = folder / "2026-03-04.md"

    def add(self, text: str) -> None:
        when = DAY.replace(hour=int(text.split()[1]))
        self._memory.append(text, session_id="s", heading="Learned", when=when)

    def remove(self, text: str) -> None:
        self._memory.delete(next(entry for entry in self._memory.entries() if entry.text == text))

    def texts(self) -> list[str]:
        return sorted(entry.text for entry in self._memory.entries())


class BoardFile:
    """A context board."""

    kind = "board"

    def __init__(self, folder: Path) -> None:
        self._board = ContextBoard(folder, f"/{folder.name}/shop", "main")
        self.file = self._board.file
        self.file.parent.mkdir(parents=True)

    def add(self, text: str) -> None:
        self._board.change([new_entry(text, "s")])

    def remove(self, text: str) -> None:
        self._board.change(pruned=[entry.id for entry in self._board.read().entries if entry.text == text])

    def texts(self) -> list[str]:
        return sorted(entry.text for entry in self._board.read().entries)


class RulesFile:
    """Approvals."""

    kind = "approvals"

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.file = folder / "approvals.json"

    def add(self, text: str) -> None:
        self._write([*self.texts(), text])

    def remove(self, text: str) -> None:
        self._write([each for each in self.texts() if each != text])

    def texts(self) -> list[str]:
        return sorted(json.loads(self.file.read_text() if self.file.exists() else "[]"))

    def _write(self, rules: list[str]) -> None:
        self.file.write_text(json.dumps(rules))


Shared = MemoryFile | BoardFile | RulesFile


class Stored:
    """What the database has, and each machine's last known copy of it."""

    def __init__(self) -> None:
        self.body = ""
        self.known = ["", ""]

    def sync(self, number: int, machine: Shared) -> None:
        mine = machine.file.read_text() if machine.file.exists() else ""
        base, theirs = self.known[number], self.body
        merged = theirs if mine == base else mine
        if mine not in (base, theirs) and theirs != base:
            merged = KINDS[machine.kind].merge(base, mine, theirs)
        if merged.strip():
            machine.file.write_text(merged)
        else:
            machine.file.unlink(missing_ok=True)
        self.body = self.known[number] = merged


@pytest.mark.parametrize("kind", [MemoryFile, BoardFile, RulesFile])
@given(steps=STEPS)
@settings(max_examples=drawn(15), deadline=None)
def test_two_machines_end_with_the_same_file_and_nothing_lost(
    kind: Callable[[Path], Shared], steps: list[tuple[int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("two machines")
    machines = [kind(folder / name) for name in ("laptop", "desktop")]
    stored, added, removed = Stored(), set[str](), set[str]()
    for count, (number, step) in enumerate(steps):
        machine = machines[number]
        if step == "add":
            text = f"Note {count}"
            added.add(text)
            machine.add(text)
        elif step == "remove" and machine.texts():
            removed.add(machine.texts()[0])
            machine.remove(machine.texts()[0])
        elif step == "sync":
            stored.sync(number, machine)
    for number in (0, 1, 0):
        stored.sync(number, machines[number])
    assert machines[0].texts() == machines[1].texts() == sorted(added - removed)


def merged(kind: str, base: str, mine: str, theirs: str) -> str:
    return KINDS[kind].merge(base, mine, theirs)


def test_lines_that_people_wrote_into_a_board_are_merged_too() -> None:
    base = "# Context board\n\nNew sessions in /a, branch main begin with these.\n\n- One\n"
    mine = base.replace("- One", "Mine to keep\n- One\n- Two")
    theirs = base.replace("/a,", "/b,").replace("- One", "- One\nTheirs to keep")
    text = merged("board", base, mine, theirs)
    assert [entry.text for entry in read_board(text).entries] == ["One", "Two"]
    assert "Mine to keep" in text and "Theirs to keep" in text
    assert "/b," in text and "/a," not in text, "one heading"


def test_what_people_wrote_above_the_memory_of_a_day_is_kept_from_both() -> None:
    text = merged("memory", "", "Monday here\n\n## 10:00 One\n\nmine\n", "Monday there\n\n## 09:00 Two\n\ntheirs\n")
    assert text == "Monday there\n\nMonday here\n\n## 09:00 Two\n\ntheirs\n\n## 10:00 One\n\nmine\n\n"


def test_of_two_learned_limits_the_narrowest_limit_and_the_longest_answer_hold() -> None:
    mine = {"m": {"limit_tokens": 9_000, "reply": "9000", "answered_tokens": 10}, "gone": {"limit_tokens": 1}}
    theirs = {"m": {"limit_tokens": 8_000, "reply": "8000", "answered_tokens": 70}, "new": {"limit_tokens": 5}}
    base = {"gone": {"limit_tokens": 1}}
    found = json.loads(merged("limits", json.dumps(base), json.dumps(mine), json.dumps(theirs)))
    assert set(found) == {"m", "new"}
    assert found["m"] | {"limit_tokens": 8_000, "reply": "8000", "answered_tokens": 70} == found["m"]


def test_a_prompt_typed_on_both_machines_is_kept_from_both() -> None:
    assert merged("draft", "", "from here", "from there") == "from there\n\nfrom here"
    assert merged("draft", "", "from here, longer", "from here") == "from here, longer"


@each_case("damage", ["", "no JSON", "[1, null]", '{"a": 1}', "\x00", "[" * 100_000])
@each_case("kind", sorted(KINDS))
def test_no_stored_text_breaks_merging(kind: str, damage: str) -> None:
    for texts in ((damage, "[]", "{}"), ("", damage, "{}"), ("", "[]", damage)):
        assert isinstance(merged(kind, *texts), str)
    assert isinstance(KINDS[kind].put(KINDS[kind].take(damage, "k"), "k", damage), str)


@each_case("rest", ["", ".", "..", "../x", "a/../x", "/x", "a//x", ".hidden", "a\\..\\x", "a\nb", "x" * 300])
def test_a_name_that_is_no_plain_one_is_in_no_folder(rest: str) -> None:
    assert not any(is_in_folder(kind, rest) for kind in KINDS)
