"""Values sent between here and the other host, as JSON: parsed command lines, rules, verdicts, entries of snapshots.

Only these types are read back, each with the fields it has: what comes from the other host is not trusted.
"""

from collections.abc import Mapping
from typing import Any, Final

from co_tui.agent.permissions.verdict import Verdict
from co_tui.session.snapshots.entries import FileEntry, Uncovered
from co_tui.session.snapshots.journal import Line
from co_tui.settings.permission_rules import Rule, RuleInForce
from co_tui.shell.syntax import Compound, Piece, Redirect, ShellCommand, Word

TYPES: Final[Mapping[str, Any]] = {
    each.__name__: each
    for each in (
        *(Compound, Piece, Redirect, ShellCommand, Word),
        *(Rule, RuleInForce, Verdict),
        *(FileEntry, Uncovered, Line),
    )
}
_TYPE: Final = "_"


def encoded(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {_TYPE: type(value).__name__, **{name: encoded(getattr(value, name)) for name in value._fields}}
    if isinstance(value, Mapping):
        return {str(key): encoded(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encoded(each) for each in value]
    return value


def decoded(value: Any) -> Any:
    """The value again; lists become tuples. Raises ValueError for a type that is not listed."""
    if isinstance(value, list):
        return tuple(map(decoded, value))
    if not isinstance(value, dict):
        return value
    if _TYPE not in value:
        return {key: decoded(each) for key, each in value.items()}
    if (kind := TYPES.get(str(value[_TYPE]))) is None or value.keys() - {_TYPE} != set(kind._fields):
        raise ValueError(f"unknown value {str(value[_TYPE])[:40]!r}")
    return kind(**{name: decoded(value[name]) for name in kind._fields})
