"""A conversation that is looked at through the lens, and what has to agree with it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.session.lens.request_rows import Kind, Lens
from co_tui.session.lens.snapshot import read_lens, source_of, stored_source
from co_tui.session.session import Session
from co_tui.session.state.context_report import context_report
from co_tui.session.turns.turn import Outcome

LARGE = "".join(f"line {n} of src/module_{n}.py says nothing new\n" for n in range(700))
"""A result that every policy that makes results smaller makes smaller."""


def read_large() -> str:
    """Read it all."""
    return LARGE


class Asked:
    """A model that remembers what it was sent; a prompt that begins with `read` has it call a tool first."""

    def __init__(self) -> None:
        self.requests: list[list[ModelMessage]] = []

    async def script(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.requests.append(list(messages))
        last = messages[-1]
        text = "".join(str(getattr(part, "content", "")) for part in last.parts)
        if text.startswith("read"):
            yield {0: DeltaToolCall("read_large", "{}", tool_call_id=f"call-{len(self.requests)}")}
        else:
            yield f"An answer about src/module_{len(self.requests)}.py and what is in it."


def lens_of(session: Session) -> Lens:
    return read_lens(source_of(session.history, session.settings))


def plain(messages: Sequence[ModelMessage | None]) -> list[tuple[str, object]]:
    """The parts of messages, each with who says it: the library joins adjacent requests."""
    return [(message.kind, replace(part)) for message in messages if message is not None for part in message.parts]


def agrees(session: Session, lens: Lens) -> None:
    """The lens with itself, with the gauge, with `co-tui context`, and with what another process makes of the log."""
    usage = session.state.usage
    assert usage is not None and session.state.usage_holds
    figures = (usage.current_tokens, usage.system_tokens, usage.tool_definition_tokens, usage.conversation_tokens)
    total = lens.total_json()
    kinds = ("total_tokens", "system_tokens", "tool_definition_tokens", "conversation_tokens")
    assert tuple(total[key] for key in kinds) == figures
    assert sum(each.tokens for each in lens.messages) == usage.current_tokens
    assert sum(lens.tokens_by_kind.values()) == usage.current_tokens
    assert lens.tokens_by_kind.get(Kind.SYSTEM, 0) == usage.system_tokens
    assert context_report(session.state)["current_tokens"] == usage.current_tokens
    stored = read_lens(stored_source(session.state, session.settings))
    assert stored.reading == lens.reading and stored.left == lens.left
    assert [each._replace(given="", message=None) for each in stored.messages] == [
        each._replace(given="", message=None) for each in lens.messages
    ]
    assert [each.text for each in stored.messages if each.ref] == [each.text for each in lens.messages if each.ref]


async def said(session: Session, *prompts: str) -> None:
    for prompt in prompts:
        assert await session.submit(prompt) is Outcome.DONE
        await session.settle(10)
