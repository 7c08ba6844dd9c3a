"""The command line: what was asked for, under which settings, and how what goes wrong is told.

The environment is read here and nowhere below.
"""

import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

from co_tui.commands import run_command
from co_tui.headless.output import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USAGE,
    CommandContext,
    OutputLost,
    discard,
    finish,
    os_error_sentence,
    say,
)
from co_tui.inert import one_line
from co_tui.paths import Paths, locate, present_folder
from co_tui.settings import DEBUG_VARIABLE, load
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import StoreError

if TYPE_CHECKING:
    from co_tui.commands import Options
    from co_tui.store.port import Store


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code. A failure is a sentence, an output that got lost a failure."""
    try:
        code = _run(arguments)
        finish()
        return code
    except SystemExit as leaving:  # the parser has said what there is to say
        return _finished(leaving.code if isinstance(leaving.code, int) else FAILED)
    except StoreError as error:
        return _failed(str(error))
    except OutputLost as lost:
        return _lost(lost)
    except OSError as error:
        return _failed(os_error_sentence(error))
    except KeyboardInterrupt:
        discard(sys.stdout)
        say("Interrupted.")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        return _failed(
            f"co-tui failed, and it should not have: {type(error).__name__}: {one_line(str(error), 300)}. "
            f"{DEBUG_VARIABLE}=1 shows where."
        )


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
    """A reader that left has seen what it wanted; everything else that is lost is a failure."""
    discard(sys.stdout)
    if not str(lost):
        return code
    say(str(lost))
    return FAILED


def _options(arguments: Sequence[str]) -> "Options":
    """What was asked for. Opening the app, the usual case, does without the parser: it takes as long as all of this."""
    if not arguments or list(arguments) == ["--continue"]:
        return SimpleNamespace(command=None, resume=None, resume_latest=bool(arguments))
    from co_tui.arguments import parse

    return parse(arguments)


def _run(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    environ, cwd = os.environ, present_folder()
    paths = locate(environ)
    given = {key: getattr(options, key, None) for key in ("model", "policy", "mode")}
    loaded = load(paths=paths, cwd=cwd, environ=environ, command_line=given)
    if options.command not in ("doctor", "config", "trust"):
        # Those are how one finds and mends a bad setting.
        for warning in loaded.warnings:
            say(warning)
        if loaded.problems:
            for problem in loaded.problems:
                say(problem)
            return WRONG_USAGE
    private = getattr(options, "private", False)
    with _store(paths, private=private) as store:
        return run_command(options, CommandContext(paths, loaded, store, private), environ, cwd)


def _store(paths: Paths, *, private: bool) -> "Store":
    """What keeps the sessions; of private ones nothing ever reaches the disk."""
    if not private:
        store = SqliteStore(paths)
        store.migrate(say)
        return store
    from co_tui.store.sqlite.in_memory import InMemoryStore

    return InMemoryStore()
