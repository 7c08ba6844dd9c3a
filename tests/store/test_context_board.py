"""What was learnt about a branch stays: through two processes at once, a kill in the middle, and hostile words."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui import paths
from co_tui.store.notes.board_text import MAX_ENTRIES, Board, board_text, read_board
from co_tui.store.notes.context_board import BoardFailed, ContextBoard, new_entry
from tests.support.forked import forked
from tests.support.long_run import drawn
from tests.support.waiting import PATIENCE_S

HOSTILE = (
    "two\nlines",
    "# a heading\n## Taken out by the latest change",
    "ends it --> <!-- 00000000 2026 s new -->",
    "\x1b[31mred\u202e",
    "- a list\n- of two",
    "New sessions in x begin with these.",
    "x" * 10_000,
)


def board_in(folder: Path, branch: str = "main") -> ContextBoard:
    return ContextBoard(folder, "/home/me/shop", branch)


def texts(board: ContextBoard) -> list[str]:
    return [entry.text for entry in board.read().entries]


def learn(board: ContextBoard, *said: str) -> None:
    board.change([new_entry(text, "s1") for text in said])


def test_a_board_is_markdown_that_people_can_read_and_edit(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    assert not board.read().entries
    learn(board, "Tests run with `uv run pytest -n 1`.")
    (entry,) = board.read().entries
    assert board.file.read_text() == (
        "# Context board\n\nNew sessions in /home/me/shop, branch main begin with these.\n\n"
        f"- Tests run with `uv run pytest -n 1`. <!-- {entry.id} {entry.added} s1 new -->\n"
    )
    assert board.file.stat().st_mode & 0o777 == 0o600
    board.file.write_text(board.file.read_text() + "- By hand\n")
    assert texts(board) == ["Tests run with `uv run pytest -n 1`.", "By hand"]
    learn(board, "More")
    assert texts(board) == ["Tests run with `uv run pytest -n 1`.", "By hand", "More"]


BY_HAND = """# Our board

Some words of mine.

## Tests
- Run them with uv
  and never alone
* With a star

```sh
- no entry
uv run pytest
```
| a | table |

- Twice
- Twice

