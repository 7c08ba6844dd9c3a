"""What left the context is found again in the day's file, also when several processes write it, or one is killed."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from co_tui import paths
from co_tui.store.notes.daily_memory import DAY_CHARS, DailyMemory, MemoryFailed
from co_tui.store.notes.memory_text import ENTRY_CHARS
from tests.support.forked import forked
from tests.support.waiting import PATIENCE_S

WHEN = datetime(2026, 3, 4, 15, 16, tzinfo=UTC)
SECTIONS = 40
HOSTILE = (
    "# Fine\n## 09:00 Not an entry\n\nSession evil · entry 00000000\n\nbody\n"
    "```sh\n## 10:00 in code\n# comment\nnever closed"
)


def write(memory: DailyMemory, text: str, heading: str = "Left the context", session: str = "s1") -> Path:
    return memory.append(text, session_id=session, heading=heading, when=WHEN)


def test_entries_come_one_after_the_other(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path / "memory")
    assert not memory.exists
    path = write(memory, "We chose SQLite.\n", "Storage")
    assert write(memory, "Tabs \x1b[31mwork.", "Two\nlines", "s2") == path == tmp_path / "memory" / "2026-03-04.md"
    newer, older = memory.entries()
    assert path.read_text() == (
        f"## 15:16 Storage\n\nSession s1 · entry {older.id}\n\nWe chose SQLite.\n\n"
        f"## 15:16 Two lines\n\nSession s2 · entry {newer.id}\n\nTabs ␛[31mwork.\n\n"
    )
    assert (newer.day, newer.time, newer.heading, newer.session_id) == ("2026-03-04", "15:16", "Two lines", "s2")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_no_text_passes_for_another_entry(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path)
    path = write(memory, HOSTILE)
    write(memory, "After it.", "## Sub\r## 11:00 heading", "two words")
    after, hostile = memory.entries()
    assert hostile.text == (
        "### Fine\n#### 09:00 Not an entry\n\nSession evil · entry 00000000\n\nbody\n"
        "```sh\n ## 10:00 in code\n # comment\nnever closed\n```"
    )
    assert (hostile.session_id, after.session_id, after.text) == ("s1", "twowords", "After it.")
    assert path.read_text().count("\n```\n") == 1


def test_what_a_person_wrote_into_the_file_is_an_entry_and_stays(tmp_path: Path) -> None:
    by_hand = "# My day\n\n## Remember the milk\n\nand the bread\n\n## 08:00 Early\n\nSession old-version\n\nwords"
    (tmp_path / "2026-03-04.md").write_text(by_hand)
    memory = DailyMemory(tmp_path)
    path = write(memory, "Third.")
    third, early, milk = memory.entries()
    assert (milk.heading, milk.text, milk.session_id, milk.time) == ("Remember the milk", "and the bread", "", "")
    assert (early.session_id, early.text, len(early.id)) == ("old-version", "words", 8)
    assert path.read_text().startswith(by_hand)
    assert memory.delete(milk) and not memory.delete(milk)
    assert "milk" not in path.read_text() and path.read_text().startswith("# My day")
    memory.restore(milk)
    memory.restore(milk)
    assert sorted(entry.heading for entry in memory.entries()) == ["Early", "Left the context", "Remember the milk"]
    assert memory.delete(third) and memory.delete(early) and memory.exists


def test_what_was_deleted_comes_back_to_the_letter(tmp_path: Path) -> None:
    memory, file = DailyMemory(tmp_path), tmp_path / "2026-03-04.md"
    by_hand = (
        f"# My day\n\n## Notes \x1b\n\n### Mine\n# Deep\n{'x' * 2 * ENTRY_CHARS}\n\n\n## 08:00 Early\n\nlast words"
    )
    file.write_text(by_hand)
    for entry in list(memory.entries()):
        assert memory.delete(entry) and entry.heading not in file.read_text()
        memory.restore(entry)
        assert file.read_text() == by_hand


def test_of_copies_with_one_id_the_chosen_one_goes_and_what_was_changed_meanwhile_stays(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path)
    path = write(memory, "First.")
    path.write_text(path.read_text() + path.read_text().replace("First.", "My copy."))
    copy, first = memory.entries()
    assert copy.id == first.id and memory.delete(copy)
    assert [entry.text for entry in memory.entries()] == ["First."]
    memory.restore(copy)
    assert sorted(entry.text for entry in memory.entries()) == ["First.", "My copy."]
    path.write_text(path.read_text().replace("My copy.", "My better copy."))
    assert not memory.delete(copy) and "My better copy." in path.read_text()


def test_bytes_that_are_no_text_are_not_written_over(tmp_path: Path) -> None:
    before = b"## Caf\xe9\n\nwords\n"
    (tmp_path / "2026-03-04.md").write_bytes(before)
    with pytest.raises(MemoryFailed, match=r"2026-03-04\.md: part of it is not UTF-8"):
        write(DailyMemory(tmp_path), "x")
    assert (tmp_path / "2026-03-04.md").read_bytes() == before


def test_a_day_without_entries_has_no_file(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path)
    path = write(memory, "Alone.")
    (entry,) = memory.entries()
    assert memory.delete(entry) and not memory.exists and not list(memory.entries())
    memory.restore(entry)
    assert list(memory.entries()) == [entry] and path.exists()
    path.write_text("Nothing but words.")
    assert not list(memory.entries()) and not memory.delete(entry)


def test_entries_with_the_most_words_are_found_newest_first(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path)
    for day, text in enumerate(("sqlite and tabs", "SQLite alone", "数据库 在 这里", "tabs, then sqlite"), 1):
        memory.append(text, session_id="s", heading="h", when=WHEN.replace(day=day))
    assert [entry.day[-2:] for entry in memory.search(["sqlite", "tabs"]).entries] == ["04", "01"]
    assert memory.search(["sqlite", "nowhere"]).words == 1
    assert [entry.text for entry in memory.search(["数据"]).entries] == ["数据库 在 这里"]
    assert len(memory.search([]).entries) == 4
    assert not memory.search(["nowhere"]).entries


def test_a_day_is_bounded_and_loses_its_oldest(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path)
    by_hand = "# My day\n\n## Mine alone\n\nin no log\n\n"
    (tmp_path / "2026-03-04.md").write_text(by_hand)
    for number in range(DAY_CHARS // ENTRY_CHARS + 5):
        path = write(memory, "x" * (2 * ENTRY_CHARS), f"number {number}")
    assert len(path.read_text()) <= DAY_CHARS
    newest, *_, oldest, mine = memory.entries()
    assert mine.text == "in no log" and path.read_text().startswith(by_hand)
    assert newest.heading == f"number {number}" and oldest.heading != "number 0"
    assert newest.text.endswith("[… the rest is in the session]")


def _write(folder: Path, name: str) -> None:
    for number in range(SECTIONS):
        write(DailyMemory(folder), f"{name}{number} " + name * 5_000, str(number), name)


def test_two_processes_never_mix_or_lose_their_entries(tmp_path: Path) -> None:
    processes = forked()
    writers = [processes.Process(target=_write, args=(tmp_path, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE_S)
        assert writer.exitcode == 0
    found = {(entry.heading, entry.session_id, entry.text) for entry in DailyMemory(tmp_path).entries()}
    assert found == {(str(n), name, f"{name}{n} {name * 5_000}") for n in range(SECTIONS) for name in ("a", "b")}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_ends_in_the_middle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    memory = DailyMemory(tmp_path)
    path = write(memory, "First.")
    before = path.read_text()
    with monkeypatch.context() as dying:

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        dying.setattr(paths.os, step, killed)
        with pytest.raises(KeyboardInterrupt):
            write(memory, "Second.")
    assert path.read_text() == before
    write(memory, "Third.")
    assert [entry.text for entry in memory.entries()] == ["Third.", "First."]
    assert sorted(tmp_path.iterdir()) == [tmp_path / ".lock", path]


def test_a_memory_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("in the way")
    with pytest.raises(MemoryFailed, match=r"Cannot write memory .*2026-03-04\.md"):
        write(DailyMemory(tmp_path / "memory"), "x")
