"""Costs and clean-ups in a sentence, for the screen and the command line."""

from typing import TYPE_CHECKING, Final

from co_tui.agent.models.catalogue import runs_locally
from co_tui.events.wording import money

if TYPE_CHECKING:
    from co_tui.store.housekeeping import CleanUp


FREE = "nothing"


ASSUMED: Final = "assumed from the catalogue"
"""Of windows and prices that the maker of a model publishes, and its server does not."""


def cost_text(total: float | None, summaries: float | None = None, assumed: float | None = None, *, model: str) -> str:
    """What a session cost, how much of it was for summaries, and what else it may have cost; `model` is the current
    one."""
    if assumed:
        about = f"~{money(assumed)} ({ASSUMED})"
        return about if total is None else f"{cost_text(total, summaries, model=model)} · {about}"
    if total is None and runs_locally(model):
        return FREE
    return f"{money(total)} · summaries {money(summaries)}" if summaries else money(total)


def clean_up_text(done: "CleanUp", retention_days: int, *, dry_run: bool = False) -> str:
    """What a clean-up did, or would do; empty if nothing."""
    from co_tui.store.housekeeping import TRASH_DAYS  # deferred: not needed for the first paint

    parts = []
    if done.trashed:
        verb = "would be moved" if dry_run else "moved"
        parts.append(f"{_sessions(len(done.trashed))} unused for {retention_days} days {verb} to the trash")
    if done.deleted:
        verb = "would be deleted" if dry_run else "deleted"
        parts.append(f"{_sessions(len(done.deleted))} {verb} after {TRASH_DAYS} days in the trash")
    words = "; ".join(parts) + "." if parts else ""
    back = f" See `co-tui sessions --trash`; --restore ID restores one within {TRASH_DAYS} days."
    return words + (back if done.trashed and not dry_run else "")


def _sessions(count: int) -> str:
    return f"{count:,} session{'' if count == 1 else 's'}"
