"""The steps of a turn: how many there may be, tools that fail, and what a long conversation does to them."""

import json
import re
from pathlib import Path

import pytest
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.context.measure.count import Reading, Window
from co_tui.events import (
    ArtifactStored,
    CompactionComplete,
    SessionError,
    ToolActivity,
    UsageInfo,
)
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.turns.attempts import PromptTooLong
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Settings
from tests.support.approving import returns
from tests.support.environments import ScriptedModel, environment_for, facts, says
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed, stored_events


async def test_a_turn_stops_after_the_allowed_steps_with_a_notice(home: Path) -> None:
    def poke() -> str:
        return "again"

    async def script(messages, info):
        yield {0: DeltaToolCall(name="poke", json_args="{}", tool_call_id=f"c{len(messages)}")}

    session = await Session.start(
        environment_for(home, ScriptedModel(script), tools=[poke], agent_max_steps=3), "scripted"
    )
    assert await session.submit("loop") is Outcome.FAILED
    replies = [entry for entry in session.state.transcript if entry.message["kind"] == "response"]
    assert len(replies) == 3
    error = facts(list(session.state.timeline), SessionError)[-1]
    assert error.kind == "steps" and "agent_max_steps" in error.what and "3 steps" in error.what
    await session.close()


async def test_what_the_last_allowed_step_did_is_kept_and_the_conversation_continues(home: Path) -> None:
    pokes: list[int] = []
    heard: list[str] = []

    def poke() -> str:
        pokes.append(1)
        return f"poked {len(pokes)}"

    async def script(messages, info):
        if "enough" in str(messages[-1]):
            heard.extend(
                part.content for message in messages for part in message.parts if part.part_kind == "tool-return"
            )
            yield "I know."
        else:
            yield {0: DeltaToolCall(name="poke", json_args="{}", tool_call_id=f"c{len(messages)}")}

    session = await Session.start(
        environment_for(home, ScriptedModel(script), tools=[poke], agent_max_steps=2), "scripted"
    )
    assert await session.submit("loop") is Outcome.FAILED
    assert len(pokes) == 2
    assert [part["content"] for part in session.state.transcript[-1].message["parts"]] == ["poked 2"]
    assert await session.submit("enough") is Outcome.DONE
    assert heard == ["poked 1", "poked 2"] and len(pokes) == 2
    await session.close()


async def test_what_a_tool_returned_is_kept_when_another_one_crashes(home: Path) -> None:
    listeners: list[Listener] = []

    async def write() -> str:
        return "written"

    async def boom() -> str:
        async for event in listeners[0]:
            if isinstance(event.fact, ToolActivity) and event.fact.stage == "finished":
                break  # the other one's result is told first
        raise ZeroDivisionError("the tool is broken")

    async def script(messages, info):
        if "both" in str(messages[-1]):
            yield {
                0: DeltaToolCall(name="write", json_args="{}", tool_call_id="c1"),
                1: DeltaToolCall(name="boom", json_args="{}", tool_call_id="c2"),
            }
        else:
            yield "fine"

    session = await Session.start(environment_for(home, ScriptedModel(script), tools=[write, boom]), "scripted")
    listeners.append(session.events())
    assert await session.submit("both") is Outcome.DONE
    answers = [(name, content) for name, content, _ in returns(session)]
    assert answers == [("c1", "written"), ("c2", "ZeroDivisionError: the tool is broken")]
    await session.close()


async def test_a_reply_without_words_or_calls_is_not_asked_for_for_ever(home: Path) -> None:
    asked: list[int] = []

    async def script(messages, info):
        asked.append(1)
        yield {0: DeltaThinkingPart(content="hm")}

    session = await Session.start(environment_for(home, ScriptedModel(script)), "scripted")
    assert await session.submit("think") is Outcome.FAILED
    assert facts(list(session.state.timeline), SessionError)[-1].kind == "malformed" and len(asked) < 10
    await session.close()


def test_the_steps_allowed_by_default() -> None:
    assert Settings().agent_max_steps == 200


