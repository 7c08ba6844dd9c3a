"""Calls and returns stay in pairs, whatever the history went through."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.request.repair import INTERRUPTED, open_calls, repair

ids = st.sampled_from(["a", "b", "c"])  # few, so that they are reused
calls = st.builds(ToolCallPart, tool_name=st.just("t"), args=st.just("{}"), tool_call_id=ids)
returns = st.builds(ToolReturnPart, tool_name=st.just("t"), content=st.text(max_size=5), tool_call_id=ids)
prompts = st.builds(UserPromptPart, content=st.text(max_size=5))
replies = st.builds(TextPart, content=st.text(max_size=5))
histories = st.lists(
    st.builds(ModelRequest, parts=st.lists(returns | prompts, max_size=4))
    | st.builds(ModelResponse, parts=st.lists(calls | replies, max_size=3)),
    max_size=12,
)


def breaches(messages: list[ModelMessage]) -> list[str]:
    """Where a provider would refuse: by position, as providers check it."""
    found: list[str] = []
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found += [f"unanswered {call}" for call in open_calls]
            open_calls = [call.tool_call_id for call in message.tool_calls]
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                if part.tool_call_id in open_calls:
                    open_calls.remove(part.tool_call_id)
                else:
                    found.append(f"orphan {part.tool_call_id}")
            elif open_calls:
                found += [f"prompt before the return of {call}" for call in open_calls]
                open_calls = []
    return found + [f"unanswered {call}" for call in open_calls]


@given(histories)
def test_every_call_has_exactly_one_return_and_no_return_is_orphaned(history) -> None:
    assert breaches(repair(history)) == []


@given(histories)
def test_repairing_twice_changes_nothing_more_and_nothing_is_mutated(history) -> None:
    before = ModelMessagesTypeAdapter.dump_json(history)
    once = repair(history)
    assert repair(once) == once
    assert ModelMessagesTypeAdapter.dump_json(history) == before


@given(histories)
def test_prompts_and_replies_stay_in_order(history) -> None:
    def texts(messages):
        return [
            (type(part), part.content)
            for message in messages
            for part in message.parts
            if isinstance(part, UserPromptPart | TextPart)
        ]

    assert texts(repair(history)) == texts(history)


def test_a_dangling_call_is_answered_as_interrupted() -> None:
    call = ToolCallPart(tool_name="shell", args="{}", tool_call_id="c1")
    history = [ModelRequest(parts=[UserPromptPart("go")]), ModelResponse(parts=[call])]
    answer = repair(history)[-1].parts[0]
    assert isinstance(answer, ToolReturnPart)
    assert (answer.tool_name, answer.tool_call_id, answer.content) == ("shell", "c1", INTERRUPTED)
    assert INTERRUPTED == "Interrupted by user."


def test_messages_that_need_no_repair_are_the_same_objects() -> None:
    call = ToolCallPart(tool_name="t", args="{}", tool_call_id="c1")
    answer = ToolReturnPart(tool_name="t", content="x", tool_call_id="c1")
    history = [ModelRequest(parts=[UserPromptPart("q")]), ModelResponse(parts=[call]), ModelRequest(parts=[answer])]
    assert all(a is b for a, b in zip(repair(history), history, strict=True))


def test_a_trailing_orphan_is_dropped() -> None:
    orphan = ModelRequest(parts=[ToolReturnPart(tool_name="t", content="x", tool_call_id="gone")])
    prompt = ModelRequest(parts=[UserPromptPart("q")])
    assert repair([prompt, orphan]) == [prompt]
    mixed = replace(orphan, parts=[*orphan.parts, *prompt.parts])
    assert repair([mixed])[0].parts == prompt.parts


@given(histories, st.sets(ids))
def test_only_what_is_pending_in_the_last_step_stays_open(history, pending) -> None:
    repaired = repair(history, pending)
    waiting = [call.tool_call_id for call in open_calls(repaired)]
    assert set(waiting) <= pending
    assert breaches(repaired) == [f"unanswered {call}" for call in waiting]
    assert repair(repaired, pending) == repaired
    assert breaches(repair(repaired)) == []


def test_a_pending_call_stays_open_next_to_one_that_was_interrupted() -> None:
    calls = [ToolCallPart(tool_name="t", args="{}", tool_call_id=name) for name in ("a", "b", "c")]
    answer = ToolReturnPart(tool_name="t", content="x", tool_call_id="a")
    history = [ModelRequest(parts=[UserPromptPart("q")]), ModelResponse(parts=calls), ModelRequest(parts=[answer])]
    repaired = repair(history, {"b"})
    assert [(part.tool_call_id, part.content) for part in repaired[-1].parts] == [("a", "x"), ("c", INTERRUPTED)]
    assert open_calls(repaired) == [calls[1]]
    said = ModelRequest(parts=[UserPromptPart("something else")])
    assert open_calls([*repaired, said]) == [] and breaches(repair([*repaired, said], {"b"})) == []
