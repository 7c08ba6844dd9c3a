"""A conversation through its front door: prompts in, events out."""

import asyncio
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall
from pydantic_ai.tools import ToolDefinition

from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.context.request.repair import INTERRUPTED
from co_tui.events import (
    Clear,
    Message,
    ModelChange,
    PromptReturned,
    QueueChanged,
    SessionInterrupted,
    StreamDelta,
    ToolActivity,
    UsageInfo,
    is_durable,
)
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.request_hook import sendable
from co_tui.session.turns.turn import Outcome
from co_tui.store.store_errors import SessionBusy
from co_tui.ui.prompt.activity import Activity
from tests.support.approving import returns
from tests.support.environments import ScriptedModel, environment_for, facts, says
from tests.support.stores import replayed, stored_events
from tests.support.waiting import HANGING_S, PATIENCE_S, next_fact, until


async def heard(listener: Listener):
    return [event async for event in listener]


def parts_of(fact: Message) -> list[tuple[str, object]]:
    return [(part["part_kind"], part.get("content", part.get("args"))) for part in fact.message["parts"]]


def test_a_tool_s_description_has_no_character_that_cannot_be_sent() -> None:
    tools = [ToolDefinition(name="odd", description="of a \ud800 skill"), ToolDefinition(name="plain")]
    odd, plain = sendable(ModelRequestParameters(function_tools=tools)).function_tools
    assert (odd.description or "").encode() and plain is tools[1]


async def test_thoughts_that_are_not_shown_are_announced_and_not_told(home: Path) -> None:
    async def thinks(_: object, __: object):
        yield {0: DeltaThinkingPart(signature="sealed")}
        yield "So it is."

    environment, listener = environment_for(home, ScriptedModel(thinks)), Listener()
    session = await Session.start(environment, "scripted", listener)
    assert await session.submit("hi") is Outcome.DONE
    await session.close()
    events = await heard(listener)
    streamed = facts(events, StreamDelta)
    assert [(delta.kind, delta.text) for delta in streamed] == [("thinking", ""), ("text", "So it is.")]
    activity = Activity()
    activity.apply(streamed[0], 0.0)
    assert "thinking" in activity.line(30.0, "scripted"), "it is there, although nothing comes"


async def test_a_prompt_becomes_events_in_the_log_and_on_the_bus(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("Hel", "lo")))
    listener = Listener()
    session = await Session.start(environment, "scripted", listener)
    assert await session.submit("hi") is Outcome.DONE
    await session.close()
    events = await heard(listener)
    logged = [event for event in events if is_durable(event.fact)]
    assert [event.type for event in logged] == [
        "session.start",
        "message",
        "session.usage_info",
        "request.billed",
        "message",
        "session.usage_info",
        "session.end",
    ]
    assert [event.seq for event in logged] == [1, 2, 3, 4, 5, 6, 7]
    assert logged == stored_events(home, session.id)
    assert "".join(delta.text for delta in facts(events, StreamDelta)) == "Hello"
    assert [usage.is_initial for usage in facts(logged, UsageInfo)] == [True, False]
    assert replay(logged) == session.state


async def test_usage_is_what_the_provider_reported(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("word " * 50)))
    session = await Session.start(environment, "scripted")
    await session.submit("hi")
    usage = session.state.usage
    assert usage is not None and usage.measured == "provider"
    reply = session.state.transcript[-1].message["usage"]
    assert usage.current_tokens == reply["input_tokens"] + reply["output_tokens"]
    assert usage.system_tokens + usage.conversation_tokens + usage.tool_definition_tokens == usage.current_tokens
    assert (usage.token_limit, usage.limit_known) == (10_000, True)
    await session.close()


async def test_an_unknown_window_is_marked_as_assumed(home: Path) -> None:
    session = await Session.start(environment_for(home, ScriptedModel(says("x"), window=None)), "scripted")
    await session.submit("hi")
    assert session.state.usage is not None
    assert (session.state.usage.token_limit, session.state.usage.limit_known) == (128_000, False)
    await session.close()


