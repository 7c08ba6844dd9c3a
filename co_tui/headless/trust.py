"""`co-tui trust`: let a folder's own settings choose who answers, where data goes and what runs."""

from pathlib import Path

from co_tui.headless.output import DONE, FAILED, CommandContext, put, say
from co_tui.session.kept_approvals import KeptApprovals, kept_for
from co_tui.settings import SettingsError, project_wish, told_agents, told_wish
from co_tui.trust import Trust


def trust(context: CommandContext, folder: Path, *, revoke: bool, listed: bool) -> int:
    """Trust the project around the folder with what its file wants now, or no longer; or list what is trusted."""
    known = Trust(context.paths.trust_file)
    if listed:
        for name in known.folders():
            put(name)
        for project, rules in kept_for(context.paths, folder.absolute()).everywhere().items():
            say(f"Always allowed in {project}: {'; '.join(f'{rule.tool} {rule.pattern}' for rule in rules)}")
        return DONE
    if not folder.is_dir():
        say(f"There is no folder {folder}.")
        return FAILED
    try:
        if revoke:
            _forget_approvals(kept_for(context.paths, folder.absolute()))
        return _revoke(known, folder) if revoke else _trust(known, folder)
    except OSError as error:
        say(f"What is always allowed there cannot be taken back: {error.filename} ({error.strerror}).")
        return FAILED
    except SettingsError as error:
        say(f"{error} Nothing was trusted.")
        return FAILED


def _trust(known: Trust, folder: Path) -> int:
    wish = project_wish(folder)
    if wish is None or not wish.wanted:
        say(f"Nothing in {wish.file if wish else folder} needs trust; what governs the context counts anyway.")
        return DONE
    known.remember(wish, trusted=True)
    if wish.settings:
        say(f"{wish.folder} is trusted: its settings may set {told_wish(wish)}.")
    if wish.agents:
        say(f"Work may be given to {told_agents(wish)}.")
    say("When they want something else, co-tui asks again; `co-tui trust --revoke` takes it back.")
    return DONE


def _forget_approvals(kept: KeptApprovals) -> None:
    """What the user allowed there once and for all is asked about again."""
    if rules := kept.rules():
        kept.remove_all()
        say(f"{len(rules)} kept approval{'s' if len(rules) > 1 else ''} taken back.")


def _revoke(known: Trust, folder: Path) -> int:
    trusted = next((place for place in (folder, *folder.absolute().parents) if known.revoke(place)), None)
    if trusted is None:
        say(f"{folder} was not trusted.")
    else:
        say(f"{trusted} is no longer trusted.")
    return DONE
