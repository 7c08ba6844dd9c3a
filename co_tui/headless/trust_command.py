"""`co-tui trust`: let a folder's own settings choose who answers, where data goes and what runs."""

from pathlib import Path

from co_tui.agent.redact import KEY_VARIABLES, redact
from co_tui.headless.output import DONE, FAILED, CommandContext, put, say
from co_tui.paths import path_text
from co_tui.session.approvals.kept_approvals import KeptApprovals, kept_for
from co_tui.session.synced_files import SyncedFiles
from co_tui.settings import SettingsError, project_trust_request
from co_tui.settings.markdown.agent_files import project_folder
from co_tui.settings.trust_requests import added_folder_request, read_project_files, unused_below
from co_tui.settings.trust_texts import trust_lines
from co_tui.trust import Trust


def trust(context: CommandContext, folder: Path, *, revoke: bool, listed: bool, dry_run: bool = False) -> int:
    """Trust the project around the folder with what its files want now, or no longer; or list what is trusted. With
    `dry_run`, list what they want and what of them has no effect."""
    known, named, folder = Trust(context.paths.trust_file), folder, folder.absolute()
    if listed:
        return _list(known, kept_for(SyncedFiles(context.paths, context.store.sync.files), folder))
    if not folder.is_dir():
        say(f"No folder {named}.")
        return FAILED
    try:
        if revoke:
            _forget_approvals(kept_for(SyncedFiles(context.paths, context.store.sync.files), folder))
        return _revoke(known, folder) if revoke else _trust(known, folder, dry_run=dry_run)
    except OSError as error:
        say(f"Cannot revoke what is always allowed there: {error.filename} ({error.strerror}).")
        return FAILED
    except SettingsError as error:
        say(f"{error} Nothing was trusted.")
        return FAILED


def _list(known: Trust, kept: KeptApprovals) -> int:
    folders, allowed = known.folders(), kept.everywhere()
    for name in folders:
        put(name)
    for project, rules in allowed.items():
        say(f"Always allowed in {project}: {', '.join(rule.shown for rule in rules)}")
    if not folders and not allowed:
        say("No trusted folders, and nothing is always allowed.")
    return DONE


def _trust(known: Trust, folder: Path, *, dry_run: bool) -> int:
    wish = project_trust_request(folder)
    root = project_folder(folder)
    for problem in (*read_project_files(root).problems, *unused_below(folder, root)):
        say(problem)
    for line in trust_lines(wish, KEY_VARIABLES) if wish is not None else ():
        put(redact(line))
    if wish is None or not wish.requested:
        if (added := added_folder_request(folder.resolve())) is not None and not dry_run:
            known.remember(added, trusted=True)
            say(f"Trusted {added.folder}. Its instructions count where it is added with --add-dir or /add-dir.")
            return DONE
        place = path_text(wish.file if wish and wish.file.exists() else folder)
        say(f"Nothing in {place} needs trust. Its context settings apply anyway.")
        return DONE
    if dry_run:
        state = "is trusted with this" if known.has(wish) else "is not trusted with this: run `co-tui trust`"
        say(f"{wish.folder} {state}.")
        return DONE
    known.remember(wish, trusted=True)
    say(f"Trusted {wish.folder} with what is listed.")
    say("Changed settings are asked again. `co-tui trust --revoke` revokes trust.")
    return DONE


def _forget_approvals(kept: KeptApprovals) -> None:
    """What the user allowed there once and for all is asked about again."""
    if rules := [*kept.rules(), *kept.unmarked()]:
        kept.remove_all()
        say(f"{len(rules)} always-allow rule{'s' if len(rules) > 1 else ''} revoked.")


def _revoke(known: Trust, folder: Path) -> int:
    trusted = next((place for place in (folder, *folder.parents) if known.revoke(place)), None)
    if trusted is None:
        say(f"{path_text(folder)} was not trusted.")
    else:
        say(f"{trusted} is no longer trusted.")
    return DONE
