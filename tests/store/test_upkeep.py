"""Upkeep of the database in the background: it shrinks without delaying anything."""

import sqlite3
from pathlib import Path

from co_tui.store.sqlite.reader import Reader
from co_tui.store.sqlite.writer import Writer
from tests.store.test_contract import said
from tests.support.waiting import PATIENCE_S


def kept_up(writer: Writer) -> int:
    return len([step.result(timeout=PATIENCE_S) for step in writer.upkeep_steps()])


def test_what_was_deleted_is_given_back_to_the_disk_and_the_rest_is_still_found(tmp_path: Path) -> None:
    path = tmp_path / "data" / "co-tui.db"
    writer = Writer(path)
    for n in range(40):
        writer.append(f"s{n}", [said(f"{n} heron " + "words of a prompt " * 500, turn) for turn in range(5)]).result()
    kept_up(writer)
    large = path.stat().st_size
    for n in range(39):
        writer.delete(f"s{n}").result()
    steps, later = writer.upkeep_steps(), writer.append("s39", [said("between two steps")])
    assert next(steps).result(timeout=PATIENCE_S) in (True, False) and later.result(timeout=PATIENCE_S)
    assert 5 < kept_up(writer) < 50, "each step gives many pages back"
    assert path.stat().st_size < large / 2
    with Reader(path) as reader:
        assert reader.count_found("heron").messages == 5 and reader.count_found("between two").messages == 1
        assert reader.health().verdict == "ok"
    writer.close()


def test_upkeep_gives_way_to_who_is_writing(tmp_path: Path) -> None:
    path = tmp_path / "data" / "co-tui.db"
    writer = Writer(path)
    writer.append("s", [said("x")]).result()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert [step.result(timeout=PATIENCE_S) for step in writer.upkeep_steps()], "none of them waits for its turn"
    other.execute("COMMIT")
    other.close()
    assert writer.append("s", [said("y")]).result(timeout=PATIENCE_S)
    writer.close()
