"""Find the blocks of a request that break a rule."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from co_tui.agent.wire.rules.blocks import Block, Kind


class Breach(NamedTuple):
    """A block that breaks a rule, and figures for the provider's words about it."""

    block: Block
    more: dict[str, Any] = {}


Find = Callable[[Sequence[Block]], Iterator[Breach]]


class Rule(NamedTuple):
    """What breaks it, and the provider's words, into which the fields of the block are filled."""

    find: Find
    words: str
    source: str
    scope: Literal["request", "message", "tools", "enabled", "disabled", "stateless"] = "request"
    """`message`: a message alone shows that it is broken, whichever provider it is converted for. `tools`: about the
    declared tools and the marks for the cache. The others: only in requests with Anthropic's extended thinking enabled
    or disabled, and in those that OpenAI does not store."""
    status: int = 400


class Refusal(NamedTuple):
    status: int
    words: str


# Order and roles


def not_from_user_first(blocks: Sequence[Block]) -> Iterator[Breach]:
    if blocks and blocks[0].role == "assistant":
        yield Breach(blocks[0])


def not_from_user_last(blocks: Sequence[Block]) -> Iterator[Breach]:
    if blocks and blocks[-1].role == "assistant":
        yield Breach(blocks[-1])


def same_role_again(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(b) for a, b in pairwise(blocks) if a.message != b.message and a.role == b.role)


def call_not_after_user(blocks: Sequence[Block]) -> Iterator[Breach]:
    """A message with calls that is the first one, or follows another message of the model."""
    calling = {block.message for block in blocks if block.kind == "call"}
    misplaced = (*not_from_user_first(blocks), *same_role_again(blocks))
    yield from (breach for breach in misplaced if breach.block.message in calling)


# Calls and results


def unanswered(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Calls whose results do not come directly after their message."""
    waiting: dict[str, Block] = {}
    replying = True
    for block in blocks:
        if not replying if block.role == "assistant" else block.kind != "result":
            yield from map(_waiting, waiting.values())
            waiting = {}
        replying = block.role == "assistant"
        if block.kind == "call":
            waiting[block.id] = block
        elif block.kind == "result":
            waiting.pop(block.id, None)
    yield from map(_waiting, waiting.values())


def _waiting(call: Block) -> Breach:
    return Breach(call, {"next": call.message + 1})


def without_call(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Results without a call in the model's message before them, and second results."""
    yield from (Breach(block) for block, _ in _unexpected(blocks))


def answered_twice(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(block, {"first": first.message}) for block, first in _unexpected(blocks) if first is not None)


def _unexpected(blocks: Sequence[Block]) -> Iterator[tuple[Block, Block | None]]:
    """Results that no call of the model's message before them waits for, with the result that came first."""
    waiting: list[str] = []
    answered: dict[str, Block] = {}
    replying = False
    for block in blocks:
        if block.role == "assistant" and not replying:
            waiting, answered = [], {}
        replying = block.role == "assistant"
        if block.kind == "call":
            waiting.append(block.id)
        elif block.kind == "result":
            if block.id in waiting:
                waiting.remove(block.id)
                answered[block.id] = block
            else:
                yield block, answered.get(block.id)


def undeclared(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(block) for block in blocks if block.kind in ("call", "result") and not block.declared)


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


def unbound(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(block) for block in blocks if not block.bound)


def not_stored(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Reasoning under an id alone, without its encrypted content."""
    yield from (breach for breach in unsigned(blocks) if breach.block.item)


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
    yield from (Breach(block) for block in _in_work(blocks)[:1] if block.kind != "thinking")


def thinking_in_work(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Thoughts in the model's message whose results end the request."""
    yield from (Breach(block) for block in _in_work(blocks) if block.kind == "thinking")


def _in_work(blocks: Sequence[Block]) -> list[Block]:
    """The model's last message, if the request ends with results for it."""
    if not blocks or blocks[-1].kind != "result":
        return []
    last = max((block.message for block in blocks if block.role == "assistant"), default=None)
    return [block for block in blocks if block.message == last]


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


def foreign_item(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Items under an id that OpenAI did not assign."""
    prefixes = {"text": "msg", "thinking": "rs", "call": "fc"}
    for block in blocks:
        if not block.item.startswith(prefix := prefixes.get(block.kind, "")) and block.item:
            yield Breach(block, {"prefix": prefix})


# Content and sizes


def blank(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(each) for each in blocks if each.kind == "text" and each.text is not None and _is_blank(each))


def _is_blank(block: Block) -> bool:
    return not (block.text or "").strip()


def empty(blocks: Sequence[Block]) -> Iterator[Breach]:
    yield from (Breach(block) for block in blocks if block.kind == "empty")


def empty_failure(blocks: Sequence[Block]) -> Iterator[Breach]:
    """Results of failed calls without content."""
    yield from (Breach(block) for block in blocks if block.kind == "result" and block.text == "")


def not_matching(field: str, pattern: str, *kinds: Kind) -> Find:
    form = re.compile(pattern)

    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        for block in blocks:
            if block.kind in kinds and not form.fullmatch(getattr(block, field)):
                yield Breach(block, {"nth": block.message + 1, "nth_at": block.at + 1})

    return find


def longer_than(most: int, field: str, *kinds: Kind) -> Find:
    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        for block in blocks:
            if block.kind in kinds and (length := len(getattr(block, field) or "")) > most:
                yield Breach(block, {"length": length})

    return find


def more_than(most: int, kind: Kind) -> Find:
    def find(blocks: Sequence[Block]) -> Iterator[Breach]:
        found = [block for block in blocks if block.kind == kind]
        yield from (Breach(block, {"count": len(found)}) for block in found[most:])

    return find
