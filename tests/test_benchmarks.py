"""Every benchmark still runs, small; what it measures is looked at by people."""

import sys

import pytest

from tests.benchmarks import figures
from tests.benchmarks.__main__ import BENCHMARKS
from tests.benchmarks.small import SMALL


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert name in SMALL, f"give {name} a row in tests/benchmarks/small.py"
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
