"""A table of cases in one test."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any


def each_case(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, for calls that leave nothing behind: all cases share one test and its fixtures.

    What pytest does before and after a test takes longer than most of these calls. The first case that fails is named.
    """
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    table = [*cases]
    assert table, "a test without cases shows nothing"

    def of(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**others: Any) -> None:
            for case in table:
                values = dict(zip(given, case if len(given) > 1 else (case,), strict=True))
                try:
                    test(**values, **others)
                except BaseException as error:
                    error.add_note(f"The case: {values!r}")
                    raise

        signature = inspect.signature(test)
        fixtures = [each for each in signature.parameters.values() if each.name not in given]
        assert len(fixtures) + len(given) == len(signature.parameters), "each name is one that the test takes"
        vars(run).pop("__wrapped__")  # pytest would look for its fixtures there
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return of
