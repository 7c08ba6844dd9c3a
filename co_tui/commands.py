"""The function of each CLI command; what it needs is imported only when it runs."""

import gc
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from co_tui.headless.output import DONE, WRONG_USAGE, CommandContext, say
from co_tui.headless.stopping import restore_signals
from co_tui.inert import one_line
from co_tui.open_store import open_store
from co_tui.settings import DEBUG_VARIABLE, Loaded, is_policy_path, load
from co_tui.store.store_errors import SessionNotFound

if TYPE_CHECKING:
    from argparse import Namespace

    from co_tui.headless.open_session import SessionOpening
    from co_tui.store.stored_values import SessionRow

    Options = Namespace | SimpleNamespace

MOST_PROMPT_BYTES = 64_000_000
SERVED_DRIVER = "co_tui.ui.terminal.served_driver:ServedDriver"
"""The Textual driver for an app on a page of `co-tui serve`, as `TEXTUAL_DRIVER` names it."""

TERMINAL_VARIABLES = (
    "COLUMNS",
    "LINES",
    "TERM_PROGRAM",
    "KITTY_WINDOW_ID",
    "WEZTERM_PANE",
    "ITERM_SESSION_ID",
    "TMUX",
    "STY",
)
"""Variables that describe the terminal a server was started in; they are wrong for the pages it serves."""


class CommandCall(NamedTuple):
    """A command and what it may need."""

    options: "Options"
    context: CommandContext
    environ: Mapping[str, str]
    cwd: Path


CliFunction: TypeAlias = Callable[[CommandCall], int]
"""Returns the exit code."""
FUNCTIONS: Final[dict[str | None, CliFunction]] = {}
"""By command; None opens the app. `cli_commands.py` has their options."""


def command(name: str | None) -> Callable[[CliFunction], CliFunction]:
    """Register the decorated function for a command."""

    def register(function: CliFunction) -> CliFunction:
        FUNCTIONS[name] = function
        return function

    return register


def run_command(call: CommandCall) -> int:
    """Run the command and return the exit code."""
    return FUNCTIONS[call.options.command](call)


@command(None)
def _open_app(call: CommandCall) -> int:
    options, context, environ, cwd = call
    has_page = environ.get("TEXTUAL_DRIVER") == SERVED_DRIVER
    if not has_page and (not (sys.stdin.isatty() and sys.stdout.isatty()) or environ.get("TERM") == "dumb"):
        say("The app needs a full terminal. Use `co-tui run -p …` without one.")
        return WRONG_USAGE
    session_id = ""
    if options.resume or options.resume_latest:
        row = _stored_session(options.resume, context, cwd)
        session_id = row.id
        context = _under_policy_of(row, call, quiet=True)  # the app reports it itself
    from co_tui.ui.launch import Launch
    from co_tui.ui.start import start

    _silence_libraries(environ)
    restore_signals()
    return start(
        Launch(
            paths=context.paths,
            store=context.store,
            loaded=context.loaded,
            environ=environ,
            cwd=cwd,
            session_id=session_id,
            browse=options.resume == "",
            model=context.loaded.overriding_model,
            private=context.private,
            policy_path=_policy_path(context.loaded),
            host=context.host,
        )
    )


def _policy_path(loaded: Loaded) -> str:
    """The policy file named on the command line; empty for a policy by name."""
    return loaded.settings.policy if is_policy_path(loaded.settings.policy) else ""


