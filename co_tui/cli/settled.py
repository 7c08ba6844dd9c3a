"""Run a parsed command with its settings and its store. The environment is passed in, and read nowhere below."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from co_tui.cli.command_call import CommandCall, given_settings
from co_tui.headless.output import WRONG_USAGE, CommandContext, say
from co_tui.open_store import open_store
from co_tui.paths import Paths, current_folder, locate
from co_tui.settings import Loaded, load
from co_tui.settings.rules import AUTO, EDITS, NOT_AT_HOME
from co_tui.trust import Trust

if TYPE_CHECKING:
    from co_tui.cli.command_call import CliFunction, Options
    from co_tui.session.workplace.workplace import Workplace

USING_THE_FOLDER = frozenset(("example", "run", "acp", "serve", "subconscious", "context", "lens", "lab"))
"""Commands that use the folder's settings, and say which of them are not trusted. The app asks instead."""


def run_with(options: "Options", environ: Mapping[str, str]) -> int:
    """Run the command of these options and return the exit code."""
    paths = locate(environ)
    if getattr(options, "remote_host", None) is not None:
        return _run_on_host(options, paths, environ)
    from co_tui.folders import FolderRefused, folders_to_add
    from co_tui.session.workplace.here.local_workplace import LocalWorkplace

    folder = current_folder()
    try:
        add_dirs = folders_to_add(getattr(options, "add_dirs", ()), folder, paths)
    except FolderRefused as refused:
        say(str(refused))
        return WRONG_USAGE
    return _run_in(options, paths, environ, LocalWorkplace(folder, add_dirs))


def _run_on_host(options: "Options", paths: Paths, environ: Mapping[str, str]) -> int:
    """The same with the tools of a session on another host; here, an empty folder takes its place."""
    if getattr(options, "add_dirs", None):
        from co_tui.folders import ON_A_HOST

        say(ON_A_HOST)
        return WRONG_USAGE
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
    given = given_settings(options)
    if (
        workplace.at_home and given["mode"] in (EDITS, AUTO) and options.command != "acp"
    ):  # whose sessions have their own folders
        say(NOT_AT_HOME.format(given["mode"]))
        return WRONG_USAGE
    loaded = load(paths=paths, cwd=workplace.folder, environ=environ, command_line=given)
    if options.command not in ("doctor", "config", "trust"):
        # These three are how users find and fix a bad setting.
        for warning in warnings_before_start(loaded, paths, options.command):
            say(warning)
        if loaded.problems:
            for problem in loaded.problems:
                say(problem)
            return WRONG_USAGE
    private = getattr(options, "private", False)
    with open_store(paths, loaded.settings.database, environ, private=private, report=say) as store:
        context = CommandContext(paths, loaded, store, workplace, private)
        return _command(options.command)(CommandCall(options, context, environ, workplace.folder))


def _command(name: str | None) -> "CliFunction":
    """The function of a command; the app, which opens without one or with the example, needs no other."""
    if name in (None, "example"):
        from co_tui.cli.open_app import open_app

        return open_app
    from co_tui.cli.commands import function_of

    return function_of(name or "")


def warnings_before_start(loaded: Loaded, paths: Paths, command: str | None) -> list[str]:
    """What to print before starting. What an untrusted folder asks for is left out where the app asks about it itself,
    since the answer may make it untrue, and in commands that use none of it; `compact` prints those of the session's
    folder itself."""
    if command == "compact":
        return []
    request = loaded.withheld
    if request is None or (command in USING_THE_FOLDER if command else Trust(paths.trust_file).was_asked(request)):
        return list(loaded.warnings)
    from co_tui.settings.trust_texts import withheld_warnings  # most folders need no trust

    asked = withheld_warnings(request)
    return [warning for warning in loaded.warnings if warning not in asked]
