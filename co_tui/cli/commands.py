"""The function of each CLI command; what it needs is imported only when it runs."""

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.cli import stored_commands  # noqa: F401 - registers its commands
from co_tui.cli.command_call import (
    FUNCTIONS,
    SERVED_DRIVER,
    CliFunction,
    CommandCall,
    command,
    silence_libraries,
    under_policy_of,
)
from co_tui.headless.output import DONE, WRONG_USAGE, CommandContext, say
from co_tui.headless.sessions.stored_rows import latest_row, stored_session
from co_tui.inert import one_line
from co_tui.open_store import open_store
from co_tui.paths import recorded_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from co_tui.cli.command_call import Options
    from co_tui.headless.open_session import SessionOpening
    from co_tui.session.file_references import NamedFile
    from co_tui.store.stored_values import SessionRow

MOST_PROMPT_BYTES = 64_000_000
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


def function_of(name: str) -> CliFunction:
    return FUNCTIONS[name]


@command("serve")
def _serve(call: CommandCall) -> int:
    options, environ = call.options, call.environ
    from co_tui.headless.web.serve_command import Address, ServedCommand, serve

    chosen = {f"--{key}": getattr(options, key, "") for key in ("model", "policy", "mode")}
    arguments = [word for name, value in chosen.items() if value for word in (name, value)]
    arguments += [word for folder in call.context.workplace.add_dirs for word in ("--add-dir", folder)]
    opening = ["--continue"] if options.resume_latest else []
    if options.resume is not None:
        opening = ["--resume", *filter(None, [options.resume])]
    private = getattr(options, "private", False)
    arguments += ["--private"] if private else []
    kept = {name: value for name, value in environ.items() if name not in TERMINAL_VARIABLES}
    given = {**kept, "TEXTUAL_DRIVER": SERVED_DRIVER, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    key = call.context.paths.state / "serve" / f"{options.port}.key"
    served = ServedCommand(arguments, opening, given, private, options.keep, key)
    _collect_again()  # it runs for days, and every request leaves cycles
    return serve(Address(options.host, options.port), served, allow_remote=options.allow_remote)


@command("run")
def _run(call: CommandCall) -> int:
    options, context, _, cwd = call
    try:
        _check_formats(options)
        prompt = _prompt_of(options.prompt) if options.input_format == "text" else ""
        files = _files_of(prompt, call) if prompt else ()
    except WrongUsage as wrong:
        say(str(wrong))
        return WRONG_USAGE
    continues = options.session is not None or options.resume_latest
    row = _session_to_continue(options.session, context, cwd) if continues else None
    if row is not None and (hint := context.workplace.resume_hint(row.cwd, row.id)):
        say(hint)
        return WRONG_USAGE
    opening = _session_opening(row, call)._replace(
        take_over=options.take_over,
        more_instructions=options.append_system_prompt,
        own_instructions=options.system_prompt,
    )
    from co_tui.headless.run_command import RunOptions, run

    output = "log" if options.json else options.output_format
    if options.setting_sources is not None:
        say("--setting-sources has no effect: `co-tui trust` decides which settings of a project count.")
    asks_script = options.permission_prompt_tool is not None
    run_options = RunOptions(output, options.yes, options.read_only, options.agent, asks_script)
    code = run(opening, prompt, run_options, files)
    if code == DONE and not context.private:
        from co_tui.session.clean_up import clean_up_now

        database = context.loaded.settings.database
        with open_store(context.paths, database, call.environ) as store:  # the session closed its own
            if words := clean_up_now(store, context.loaded, context.paths):
                say(words)
    return code


class WrongUsage(Exception):
    """What to give a command instead: a sentence."""


def _check_formats(options: "Options") -> None:
    """Raises `WrongUsage` for formats that do not go together."""
    if options.input_format == "text":
        if options.permission_prompt_tool is not None:
            raise WrongUsage("--permission-prompt-tool stdio needs --input-format stream-json.")
        return
    if options.json or options.output_format != "stream-json":
        raise WrongUsage("--input-format stream-json needs --output-format stream-json.")
    if options.prompt is not None:
        raise WrongUsage("With --input-format stream-json, prompts come from standard input. Leave out the prompt.")


def _prompt_of(given: str | None) -> str:
    """The prompt, from standard input if none is given. Raises `WrongUsage`."""
    if given is None:
        if sys.stdin.isatty():
            raise WrongUsage("Give a prompt with -p or on standard input.")
        piped = sys.stdin.buffer.read(MOST_PROMPT_BYTES + 1)
        if len(piped) > MOST_PROMPT_BYTES:
            raise WrongUsage(f"The prompt is over {MOST_PROMPT_BYTES:,} bytes.")
        given = piped.decode(errors="replace")
    if not given.strip():
        raise WrongUsage("The prompt is empty. Give one with -p or on standard input.")
    return given


def _files_of(prompt: str, call: CommandCall) -> "Sequence[NamedFile]":
    """The files that a prompt names. Raises `WrongUsage`, also for a slash command that cannot run here."""
    from co_tui.session.file_references import NOT_MEANT
    from co_tui.session.slash.typed_command import parse_command, refusal

    settings, called = call.context.loaded.settings, parse_command(prompt)
    if called is not None and (why := refusal(called, settings, call.context.paths, call.cwd)):
        raise WrongUsage(why)
    if called is not None or call.options.prompt is None:
        return ()  # a command finds its own; piped input is data: file names in it are not meant as attachments
    named = call.context.workplace.named_files(prompt, settings.mcp_servers)
    if named.troubles:
        raise WrongUsage(" ".join((*named.troubles, NOT_MEANT)))
    return named.files


@command("compact")
def _compact(call: CommandCall) -> int:
    row = stored_session(call.options.id, call.context, call.cwd)
    # Compacting needs no folder: the session keeps its own.
    opening = _session_opening(row, call._replace(cwd=recorded_path(row.cwd)) if _is_here(row) else call)
    for warning in opening.context.loaded.warnings:
        say(warning)
    from co_tui.headless.compact_command import compact

    return compact(opening, focus=call.options.focus, deep=call.options.deep, json=call.options.json)


@command("subconscious")
def _subconscious(call: CommandCall) -> int:
    silence_libraries(call.environ)
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
    silence_libraries(call.environ)
    from co_tui.headless.login_command import login

    return login(call.context, call.environ, call.options.provider, remove=call.options.remove)


@command("acp")
def _acp(call: CommandCall) -> int:
    options, context, environ, _ = call
    silence_libraries(environ)
    if options.login:
        from co_tui.headless.login_command import login

        return login(context, environ, "", remove=False)
    from co_tui.headless.acp.acp_command import acp

    _collect_again()

    given = {key: value for key in ("model", "policy", "mode") if (value := getattr(options, key, None))}
    if "policy" in given:
        given["policy"] = context.loaded.settings.policy  # a path begins here, not in each session's folder
    return acp(context, environ, given)


@command("trust")
def _trust(call: CommandCall) -> int:
    from co_tui.headless.trust_command import trust

    options = call.options
    return trust(call.context, options.folder, revoke=options.revoke, listed=options.listed, dry_run=options.dry_run)


def _collect_again() -> None:
    """Collect garbage from now on, but not in the libraries, which stay: a full collection of them takes 0.1 s."""
    gc.freeze()
    gc.enable()


def _session_opening(row: "SessionRow | None", call: CommandCall) -> "SessionOpening":
    """How to open a command's session. Imports the engine."""
    _, context, environ, cwd = call
    if row is not None:
        _report_other_folder(row, context, cwd)
        context = under_policy_of(row, call)
    silence_libraries(environ)
    from co_tui.agent.lean_imports import without_unused_parts

    with without_unused_parts():
        from co_tui.headless.open_session import SessionOpening

    _collect_again()
    model = context.loaded.overriding_model
    return SessionOpening(context, environ, cwd, row.id if row is not None else "", model)


@command("lab")
def _lab(call: CommandCall) -> int:
    options, context, environ, cwd = call
    if (options.input is None) == (options.id is None):
        say("Give recordings with --input FILE.jsonl, or the ID of a session.")
        return WRONG_USAGE
    from co_tui.headless.lab_command import LabOptions, lab, named_policies, ratio_of, recorded, window_of

    if (policies := named_policies(options.policies or ["balanced"], context.paths, cwd, environ)) is None:
        return WRONG_USAGE
    silence_libraries(environ)
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


def _session_to_continue(name: str | None, context: CommandContext, cwd: Path) -> "SessionRow":
    """The named session, else the latest that no process has open. Raises `StoreError`."""
    latest = stored_session(name, context, cwd)
    if name is not None or latest.id not in (taken := context.store.claimed()):
        return latest
    with context.store.reading() as reading:
        row = latest_row(reading, context, cwd, without=taken)
    if row.id != latest.id:
        title = f" “{one_line(row.title, 60)}”" if row.title else ""
        say(f"The latest session is open in another co-tui. Continuing session {row.id}{title}.")
    return row


def _is_here(row: "SessionRow") -> bool:
    """Whether a session works in a folder of this machine that is there."""
    return Path(row.cwd).is_absolute() and recorded_path(row.cwd).is_dir()


def _report_other_folder(row: "SessionRow", context: CommandContext, cwd: Path) -> None:
    """Report that a resumed session now works in another folder; the app asks instead."""
    from co_tui.session.repository_identity import folder_here
    from co_tui.session.workplace.host.address import recorded_address

    now = context.workplace.in_folder(cwd).text
    if not row.cwd or row.cwd == now:
        return
    is_there = recorded_path(row.cwd).is_dir() or recorded_address(row.cwd) is not None
    can_move = context.workplace.can_move_to(row.cwd)
    if can_move and not is_there and folder_here(row.cwd, row.repository, row.repository_id, cwd) == cwd:
        return  # the same place in this machine's checkout
    gone = "" if is_there else " (deleted)"
    say(f"Session {row.id} worked in {one_line(row.cwd, 300)}{gone}; it now works in {one_line(now, 300)}.")
