"""Tool failures are shown to the model; only the same call failing again and again in a row stops the turn."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall

from co_tui.events import DelegationEnd, SessionError
from co_tui.session.session import Session
from co_tui.session.turns import repeated_calls
from co_tui.session.turns.repeated_calls import RepeatedResults
from co_tui.session.turns.turn import Outcome
from tests.session.tools.test_agent_files import Model, call, project
from tests.session.turns.test_delegations import ended
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.long_run import LONG_RUN, also_in_a_long_run, only_in_a_long_run
from tests.support.stores import replayed, stored_events

Step = Sequence[tuple[str, str]]
"""The calls of one reply: tool and arguments as JSON."""
MANY = 12
"""More failures than a call may have in a row."""


def open_door(key: str) -> str:
    if key != "right":
        raise ModelRetry(f"{key} does not fit")
    return "open"


def broken() -> str:
    raise OSError(5, "Input/output error")


def refusing() -> str:
    raise ToolFailed("not today")


def key(name: str) -> tuple[str, str]:
    return "open_door", json.dumps({"key": name})


class Stubborn(ScriptedModel):
    """Makes the calls of the given steps; what it got is in `seen`."""

    def __init__(self, steps: Callable[[int], Step | None]) -> None:
        self.asked_times = 0
        self.seen: list[Any] = []
        super().__init__(self._script, window=100_000)
        self.steps = steps

    async def _script(self, messages: Any, info: Any) -> Any:
        self.asked_times += 1
        self.seen = messages
        if (step := self.steps(self.asked_times)) is None:
            yield "done"
            return
        yield {
            n: DeltaToolCall(tool, arguments, tool_call_id=f"c{self.asked_times}-{n}")
            for n, (tool, arguments) in enumerate(step)
        }


async def started(home: Path, model: ScriptedModel, **settings: Any) -> Session:
    environment = environment_for(home, model, tools=[open_door, broken, refusing], **settings)
    return await Session.start(environment, "scripted")


def last_error(session: Session) -> SessionError:
    error: SessionError = facts(list(session.state.timeline), SessionError)[-1]
    return error


@pytest.mark.parametrize("far_apart", also_in_a_long_run([True], [False]))
async def test_many_different_failures_of_one_tool_do_not_end_the_turn(home: Path, far_apart: bool) -> None:
    def steps(n: int) -> Step | None:
        if n > MANY:
            return None
        return [key("right")] if far_apart and n % 5 == 0 else [key(f"key {n}")]

    model = Stubborn(steps)
    session = await started(home, model)
    assert await session.submit("open it") is Outcome.DONE
    assert f"key {MANY - 1} does not fit" in str(model.seen) and not facts(list(session.state.timeline), SessionError)
    await session.close()


FAILING = {
    "refused by the tool": (key("wrong"), "open_door wrong", "wrong does not fit"),
    "failed for good": (("refusing", "{}"), "refusing", "not today"),
    "crashed": (("broken", "{}"), "broken", "OSError: [Errno 5] Input/output error"),
    "wrong arguments": (("open_door", '{"lock": 1}'), "open_door 1", "key: Field required"),
    "arguments that are no JSON": (("open_door", '{"key": '), 'open_door {"key":', "Invalid JSON"),
    "a tool that does not exist": (("close_door", "{}"), "close_door", "Unknown tool name: 'close_door'"),
}


SUITE_FAILURES = ("refused by the tool", "crashed", "arguments that are no JSON")


@pytest.mark.parametrize("how", FAILING if LONG_RUN else SUITE_FAILURES)
async def test_the_same_call_failing_in_a_row_stops_the_turn_and_says_why(home: Path, how: str) -> None:
    step, named, why = FAILING[how]
    model = Stubborn(lambda n: [step])
    session = await started(home, model)
    assert await session.submit("open it") is Outcome.FAILED
    error = last_error(session)
    assert model.asked_times == 5 and error.kind == "repeated_call"
    assert "the same call failed 5 times in a row" in error.what and f"{named}." in error.what and why in error.what
    assert "scripted" not in error.what, "the provider is not to blame"
    returns = [each for each in session.state.transcript if "tool-return" in str(each.message)]
    assert len(returns) == 5, "every failure is in the log, for the model to see"
    assert replayed(home, session.id) == session.state

    model.steps = lambda n: [step] if n < 10 else None
    assert await session.submit("Continue the work where you stopped.") is Outcome.DONE, "it counts from the prompt"
    await session.close()


async def test_a_call_that_fails_among_others_that_work_is_counted_by_replies(home: Path) -> None:
    model = Stubborn(lambda n: [key("right"), key("wrong"), key("wrong"), key(f"key {n}")])
    session = await started(home, model)
    assert await session.submit("open it") is Outcome.FAILED
    assert model.asked_times == 5 and "open_door wrong." in last_error(session).what
    await session.close()


async def test_something_else_in_between_starts_the_count_again(home: Path) -> None:
    model = Stubborn(lambda n: None if n > MANY else [key("right" if n % 5 == 0 else "wrong")])
    session = await started(home, model)
    assert await session.submit("open it") is Outcome.DONE
    await session.close()


async def test_arguments_in_another_order_are_the_same_call(home: Path) -> None:
    spellings = ('{"key": "a", "x": 1}', '{"x":1,"key":"a"}')
    model = Stubborn(lambda n: [("close_door", spellings[n % 2])])
    session = await started(home, model)
    assert await session.submit("close it") is Outcome.FAILED
    assert model.asked_times == 5
    await session.close()


async def test_a_tool_that_crashes_once_is_told_to_the_model_and_no_one_else_is_blamed(home: Path) -> None:
    model = Stubborn(lambda n: [("broken", "{}")] if n == 1 else None)
    session = await started(home, model)
    assert await session.submit("go") is Outcome.DONE
    assert "Input/output error" in str(model.seen[-1]) and not facts(list(session.state.timeline), SessionError)
    await session.close()


async def test_a_delegate_that_repeats_a_failing_call_is_stopped_and_the_agent_that_asked_is_told(
    home: Path, folder: Path
) -> None:
    again = [{0: call("read_file", f"r{n}", file="a.txt")} for n in range(9)]
    model = Model([("self", "Look")], {"Look": again})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    (failed,) = facts(stored_events(home, session.id), DelegationEnd)
    assert failed.outcome == "failed" and "the same call failed 5 times in a row: read a.txt" in failed.error
    assert len(model.sent("Look")) == 5 and "self 1 failed: Stopped" in model.sent("")[-1]
    await ended(made, session, home)


async def test_a_delegate_may_fail_in_many_ways(home: Path, folder: Path) -> None:
    steps = [{0: call("read_file", f"r{n}", file=f"{n}.txt")} for n in range(12)]
    model = Model([("self", "Look")], {"Look": steps})
    made = project(home, folder, {}, model)
    session = await Session.start(made, "scripted")
    assert await session.submit("Go.") is Outcome.DONE
    assert session.state.delegations["self 1"].status == "done" and len(model.sent("Look")) == 13
    await ended(made, session, home)


def notes_in(model: Stubborn) -> list[str]:
    """What the model was told about repeated calls."""
    texts = [str(getattr(part, "content", "")) for message in model.seen for part in message.parts]
    return [text for text in texts if text.startswith("[Note from co-tui, not from the user]")]


async def test_a_call_with_the_same_result_for_the_fourth_time_is_pointed_out(home: Path) -> None:
    model = Stubborn(lambda n: [key("right")] if n < 4 else None)
    session = await started(home, model)
    assert await session.submit("open it") is Outcome.DONE and notes_in(model) == []
    model.steps = lambda n: [key("right")] if n < 9 else None
    assert await session.submit("again") is Outcome.DONE
    [told] = notes_in(model)
    assert "The call open_door right had the same result 4 times. Do not make it again" in told
    assert replayed(home, session.id) == session.state
    await session.close()


@only_in_a_long_run
async def test_failures_count_and_so_do_results_between_others(home: Path) -> None:
    model = Stubborn(lambda n: ([key("right")] if n % 2 else [key("wrong"), key(f"key {n}")]) if n < 9 else None)
    session = await started(home, model)
    assert await session.submit("open it") is Outcome.DONE
    assert [each.partition("\n")[2].partition(" had ")[0] for each in notes_in(model)] == [
        "The call open_door right",
        "The call open_door wrong",
    ]
    await session.close()


async def test_another_result_is_not_the_same(home: Path) -> None:
    times = iter(range(100))

    def count() -> str:
        return f"{next(times)}"

    model = Stubborn(lambda n: [("count", "{}")] if n < 9 else None)
    session = await Session.start(environment_for(home, model, tools=[count]), "scripted")
    assert await session.submit("count") is Outcome.DONE and notes_in(model) == []
    await session.close()


def test_each_reply_is_read_once_for_repeated_results(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ToolCallPart] = []

    def identity(part: ToolCallPart) -> str:
        read.append(part)
        return str(part.args)

    monkeypatch.setattr(repeated_calls, "_identity", identity)
    monkeypatch.setattr(repeated_calls, "_name", str)
    repeated, messages, notes = RepeatedResults(), list[ModelMessage]([ModelRequest.user_text_prompt("go")]), []
    for n in range(100):
        messages += [
            ModelResponse(parts=[ToolCallPart("look", f"{n % 30}", tool_call_id=f"c{n}")]),
            ModelRequest(parts=[ToolReturnPart("look", "nothing", tool_call_id=f"c{n}")]),
        ]
        notes += [*repeated.new_notes(messages), *repeated.new_notes(messages)]
    assert len(read) == 100
    assert [note.split(" had ")[0] for note in notes] == [f"The call {n}" for n in range(10)]
    messages.append(ModelRequest.user_text_prompt("and now?"))
    assert list(repeated.new_notes(messages)) == []
