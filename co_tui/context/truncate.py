"""The last guard before sending (G4): leaves out of one request what does not fit. The log keeps everything."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.repair import repair
from co_tui.context.tool_outputs import Memo, Shorten, ends_of, shortened
from co_tui.context.turns import kept_by_rule, latest_prompt, stands_in, steps, turn_starts

CLIPPED_RESULT_CHARS = (8_000, 2_000, 400)
"""How far the current turn's own results are clipped, step by step, when nothing older is left to leave out."""


class Truncated(NamedTuple):
    """A request that fits, or the smallest there is."""

    messages: list[ModelMessage]
    removed: int
    fits: bool


def truncate(
    messages: Sequence[ModelMessage],
    room_tokens: int,
    tokens: Callable[[ModelMessage], float],
    memos: dict[int, Memo] | None = None,
    pinned: Collection[int] = (),
) -> Truncated:
    """Within `room_tokens`: first older replies with their results go, then older prompts, oldest first.

    System messages, the latest prompt and what is pinned always stay. When all that is older is gone, the
    results of the current turn are clipped, then its oldest steps go.
    """
    sizes = [tokens(message) for message in messages]
    total = sum(sizes)
    if total <= room_tokens:
        return Truncated(list(messages), 0, True)
    kept = kept_by_rule(messages, pinned)
    prompt = latest_prompt(messages)
    border = prompt if prompt is not None else len(messages)
    gone: set[int] = set()

    def leave_out(indexes: Sequence[int]) -> None:
        nonlocal total
        for index in indexes:
            if index not in kept and index not in gone:
                gone.add(index)
                total -= sizes[index]

    for start, stop in steps(messages, 0, border):
        if total <= room_tokens:
            break
        leave_out(range(start, stop))
    starts = [start for start in turn_starts(messages) if start < border]
    for start, stop in zip(starts, [*starts[1:], border], strict=False):
        if total <= room_tokens:
            break
        leave_out(range(start, stop))
    if total > room_tokens:
        leave_out([index for index in range(border) if not isinstance(messages[index], ModelResponse)])
    left = repair([message for index, message in enumerate(messages) if index not in gone])
    fixed = {id(messages[index]) for index in pinned}
    return _current_turn(left, room_tokens, tokens, len(messages), {} if memos is None else memos, fixed)


def _current_turn(
    messages: list[ModelMessage],
    room_tokens: int,
    tokens: Callable[[ModelMessage], float],
    before: int,
    memos: dict[int, Memo],
    fixed: Collection[int],
) -> Truncated:
    """Make the turn under way fit, when it alone is too long."""
    for limit_chars in CLIPPED_RESULT_CHARS:
        if _fits(messages, room_tokens, tokens):
            break
        memo = memos.setdefault(limit_chars, {})
        memo.update({id(message): (message, message) for message in messages if id(message) in fixed})
        messages = shortened(messages, len(messages), _clip_to(limit_chars), memo)
    prompt = latest_prompt(messages)
    begin = prompt + 1 if prompt is not None else 0
    turn = steps(messages, begin, len(messages))
    # What stands for earlier steps of the turn goes last of all.
    turn += [(n, n + 1) for n in range(begin, len(messages)) if stands_in(messages[n])]
    gone: set[int] = set()
    total = sum(tokens(message) for message in messages)
    for start, stop in turn:
        if total <= room_tokens:
            break
        if any(id(messages[index]) in fixed for index in range(start, stop)):
            continue
        for index in range(start, stop):
            gone.add(index)
            total -= tokens(messages[index])
    left = repair([message for index, message in enumerate(messages) if index not in gone])
    return Truncated(left, before - len(left), _fits(left, room_tokens, tokens))


def _clip_to(limit_chars: int) -> Shorten:
    return lambda _, text: ends_of(text, limit_chars)


def _fits(messages: Sequence[ModelMessage], room_tokens: int, tokens: Callable[[ModelMessage], float]) -> bool:
    return sum(tokens(message) for message in messages) <= room_tokens
