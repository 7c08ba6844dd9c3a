"""How much of the provider's prompt cache a compaction gives up."""

from pydantic_ai.messages import ModelResponse

from co_tui.context.compact.replacement import Replacement
from co_tui.context.request.pipeline import Measured, in_history
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.next_request import held_of, is_reported, ref_of


def cache_lost_tokens(history: GovernedHistory, measured: Measured, done: Replacement) -> int:
    """Tokens of the last request that were read from the provider's cache and will not be again."""
    replies = (each for each in reversed(measured.live) if isinstance(each, ModelResponse))
    read = next((reply.usage.cache_read_tokens for reply in replies if reply.usage.input_tokens), 0)
    if not read:
        return 0
    sent = _sent_prefix_length(history, measured)
    same = min(sent, _verbatim_prefix_length(history, measured), *done.replaced)
    before, after = (_tokens_up_to(history, measured, index) for index in (sent, same))
    if _changes_tools(history, measured, done):  # tools come first in a prompt
        after = 0
    return max(0, round(min(read, before) - after))


def _sent_prefix_length(history: GovernedHistory, measured: Measured) -> int:
    """How many messages, from the first on, were in the last answered request."""
    refs = [ref_of(history.entries, origin) for origin in measured.origins]
    reported = (ref for ref, each in zip(refs, measured.live, strict=True) if ref and is_reported(each))
    answered = max(reported, default=(0, 0))
    return next((index for index, ref in enumerate(refs) if ref and ref > answered), len(refs))


def _verbatim_prefix_length(history: GovernedHistory, measured: Measured) -> int:
    """How many messages, from the first on, are sent as logged: not left out, clipped or annotated."""
    held, note = held_of(history.own_state, history.entries, measured), history.note(history.entries)
    noted = [index for index, origin in enumerate(measured.origins) if note and origin == note.message_index]
    clipped = [0] if held.clipped_chars else []
    return min([*noted, *held.left_out, *clipped], default=len(measured.origins))


def _tokens_up_to(history: GovernedHistory, measured: Measured, index: int) -> float:
    """The size of a request without the messages from an index on."""
    return measured.reading.current_tokens - sum(map(history.governor.meter.tokens, measured.request[index:]))


def _changes_tools(history: GovernedHistory, measured: Measured, done: Replacement) -> bool:
    """Whether the next request has other tools once the replaced messages have left the history."""
    leaving = {history.entries[index].ref for index in in_history(measured, done.replaced)}
    return list(history.scaffold_without(leaving).tool_names) != list(history.scaffold.tool_names)
