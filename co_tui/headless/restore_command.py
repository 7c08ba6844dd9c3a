"""`co-tui restore FILE`: bring back what a backup has."""

from collections import Counter
from pathlib import Path
from typing import Final

from co_tui.events.wording import counted
from co_tui.exchange.backup.archive import Backup, BackupRefused, Totals
from co_tui.exchange.backup.restoring import FileOutcome, RestoredFile, RestoreOptions, Restoring
from co_tui.headless.backup_command import totals_text
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, CommandContext, put_json, say
from co_tui.headless.sessions.copy_tally import CopyTally
from co_tui.session.approvals.marks import Marks
from co_tui.session.synced_files import SyncedFiles

MAX_SHOWN: Final = 20
"""Files of one kind that are named; the rest are counted."""


def restore(context: CommandContext, file: Path, options: RestoreOptions, *, as_json: bool = False) -> int:
    """Check all of the file, then restore from it. A second time changes nothing."""
    try:
        with Backup(file) as backup:
            run = _Run(backup.check(), options, as_json=as_json)
            return run.go(context, backup)
    except BackupRefused as why:
        say(str(why))
        return FAILED


class _Run:
    """Restores, counts and reports."""

    def __init__(self, totals: Totals, options: RestoreOptions, *, as_json: bool) -> None:
        self._totals, self._options, self._as_json = totals, options, as_json
        self._sessions = CopyTally("restored", totals.sessions, as_json=as_json)
        self._files: Counter[FileOutcome] = Counter()
        self._withheld: list[str] = []

    def go(self, context: CommandContext, backup: Backup) -> int:
        try:
            border = Marks(context.paths.machine_key).counted
            for done in Restoring(context.store, context.paths, self._options, border).restore(backup):
                if isinstance(done, RestoredFile):
                    self._count(done)
                else:
                    self._sessions.count(done)
            if not self._options.dry_run:
                SyncedFiles(context.paths, context.store.sync.files).refresh_stored(self._sessions.stored)
        except KeyboardInterrupt:
            say(f"Stopped: {self._text}. The same command continues.")
            return INTERRUPTED
        except Exception:
            say(f"Stopped: {self._text}. The same command continues.")
            raise
        return self._finish()

    def _count(self, done: RestoredFile) -> None:
        self._files[done.outcome] += 1
        if self._as_json:
            put_json({"file": done.name, "outcome": done.outcome.value, **({"why": done.why} if done.why else {})})
        if self._files[done.outcome] > MAX_SHOWN:
            return
        match done.outcome:
            case FileOutcome.KEPT:
                say(f"Kept {done.name}: it differs from the backup's. --force replaces it.")
            case FileOutcome.WITHHELD:
                self._withheld.append(f"{done.name} ({done.why})")
            case FileOutcome.REFUSED:
                say(f"Cannot write {done.name}: {done.why}.")
            case _:
                pass

    @property
    def _text(self) -> str:
        files = self._files
        parts = (
            self._sessions.text,
            f"{counted(files[FileOutcome.RESTORED] + files[FileOutcome.REPLACED], 'file')} restored",
            f"{files[FileOutcome.UNCHANGED]:,} unchanged" if files[FileOutcome.UNCHANGED] else "",
            f"{files[FileOutcome.KEPT]:,} kept" if files[FileOutcome.KEPT] else "",
            f"{files[FileOutcome.WITHHELD]:,} withheld" if files[FileOutcome.WITHHELD] else "",
        )
        return ", ".join(filter(None, parts))

    def _finish(self) -> int:
        if self._withheld:
            more = self._files[FileOutcome.WITHHELD] - len(self._withheld)
            named = ", ".join((*self._withheld, *([f"and {more:,} more"] if more else ())))
            say(f"Withheld, since they decide what runs or who gets the conversation: {named}.")
        without_decisions = not self._options.with_config and self._sessions.has_added
        if without_decisions:
            say("Sessions come without their models, modes and approvals.")
        if self._withheld or without_decisions:
            say("If you made this backup, restore them with --with-config.")
        say(f"{'Without --dry-run: ' if self._options.dry_run else ''}{self._text}, of {totals_text(self._totals)}.")
        if self._options.dry_run:
            say("Nothing was restored: this was a dry run.")
        return FAILED if self._sessions.refused or self._files[FileOutcome.REFUSED] else DONE
