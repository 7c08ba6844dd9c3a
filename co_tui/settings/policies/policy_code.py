"""Policies written in Python: read without running them, and run once one is chosen (G11).

Their folder is the user's own, or the user named the file on the command line; nothing else is ever run.
"""

import os
import stat
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final, NamedTuple

from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.settings.rules import SettingsError

FUNCTION: Final = "decide"
"""What a policy in Python must define."""
ERROR_CHARS: Final = 160
_LITERALS: Final = ("description", "settings", "compacts_at")
"""Read from the source as written, so that policies can be listed without running them."""


class PolicyCode(NamedTuple):
    """The source of a policy in Python. Equal and cheap to send to another process, unlike its function."""

    file: str
    text: str
    compacts_at: float | None = None
    """The share of the window where it compacts, for the gauge; None if it does not say."""

    @property
    def name(self) -> str:
        """The name of its file, for sentences."""
        return path_text(Path(Path(self.file).name))

    def function(self) -> Callable[[Any], object]:
        """Its `decide`. Raises `SettingsError` if the file cannot be run."""
        return _function(self.file, self.text)

    def failure(self, error: BaseException) -> str:
        """What went wrong in it: the line, the error, and no traceback."""
        return failure(error, self.file)


class ReadPolicy(NamedTuple):
    """What a policy in Python says about itself."""

    description: str = ""
    settings: object = None
    compacts_at: float | None = None


def read_code(text: str, file: Path) -> ReadPolicy:
    """The literals in a policy's source. Raises `SettingsError` that names the file and the problem."""
    import ast

    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise SettingsError(
            f"Cannot read {file}: line {error.lineno or 1}: {one_line(error.msg, ERROR_CHARS)}."
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise SettingsError(f"Cannot read {file}: it is not Python.") from None
    found: dict[str, object] = {"settings": {}}
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        found["description"] = str(body[0].value.value).strip().partition("\n")[0]
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        name, value = getattr(target, "id", ""), getattr(node, "value", None)
        if name in _LITERALS and value is not None:
            try:
                found[name] = ast.literal_eval(value)
            except (ValueError, TypeError, RecursionError):
                raise SettingsError(f"Cannot read {file}: line {node.lineno}: write `{name}` out as a value.") from None
    return ReadPolicy(str(found.get("description", "")), found["settings"], _share(found.get("compacts_at"), file))


def _share(value: object, file: Path) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise SettingsError(f"Cannot read {file}: `compacts_at` must be a share of the window, such as 0.8.")
    return float(value)


def refuse_others(file: Path) -> None:
    """Raises `SettingsError` if another user owns the file or may change it: it would run as this user."""
    try:
        status = file.stat()
    except OSError as error:
        raise SettingsError(f"Cannot read {file}: {error.strerror or error}.") from None
    if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
        raise SettingsError(f"Not run: {file} belongs to another user. Copy it to a file of your own.")
    if status.st_mode & stat.S_IWOTH:
        raise SettingsError(f"Not run: everyone may change {file}. Use `chmod o-w` on it first.")


@lru_cache(maxsize=32)
def _function(file: str, text: str) -> Callable[[Any], object]:
    module = ModuleType(f"co_tui_policy_{abs(hash((file, text)))}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise SettingsError(f"Cannot use the policy {file}: {failure(error, file)}.") from None
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise SettingsError(f"Cannot use the policy {file}: it must define `{FUNCTION}(context)`.")
    decide: Callable[[Any], object] = function
    return decide


def failure(error: BaseException, file: str) -> str:
    """The last line of a file that an error passed through, and the error on one line."""
    line = _line_in(error.__traceback__, file)
    text = one_line(f"{type(error).__name__}: {_message(error)}".removesuffix(": "), ERROR_CHARS).rstrip(".")
    return f"line {line}: {text}" if line else text


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an error of the policy's own, whose text fails
        return ""


def _line_in(trace: TracebackType | None, file: str) -> int:
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
