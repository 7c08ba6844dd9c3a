"""The structure of a history: turns, steps, and where it can be cut."""

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

from co_tui.events.stored_messages import COMMAND, NOTE, RECOLLECTED, REPLACES, SUMMARY

EARLIER = "[Earlier conversation, summarised]"


def is_prompt(message: ModelMessage) -> bool:
    """Whether the message contains a prompt of the user."""
    # Called for every message of a long turn before each request: the most common "no" comes first.
    if isinstance(message, ModelResponse):
        return False
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            return not message.metadata or _is_from_user(message)
    return False


def _is_from_user(message: ModelRequest) -> bool:
    """Whether the user wrote it: not a replacement, a command's output, a note, or only a recollected note."""
    metadata = message.metadata or {}
    notes = 1 if RECOLLECTED in metadata else 0
    prompts = sum(isinstance(part, UserPromptPart) for part in message.parts)
    return not {REPLACES, COMMAND, NOTE} & metadata.keys() and prompts > notes


def is_replacement(message: ModelMessage) -> bool:
    """Whether the message replaces others."""
    return isinstance(message, ModelRequest) and REPLACES in (message.metadata or {})


def holds_summary(message: ModelMessage) -> bool:
    """Whether the message contains a summary."""
    return is_replacement(message) and SUMMARY in (message.metadata or {})


def holds_system(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, SystemPromptPart) for part in message.parts)


def answers_calls(message: ModelMessage) -> bool:
    """Whether the message contains results of the preceding calls."""
    return isinstance(message, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in message.parts)


def has_text(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and any(
        isinstance(part, TextPart) and part.content.strip() for part in message.parts
    )


def turn_starts(messages: Sequence[ModelMessage]) -> list[int]:
    """The index of each turn's prompt."""
    return [index for index, message in enumerate(messages) if is_prompt(message)]


def latest_prompt(messages: Sequence[ModelMessage]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        if is_prompt(messages[index]):
            return index
    return None


def cut_before(messages: Sequence[ModelMessage], index: int) -> int:
    """The nearest index at or before `index` where a cut separates no call from its return."""
    index = max(0, min(index, len(messages)))
    while 0 < index < len(messages) and answers_calls(messages[index]):
        index -= 1
    return index


def kept_by_rule(messages: Sequence[ModelMessage], pinned: Iterable[int] = (), *, prompt: bool = True) -> set[int]:
    """What no stage may remove: system and pinned messages, and the latest prompt unless `prompt` is false."""
    kept = {index for index, message in enumerate(messages) if holds_system(message)}
    kept.update(pinned)
    if prompt and (latest := latest_prompt(messages)) is not None:
        kept.add(latest)
    for index in tuple(kept):
        kept.update(step_around(messages, index))
    return kept


def step_around(messages: Sequence[ModelMessage], index: int) -> range:
    """The step of a message: a call and its returns stay together."""
    start, stop = index, index + 1
    while start > 0 and answers_calls(messages[start]):
        start -= 1
    if isinstance(messages[start], ModelResponse):
        while stop < len(messages) and answers_calls(messages[stop]):
            stop += 1
    return range(start, stop)


def steps(messages: Sequence[ModelMessage], start: int, end: int) -> list[tuple[int, int]]:
    """The steps between two indexes: each a response with the requests that answer its calls."""
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
