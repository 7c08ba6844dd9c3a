"""Benchmarks still run, small; what they measure is looked at by people.

`CO_TUI_LONG_RUN=1 uv run pytest tests/test_benchmarks.py` runs every one.
"""

import sys

import pytest

from tests.benchmarks import figures
from tests.benchmarks.__main__ import BENCHMARKS
from tests.benchmarks.small import SMALL
from tests.support.long_run import LONG_RUN

QUICK = ("compaction", "growth", "small_windows", "snapshots")
"""Those that take no time when they are small; the others are run in a long run."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in BENCHMARKS if LONG_RUN or name in QUICK])
def test_a_benchmark_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(figures, "MOST_REPEATS", 2)
    main = BENCHMARKS[name]
    parameters = {}
    for key, value in SMALL[name].items():
        if key.isupper():
            monkeypatch.setattr(sys.modules[main.__module__], key, value)
        else:
            parameters[key] = value
    main(**parameters)
    assert capsys.readouterr().out


def test_every_benchmark_can_be_run_small() -> None:
    assert {*BENCHMARKS} == {*SMALL}, "give it a row in tests/benchmarks/small.py"
