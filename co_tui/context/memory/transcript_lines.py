"""Messages as lines with their speaker, from which excerpts are chosen."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

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

from co_tui.events.content import attached_texts, content_text, prompt_text, typed_text
from co_tui.events.refusals import DENIED, read_refusal
from co_tui.events.stored_messages import COMMAND, NOT_A_HEADING, NOTE, REPLACES
from co_tui.inert import one_line

LINE_CHARS: Final = 240
"""Longer lines are split."""
NAME_CHARS: Final = 60
USER: Final = "user"
MODEL: Final = "assistant"
"""Roles, never "you": a summary may be read by the model, the user, or a model that updates it."""
USER_RAN: Final = "user ran"
NOTED: Final = "a note said"
CALLED: Final = " called with"
DENIED_BY_USER, NOT_ALLOWED = ", denied by the user", ", not allowed"
"""Added to the heading of a call that was not run."""
SUMMARY_SAID: Final = "an earlier summary said"
_OF_BEFORE: Final = {"you said": MODEL, "the user said": USER, "the user ran": USER_RAN}


class LinePosition(NamedTuple):
    """The position of a line in the transcript."""

    message: int
    part: int
    line: int


class Excerpt(NamedTuple):
    """One line of the transcript with its position and speaker."""

    position: LinePosition
    by: str
    text: str

    @property
    def shown(self) -> str:
        """The line as shown, with a prefix if it could be mistaken for a heading and so forge a speaker."""
        first = self.text.lstrip()[:1]
        return f"{NOT_A_HEADING}{self.text}" if first in "[#*" or not first.isprintable() else self.text

    def as_json(self) -> list[Any]:
        return [*self.position, self.by, self.text]

    @classmethod
    def from_json(cls, value: Any) -> "Excerpt | None":
        """The stored excerpt; None if it is invalid."""
        match value:
            case [int(message), int(part), int(line), str(by), str(text)]:
                return cls(LinePosition(message, part, line), _current_speaker(by), text)
        return None


def _current_speaker(by: str) -> str:
    """The speaker as summaries name it today; older summaries addressed the model."""
    called = by.removeprefix("you called ")
    return _OF_BEFORE.get(by, by) if called == by else f"{called}{CALLED}"


class TranscriptPart(NamedTuple):
    """One part of a message: its speaker and its text."""

    by: str
    text: str
    is_model: bool
    call_id: str = ""
    """Of a call or its result."""
    refusal: str = ""
    """For the result of a call that was not run: what to add to the heading of the call."""


def transcript_parts(message: ModelMessage) -> Iterator[TranscriptPart]:
    """The parts of a message; none for replacements and for thinking."""
    if isinstance(message, ModelResponse):
        for part in message.parts:
            if isinstance(part, TextPart):
                yield TranscriptPart(MODEL, part.content, True)
            elif isinstance(part, ToolCallPart):
                yield TranscriptPart(f"{_name(part.tool_name)}{CALLED}", arguments_text(part), True, part.tool_call_id)
        return
    metadata = message.metadata or {}
    if REPLACES not in metadata:
        yield from _requested(message, USER_RAN if COMMAND in metadata else NOTED if NOTE in metadata else "")


def _requested(message: ModelRequest, not_said: str) -> Iterator[TranscriptPart]:
    """`not_said` is the heading of a message that the user did not write as a prompt."""
    for part in message.parts:
        if isinstance(part, UserPromptPart) and not_said:
            yield TranscriptPart(not_said, prompt_text(part.content), False)
        elif isinstance(part, UserPromptPart):
            yield TranscriptPart(USER, typed_text(part.content), False)
            yield from (
                TranscriptPart(f"the file {one_line(name, NAME_CHARS)} says", text, False)
                for name, text in attached_texts(part.content)
            )
        elif isinstance(part, ToolReturnPart | RetryPromptPart):
            by, text = f"{_name(part.tool_name or 'a check')} returned", content_text(part.content)
            yield TranscriptPart(by, text, False, part.tool_call_id, _refusal(part, text))


def _refusal(part: ToolReturnPart | RetryPromptPart, text: str) -> str:
    """By the outcome, which no tool can set: its output may look like a refusal."""
    if not isinstance(part, ToolReturnPart) or part.outcome != DENIED:
        return ""
    return DENIED_BY_USER if read_refusal(text).by_user else NOT_ALLOWED


def _name(name: str) -> str:
    """A tool name that cannot break out of its heading."""
    return one_line(name, NAME_CHARS).replace("]", ")")


def arguments_text(call: ToolCallPart) -> str:
    """The argument values of a call on separate lines, texts as they are."""
    try:
        values = call.args_as_dict().values()
    except (ValueError, AssertionError):
        return content_text(call.args)
    return "\n".join(value if isinstance(value, str) else content_text(value) for value in values)


def lines_of(text: str) -> list[str]:
    """The lines of a text, long ones split. Empty lines are kept, so that line numbers are stable."""
    lines: list[str] = []
    for line in text.splitlines():
        lines += [line.rstrip()] if len(line) <= LINE_CHARS else _pieces(line)
    return lines


def bare_line(line: str) -> str:
    """A line without our prefix and surrounding blanks, to compare shown lines with originals."""
    return line.strip().removeprefix(NOT_A_HEADING).strip()


def bare_lines(text: str) -> set[str]:
    """Every line of a text that shows excerpts, as `bare_line` has it."""
    # Remove the prefix first: it would make a full-length line too long and split it.
    unmarked = (line.removeprefix(NOT_A_HEADING) for line in text.splitlines())
    return {bare_line(piece) for line in unmarked for piece in lines_of(line)}


def _pieces(line: str) -> Iterator[str]:
    start = 0
    while start < len(line):
        end = start + LINE_CHARS
        if end < len(line) and (blank := line.rfind(" ", start + LINE_CHARS // 2, end)) > 0:
            end = blank
        yield line[start:end].strip()
        start = end
