"""The shape of a history: turns, steps, and where it may be cut."""

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.events.stored_messages import COMMAND, RECOLLECTED, STANDS_FOR, SUMMARY

EARLIER = "[Earlier conversation, summarised]"


def is_prompt(message: ModelMessage) -> bool:
    """Whether the user speaks in it."""
    # Asked of every message of a long turn before each request: the shortest way to "no" comes first.
    if isinstance(message, ModelResponse):
        return False
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            return not message.metadata or _is_said_by_user(message)
    return False


def _is_said_by_user(message: ModelRequest) -> bool:
    """Whether its words are the user's, and not what stands for others, tells of a command, or came back."""
    metadata = message.metadata or {}
    notes = 1 if RECOLLECTED in metadata else 0
    prompts = sum(isinstance(part, UserPromptPart) for part in message.parts)
    return STANDS_FOR not in metadata and COMMAND not in metadata and prompts > notes


def stands_in(message: ModelMessage) -> bool:
    """Whether it stands in place of others."""
    return isinstance(message, ModelRequest) and STANDS_FOR in (message.metadata or {})


def holds_summary(message: ModelMessage) -> bool:
    """Whether it is a summary of others."""
    return stands_in(message) and SUMMARY in (message.metadata or {})


def holds_system(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, SystemPromptPart) for part in message.parts)


def answers_calls(message: ModelMessage) -> bool:
    """Whether it holds the results of calls made just before it."""
    return isinstance(message, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in message.parts)


def has_text(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and any(
        isinstance(part, TextPart) and part.content.strip() for part in message.parts
    )


def turn_starts(messages: Sequence[ModelMessage]) -> list[int]:
    """Where each turn begins: its prompt."""
    return [index for index, message in enumerate(messages) if is_prompt(message)]


def latest_prompt(messages: Sequence[ModelMessage]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        if is_prompt(messages[index]):
            return index
    return None


def cut_before(messages: Sequence[ModelMessage], index: int) -> int:
    """The nearest place at or before `index` where the history can be cut without parting a call from its return."""
    index = max(0, min(index, len(messages)))
    while 0 < index < len(messages) and answers_calls(messages[index]):
        index -= 1
    return index


def kept_by_rule(messages: Sequence[ModelMessage], pinned: Iterable[int] = (), *, prompt: bool = True) -> set[int]:
    """What no stage may remove: system messages, what is pinned, and the latest prompt unless it is answered."""
    kept = {index for index, message in enumerate(messages) if holds_system(message)}
    kept.update(pinned)
    if prompt and (latest := latest_prompt(messages)) is not None:
        kept.add(latest)
    for index in tuple(kept):
        kept.update(step_around(messages, index))
    return kept


def step_around(messages: Sequence[ModelMessage], index: int) -> range:
    """The message with the call it answers, or the answers to what it calls: they stay together."""
    start, stop = index, index + 1
    while start > 0 and answers_calls(messages[start]):
        start -= 1
    if isinstance(messages[start], ModelResponse):
        while stop < len(messages) and answers_calls(messages[stop]):
            stop += 1
    return range(start, stop)


def steps(messages: Sequence[ModelMessage], start: int, end: int) -> list[tuple[int, int]]:
    """The steps between two places: each a response with the requests that answer its calls."""
    found: list[tuple[int, int]] = []
    index = start
    while index < end:
        if isinstance(messages[index], ModelResponse):
            stop = index + 1
            while stop < end and answers_calls(messages[stop]):
                stop += 1
            found.append((index, stop))
            index = stop
        else:
            index += 1
    return found