@only_in_a_long_run
async def test_a_long_conversation_is_compacted_and_replays_exactly(home: Path, provider: Provider) -> None:
    provider.window = 3_000
    provider.default = Reply(text="An answer about src/module.py. " * 26, prompt_tokens=-1, completion_tokens=180)
    environment = environment_for(home)
    config = ModelConfig(environ={}, fetched_models=home, base_url=provider.url)
    environment.open_model = lambda name: open_model(name, config)
    session = await Session.start(environment, "openai-chat:scripted")
    for n in range(16):
        assert await session.submit(f"Question {n}: what about function_{n}? " + "more words " * 60) is Outcome.DONE
        usage = session.state.usage
        assert usage is not None and usage.current_tokens <= 3_000
    compactions = facts(list(session.state.timeline), CompactionComplete)
    assert compactions and any(done.success for done in compactions)
    assert all(done.tokens_removed > 0 and done.replaced and done.replacement for done in compactions if done.success)
    assert len(session.state.transcript) == 32
    assert max(len(request["messages"]) for request in provider.requests) < 20
    await session.close()
    again = await Session.resume(environment, session.id)
    assert list(again.state.history) == list(session.state.history)
    assert await again.submit("and after resuming?") is Outcome.DONE
    await again.close()
    assert replayed(home, session.id) == again.state


@pytest.mark.parametrize(
    ("system", "tools", "conversation", "sentence"),
    [
        (300, 8_069, 40, "Tools take 197 % of the window of 4,096 tokens. Use a model with a larger window, or offer"),
        (6_000, 900, 40, "Instructions take 146 % of the window of 4,096 tokens. Use a model with a larger window, or"),
        (300, 900, 7_000, "The prompt is about 5,000 tokens too long for the window of 4,096. Shorten it,"),
    ],
)
def test_what_takes_the_room_is_named(system: int, tools: int, conversation: int, sentence: str) -> None:
    reading = Reading(system, conversation, tools, 1, Window(4_096, known=True), "estimate")
    assert str(PromptTooLong(5_000, reading)).startswith(sentence)


async def test_a_prompt_that_cannot_fit_is_reported_by_how_much_and_the_session_continues(home: Path) -> None:
    session = await Session.start(environment_for(home, ScriptedModel(says("ok"), window=1_000)), "scripted")
    assert await session.submit("word " * 3_000) is Outcome.FAILED
    error = facts(list(session.state.timeline), SessionError)[-1]
    assert error.kind == "context_limit" and "tokens too long for the window of 1,000" in error.what
    await session.edits.clear()
    assert await session.submit("short") is Outcome.DONE
    await session.close()


async def test_archived_results_can_be_opened_again(home: Path) -> None:
    def read_log() -> str:
        return "\n".join(f"line {n}: {'ERROR disk full' if n == 777 else 'all well'}" for n in range(1000))

    opened: list[str] = []

    async def script(messages, info):
        last = messages[-1].parts[-1]
        if "read it" in str(last):
            yield {0: DeltaToolCall(name="read_log", json_args="{}", tool_call_id="c1")}
        elif "again" in str(last):
            reference = re.search(r"artifact-[\d-]+\d", str(messages))
            assert reference is not None and "line 999" not in str(messages)
            arguments = json.dumps({"reference": reference[0], "pattern": "ERROR"})
            yield {0: DeltaToolCall(name="read_artifact", json_args=arguments, tool_call_id="c2")}
        else:
            opened.append(str(getattr(last, "content", "")))
            yield "ok"

    environment = environment_for(home, ScriptedModel(script), tools=[read_log], archive_over_chars=5_000)
    session = await Session.start(environment, "scripted")
    await session.submit("read it")
    await session.submit("again please")
    assert opened[-1] == "778: line 777: ERROR disk full"
    stored = facts(list(session.state.timeline), ArtifactStored)
    assert len(stored) == 1 and stored[0].where.startswith("artifact-")
    assert "line 999" in str(session.state.transcript[2].message), "the log keeps it whole"
    await session.close()


async def test_a_server_that_counts_is_asked_instead_of_guessing(home: Path, provider: Provider) -> None:
    provider.tokenizes = True
    provider.default = Reply(text="ok", prompt_tokens=0, completion_tokens=0)
    environment = environment_for(home)
    config = ModelConfig(environ={}, fetched_models=home, base_url=provider.url)
    environment.open_model = lambda name: open_model(name, config)
    session = await Session.start(environment, "openai-chat:scripted")
    await session.submit("supercalifragilistic " * 400)
    assert [len(text.split()) for text in provider.tokenized] == [400]
    first = next(fact for fact in facts(stored_events(home, session.id), UsageInfo))
    assert 400 <= first.conversation_tokens <= 410, "one a word, as that server counts"
    await session.close()
