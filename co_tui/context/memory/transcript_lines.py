"""Messages as lines with their speaker, from which a journal is written."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.memory.text_calls import pieces_of, values_text
from co_tui.context.memory.unwrap import unwrapped
from co_tui.events.content import attached_texts, content_text, prompt_text, typed_text
from co_tui.events.refusals import DENIED, read_refusal
from co_tui.events.stored_messages import COMMAND, NOTE, REPLACES, typed_command
from co_tui.inert import one_line

LINE_CHARS: Final = 240
"""Longer lines are split."""
RECORD_CHARS: Final = 600
"""Longer records of JSON are split, too."""
NAME_CHARS: Final = 60
USER: Final = "user"
MODEL: Final = "assistant"
"""Roles, never "you": a summary may be read by the model, the user, or a model that updates it."""
USER_RAN: Final = "user ran"
NOTED: Final = "a note said"
CALLED: Final = " called with"
DENIED_BY_USER, NOT_ALLOWED = ", denied by the user", ", not allowed"
"""Added to the heading of a call that was not run."""
_BETWEEN_RECORDS: Final = re.compile(r"(?<=\},)\s*(?=\{)")


class LinePosition(NamedTuple):
    """The position of a line in the transcript."""

    message: int
    part: int
    line: int


class Excerpt(NamedTuple):
    """One line of the transcript with its position and speaker."""

    message: int
    part: int
    line: int
    by: str
    text: str

    @property
    def position(self) -> LinePosition:
        return LinePosition(self.message, self.part, self.line)


class TranscriptPart(NamedTuple):
    """One part of a message: its speaker and its text."""

    by: str
    text: str
    call_id: str = ""
    """Of a call or its result."""
    refusal: str = ""
    """For the result of a call that was not run: what to add to the heading of the call."""


def transcript_parts(message: ModelMessage) -> Iterator[TranscriptPart]:
    """The parts of a message, with a call in a text as a part of its own; none for replacements and for thinking."""
    if isinstance(message, ModelResponse):
        for part in message.parts:
            if isinstance(part, TextPart):
                yield from (TranscriptPart(MODEL, piece.text) for piece in pieces_of(part.content))
            elif isinstance(part, ToolCallPart):
                yield TranscriptPart(f"{_name(part.tool_name)}{CALLED}", arguments_text(part), part.tool_call_id)
        return
    metadata = message.metadata or {}
    if REPLACES not in metadata:
        yield from _requested(message, USER_RAN if COMMAND in metadata else NOTED if NOTE in metadata else "")


def _requested(message: ModelRequest, not_said: str) -> Iterator[TranscriptPart]:
    """`not_said` is the heading of a message that the user did not write as a prompt."""
    typed = typed_command(message.metadata)
    for part in message.parts:
        if isinstance(part, UserPromptPart) and not_said:
            yield TranscriptPart(not_said, prompt_text(part.content))
        elif isinstance(part, UserPromptPart):
            by = USER if typed is None else f"{_name(typed.source)} says"
            yield TranscriptPart(by, typed_text(part.content))
            yield from (
                TranscriptPart(f"the file {one_line(name, NAME_CHARS)} says", text)
                for name, text in attached_texts(part.content)
            )
        elif isinstance(part, ToolReturnPart | RetryPromptPart):
            by, text = f"{_name(part.tool_name or 'a check')} returned", unwrapped(content_text(part.content))
            yield TranscriptPart(by, text, part.tool_call_id, _refusal(part, text))
    if typed is not None:
        yield TranscriptPart(USER, typed.text)  # last: the places of the others are in stored journals


def _refusal(part: ToolReturnPart | RetryPromptPart, text: str) -> str:
    """By the outcome, which no tool can set: its output may look like a refusal."""
    if not isinstance(part, ToolReturnPart) or part.outcome != DENIED:
        return ""
    return DENIED_BY_USER if read_refusal(text).by_user else NOT_ALLOWED


def _name(name: str) -> str:
    """A tool name that cannot break out of its heading."""
    return one_line(name, NAME_CHARS).replace("]", ")")


def arguments_text(call: ToolCallPart) -> str:
    """The arguments of a call; as written, if they cannot be read."""
    try:
        arguments = call.args_as_dict()
    except (ValueError, AssertionError):
        return content_text(call.args)
    return values_text(arguments)


def lines_of(text: str) -> list[str]:
    """The lines of a text, long ones split. Empty lines are kept, so that line numbers are stable."""
    lines: list[str] = []
    for line in text.splitlines():
        lines += [line.rstrip()] if len(line) <= LINE_CHARS else _pieces(line)
    return lines


def _pieces(line: str) -> Iterator[str]:
    """JSON by its records, other text between its words."""
    if line.lstrip()[:1] not in ("{", "["):
        yield from _cut(line)
        return
    for record in _BETWEEN_RECORDS.split(line):
        while len(record) > RECORD_CHARS and (end := record.find(', "', RECORD_CHARS // 2)) > 0:
            yield record[: end + 1].strip()
            record = record[end + 2 :]
        yield from [record.strip()] if len(record) <= RECORD_CHARS else _cut(record)


def _cut(line: str) -> Iterator[str]:
    start = 0
    while start < len(line):
        end = start + LINE_CHARS
        if end < len(line):
            half = start + LINE_CHARS // 2
            sentence, blank = line.rfind(". ", half, end), line.rfind(" ", half, end)
            end = sentence + 1 if sentence > 0 else blank if blank > 0 else end
        yield line[start:end].strip()
        start = end
