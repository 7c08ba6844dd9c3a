"""What left the context is found again in the day's file, also when several processes write it."""

import multiprocessing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from co_tui.store.daily_memory import DailyMemory, MemoryFailed

WHEN = datetime(2026, 3, 4, 15, 16, tzinfo=UTC)
SECTIONS = 60


def test_sections_stand_one_after_the_other(tmp_path: Path) -> None:
    memory = DailyMemory(tmp_path / "memory")
    path = memory.append("We chose SQLite.\n", session_id="s1", heading="Storage", when=WHEN)
    assert memory.append("Tabs \x1b[31mwork.", session_id="s2", heading="Two\nlines", when=WHEN) == path
    assert path == tmp_path / "memory" / "2026-03-04.md"
    assert path.read_text() == (
        "## 15:16 Storage\n\nSession s1\n\nWe chose SQLite.\n\n## 15:16 Two lines\n\nSession s2\n\nTabs ␛[31mwork.\n\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def _write(folder: Path, name: str) -> None:
    for number in range(SECTIONS):
        text = f"{name}{number} " + name * 30_000
        DailyMemory(folder).append(text, session_id=name, heading=str(number), when=WHEN)


def test_two_processes_never_mix_their_sections(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(tmp_path, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    found = (tmp_path / "2026-03-04.md").read_text().split("## 15:16 ")[1:]
    expected = {
        f"{n}\n\nSession {name}\n\n{name}{n} {name * 30_000}\n\n" for n in range(SECTIONS) for name in ("a", "b")
    }
    assert len(found) == 2 * SECTIONS
    assert set(found) == expected


def test_a_memory_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("in the way")
    with pytest.raises(MemoryFailed, match=r"2026-03-04\.md was not written"):
        DailyMemory(tmp_path / "memory").append("x", session_id="s", heading="h", when=WHEN)
