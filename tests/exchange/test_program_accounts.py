"""Nothing of the further programs vanishes: what a file holds is imported or said to be left out, kind by kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from co_tui.events import CompactionComplete
from co_tui.exchange.importers import load
from co_tui.session.state.derive import replay
from tests.support.environments import facts
from tests.support.foreign import write_lines
from tests.support.foreign_counts import BOOKKEEPING, imported, left_out
from tests.support.foreign_programs import AIDER, OTHER_FORMS, PROGRAMS, goose_database
from tests.support.program_counts import PROGRAM_COUNTS
from tests.support.shared import DATA, needs_data

FOREIGN = DATA / "foreign"
PATTERNS = {"copilot-cli": "copilot-cli/*", "cline": "cline/*.*.json", "kimi": "kimi/*"}
FILES = [(program, file) for program, pattern in PATTERNS.items() for file in sorted(FOREIGN.glob(pattern))]


def _aider(folder: Path) -> Path:
    (folder / "history.md").write_text(AIDER)
    return folder / "history.md"


SAMPLES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    **{
        name: (name, lambda folder, rows=rows: write_lines(folder / "session.jsonl", rows))
        for name, rows in PROGRAMS.items()
    },
    **{
        f"{name}, another form": (name, lambda folder, rows=rows: write_lines(folder / "session.jsonl", rows))
        for name, rows in OTHER_FORMS.items()
    },
    "goose, database": ("goose", lambda folder: goose_database(folder / "sessions.db")),
    "aider": ("aider", _aider),
}


def check(program: str, file: Path) -> None:
    sessions = load(file)
    assert {session.source for session in sessions} == {program}
    held = PROGRAM_COUNTS[program](file)
    del held[BOOKKEEPING]
    assert imported(sessions) + left_out(sessions) == held


@needs_data
@pytest.mark.parametrize(("program", "file"), FILES, ids=[str(file.relative_to(FOREIGN)) for _, file in FILES])
def test_all_that_a_real_file_holds_is_imported_or_counted_as_left_out(program: str, file: Path) -> None:
    check(program, file)


@pytest.mark.parametrize("name", SAMPLES)
def test_all_that_a_sample_holds_is_imported_or_counted_as_left_out(name: str, tmp_path: Path) -> None:
    program, write = SAMPLES[name]
    check(program, write(tmp_path))


@needs_data
def test_what_kimi_keeps_after_a_compaction_is_what_the_user_said_and_the_summary() -> None:
    (session,) = load(next(FOREIGN.glob("kimi/*")))
    (compaction,) = facts(list(session.log), CompactionComplete)
    assert compaction.pre_tokens == 15_912 and len(replay(session.log).history) == 8 + 1
