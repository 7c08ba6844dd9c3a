"""Find the blocks of a request that break a rule."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from co_tui.agent.wire.rules.blocks import Block, Kind


class Breach(NamedTuple):
    """A block that breaks a rule, and figures for the provider's words about it."""

    block: Block
    more: dict[str, Any] = {}


Find = Callable[[Sequence[Block]], Iterator[Breach]]


# Order and roles


def not_from_user_first(blocks: Sequence[Block]) -> Iterator[Breach]:
    if blocks and blocks[0].role == "assistant":
        yield Breach(blocks[0])


def not_from_user_last(blocks: Sequence[Block]) -> Iterator[Breach]:
    if blocks and blocks[-1].role == "assistant":
        yield Breach(blocks[-1])


def same_role_again(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(b) for a, b in pairwise(blocks) if a.message != b.message and a.role == b.role)


def call_after_reply(blocks: Sequence[Block]) -> Iterator[Breach]:
    """A message with calls that follows another message of the model."""
    calling = {block.message for block in blocks if block.kind == "call"}
    yield from (breach for breach in same_role_again(blocks) if breach.block.message in calling)


# Calls and results


def unanswered(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Calls whose results do not come directly after their message."""
    waiting: dict[str, Block] = {}
    replying = True
    for block in blocks:
        if not replying if block.role == "assistant" else block.kind != "result":
            yield from map(Breach, waiting.values())
            waiting = {}
        replying = block.role == "assistant"
        if block.kind == "call":
            waiting[block.id] = block
        elif block.kind == "result":
            waiting.pop(block.id, None)
    yield from map(Breach, waiting.values())


def without_call(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Results without a call in the model's message before them, and second results."""
    waiting: list[str] = []
    replying = False
    for block in blocks:
        if block.role == "assistant" and not replying:
            waiting = []
        replying = block.role == "assistant"
        if block.kind == "call":
            waiting.append(block.id)
        elif block.kind == "result":
            if block.id in waiting:
                waiting.remove(block.id)
            else:
                yield Breach(block)


def repeated(field: str, *kinds: Kind) -> Find:
    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        seen: set[str] = set()
        for block in blocks:
            value = getattr(block, field)
            if value and (not kinds or block.kind in kinds):
                if value in seen:
                    yield Breach(block)
                seen.add(value)

    return find


# Thinking


def thinking_last(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Messages that end in a thought, so also those of thinking alone."""
    for block, after in pairwise([*blocks, None]):
        if block is not None and block.kind == "thinking" and (after is None or after.message != block.message):
            yield Breach(block)


def unsigned(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(block) for block in blocks if block.kind == "thinking" and not block.signed)


def unsigned_call(blocks: Sequence[Block]) -> Iterator[Breach]:
    """The first call of each message of the model since the user's last prompt needs a signature."""
    prompts = [number for number, block in enumerate(blocks) if block.role == "user" and block.kind != "result"]
    seen: set[int] = set()
    for block in blocks[prompts[-1] if prompts else 0 :]:
        if block.kind == "call" and block.message not in seen:
            seen.add(block.message)
            if not block.signed:
                yield Breach(block)


def starts_without_thinking(blocks: Sequence[Block]) -> Iterator[Breach]:
    """The model's message whose results end the request must begin with a thought."""
    if not blocks or blocks[-1].kind != "result":
        return
    last = max((block.message for block in blocks if block.role == "assistant"), default=None)
    first = next((block for block in blocks if block.message == last), None)
    if first is not None and first.kind != "thinking":
        yield Breach(first)


def reasoning_alone(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Reasoning items after which nothing of the same reply comes."""
    for block, after in pairwise([*blocks, None]):
        if block is not None and block.kind == "thinking" and (after is None or after.role != "assistant"):
            yield Breach(block)


def item_without_reasoning(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Items with an id in a reply without reasoning before them. Stricter than OpenAI, which refuses only those that it
    wrote after reasoning: a request alone does not show which."""
    reasoned = False
    for block in blocks:
        reasoned = block.role == "assistant" and (reasoned or block.kind == "thinking")
        if block.item and block.kind in ("text", "call") and not reasoned:
            kind = "message" if block.kind == "text" else "function_call"
            yield Breach(block, {"type": kind})


# Content and sizes


def blank(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(each) for each in blocks if each.kind == "text" and each.text is not None and _is_blank(each))


def _is_blank(block: Block) -> bool:
    return not (block.text or "").strip()


def empty(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(block) for block in blocks if block.kind == "empty")


def not_matching(field: str, pattern: str, *kinds: Kind) -> Find:
    form = re.compile(pattern)

    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        for block in blocks:
            if block.kind in kinds and not form.fullmatch(getattr(block, field)):
                yield Breach(block)

    return find


def longer_than(most: int, field: str, *kinds: Kind) -> Find:
    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        for block in blocks:
            if block.kind in kinds and (length := len(getattr(block, field) or "")) > most:
                yield Breach(block, {"length": length})

    return find


def more_tools_than(most: int) -> Find:
    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        if len(blocks) > most:
            yield Breach(blocks[most], {"count": len(blocks)})

    return find
