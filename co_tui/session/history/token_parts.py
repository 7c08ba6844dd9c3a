"""What the tokens after a compaction are made of."""

from collections.abc import Iterable

from pydantic_ai.messages import ModelMessage

from co_tui.context.measure.count import Reading, apportion, estimate_message, estimate_text
from co_tui.events import CompactionComplete
from co_tui.events.stored_messages import QUOTES, RULES, quoted_in


def with_token_parts(
    fact: CompactionComplete, kept: Iterable[ModelMessage], new: Iterable[ModelMessage], after: Reading
) -> CompactionComplete:
    """Add the parts, which add up to the tokens afterwards: what was kept, the summary, its quotes, and the rest."""
    said = (text for each in fact.replacement for kind in (RULES, QUOTES) for text in quoted_in(each, kind))
    quoted = sum(map(estimate_text, said))
    whole = max(quoted, sum(map(estimate_message, new)))
    of_kept = sum(map(estimate_message, kept))
    parts = apportion(after.conversation_tokens, (of_kept, whole - quoted, quoted))
    return fact.but(
        fixed_tokens=after.fixed_tokens,
        kept_tokens=parts[0],
        summary_tokens=parts[1],
        quoted_tokens=parts[2],
    )
