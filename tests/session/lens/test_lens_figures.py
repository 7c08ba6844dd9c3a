"""The figures of the lens: of the window in use, shared out by what each message holds, and of one moment."""

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from co_tui.context.measure.count import Scaffold, estimate_text
from co_tui.events import Event, Message
from co_tui.session.lens.request_rows import Kind
from co_tui.session.lens.snapshot import read_lens, source_of, stored_source
from co_tui.session.state.derive import replay
from co_tui.session.state.parsed_messages import message_json
from tests.context.request.test_pipeline import LOADED
from tests.support.provider import Provider, Reply
from tests.support.talks import talking


async def test_a_stored_session_is_read_under_the_window_that_is_set_now(home: Path, provider: Provider) -> None:
    provider.window = 60_000
    async with talking(home, provider) as session:
        await session.submit("Hello?")
        for window, limit in ((0, 60_000), (20_000, 20_000)):
            lens = read_lens(stored_source(session.state, session.settings.but(context_window=window)))
            total = lens.total_json()
            assert (total["limit_tokens"], total["limit_known"]) == (limit, True)


def test_system_parts_of_messages_are_counted_with_the_system_prompt_and_not_twice() -> None:
    """As in an imported session, whose first message may hold its system prompt."""
    rules, question, answer = "Follow every rule. " * 200, "Which rules? " * 100, "All of the rules. " * 50
    said: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart(rules), UserPromptPart(question)]),
        ModelResponse(parts=[TextPart(answer)]),
    ]
    facts = [Message(turn=1, message=message_json(message)) for message in said]
    state = replay(Event(session_id="s", seq=n, timestamp="", fact=fact) for n, fact in enumerate(facts, 1))
    instructions = "Answer in short. " * 100
    source = stored_source(state, LOADED["off"])._replace(scaffold=Scaffold(instructions=instructions))
    lens = read_lens(source)
    given, first, second = (row for row in lens.messages if row.tokens)
    assert given.tokens == given.system_tokens == pytest.approx(estimate_text(instructions), abs=5)
    assert first.system_tokens == pytest.approx(estimate_text(rules), abs=5)
    assert first.tokens - first.system_tokens == pytest.approx(estimate_text(question), abs=10)
    assert (second.system_tokens, second.tokens) == (0, pytest.approx(estimate_text(answer), abs=10))
    assert lens.tokens_by_kind[Kind.SYSTEM] == lens.reading.system_tokens == given.tokens + first.system_tokens


async def test_a_lens_shows_its_moment_whatever_the_session_does_meanwhile(home: Path, provider: Provider) -> None:
    """The same prompt is asked again: as many tokens go in, but far more come back."""

    def reply(tokens: int) -> Reply:
        return Reply(text="It does.", prompt_tokens=400, completion_tokens=tokens)

    provider.window = 60_000
    async with talking(home, provider) as session:
        provider.script = [reply(5), reply(900)]
        await session.submit("Does it?")
        before, shown = (source_of(session.history, session.settings, is_own=False) for _ in range(2))
        reading = read_lens(before).reading
        assert (reading.current_tokens, reading.measured) == (405, "provider")
        await session.edits.rewind(1)
        await session.submit("Does it?")
        assert session.state.usage is not None and session.state.usage.current_tokens == 1_300
        assert read_lens(shown).reading == reading
