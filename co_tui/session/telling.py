"""A compaction in a sentence: for the conversation on the screen, and for the command line."""

from co_tui.events import CompactionComplete


def told_compaction(done: CompactionComplete) -> str:
    """How it ended."""
    if done.cancelled:
        return "Compaction cancelled; the conversation is as it was."
    if not done.success:
        return f"Compaction failed, the conversation is as it was: {done.error}."
    if not done.replaced:
        return f"Conversation Compacted by {done.summarised_by}, on its side."
    if done.edited and done.summarised_by == "you":
        return "The summary was rewritten by you."
    by = f" by {done.summarised_by}" if done.summarised_by else ""
    note = f" ({done.error})" if done.error else ""
    return (
        f"Conversation Compacted: {done.pre_tokens:,} → {done.post_tokens:,} tokens, "
        f"{len(done.replaced)} messages summarised{by}{note}."
    )
