"""What `co-tui` without a command does."""

import sys

from co_tui.cli.command_call import SERVED_DRIVER, CommandCall, silence_libraries, under_policy_of
from co_tui.headless.output import WRONG_USAGE, say
from co_tui.headless.stopping import restore_signals
from co_tui.settings import Loaded, is_policy_path


def open_app(call: CommandCall) -> int:
    """Open the app in this terminal; returns the exit code when it is left."""
    options, context, environ, cwd = call
    has_page = environ.get("TEXTUAL_DRIVER") == SERVED_DRIVER
    if not has_page and (not (sys.stdin.isatty() and sys.stdout.isatty()) or environ.get("TERM") == "dumb"):
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
            browse=options.resume == "",
            model=context.loaded.overriding_model,
            private=context.private,
            policy_path=_policy_path(context.loaded),
        )
    )


def _policy_path(loaded: Loaded) -> str:
    """The policy file named on the command line; empty for a policy by name."""
    return loaded.settings.policy if is_policy_path(loaded.settings.policy) else ""