async def test_interrupting_keeps_what_came_and_the_next_prompt_works(home: Path) -> None:
    async def script(messages, info):
        yield "The answer "
        if "stop" in str(messages[-1]):
            await asyncio.sleep(HANGING_S)
        yield "is 42."

    environment = environment_for(home, ScriptedModel(script))
    session = await Session.start(environment, "scripted")
    listener = session.events()
    turn = asyncio.create_task(session.submit("stop me"))
    async for event in listener:
        if isinstance(event.fact, StreamDelta):
            break
    assert session.interrupt()
    assert await asyncio.wait_for(turn, PATIENCE_S) is Outcome.INTERRUPTED
    last = session.state.transcript[-1]
    assert last.interrupted and last.message["state"] == "interrupted"
    assert last.message["parts"][0]["content"] == "The answer "
    forked = replayed(home, await session.fork(last.seq))
    assert facts(list(forked.timeline), SessionInterrupted), "it says why its reply is partial"
    assert await session.submit("go on") is Outcome.DONE
    await session.close()
    assert not session.interrupt()
    with pytest.raises(PromptRefused, match="the session was closed"):
        await session.submit("too late")
    assert facts(list(session.state.timeline), SessionInterrupted)


async def test_interrupting_before_the_first_word_logs_no_empty_reply(home: Path) -> None:
    asked = asyncio.Event()

    async def script(messages, info):
        asked.set()
        await asyncio.sleep(HANGING_S)
        yield "never"

    session = await Session.start(environment_for(home, ScriptedModel(script)), "scripted")
    turn = asyncio.create_task(session.submit("hi"))
    await asked.wait()
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    assert len(session.state.transcript) == 1
    await session.close()


async def test_calls_left_open_by_an_interruption_are_answered(home: Path) -> None:
    async def quick() -> str:
        return "quick result"

    async def slow() -> str:
        await asyncio.sleep(HANGING_S)
        return "never"

    seen = []

    async def script(messages, info):
        seen.append(list(messages))
        if len(seen) == 1:
            yield {0: DeltaToolCall(name="quick", json_args="{}", tool_call_id="c1")}
            yield {1: DeltaToolCall(name="slow", json_args="{}", tool_call_id="c2")}
        else:
            yield "fine"

    session = await Session.start(environment_for(home, ScriptedModel(script), tools=[quick, slow]), "scripted")
    listener = session.events()
    turn = asyncio.create_task(session.submit("use the tools"))
    async for event in listener:
        if isinstance(event.fact, ToolActivity) and event.fact.stage == "finished":
            break
    session.interrupt()
    await turn
    assert [(call, content) for call, content, _ in returns(session)] == [("c1", "quick result"), ("c2", INTERRUPTED)]
    assert await session.submit("and now?") is Outcome.DONE
    await session.close()


async def test_tool_calls_and_results_are_logged_as_soon_as_they_are_whole(home: Path) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    async def script(messages, info):
        if len(messages) == 1:
            yield {0: DeltaToolCall(name="add", json_args='{"a": 1, "b": 2}', tool_call_id="c1")}
        else:
            yield "It is 3."

    session = await Session.start(environment_for(home, ScriptedModel(script), tools=[add]), "scripted")
    assert await session.submit("1+2?") is Outcome.DONE
    kinds = [[part["part_kind"] for part in entry.message["parts"]] for entry in session.state.transcript]
    assert kinds == [["user-prompt"], ["tool-call"], ["tool-return"], ["text"]]
    assert session.state.usage is not None and session.state.usage.tool_definition_tokens > 0
    await session.close()


async def test_prompts_sent_meanwhile_wait_in_order(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("ok", pause_s=0.05)))
    session = await Session.start(environment, "scripted")
    listener = session.events()
    outcomes = await asyncio.gather(*(session.submit(text) for text in ("one", "two", "three")))
    assert outcomes == [Outcome.DONE] * 3
    await session.close()
    events = await heard(listener)
    prompts = [part for fact in facts(events, Message) for part in parts_of(fact) if part[0] == "user-prompt"]
    assert [text for _, text in prompts] == ["one", "two", "three"]
    waited = [changed.prompts for changed in facts(events, QueueChanged)]
    assert ("two",) in waited and ("two", "three") in waited and ("three",) in waited and waited[-1] == ()
    assert [fact.turn for fact in facts(events, Message)] == [1, 1, 2, 2, 3, 3]


async def test_clear_empties_what_the_model_sees_and_keeps_what_was_said(home: Path) -> None:
    seen = []

    async def script(messages, info):
        seen.append(len(messages))
        yield "ok"

    session = await Session.start(environment_for(home, ScriptedModel(script)), "scripted")
    await session.submit("one")
    full = session.state.usage
    await session.edits.clear()
    assert len(session.state.history) == 0 and len(session.state.transcript) == 2
    assert full and session.state.usage and session.state.usage.conversation_tokens == 0 < full.conversation_tokens
    await session.submit("two")
    assert seen == [1, 1]
    assert facts(list(session.state.timeline), Clear)[0].messages_removed == 2
    await session.close()


