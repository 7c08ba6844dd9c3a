"""Sentences about events and costs, for the screen and the command line."""

from typing import TYPE_CHECKING

from co_tui.agent.models.catalogue import runs_here
from co_tui.events import CompactionComplete, SessionError
from co_tui.events.stored_messages import STANDS_FOR

if TYPE_CHECKING:
    from co_tui.store.housekeeping import CleanUp


FREE = "nothing"


def sentence(text: str) -> str:
    """The text with a full stop, unless it already ends with punctuation."""
    text = text.rstrip()
    return text if not text or text[-1] in ".!?…:;)" else f"{text}."


def retry_text(error: SessionError) -> str:
    """A failure after which the turn continues."""
    if error.kind == "context_limit":
        return f"{sentence(error.what)} {sentence(error.outcome.capitalize())}"
    again = f"{error.attempt} of {error.attempts}" if error.attempts else f"attempt {error.attempt}"
    wait = f"in {error.retry_in_s:.0f} s" if error.retry_in_s and error.retry_in_s >= 1 else "now"
    return f"{sentence(error.what)} Trying again {wait} ({again})."


def money(dollars: float | None) -> str:
    """None is an unknown price."""
    if dollars is None:
        return "unknown"
    return f"${dollars:.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


def cost_text(total: float | None, summaries: float | None = None, *, model: str) -> str:
    """What a session cost, and how much of it was for summaries; `model` is the current one."""
    if total is None and runs_here(model):
        return FREE
    return f"{money(total)} · summaries {money(summaries)}" if summaries else money(total)


def compaction_text(done: CompactionComplete) -> str:
    """How a compaction ended."""
    if done.cancelled:
        return "Compaction cancelled; the conversation is as it was."
    if not done.success:
        return f"Compaction failed, the conversation is as it was: {done.error}."
    if not done.replaced:
        return f"Conversation Compacted by {done.summarised_by}, on its side."
    if done.edited and done.summarised_by == "you":
        return "The summary was rewritten by you."
    note = f" ({done.note})" if done.note else ""
    return f"Conversation Compacted: {done.pre_tokens:,} → {done.post_tokens:,} tokens, {_outcome(done)}{note}."


def _outcome(done: CompactionComplete) -> str:
    if done.summarised_by:
        by = "offline" if done.summarised_by == "offline" else f"by {done.summarised_by}"
        return f"{_messages(len(done.replaced))} summarised {by}"
    kept = sum(STANDS_FOR not in (message.get("metadata") or {}) for message in done.replacement)
    removed = len(done.replaced) - kept
    return f"{_messages(removed)} removed, no summary" if removed > 0 else "texts shortened, no summary"


def _messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"


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
    text = "; ".join(parts) + "." if parts else ""
    hint = f" `co-tui sessions --trash` lists them, --restore ID brings one back within {TRASH_DAYS} days."
    return text + (hint if done.trashed and not dry_run else "")


def _sessions(count: int) -> str:
    return f"{count:,} session{'' if count == 1 else 's'}"
