"""`co-tui trust`: let a folder's own settings choose who answers, where data goes and what runs."""

from pathlib import Path

from co_tui.headless.output import DONE, FAILED, CommandContext, put, say
from co_tui.paths import path_text
from co_tui.session.approvals.kept_approvals import KeptApprovals, kept_for
from co_tui.session.synced_files import SyncedFiles
from co_tui.settings import SettingsError, agents_text, commands_text, project_trust_request, requested_settings_text
from co_tui.settings.trust_requests import added_folder_request
from co_tui.trust import Trust


def trust(context: CommandContext, folder: Path, *, revoke: bool, listed: bool) -> int:
    """Trust the project around the folder with what its file wants now, or no longer; or list what is trusted."""
    known = Trust(context.paths.trust_file)
    if listed:
        return _list(known, kept_for(SyncedFiles(context.paths, context.store.sync.files), folder.absolute()))
    if not folder.is_dir():
        say(f"No folder {folder}.")
        return FAILED
    try:
        if revoke:
            _forget_approvals(kept_for(SyncedFiles(context.paths, context.store.sync.files), folder.absolute()))
        return _revoke(known, folder) if revoke else _trust(known, folder)
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


def _trust(known: Trust, folder: Path) -> int:
    wish = project_trust_request(folder)
    if wish is None or not wish.requested:
        if (added := added_folder_request(folder.resolve())) is not None:
            known.remember(added, trusted=True)
            say(f"Trusted {added.folder}. Its instructions count where it is added with --add-dir or /add-dir.")
            return DONE
        place = path_text(wish.file if wish else folder.absolute())
        say(f"Nothing in {place} needs trust. Its context settings apply anyway.")
        return DONE
    known.remember(wish, trusted=True)
    if wish.settings:
        say(f"Trusted {wish.folder}. It may now set {requested_settings_text(wish)}.")
    if wish.agents:
        say(f"It may delegate to {agents_text(wish)}.")
    if wish.commands:
        say(f"You may use {commands_text(wish)}.")
    say("Changed settings are asked again. `co-tui trust --revoke` revokes trust.")
    return DONE


def _forget_approvals(kept: KeptApprovals) -> None:
    """What the user allowed there once and for all is asked about again."""
    if rules := [*kept.rules(), *kept.unmarked()]:
        kept.remove_all()
        say(f"{len(rules)} always-allow rule{'s' if len(rules) > 1 else ''} revoked.")


def _revoke(known: Trust, folder: Path) -> int:
    trusted = next((place for place in (folder, *folder.absolute().parents) if known.revoke(place)), None)
    if trusted is None:
        say(f"{path_text(folder.absolute())} was not trusted.")
    else:
        say(f"{trusted} is no longer trusted.")
    return DONE
