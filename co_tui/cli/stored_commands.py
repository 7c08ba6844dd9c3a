"""The functions of the commands about stored sessions; what each needs is imported only when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.cli.command_call import CommandCall, command, silence_libraries, under_policy_of
from co_tui.headless.output import DONE, WRONG_USAGE, put, say
from co_tui.headless.sessions.stored_rows import refresh, stored_row
from co_tui.open_store import opened_database
from co_tui.settings.all_settings import check
from co_tui.settings.rules import SettingsError

if TYPE_CHECKING:
    from co_tui.cli.command_call import Options

SQLITE = "sqlite:"
"""In place of a URL: the file in the data folder."""


@command("sessions")
def _sessions(call: CommandCall) -> int:
    from co_tui.headless.sessions.sessions_command import sessions_command

    url = call.options.copy_to if call.options.copy_to is not None else call.options.copy_from
    if url is not None:
        return _copy(call, url)
    if call.options.fork is not None:
        return _fork(call, call.options.fork)
    return sessions_command(call.context, call.options)


def _fork(call: CommandCall, name: str) -> int:
    """Copy a session; prints the copy's id."""
    row = stored_row(name, call.context)
    refresh(call.context, row.id)
    silence_libraries(call.environ)
    from co_tui.headless.open_session import SessionOpening
    from co_tui.headless.sessions.fork_command import fork

    return fork(SessionOpening(call.context, call.environ, call.cwd, row.id, ""))


def _copy(call: CommandCall, url: str) -> int:
    """Copy sessions to the database of that URL, or from it."""
    options, context, environ, _ = call
    back = options.copy_to is None
    try:
        database = check("database", url.removeprefix(SQLITE), named="--copy-from" if back else "--copy-to")
    except SettingsError as wrong:
        say(str(wrong))
        return WRONG_USAGE
    if database == context.loaded.settings.database:
        say("Both are the same database. Name another one.")
        return WRONG_USAGE
    from co_tui.headless.sessions.copy_command import CopyOptions, copy

    what = CopyOptions(options.ids, options.search, options.dry_run, options.json)
    with opened_database(context.paths, str(database), environ, report=say) as other:
        return copy(context, other, what, environ, back=back)


@command("show")
def _show(call: CommandCall) -> int:
    from co_tui.headless.sessions.show_command import show

    return show(call.context, call.options.id, history=call.options.history, as_json=call.options.json)


@command("context")
def _context(call: CommandCall) -> int:
    from co_tui.headless.sessions.context_command import show_context, show_models

    if call.options.models == bool(call.options.id):
        say("Name a session: `co-tui context ID`; or list the models: `co-tui context --models`.")
        return WRONG_USAGE
    if call.options.models:
        silence_libraries(call.environ)
        return show_models(call.context.loaded.settings, as_json=call.options.json)
    row = stored_row(call.options.id, call.context)
    return show_context(under_policy_of(row, call), row.id, as_json=call.options.json)


@command("lens")
def _lens(call: CommandCall) -> int:
    row = stored_row(call.options.id, call.context)
    context = under_policy_of(row, call)
    silence_libraries(call.environ)
    from co_tui.headless.sessions.lens_command import show_lens

    return show_lens(context, row.id, as_json=call.options.json)


@command("rewind")
def _rewind(call: CommandCall) -> int:
    options = call.options
    files = options.files or options.files_only
    if options.force and not files:
        say("--force is about files: give it with --files or --files-only.")
        return WRONG_USAGE
    row = stored_row(options.id, call.context)
    silence_libraries(call.environ)
    from co_tui.headless.sessions.rewind_command import rewind

    return rewind(
        call.context,
        row.id,
        options.turn,
        call.environ,
        conversation=not options.files_only,
        files=files,
        force=options.force,
        as_json=options.json,
    )


@command("diff")
def _diff(call: CommandCall) -> int:
    row = stored_row(call.options.id, call.context)
    from co_tui.headless.sessions.diff_command import diff

    return diff(call.context, row.id, row.cwd, call.environ, as_json=call.options.json)


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


@command("import")
def _import(call: CommandCall) -> int:
    options, context, environ, _ = call
    if wrong := _wrong_import(options):
        say(wrong)
        return WRONG_USAGE
    if options.permissions:
        from co_tui.headless.sessions.import_permissions import import_permissions

        return import_permissions(context.paths, environ, Path.home(), as_json=options.json)
    silence_libraries(environ)
    from co_tui.headless.sessions.import_command import ImportOptions, import_sessions

    is_all = options.all or (options.again and not options.files and not options.program)
    what = ImportOptions(options.files, options.program, is_all, options.dry_run, options.json, options.again)
    return import_sessions(context, what, environ, Path.home())


@command("example")
def _example(call: CommandCall) -> int:
    """Copy it where no app can be shown; prints its id."""
    silence_libraries(call.environ)
    from co_tui.exchange.intake.example import copy_example

    session_id = copy_example(call.context.store)
    put(session_id)
    say(f"Copied the example session. `co-tui show {session_id}` prints it, `co-tui --resume {session_id}` opens it.")
    return DONE


def _wrong_import(options: "Options") -> str:
    """Why these options of `import` exclude each other; empty when they do."""
    if options.permissions and (options.program != "claude-code" or options.files or options.all):
        return "--permissions works only with --from claude-code."
    if options.permissions and (options.dry_run or options.again):
        return f"{'--dry-run' if options.dry_run else '--again'} works with sessions, not with --permissions."
    if options.all and (options.files or options.program):
        return "--all takes no files and no --from."
    if not options.files and not options.program and not options.all and not options.again:
        return "Name files to import, a program with --from, or --all for all programs on this machine."
    return ""


@command("backup")
def _backup(call: CommandCall) -> int:
    options = call.options
    from co_tui.headless.backup_command import backup

    return backup(
        call.context,
        options.file,
        call.environ,
        force=options.force,
        snapshots=options.snapshots,
        as_json=options.json,
    )


@command("restore")
def _restore(call: CommandCall) -> int:
    options = call.options
    silence_libraries(call.environ)
    from co_tui.exchange.backup.restoring import RestoreOptions
    from co_tui.headless.restore_command import restore

    what = RestoreOptions(options.dry_run, options.force, options.with_config)
    return restore(call.context, options.file, what, as_json=options.json)
