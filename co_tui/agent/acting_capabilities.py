"""At each step of a run, only the capabilities that do something at it are called.

The library passes every event, request and call through all capabilities, of which a session with tools has 16, and
copies the run's context for each. Most of them inherit hooks that return what they were given.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
from pydantic_ai.tools import RunContext

_STEPS: Final = (
    *("run", "node_run", "model_request"),
    *("tool_validate", "tool_execute", "output_validate", "output_process"),
)
HOOKS: Final = (*(f"{when}_{step}" for when in ("before", "after", "wrap") for step in _STEPS), "wrap_run_event_stream")
"""Without a change by a subclass, each returns what it was given."""
_ACTING: Final = "_acting_capabilities"


def call_only_acting_capabilities() -> None:
    """From here on, in this process."""
    for name in HOOKS:
        setattr(CombinedCapability, name, _of_acting(name))
    RunContext.__copy__ = _copied  # type: ignore[attr-defined]


def _of_acting(name: str) -> Callable[..., Any]:
    whole, inherited = getattr(CombinedCapability, name), getattr(AbstractCapability, name)

    @wraps(whole)
    def hook(combined: CombinedCapability[Any], *arguments: Any, **named: Any) -> Any:
        return whole(_acting(combined, name, inherited), *arguments, **named)

    return hook


def _acting(combined: CombinedCapability[Any], name: str, inherited: object) -> CombinedCapability[Any]:
    """The same, of the capabilities that have this hook; found once a run."""
    found: dict[str, CombinedCapability[Any]]
    of, found = vars(combined).get(_ACTING, (None, {}))
    if of is not combined.capabilities:  # copied for the next run, with other ones
        of, found = vars(combined)[_ACTING] = combined.capabilities, {}
    if name not in found:
        found[name] = fewer = object.__new__(type(combined))
        vars(fewer).update({key: value for key, value in vars(combined).items() if key != _ACTING})
        fewer.capabilities = [each for each in of if getattr(type(each), name) is not inherited]
    return found[name]


def _copied(context: RunContext[Any]) -> RunContext[Any]:
    """A copy that shares all values, as `copy` makes it, in a quarter of the time."""
    new = object.__new__(type(context))
    vars(new).update(vars(context))
    return new
