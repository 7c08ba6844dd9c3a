"""Shorten old tool results: trim, keep both ends, or archive (G2)."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from co_tui.context.indexed_history import IndexedHistory
from co_tui.context.measure.count import estimate_text
from co_tui.events.content import content_text, files_in, without_files

RECENT_MESSAGES = 2
"""The current exchange: never trimmed."""

SMALLEST_ENDS_CHARS = 200
"""Below this the notice would be longer than the ends."""

CLEARED = "[cleared: an older result; run the call again if it is needed]"
"""Replaces a cleared result in a request."""

Shorten = Callable[[ToolReturnPart, str], str | None]
"""The shortened result; None leaves it unchanged."""


Memo = dict[int, tuple[ModelMessage, ModelMessage]]
"""Cache of one stage: message id → (the message, its shortened form)."""


def trim(messages: Sequence[ModelMessage], limit_chars: int, memo: Memo | None = None) -> list[ModelMessage]:
    """Cut long results to their beginning and a note of their length, except in the last two messages."""
    if not limit_chars:
        return list(messages)

    def shorten(_: ToolReturnPart, text: str) -> str | None:
        if len(text) <= limit_chars or _is_trimmed(text, limit_chars):
            return None
        return f"{text[:limit_chars]}\n[…truncated, {len(text)} chars total]"

    return shortened(messages, len(messages) - RECENT_MESSAGES, shorten, memo)


def keep_ends(
    messages: Sequence[ModelMessage], limit_chars: int, memo: Memo | None = None, upto: int | None = None
) -> list[ModelMessage]:
    """Cut long results of earlier turns to their beginning and end; the current turn, from `upto` on, is untouched."""
    if not limit_chars:
        return list(messages)

    def shorten(_: ToolReturnPart, text: str) -> str | None:
        return ends_of(text, limit_chars)

    return shortened(messages, IndexedHistory(messages).latest_prompt or 0 if upto is None else upto, shorten, memo)


def ends_of(text: str, limit_chars: int) -> str | None:
    """Beginning and end with a notice between them, within the limit; None if the text fits."""
    limit_chars = max(limit_chars, SMALLEST_ENDS_CHARS)
    if len(text) <= limit_chars:
        return None
    notice = f"\n[… {len(text)} chars in all; the middle is left out …]\n"
    room = max(2, limit_chars - len(notice))
    return f"{text[: room - room // 2]}{notice}{text[-(room // 2) :]}"


def archive(
    messages: Sequence[ModelMessage],
    over_chars: int,
    keep: Callable[[ToolReturnPart, str], str],
    upto: int,
    memo: Memo | None = None,
) -> list[ModelMessage]:
    """Store large results before `upto` with `keep`, and replace them by the reference it returns."""

    def shorten(part: ToolReturnPart, text: str) -> str | None:
        return keep(part, text) if len(text) > over_chars else None

    return shortened(messages, upto, shorten, memo) if over_chars else list(messages)


def result_tokens(message: ModelMessage) -> int:
    """The estimated tokens of the results in a message."""
    return sum(estimate_text(content_text(part.content)) for part in message.parts if isinstance(part, ToolReturnPart))


def cleared_upto(totals: Sequence[int], keep_tokens: int, step_tokens: int) -> int:
    """How many messages at the start have their results cleared. `totals` are the tokens of the results up to and with
    each message. It moves on in steps, and depends on nothing but the results, so that a replay does the same."""
    beyond = (totals[-1] if totals else 0) - keep_tokens
    return bisect_right(totals, beyond // step_tokens * step_tokens) if beyond >= step_tokens else 0


def clear(messages: Sequence[ModelMessage], upto: int, kept_chars: int, memo: Memo | None = None) -> list[ModelMessage]:
    """Replace the results before `upto` by a note, or by their ends within `kept_chars`."""

    def shorten(_: ToolReturnPart, text: str) -> str | None:
        if kept_chars:
            return ends_of(text, kept_chars)
        return CLEARED if len(text) > len(CLEARED) else None

    return shortened(messages, upto, shorten, memo)


def shortened(
    messages: Sequence[ModelMessage], upto: int, shorten: Shorten, memo: Memo | None = None
) -> list[ModelMessage]:
    """The messages with results before `upto` shortened; unchanged messages are the same objects."""
    memo = {} if memo is None else memo
    result = list(messages)
    for index in range(min(max(0, upto), len(result))):
        message = result[index]
        if isinstance(message, ModelRequest):
            known = memo.get(id(message))
            if known is None or known[0] is not message:
                known = memo[id(message)] = (message, _shortened(message, shorten))
            result[index] = known[1]
    return result


def _shortened(message: ModelRequest, shorten: Shorten) -> ModelRequest:
    parts = list(message.parts)
    changed = False
    for index, part in enumerate(parts):
        if isinstance(part, ToolReturnPart):
            files = files_in(part.content)
            shorter = shorten(part, content_text(without_files(part.content) if files else part.content))
            if shorter is not None:
                # `replace` is typed with all fields of the part, including those set by its `__init__`.
                parts[index] = replace(part, content=[shorter, *files] if files else shorter)  # type: ignore[arg-type]
                changed = True
    return replace(message, parts=parts) if changed else message


def _is_trimmed(text: str, limit_chars: int) -> bool:
    """Trimming twice must change nothing, though the note makes a trimmed text longer than the limit."""
    return text[limit_chars:].startswith("\n[…truncated, ") and text.endswith(" chars total]")