async def test_switching_models_is_an_event_and_a_bad_one_changes_nothing(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("a")), ScriptedModel(says("b"), name="other", window=500))
    session = await Session.start(environment, "scripted")
    await session.submit("hi")
    with pytest.raises(ModelUnusable):
        await session.switcher.switch_model("nobody")
    await session.switcher.switch_model("other")
    assert facts(list(session.state.timeline), ModelChange) == [
        ModelChange(from_="scripted", to="other", window_before=10_000, window_after=500)
    ]
    await session.submit("again")
    assert session.state.transcript[-1].message["parts"][0]["content"] == "b"
    assert session.state.usage and session.state.usage.token_limit == 500
    await session.close()


async def test_resuming_restores_the_exact_history(home: Path) -> None:
    seen = []

    async def script(messages, info):
        seen.append(ModelMessagesTypeAdapter.dump_json(messages))
        yield f"reply {len(seen)}"

    environment = environment_for(home, ScriptedModel(script))
    first = await Session.start(environment, "scripted")
    await first.submit("one")
    await first.close()
    second = await Session.resume(environment, first.id)
    assert list(second.state.history) == list(first.state.history)
    await second.submit("two")
    await second.close()
    assert [entry.turn for entry in second.state.transcript] == [1, 1, 2, 2]
    assert replayed(home, first.id) == second.state


async def test_one_session_has_one_writer(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(says("x")))
    session = await Session.start(environment, "scripted")
    with pytest.raises(SessionBusy, match="open in another co-tui"):
        await Session.resume(environment, session.id)
    await session.close()
    again = await Session.resume(environment, session.id)
    await again.close()


async def test_interrupting_right_after_submitting_stops_the_turn(home: Path) -> None:
    session = await Session.start(environment_for(home, ScriptedModel(says("x", pause_s=HANGING_S))), "scripted")
    for number, prompt in enumerate(("hi", "and again")):
        turn = asyncio.create_task(session.submit(prompt))
        while not session.queue.has_next:  # its turn does not exist yet
            await asyncio.sleep(0)
        for _ in range(number):
            await asyncio.sleep(0)
        assert session.interrupt()
        assert await asyncio.wait_for(turn, PATIENCE_S) is Outcome.INTERRUPTED
    assert [entry.message["parts"][0]["content"] for entry in session.state.transcript] == ["hi", "and again"]
    await session.close()


async def test_prompts_that_waited_are_given_back_when_the_session_closes_or_clears(home: Path) -> None:
    session = await Session.start(environment_for(home, ScriptedModel(says("x", pause_s=HANGING_S))), "scripted")
    listener = session.events()
    turns = [asyncio.create_task(session.submit(text)) for text in ("one", "two")]
    await until(lambda: session.state.turn == 1)
    await session.edits.clear()
    assert await asyncio.gather(*turns) == [Outcome.INTERRUPTED] * 2
    turns = [asyncio.create_task(session.submit(text)) for text in ("three", "four", "five")]
    await until(lambda: session.state.turn == 2)
    assert await session.close() == ["four", "five"]
    await asyncio.gather(*turns)
    assert [returned.prompt for returned in facts(await heard(listener), PromptReturned)] == ["two", "four", "five"]


async def test_switching_models_in_a_turn_lets_the_turn_finish(home: Path) -> None:
    switched = asyncio.Event()

    async def script(messages, info):
        yield "slow "
        await switched.wait()
        yield "answer"

    first = ScriptedModel(script)
    environment = environment_for(home, first, ScriptedModel(says("b"), name="other"))
    session = await Session.start(environment, "scripted")
    listener = session.events()
    turn = asyncio.create_task(session.submit("hi"))
    await next_fact(listener, StreamDelta)
    await session.switcher.switch_model("other")
    assert not first.closed
    switched.set()
    assert await turn is Outcome.DONE
    assert session.state.transcript[-1].message["parts"][0]["content"] == "slow answer"
    await until(lambda: first.closed)
    await session.close()


async def test_bytes_that_are_no_text_do_not_spoil_the_session(home: Path) -> None:
    session = await Session.start(environment_for(home, ScriptedModel(says("ok"))), "scripted")
    for prompt in ("caf\udcff", "odd \ud800 one"):
        assert await session.submit(prompt) is Outcome.DONE
        session.state.transcript[-2].message["parts"][0]["content"].encode()
    await session.close()
