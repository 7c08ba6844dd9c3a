"""What `co-tui` without a command does."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from co_tui.cli.command_call import SERVED_DRIVER, CommandCall, silence_libraries, under_policy_of
from co_tui.headless.output import WRONG_USAGE, say
from co_tui.headless.stopping import restore_signals
from co_tui.settings import Loaded, is_policy_path

if TYPE_CHECKING:
    from co_tui.cli.command_call import Options
    from co_tui.store.stored_values import SessionRow


def open_app(call: CommandCall) -> int:
    """Open the app in this terminal; returns the exit code when it is left."""
    options, context, environ, _ = call
    if not _has_screen(environ):
        if options.command:
            from co_tui.cli.commands import function_of

            return function_of(options.command)(call)
        say("The app needs a full terminal. Use `co-tui run -p …` without one.")
        return WRONG_USAGE
    row = _asked_for(call) or _restored(call)
    if row is not None:
        context = under_policy_of(row, call, quiet=True)  # the app reports it itself
    from co_tui.session.launch import Launch
    from co_tui.ui.start import start

    silence_libraries(environ)
    restore_signals()
    return start(
        Launch(
            paths=context.paths,
            store=context.store,
            loaded=context.loaded,
            environ=environ,
            workplace=context.workplace,
            session_id=row.id if row is not None else "",
            is_restored=row is not None and not _names_session(options),
            first_command=options.command or ("sessions" if options.resume == "" else ""),
            model=context.loaded.overriding_model,
            private=context.private,
            policy_path=_policy_path(context.loaded),
        )
    )


def _names_session(options: "Options") -> bool:
    return bool(options.resume or options.resume_latest)


def _asked_for(call: CommandCall) -> "SessionRow | None":
    """The session that the command line names."""
    if not _names_session(call.options):
        return None
    from co_tui.headless.sessions.stored_rows import stored_session

    return stored_session(call.options.resume, call.context, call.cwd, at_once=True)


def _restored(call: CommandCall) -> "SessionRow | None":
    """The session that the settings start with; None for a new one."""
    options, context = call.options, call.context
    named = options.command or options.resume is not None or context.private
    if named or context.loaded.settings.starts_with != "latest":
        return None
    from co_tui.headless.sessions.stored_rows import latest_here

    return latest_here(context, call.cwd)


def _has_screen(environ: Mapping[str, str]) -> bool:
    """Whether the app can be shown: in a terminal that can draw it, or on a page."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and environ.get("TERM") != "dumb"
    return is_terminal or environ.get("TEXTUAL_DRIVER") == SERVED_DRIVER


def _policy_path(loaded: Loaded) -> str:
    """The policy file named on the command line; empty for a policy by name."""
    return loaded.settings.policy if is_policy_path(loaded.settings.policy) else ""
