"""A command of the command line: what it is called with, and what commands share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from co_tui.headless.output import CommandContext, say
from co_tui.settings import DEBUG_VARIABLE, load_resumed

if TYPE_CHECKING:
    from argparse import Namespace

    from co_tui.store.stored_values import SessionRow

    Options: TypeAlias = Namespace | SimpleNamespace


SERVED_DRIVER: Final = "co_tui.ui.terminal.served_driver:ServedDriver"
"""The Textual driver for an app on a page of `co-tui serve`, as `TEXTUAL_DRIVER` names it."""


class CommandCall(NamedTuple):
    """A command and what it may need."""

    options: "Options"
    context: CommandContext
    environ: Mapping[str, str]
    cwd: Path


CliFunction: TypeAlias = Callable[[CommandCall], int]
"""Returns the exit code."""
FUNCTIONS: Final[dict[str, CliFunction]] = {}
"""By command. `cli_commands.py` has their options."""


def command(name: str) -> Callable[[CliFunction], CliFunction]:
    """Register the decorated function for a command."""

    def register(function: CliFunction) -> CliFunction:
        FUNCTIONS[name] = function
        return function

    return register


def given_settings(options: "Options") -> dict[str, object]:
    """The settings that options choose; None for those that are not given."""
    chosen: dict[str, object] = {key: getattr(options, key, None) for key in ("model", "policy", "mode")}
    rules = {effect: getattr(options, f"{effect}_rules", None) for effect in ("allow", "deny")}
    table = {effect: [rule for each in given for rule in each] for effect, given in rules.items() if given}
    return chosen | {"agent_max_steps": getattr(options, "max_turns", None), "permissions": table or None}


def under_policy_of(row: "SessionRow", call: CommandCall, *, quiet: bool = False) -> CommandContext:
    """The context under a stored session's policy, unless a stronger layer sets another or that policy is gone, which
    is reported unless `quiet`."""
    options, context, environ, cwd = call
    given = given_settings(options)
    loaded, why = load_resumed(
        row.policy, context.loaded, paths=context.paths, cwd=cwd, environ=environ, command_line=given
    )
    if why and not quiet:
        say(why)
    return context._replace(loaded=loaded)


def silence_libraries(environ: Mapping[str, str]) -> None:
    """Keep library warnings, logs and tracebacks of threads off standard error."""
    if environ.get(DEBUG_VARIABLE):
        return
    import logging
    import threading
    import warnings

    warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())
    threading.excepthook = lambda failed: say(
        f"Internal error in a background task: {failed.exc_type.__name__}: {failed.exc_value}."
    )
