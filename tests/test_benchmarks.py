"""Every benchmark still runs, small; what it measures is looked at by people.

`CO_TUI_LONG_RUN=1 uv run pytest tests/test_benchmarks.py` runs the slow ones, too.
"""

import sys

import pytest

from tests.benchmarks import figures
from tests.benchmarks.__main__ import BENCHMARKS
from tests.benchmarks.small import SMALL
from tests.support.long_run import LONG_RUN

SLOW = ("app", "counting", "day", "latency", "network", "streaming")
"""Those that take seconds even when they are small: run in a long run."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in BENCHMARKS if LONG_RUN or name not in SLOW])
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