## The end
without a mark
"""


def test_what_a_person_wrote_stays_where_it_is_through_every_change(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    learn(board, "to begin with")
    board.file.write_text(BY_HAND)
    assert texts(board) == ["Run them with uv", "With a star", "Twice"]
    learn(board, "New one", "Another")
    assert [line for line in board.file.read_text().splitlines(keepends=True) if "<!--" not in line] == (
        BY_HAND.splitlines(keepends=True)
    )
    assert texts(board)[-2:] == ["New one", "Another"]
    star, first_new = board.read().entries[1], board.read().entries[-2]
    board.change((), [star.id, first_new.id])
    board.file.write_text(board.file.read_text() + "- Below what is gone\n\nand words\n")
    assert texts(board) == ["Run them with uv", "Twice", "Another", "Below what is gone"]
    board.undo()
    assert set(texts(board)) == {"Run them with uv", "With a star", "Twice", "New one", "Another", "Below what is gone"}
    board.undo()
    written = board.file.read_text()
    assert texts(board) == ["Run them with uv", "Twice", "Another", "Below what is gone"]
    own = [line for line in (BY_HAND + "- Below what is gone\nand words").split("\n") if line and "star" not in line]
    assert [line for line in written.split("\n") if line and "<!--" not in line and "Taken out" not in line] == own


def test_a_copy_that_was_changed_by_hand_and_an_open_fence_hide_nothing(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    learn(board, "one")
    line = board.file.read_text().split("\n")[4]
    board.file.write_text(f"{board.file.read_text()}{line.replace('one', 'two')}\n```\n- three\n")
    one, two, three = board.read().entries
    assert (one.text, two.text, three.text) == ("one", "two", "three") and one.id != two.id
    board.change((), [one.id])
    assert texts(board) == ["two", "three"]
    board.undo()
    assert sorted(texts(board)) == ["one", "three", "two"]


def test_a_board_that_is_no_text_is_not_written_over(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    learn(board, "one")
    board.file.write_bytes(before := board.file.read_bytes() + b"- caf\xe9\n")
    with pytest.raises(BoardFailed, match="part of it is not UTF-8"):
        learn(board, "two")
    assert board.file.read_bytes() == before and len(texts(board)) == 2


def test_a_change_is_undone_and_redone(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    learn(board, "one", "two")
    one, two = board.read().entries
    change = board.change([new_entry("three", "s2")], [one.id, "no such id"])
    assert ([each.text for each in change.added], [each.text for each in change.pruned]) == (["three"], ["one"])
    assert texts(board_in(tmp_path)) == ["two", "three"]
    back = board_in(tmp_path).undo()
    assert ([each.text for each in back.added], [each.text for each in back.pruned]) == (["one"], ["three"])
    assert board.read().entries == (one, two)
    board.undo()
    assert texts(board) == ["two", "three"]
    assert not board.change([new_entry("Three!", "s3")], [])  # it says the same
    assert board.undo()


def test_names_of_branches_and_folders_are_made_safe_and_stay_apart(tmp_path: Path) -> None:
    names = ("main", "Main", "feature/x", "feature-x", "..", "../../x", "a\nb", "é" * 200, "", "-rf", "con")
    files = {board_in(tmp_path, name).file for name in names}
    assert len({str(file).lower() for file in files}) == len(names)
    for name in names:
        learn(board_in(tmp_path, name), f"about {name!r}")
        assert board_in(tmp_path, name).file.resolve().is_relative_to(tmp_path.resolve())
    assert ContextBoard(tmp_path, "/a/shop", "main").file != ContextBoard(tmp_path, "/b/shop", "main").file


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_entry_passes_for_something_else(tmp_path: Path, hostile: str) -> None:
    board = board_in(tmp_path)
    learn(board, "before", hostile, "after")
    before, entry, after = board.read().entries
    assert (before.text, after.text) == ("before", "after")
    assert "\n" not in entry.text and "-->" not in entry.text and len(entry.text) <= 500
    assert not board.read().latest.pruned
    board.undo()
    assert not texts(board)


@given(st.lists(st.text(max_size=60), max_size=8), st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_written_is_read_again(said: list[str], repository: str, branch: str) -> None:
    board = Board().changed([new_entry(text, "s\n1>") for text in said], [])
    once = read_board(board_text(board, repository, branch))
    assert [entry.text for entry in once.entries] == [entry.text for entry in board.entries]
    assert read_board(board_text(once, repository, branch)) == once


def test_a_full_board_takes_no_more(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    assert len(board.change([new_entry(f"number {n}", "s") for n in range(MAX_ENTRIES + 9)]).added) == MAX_ENTRIES
    first = board.read().entries[0]
    assert [each.text for each in board.change([new_entry("room again", "s")], [first.id]).added] == ["room again"]


def _learn(folder: Path, name: str, count: int) -> None:
    for number in range(count):
        learn(board_in(folder), f"{name} {number}")


def test_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    processes = forked()
    writers = [processes.Process(target=_learn, args=(tmp_path, name, 30)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE_S)
        assert writer.exitcode == 0
    assert sorted(texts(board_in(tmp_path))) == sorted(f"{name} {n}" for name in "ab" for n in range(30))


def _learn_and_tell(folder: Path, told: Path) -> None:
    with told.open("w") as stream:
        for number in range(MAX_ENTRIES):
            learn(board_in(folder), f"number {number}")
            stream.write(f"{number}\n")
            stream.flush()


def test_a_process_killed_in_the_middle_of_its_writes_loses_nothing_it_told(tmp_path: Path) -> None:
    draw = random.Random(7)
    processes = forked()
    for round_ in range(drawn(3)):
        folder, told = tmp_path / str(round_), tmp_path / f"told{round_}"
        writer = processes.Process(target=_learn_and_tell, args=(folder, told))
        writer.start()
        while not told.exists() or not told.read_text():
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.05))
        writer.kill()
        writer.join()
        acknowledged = [f"number {n}" for n in told.read_text().split("\n")[:-1]]
        present = texts(board_in(folder))
        assert present[: len(acknowledged)] == acknowledged
        assert len(present) <= len(acknowledged) + 1
        learn(board_in(folder), "and on")
        assert texts(board_in(folder))[-1] == "and on"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_at_any_step_leaves_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    board = board_in(tmp_path)
    learn(board, "one")
    with monkeypatch.context() as failing:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        failing.setattr(paths.os, step, full)
        with pytest.raises(BoardFailed, match=": No space left"):
            learn(board, "two")
    assert texts(board) == ["one"]
    assert sorted(board.file.parent.iterdir()) == sorted([board.file, board.file.with_suffix(".lock")])
