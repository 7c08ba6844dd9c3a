"""Costs and clean-ups in a sentence, for the screen and the command line."""

from typing import TYPE_CHECKING

from co_tui.agent.models.catalogue import runs_locally
from co_tui.events.wording import money

if TYPE_CHECKING:
    from co_tui.store.housekeeping import CleanUp


FREE = "nothing"


def cost_text(total: float | None, summaries: float | None = None, *, model: str) -> str:
    """What a session cost, and how much of it was for summaries; `model` is the current one."""
    if total is None and runs_locally(model):
        return FREE
    return f"{money(total)} · summaries {money(summaries)}" if summaries else money(total)


def clean_up_text(done: "CleanUp", retention_days: int, *, dry_run: bool = False) -> str:
    """What a clean-up did, or would do; empty if nothing."""
    from co_tui.store.housekeeping import TRASH_DAYS  # deferred: not needed for the first paint

    parts = []
    if done.trashed:
        verb = "would be put" if dry_run else "put"
        parts.append(f"{_sessions(len(done.trashed))} not used for {retention_days} days {verb} into the trash")
    if done.deleted:
        verb = "would be deleted" if dry_run else "deleted"
        parts.append(f"{_sessions(len(done.deleted))} {verb} for good after {TRASH_DAYS} days in the trash")
    words = "; ".join(parts) + "." if parts else ""
    back = f" `co-tui sessions --trash` lists them, --restore ID brings one back within {TRASH_DAYS} days."
    return words + (back if done.trashed and not dry_run else "")


def _sessions(count: int) -> str:
    return f"{count:,} session{'' if count == 1 else 's'}"
