"""Nothing vanishes: for each program, what a file holds is imported or said to be left out, kind by kind."""

from pathlib import Path

import pytest

from co_tui.exchange.importers import ImportRefused, load
from tests.support.foreign_counts import BOOKKEEPING, COUNTS, imported, left_out
from tests.support.foreign_samples import SAMPLES
from tests.support.shared import DATA, needs_data

FOREIGN = DATA / "foreign"
PATTERNS = {
    "claude-code": "claude-code/*",
    "codex": "codex/*",
    "gemini-cli": "gemini-cli/*",
    "opencode": "opencode/*/*/session/*/*.json",
    "pi": "pi/*",
    "llm": "llm/*.db",
}
FILES = [(program, file) for program, pattern in PATTERNS.items() for file in sorted(FOREIGN.glob(pattern))]


def check(program: str, file: Path) -> None:
    sessions = load(file)
    assert {session.source for session in sessions} == {program}
    held = COUNTS[program](file)
    del held[BOOKKEEPING]
    assert imported(sessions) + left_out(sessions) == held


@needs_data
@pytest.mark.parametrize(("program", "file"), FILES, ids=[str(file.relative_to(FOREIGN)) for _, file in FILES])
def test_all_that_a_real_file_holds_is_imported_or_counted_as_left_out(program: str, file: Path) -> None:
    try:
        check(program, file)
    except ImportRefused as refused:
        assert file.name.startswith("codex_05") and "empty Codex CLI session" in str(refused)


@pytest.mark.parametrize("name", SAMPLES)
def test_all_that_a_sample_holds_is_imported_or_counted_as_left_out(name: str, tmp_path: Path) -> None:
    program, write = SAMPLES[name]
    check(program, write(tmp_path))