@command("serve")
def _serve(call: CommandCall) -> int:
    options, environ = call.options, call.environ
    from co_tui.headless.web.serve_command import Address, ServedCommand, serve

    chosen = {f"--{key}": getattr(options, key, "") for key in ("model", "policy", "mode")}
    arguments = [word for name, value in chosen.items() if value for word in (name, value)]
    opening = ["--continue"] if options.resume_latest else []
    if options.resume is not None:
        opening = ["--resume", *filter(None, [options.resume])]
    private = getattr(options, "private", False)
    arguments += ["--private"] if private else []
    kept = {name: value for name, value in environ.items() if name not in TERMINAL_VARIABLES}
    given = {**kept, "TEXTUAL_DRIVER": SERVED_DRIVER, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    served = ServedCommand(arguments, opening, given, private, options.keep)
    return serve(Address(options.host, options.port), served, allow_remote=options.allow_remote)


@command("run")
def _run(call: CommandCall) -> int:
    options, context, _, cwd = call
    prompt = options.prompt
    if prompt is None:
        if sys.stdin.isatty():
            say("Give a prompt with -p or on standard input.")
            return WRONG_USAGE
        given = sys.stdin.buffer.read(MOST_PROMPT_BYTES + 1)
        if len(given) > MOST_PROMPT_BYTES:
            say(f"The prompt is over {MOST_PROMPT_BYTES:,} bytes.")
            return WRONG_USAGE
        prompt = given.decode(errors="replace")
    if not prompt.strip():
        say("The prompt is empty. Give one with -p or on standard input.")
        return WRONG_USAGE
    from co_tui.session.file_references import NOT_MEANT, NamedFiles, named_files

    # Piped input is data: file names in it are not meant as attachments.
    servers = context.loaded.settings.mcp_servers
    named = named_files(prompt, cwd, servers) if options.prompt is not None else NamedFiles()
    if named.troubles:
        say(" ".join((*named.troubles, NOT_MEANT)))
        return WRONG_USAGE
    row = _stored_session(options.session, context, cwd) if options.session or options.resume_latest else None
    if row is not None and context.host is None and (hint := _host_hint(row)):
        say(hint)
        return WRONG_USAGE
    opening = _session_opening(row, call)
    from co_tui.headless.run_command import run

    code = run(opening, prompt, json=options.json, yes=options.yes, read_only=options.read_only, files=named.files)
    if code == DONE and not context.private:
        from co_tui.session.clean_up import clean_up_now

        database = context.loaded.settings.database
        with open_store(context.paths, database, call.environ) as store:  # the session closed its own
            if words := clean_up_now(store, context.loaded, context.paths):
                say(words)
    return code


@command("sessions")
def _sessions(call: CommandCall) -> int:
    from co_tui.headless.sessions.sessions_command import sessions_command

    return sessions_command(call.context, call.options)


@command("show")
def _show(call: CommandCall) -> int:
    from co_tui.headless.sessions.show_command import show

    return show(call.context, call.options.id, history=call.options.history, as_json=call.options.json)


@command("context")
def _context(call: CommandCall) -> int:
    from co_tui.headless.sessions.context_command import show_context

    row = _stored_row(call.options.id, call.context)
    return show_context(_under_policy_of(row, call), row.id, as_json=call.options.json)


@command("compact")
def _compact(call: CommandCall) -> int:
    opening = _session_opening(_stored_session(call.options.id, call.context, call.cwd), call)
    from co_tui.headless.compact_command import compact

    return compact(opening, focus=call.options.focus, json=call.options.json)


@command("rewind")
def _rewind(call: CommandCall) -> int:
    options = call.options
    row = _stored_row(options.id, call.context)
    _silence_libraries(call.environ)
    from co_tui.headless.sessions.rewind_command import rewind

    return rewind(
        call.context,
        row.id,
        options.turn,
        call.environ,
        conversation=not options.files_only,
        files=options.files or options.files_only,
        as_json=options.json,
    )


@command("diff")
def _diff(call: CommandCall) -> int:
    row = _stored_row(call.options.id, call.context)
    from co_tui.headless.sessions.diff_command import diff

    return diff(call.context, row.id, row.cwd, call.environ, as_json=call.options.json)


@command("subconscious")
def _subconscious(call: CommandCall) -> int:
    _silence_libraries(call.environ)
    from co_tui.headless.subconscious_command import subconscious

    return subconscious(call.context, call.options.id, environ=call.environ, cwd=call.cwd)


@command("config")
def _config(call: CommandCall) -> int:
    from co_tui.headless.config_command import config

    return config(call.context, call.options.key, call.options.value)


@command("doctor")
def _doctor(call: CommandCall) -> int:
    from co_tui.headless.doctor import doctor

    return doctor(call.context, call.environ, call.cwd, full=call.options.full)


@command("login")
def _login(call: CommandCall) -> int:
    _silence_libraries(call.environ)
    from co_tui.headless.login_command import login

    return login(call.context, call.environ, call.options.provider, remove=call.options.remove)


@command("acp")
def _acp(call: CommandCall) -> int:
    options, context, environ, _ = call
    _silence_libraries(environ)
    gc.enable()
    from co_tui.headless.acp.acp_command import acp

    given = {key: value for key in ("model", "policy", "mode") if (value := getattr(options, key, None))}
    return acp(context, environ, given)


@command("trust")
def _trust(call: CommandCall) -> int:
    from co_tui.headless.trust_command import trust

    return trust(call.context, call.options.folder, revoke=call.options.revoke, listed=call.options.listed)


@command("export")
def _export(call: CommandCall) -> int:
    options = call.options
    if options.all:
        if options.id or options.output is None or options.form not in (None, "jsonl"):
            say("Give --all a folder for the logs: `co-tui export --all -o FOLDER`.")
            return WRONG_USAGE
        from co_tui.headless.sessions.export_all import export_all

        return export_all(call.context, options.output, call.environ)
    if not options.id:
        say("Name the session to export, or all of them with --all -o FOLDER.")
        return WRONG_USAGE
    from co_tui.headless.sessions.export_command import export

    return export(call.context, options.id, form=options.form, file=options.output, environ=call.environ)


def _session_opening(row: "SessionRow | None", call: CommandCall) -> "SessionOpening":
    """How to open a command's session. Imports the engine."""
    _, context, environ, cwd = call
    if row is not None:
        _report_other_folder(row, context, cwd)
        context = _under_policy_of(row, call)
    _silence_libraries(environ)
    from co_tui.headless.open_session import SessionOpening

    gc.enable()
    model = context.loaded.overriding_model
    return SessionOpening(context, environ, cwd, row.id if row is not None else "", model)


def _silence_libraries(environ: Mapping[str, str]) -> None:
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


@command("lab")
def _lab(call: CommandCall) -> int:
    options, context, environ, cwd = call
    if (options.input is None) == (options.id is None):
        say("Give recordings with --input FILE.jsonl, or the ID of a session.")
        return WRONG_USAGE
    from co_tui.headless.lab_command import LabOptions, lab, named_policies, ratio_of, recorded, window_of

    if (policies := named_policies(options.policies or ["balanced"], context.paths, cwd, environ)) is None:
        return WRONG_USAGE
    _silence_libraries(environ)
    from co_tui.agent.models.open_model import config_for

    settings = context.loaded.settings
    return lab(
        recorded(options.input, options.id, context),
        policies,
        LabOptions(
            window_of(options.window or settings.context_window, options.as_model),
            ratio_of(options.as_model, context),
            model=options.summariser or "",
            config=config_for(settings, environ, context.paths),
            dump=options.dump,
            as_json=options.json,
            jobs=options.jobs,
            report=options.report,
            source=options.input.name if options.input else options.id,
        ),
    )


@command("lens")
def _lens(call: CommandCall) -> int:
    row = _stored_row(call.options.id, call.context)
    context = _under_policy_of(row, call)
    _silence_libraries(call.environ)
    from co_tui.headless.sessions.lens_command import show_lens

    return show_lens(context, row.id, as_json=call.options.json)


@command("import")
def _import(call: CommandCall) -> int:
    options, context, environ, _ = call
    if wrong := _wrong_import(options):
        say(wrong)
        return WRONG_USAGE
    if options.permissions:
        from co_tui.headless.sessions.import_permissions import import_permissions

        return import_permissions(context.paths, environ, Path.home(), as_json=options.json)
    _silence_libraries(environ)
    from co_tui.headless.sessions.import_command import ImportOptions, import_sessions

    what = ImportOptions(options.files, options.program, options.all, options.dry_run, options.json)
    return import_sessions(context, what, environ, Path.home())


def _wrong_import(options: "Options") -> str:
    """Why these options of `import` do not go together; empty when they do."""
    if options.permissions and (options.program != "claude-code" or options.files or options.all):
        return "--permissions goes with --from claude-code alone."
    if options.permissions and options.dry_run:
        return "--dry-run goes with sessions, not with --permissions."
    if options.all and (options.files or options.program):
        return "--all takes no files and no --from."
    if not options.files and not options.program and not options.all:
        return "Name files to import, a program with --from, or --all for all programs on this machine."
    return ""


def _stored_row(name: str, context: CommandContext) -> "SessionRow":
    """The stored session of that name. Raises `StoreError`."""
    with context.store.reading() as reading:
        return reading.session(name)


def _stored_session(name: str | None, context: CommandContext, cwd: Path) -> "SessionRow":
    """The named session, else the latest. Raises `StoreError` when there is none."""
    with context.store.reading() as reading:
        row = reading.session(name) if name else reading.latest(context.where(cwd))
    if row is None:
        raise SessionNotFound("No session to continue. Start one without --continue.")
    return row


def _report_other_folder(row: "SessionRow", context: CommandContext, cwd: Path) -> None:
    """Report that a resumed session now works in another folder; the app asks instead."""
    now = context.where(cwd)
    if row.cwd and row.cwd != now:
        gone = "" if Path(row.cwd).is_dir() or _host_hint(row) else " (deleted)"
        say(f"Session {row.id} worked in {one_line(row.cwd, 300)}{gone}; it now works in {one_line(now, 300)}.")


def _host_hint(row: "SessionRow") -> str:
    """How to continue a session of another host there; empty for others."""
    from co_tui.session.host.address import recorded_address, resume_hint

    address = recorded_address(row.cwd)
    return resume_hint(address, row.id) if address is not None else ""


def _under_policy_of(row: "SessionRow", call: CommandCall, *, quiet: bool = False) -> CommandContext:
    """The context under a stored session's policy, unless a stronger layer sets another or that policy is gone, which
    is reported unless `quiet`."""
    options, context, environ, cwd = call
    given = {key: getattr(options, key, None) for key in ("model", "policy", "mode")}
    own = {"policy": row.policy}
    loaded = load(paths=context.paths, cwd=cwd, environ=environ, command_line=given, resumed=own)
    if not loaded.problems:
        return context._replace(loaded=loaded)
    if not quiet:
        say(f"{loaded.problems[0]} Using {context.loaded.settings.policy}.")
    return context
