"""A table of cases in one test."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

MOST_SHOWN = 1_000
"""Characters of a case: some are as long as the longest input."""


@contextmanager
def named_case(case: object) -> Iterator[None]:
    """Names the case in the message of whatever fails in it; for tests that await, which have a loop of their own."""
    try:
        yield
    except pytest.skip.Exception as skipped:
        raise AssertionError(f"{_shown(case)} cannot be skipped alone: {skipped}") from None
    except BaseException as error:
        error.add_note(_shown(case))
        raise


def _shown(case: object) -> str:
    text = repr(case)
    return f"The case: {text[:MOST_SHOWN]}{'...' * (len(text) > MOST_SHOWN)}"


def each_case(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, for calls that leave nothing behind: all cases share one test and its fixtures.

    What pytest does before and after a test takes longer than most of these calls. The first case that fails is named.
    No case may be skipped: those after it would not be tried either.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [*cases]
    assert table, "a test without cases shows nothing"
    assert not any(isinstance(case, ParameterSet) for case in table), "one test has no names and marks for its cases"

    def of(test: Callable[..., None]) -> Callable[..., None]:
        assert not inspect.iscoroutinefunction(test), "what it returns would not be awaited"

        @wraps(test)
        def run(**others: Any) -> None:
            for case in table:
                values = dict(zip(given, case if len(given) > 1 else (case,), strict=True))
                with named_case(values):
                    test(**values, **others)

        signature = inspect.signature(test)
        fixtures = [each for each in signature.parameters.values() if each.name not in given]
        assert len(fixtures) + len(given) == len(signature.parameters), "each name is one that the test takes"
        vars(run).pop("__wrapped__")  # pytest would look for its fixtures there
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return of
