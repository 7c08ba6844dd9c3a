"""Run the command line: parse it, load the settings, run the command, report failures.

The environment is read here and nowhere below.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING

from co_tui.cli.command_call import CommandCall
from co_tui.cli.commands import run_command
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
from co_tui.headless.stopping import stop_requested
from co_tui.inert import one_line
from co_tui.open_store import open_store
from co_tui.paths import Paths, current_folder, locate
from co_tui.settings import DEBUG_VARIABLE, Loaded, load, withheld_warnings
from co_tui.settings.rules import AUTO, EDITS, NOT_AT_HOME
from co_tui.store.store_errors import StoreError
from co_tui.trust import Trust

if TYPE_CHECKING:
    from co_tui.cli.command_call import Options
    from co_tui.session.workplace.workplace import Workplace


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


def _options(arguments: Sequence[str]) -> "Options":
    """Parse the arguments. Opening the app, the usual case, skips the parser, which is slow to import."""
    if not arguments or list(arguments) == ["--continue"]:
        return SimpleNamespace(command=None, resume=None, resume_latest=bool(arguments))
    from co_tui.cli.arguments import parse

    return parse(arguments)


def _run(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    environ, paths = os.environ, locate(os.environ)
    if getattr(options, "remote_host", None) is not None:
        return _run_on_host(options, paths, environ)
    from co_tui.session.workplace.here.local_workplace import LocalWorkplace

    return _run_in(options, paths, environ, LocalWorkplace(current_folder()))


def _run_on_host(options: "Options", paths: Paths, environ: Mapping[str, str]) -> int:
    """The same with the tools of a session on another host; here, an empty folder takes its place."""
    from co_tui.session.workplace.host.address import AddressRefused, HostUnreachable, host_address
    from co_tui.session.workplace.host.host_workplace import connect

    try:
        host = connect(host_address(options.remote_host, getattr(options, "remote_folder", "")), environ, paths)
    except (AddressRefused, HostUnreachable) as refused:
        say(str(refused))
        return WRONG_USAGE
    try:
        return _run_in(options, paths, environ, host)
    finally:
        host.close()


def _run_in(options: "Options", paths: Paths, environ: Mapping[str, str], workplace: "Workplace") -> int:
    given = {key: getattr(options, key, None) for key in ("model", "policy", "mode")}
    if (
        workplace.at_home and given["mode"] in (EDITS, AUTO) and options.command != "acp"
    ):  # whose sessions have their own folders
        say(NOT_AT_HOME.format(given["mode"]))
        return WRONG_USAGE
    loaded = load(paths=paths, cwd=workplace.folder, environ=environ, command_line=given)
    if options.command not in ("doctor", "config", "trust"):
        # These three are how users find and fix a bad setting.
        for warning in warnings_before_start(loaded, paths, opens_app=options.command is None):
            say(warning)
        if loaded.problems:
            for problem in loaded.problems:
                say(problem)
            return WRONG_USAGE
    private = getattr(options, "private", False)
    with open_store(paths, loaded.settings.database, environ, private=private, report=say) as store:
        context = CommandContext(paths, loaded, store, workplace, private)
        return run_command(CommandCall(options, context, environ, workplace.folder))


def warnings_before_start(loaded: Loaded, paths: Paths, *, opens_app: bool) -> list[str]:
    """What to print before starting. What the app asks about itself is left out: the answer may make it untrue."""
    request = loaded.withheld
    if not opens_app or request is None or Trust(paths.trust_file).was_asked(request):
        return list(loaded.warnings)
    asked = withheld_warnings(request)
    return [warning for warning in loaded.warnings if warning not in asked]
