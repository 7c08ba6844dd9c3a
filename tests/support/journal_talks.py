"""Short conversations for tests of the journal."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.compact.offline_summary import sources_of
from co_tui.context.journal.journal import Journal, JournalTask
from co_tui.context.journal.sources import Sources
from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.memory.ledger import Ledger

_IDS = count()


def prompt(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)])


def called(tool: str, result: Any, text: str = "", **arguments: Any) -> list[ModelMessage]:
    """A reply with one call, and its result."""
    call_id = f"call-{next(_IDS)}"
    parts = [*([TextPart(text)] if text else []), ToolCallPart(tool, arguments, tool_call_id=call_id)]
    return [
        ModelResponse(parts=parts),
        ModelRequest(parts=[ToolReturnPart(tool, result, tool_call_id=call_id)]),
    ]


def ran(command: str, output: str, text: str = "") -> list[ModelMessage]:
    return called("bash", output, text, command=command)


def failed(step: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The same call, recorded as failed."""
    asked, answered = step
    assert isinstance(answered, ModelRequest)
    (part,) = answered.parts
    assert isinstance(part, ToolReturnPart)
    return [asked, replace(answered, parts=[replace(part, outcome="failed")])]


def task_for(
    messages: Sequence[ModelMessage],
    limit: float = 1_000,
    *,
    earlier: Journal | None = None,
    ration: float | None = None,
    standing: str = "",
) -> JournalTask:
    """Write all of these messages into a journal."""
    earlier = earlier or Journal()
    sources = sources_of(messages)
    new = sum(not earlier.covered(number) for number in range(len(messages)))
    return JournalTask(sources, earlier, new, limit, limit if ration is None else ration, standing)


def sources_without(messages: Sequence[ModelMessage], gone: Sequence[int]) -> Sources:
    """The conversation of which some messages left."""
    ledger, work = Ledger(), WorkRecord()
    for message in messages:
        ledger.add(message)
        work.add(message)
    return Sources(ledger, work, frozenset(gone), lambda numbers: [messages[number] for number in numbers])
