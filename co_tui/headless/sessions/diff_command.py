"""`co-tui diff`: what a session changed in its folder."""

from collections.abc import Mapping

from co_tui.headless.output import DONE, FAILED, CommandContext, os_error_sentence, put, put_json, say
from co_tui.inert import inert, one_line
from co_tui.session.snapshots.file_diffs import FileChange, SessionChanges
from co_tui.session.snapshots.objects import SnapshotsUnusable
from co_tui.session.snapshots.several_folders import folders_of_log, stored_changes
from co_tui.session.state.derive import replay
from co_tui.session.workplace.host.address import recorded_address, resume_hint


def diff(context: CommandContext, session_id: str, cwd: str, environ: Mapping[str, str], *, as_json: bool) -> int:
    """Returns the exit code; the session may be open elsewhere."""
    if (address := recorded_address(cwd)) is not None:
        say(resume_hint(address, session_id))
        return FAILED
    try:
        with context.store.reading() as reading:
            added = replay(reading.events(session_id)).folders
        changes = stored_changes(context.paths, session_id, folders_of_log(cwd, added), environ)
    except SnapshotsUnusable as unusable:
        say(str(unusable))
        return FAILED
    except OSError as error:
        say(os_error_sentence(error))
        return FAILED
    for change in changes.files:
        if as_json:
            put_json(_json(change))
        else:
            put(change_text(change))
    say(changes_summary(changes))
    return DONE


def _json(change: FileChange) -> dict[str, object]:
    return {
        "path": change.path,
        "change": change.what,
        "added": change.added,
        "removed": change.removed,
        "diff": change.text,
    }


def change_text(change: FileChange) -> str:
    return inert(change.text) if change.diff is not None else f"{one_line(change.path, 300)}: {inert(change.text)}"


def changes_summary(changes: SessionChanges) -> str:
    if not changes.files:
        return "The session changed no files."
    added, removed = (sum(getattr(each, name) for each in changes.files) for name in ("added", "removed"))
    count = len(changes.files) + changes.left_out
    more = f" The first {len(changes.files):,} are shown." if changes.left_out else ""
    return f"{count:,} file{'s' if count != 1 else ''} changed, +{added:,} −{removed:,}.{more}"
