"""What `co-tui` without a command does."""

import sys
from collections.abc import Mapping

from co_tui.cli.command_call import SERVED_DRIVER, CommandCall, silence_libraries, under_policy_of
from co_tui.headless.output import WRONG_USAGE, say
from co_tui.headless.stopping import restore_signals
from co_tui.settings import Loaded, is_policy_path


def open_app(call: CommandCall) -> int:
    """Open the app in this terminal; returns the exit code when it is left."""
    options, context, environ, cwd = call
    if not _has_screen(environ):
        if options.command:
            from co_tui.cli.commands import function_of

            return function_of(options.command)(call)
        say("The app needs a full terminal. Use `co-tui run -p …` without one.")
        return WRONG_USAGE
    session_id = ""
    if options.resume or options.resume_latest:
        from co_tui.headless.sessions.stored_rows import stored_session

        row = stored_session(options.resume, context, cwd, at_once=True)
        session_id = row.id
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
            session_id=session_id,
            first_command=options.command or ("sessions" if options.resume == "" else ""),
            model=context.loaded.overriding_model,
            private=context.private,
            policy_path=_policy_path(context.loaded),
        )
    )


def _has_screen(environ: Mapping[str, str]) -> bool:
    """Whether the app can be shown: in a terminal that can draw it, or on a page."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty() and environ.get("TERM") != "dumb"
    return is_terminal or environ.get("TEXTUAL_DRIVER") == SERVED_DRIVER


def _policy_path(loaded: Loaded) -> str:
    """The policy file named on the command line; empty for a policy by name."""
    return loaded.settings.policy if is_policy_path(loaded.settings.policy) else ""
