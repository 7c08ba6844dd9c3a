"""Run the command line: parse it, run the command, report failures.

Only what reports a failure is imported here: `--help` and a mistake in the arguments need no settings.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from co_tui.cli.plain_start import plain_start
from co_tui.headless.output import (
    DONE,
    FAILED,
    INTERRUPTED,
    OutputLost,
    discard,
    finish,
    os_error_sentence,
    say,
)
from co_tui.headless.stopping import stop_requested
from co_tui.inert import one_line
from co_tui.paths import DEBUG_VARIABLE
from co_tui.store.store_errors import StoreError

if TYPE_CHECKING:
    from co_tui.cli.command_call import Options


def run(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code. Every failure is one sentence; lost output is a failure."""
    try:
        code = _run(arguments)
        finish()
        return code
    except SystemExit as leaving:  # the parser has already reported it
        return _finished(leaving.code if isinstance(leaving.code, int) else FAILED)
    except StoreError as error:
        # SQLite swallows an interrupt that comes in the middle of a query, and fails.
        return _interrupted() if stop_requested() else _failed(str(error))
    except OutputLost as lost:
        return _lost(lost)
    except OSError as error:
        return _failed(os_error_sentence(error))
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # while a class was made, Python wraps it
            return _interrupted()
        if os.environ.get(DEBUG_VARIABLE):
            raise
        return _failed(
            f"Internal error: {type(error).__name__}: {one_line(str(error), 300)}. Set {DEBUG_VARIABLE}=1 to see where."
        )


def _interrupted() -> int:
    discard(sys.stdout)
    say("Interrupted.")
    return INTERRUPTED


def _failed(sentence: str) -> int:
    say(sentence)
    return _finished(FAILED)


def _finished(code: int) -> int:
    try:
        finish()
    except OutputLost as lost:
        return _lost(lost, code)
    return code


def _lost(lost: OutputLost, code: int = DONE) -> int:
    """A closed pipe is fine: the reader has seen enough. Any other lost output is a failure."""
    discard(sys.stdout)
    if not str(lost):
        return code
    say(str(lost))
    return FAILED


def _run(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    if options.command == "help":  # whatever the settings and the store are
        from co_tui.headless.help_command import print_help

        return print_help(options.topic)
    _silence_libraries()
    from co_tui.cli.settled import run_with

    return run_with(options, os.environ)


def _options(arguments: Sequence[str]) -> "Options":
    if (plain := plain_start(arguments)) is not None:
        return plain
    from co_tui.cli.arguments import parse

    return parse(arguments)


def _silence_libraries() -> None:
    """Keep library warnings and logs off standard error, where they would bury messages for the user."""
    import logging
    import warnings

    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    logging.getLogger().addHandler(logging.NullHandler())  # without a handler, Python prints to standard error
