"""Truncation (G4): leave out of one request what does not fit. The log keeps everything."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage

from co_tui.context.indexed_history import REPLACEMENT, REPLY, IndexedHistory, Tokens, is_prompt
from co_tui.context.request.repair import repair
from co_tui.context.request.tool_outputs import Memo, Shorten, ends_of, shortened
from co_tui.events.stored_messages import JOURNAL, REPLACES, RULES

CLIPPED_RESULT_CHARS = (8_000, 4_000, 2_000, 400)
"""Length limits for results of the current turn, tried in order when nothing older is left to remove."""


class Omitted(NamedTuple):
    """What was left out of a request. It stays out of later ones, so that they keep the cached prefix."""

    left_out: frozenset[int] = frozenset()
    """Indexes of the messages left out."""
    clipped_chars: int = 0
    """Results of messages up to `clipped_upto` are clipped to this length; 0 if none is."""
    clipped_upto: int = -1

    def __bool__(self) -> bool:
        return bool(self.left_out or self.clipped_chars)


NOTHING_OMITTED = Omitted()


class Truncated(NamedTuple):
    """A request that fits, or the shortest possible one."""

    messages: list[ModelMessage]
    removed: int
    fits: bool
    held: Omitted = NOTHING_OMITTED
    """What was left out of the input."""


def omit(
    messages: Sequence[ModelMessage], held: Omitted, memos: dict[int, Memo], pinned: Collection[int] = ()
) -> list[ModelMessage]:
    """The messages without what was left out before."""
    upto = held.clipped_upto + 1
    clipped = list(messages)
    if held.clipped_chars:
        fixed = {id(messages[index]) for index in pinned}
        for chars in CLIPPED_RESULT_CHARS:
            if chars >= held.clipped_chars:  # step by step as at first, so that the clipped texts are identical
                clipped[:upto] = _clipped(clipped[:upto], chars, memos, fixed)
    return repair([message for index, message in enumerate(clipped) if index not in held.left_out])


def truncate(
    messages: Sequence[ModelMessage],
    room_tokens: int,
    tokens: Tokens,
    memos: dict[int, Memo] | None = None,
    pinned: Collection[int] = (),
) -> Truncated:
    """Fit `room_tokens`: remove older replies with their results, then older prompts, oldest first.

    System messages, the latest prompt and pinned messages always stay. When nothing older is left, the results of
    the current turn are clipped, then its oldest steps removed. A journal goes before the shortest clip; the user's
    rules and where the work stands go last of all.
    """
    sizes = [tokens(message) for message in messages]
    if sum(sizes) <= room_tokens:
        return Truncated(list(messages), 0, True)
    gone = _older_left_out(IndexedHistory(messages), sizes, room_tokens, pinned)
    left = repair([message for index, message in enumerate(messages) if index not in gone])
    fixed = {id(messages[index]) for index in pinned}
    memos = {} if memos is None else memos
    done = _current_turn(left, room_tokens, tokens, len(messages), memos, fixed)
    return done._replace(held=omitted_from(messages, done.messages, done.held.clipped_chars, memos))


def _older_left_out(
    history: IndexedHistory, sizes: Sequence[float], room_tokens: int, pinned: Collection[int]
) -> set[int]:
    """Indexes of messages before the latest prompt that are left out: first replies, then whole turns, then all but
    a journal, the user's rules and where the work stands."""
    prompt, kept = history.latest_prompt, history.kept_by_rule(pinned)
    border = prompt if prompt is not None else len(history)
    starts = history.turn_starts[:-1]
    turns = [range(start, stop) for start, stop in zip(starts, [*starts[1:], border], strict=False)]
    kept.update(index for index in range(border) if _is_journal(history[index]) or _is_standing(history[index]))
    others = [index for index in range(border) if not history.kinds[index] & REPLY]
    gone: set[int] = set()
    total = sum(sizes)
    for part in (*history.steps(0, border), *turns, others):
        if total <= room_tokens:
            break
        for index in part:
            if index not in kept and index not in gone:
                gone.add(index)
                total -= sizes[index]
    return gone


def _current_turn(
    messages: list[ModelMessage],
    room_tokens: int,
    tokens: Tokens,
    before: int,
    memos: dict[int, Memo],
    fixed: Collection[int],
) -> Truncated:
    """Make the current turn fit, with what is kept of the past, if they are too long by themselves."""
    clipped_chars = 0
    for limit_chars in CLIPPED_RESULT_CHARS:
        if _fits(messages, room_tokens, tokens):
            break
        if limit_chars == CLIPPED_RESULT_CHARS[-1]:  # the journal goes before results become scraps
            messages = [each for each in messages if not _is_journal(each) or id(each) in fixed]
        clipped_chars = limit_chars
        messages = _clipped(messages, limit_chars, memos, fixed)
    history = IndexedHistory(messages)
    prompt = history.latest_prompt
    begin = prompt + 1 if prompt is not None else 0
    standing = [n for n, each in enumerate(messages) if _is_standing(each)]
    # Replacements of earlier steps of the turn are removed late, too.
    late = [n for n in range(begin, len(history)) if history.kinds[n] & REPLACEMENT and n not in standing]
    parts = [*history.steps(begin, len(history)), *([n] for n in (*late, *standing))]
    gone: set[int] = set()
    total = sum(tokens(message) for message in messages)
    for part in parts:
        if total <= room_tokens:
            break
        if any(id(messages[index]) in fixed for index in part):
            continue
        for index in part:
            gone.add(index)
            total -= tokens(messages[index])
    left = repair([message for index, message in enumerate(messages) if index not in gone])
    return Truncated(left, before - len(left), _fits(left, room_tokens, tokens), Omitted(clipped_chars=clipped_chars))


def _is_journal(message: ModelMessage) -> bool:
    return JOURNAL in (message.metadata or {}) and not is_prompt(message)


def _is_standing(message: ModelMessage) -> bool:
    """Whether a message says where the work stands, or which rules the user gave; it replaces no other."""
    metadata = message.metadata or {}
    return RULES in metadata and metadata.get(REPLACES) == 0


def _clipped(
    messages: Sequence[ModelMessage], limit_chars: int, memos: dict[int, Memo], fixed: Collection[int]
) -> list[ModelMessage]:
    memo = memos.setdefault(limit_chars, {})
    memo.update({id(message): (message, message) for message in messages if id(message) in fixed})
    return shortened(messages, len(messages), _clip_to(limit_chars), memo)


def omitted_from(
    messages: Sequence[ModelMessage], request: Sequence[ModelMessage], clipped_chars: int, memos: dict[int, Memo]
) -> Omitted:
    """What a request built from these messages leaves out; clipped messages are still in it."""
    kept = {id(message) for message in request}
    for chars in sorted(memos):
        kept |= {key for key, (_, shorter) in memos[chars].items() if id(shorter) in kept}
    out = frozenset(index for index, message in enumerate(messages) if id(message) not in kept)
    return Omitted(out, clipped_chars, len(messages) - 1 if clipped_chars else -1)


def _clip_to(limit_chars: int) -> Shorten:
    return lambda _, text: ends_of(text, limit_chars)


def _fits(messages: Sequence[ModelMessage], room_tokens: int, tokens: Tokens) -> bool:
    return sum(tokens(message) for message in messages) <= room_tokens
