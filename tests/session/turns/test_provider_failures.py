"""What a provider can do to a turn, and what is left of the session afterwards."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.toolsets import FunctionToolset

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.events import Message, SessionError, StreamReset, UsageInfo
from co_tui.paths import locate
from co_tui.session.environment import Environment
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.turns.attempts import LONGEST_BACKOFF_S
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import Settings
from co_tui.store.sqlite.store import SqliteStore
from tests.support.cases import named_case
from tests.support.environments import facts
from tests.support.long_run import LONG_RUN, also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.replies import DONE, HELLO, STOP, call, chunk, sse
from tests.support.stores import stored_events
from tests.support.waiting import PATIENCE_S, next_fact

KEY = "sk-test-0123456789abcdef"
PLAIN_KEY = "f3a9c1d2e4b5a697"
"""A key that does not look like one, in whole or in part."""


POKES: list[str] = []


def poke(a: str = "") -> str:
    POKES.append(a)
    return "poked"


@pytest.fixture
async def poked(session: Session):
    """A session whose model may poke."""
    POKES.clear()
    session._environment.toolsets = [FunctionToolset([poke])]
    return session


@pytest.fixture
async def session(home: Path, provider: Provider, request: pytest.FixtureRequest):
    """May be given how long a request may be silent."""
    paths = locate({"CO_TUI_HOME": str(home)})
    config = ModelConfig(
        environ={"OPENAI_API_KEY": KEY, "GROQ_API_KEY": PLAIN_KEY},
        fetched_models=paths.models,
        base_url=provider.url,
        request_timeout_s=getattr(request, "param", PATIENCE_S),
    )
    environment = Environment(
        paths=paths,
        settings=Settings(max_retries=2),
        store=SqliteStore(paths),
        open_model=lambda name: open_model(name, config),
        workplace=LocalWorkplace(home),
        first_backoff_s=0.01,
    )
    session = await Session.start(environment, "openai-chat:scripted")
    yield session
    await session.close()
    environment.store.close()


def error(message: str, code: str = "", kind: str = "") -> str:
    return json.dumps({"error": {"message": message, "type": kind, "code": code}})


PASSING = {
    "429": Reply(status=429, body=error("Rate limit reached", "rate_limit_exceeded"), headers={"Retry-After": "0"}),
    "500": Reply(status=500, body=error("The server had an error")),
    "503": Reply(status=503, body="<html>upstream unavailable</html>"),
    "reset": Reply(text="half of an ans wer", reset_after=3),
    "reset at once": Reply(reset_after=0),
    "garbage": Reply(garbage=True),
}
SILENT = {
    "silence": Reply(text="one two three", delay_s=2.5),
    "a byte now and then": Reply(raw=(sse(HELLO), *([0.2, b": \n"] * 20))),
}


@pytest.mark.parametrize(("session", "failures"), [(PATIENCE_S, PASSING), (1.0, SILENT)], indirect=["session"])
async def test_passing_failures_are_retried_and_reported(
    session: Session, provider: Provider, failures: dict[str, Reply]
) -> None:
    for turn, (name, failure) in enumerate(failures.items(), 1):
        with named_case(name):
            provider.script = [failure, Reply(text="All good now.")]
            listener, before = session.events(), len(session.state.timeline)
            assert await session.submit("hi") is Outcome.DONE
            (told,) = facts(list(session.state.timeline)[before:], SessionError)
            assert told.retry_in_s is not None and "retrying" in told.outcome
            assert session.state.transcript[-1].message["parts"][0]["content"].strip() == "All good now."
            assert len(session.state.transcript) == 2 * turn
            listener.put(None)
            assert facts([event async for event in listener], StreamReset)


CUT_OFF = {
    "no end": sse(HELLO),
    "half a line": sse(HELLO) + b'data: {"choices": [{"delta": {"conte',
    "an error": sse(HELLO, {"error": {"message": "the model crashed", "code": 500}}),
    "an error as Anthropic tells it": sse(HELLO)
    + b"event: error\n"
    + sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "an error that is no object": sse(HELLO, {"error": "out of memory"}),
    "an error beside the format": sse(HELLO, {"object": "error", "message": "out of memory"}),
    "half a call": sse(HELLO, call("poke", '{"a": ')),
    "a call without an end": sse(HELLO, call("poke", "{}")),
}


SUITE_CUTS = ("half a line", "an error as Anthropic tells it", "an error that is no object", "a call without an end")


async def test_a_reply_that_breaks_off_is_asked_for_again_and_kept_as_interrupted(
    poked: Session, provider: Provider
) -> None:
    for name in CUT_OFF if LONG_RUN else SUITE_CUTS:
        with named_case(name):
            provider.script = [Reply(raw=(CUT_OFF[name],))] * 3
            before = len(poked.state.timeline)
            assert await poked.submit("hi") is Outcome.FAILED
            told = facts(list(poked.state.timeline)[before:], SessionError)
            assert [each.retry_in_s is None for each in told] == [False, False, True]
            assert told[0].partial == "Hello there." and told[-1].what.startswith("openai-chat:scripted")
            last = poked.state.transcript[-1]
            assert last.interrupted and [part["content"] for part in last.message["parts"]] == ["Hello there."]
            assert POKES == []
    assert await poked.submit("again") is Outcome.DONE


@pytest.mark.parametrize(
    "end", also_in_a_long_run([sse(STOP), sse(DONE), sse(chunk({}, "length"))], [sse(STOP, DONE)]), ids=len
)
async def test_a_reply_is_whole_when_its_end_is_reported_either_way(
    end: bytes, session: Session, provider: Provider
) -> None:
    provider.script = [Reply(raw=(sse(HELLO) + end,))]
    assert await session.submit("hi") is Outcome.DONE
    told = [each.kind for each in facts(list(session.state.timeline), SessionError)]
    assert not session.state.transcript[-1].interrupted and told == (["length"] if b"length" in end else [])


@pytest.mark.parametrize(
    ("name", "arguments", "call_id"), [("po\ud800ke", "{}", "c1"), ("poke", '{"a": "\ud800"}', "c\ud800")]
)
async def test_a_call_with_half_a_character_does_no_harm(
    name: str, arguments: str, call_id: str, poked: Session, provider: Provider
) -> None:
    provider.script = [Reply(raw=(sse(call(name, arguments, call_id), chunk({}, "tool_calls"), DONE),))]
    assert await poked.submit("hi") is Outcome.DONE
    assert await poked.submit("again") is Outcome.DONE
    "".join(str(entry.message) for entry in poked.state.transcript).encode()


async def test_a_tool_may_return_anything(poked: Session, provider: Provider) -> None:
    anything = also_in_a_long_run([{"name": "\ud800"}, object(), float("nan")], ["a\udcffb", {1, 2}, b"\xff", 10**400])
    left = list(anything)

    def odd() -> Any:
        return left.pop(0)

    poked._environment.toolsets = [FunctionToolset([odd])]
    for number, returned in enumerate(anything):
        provider.script = [Reply(text="Let me see.", tool=("odd", "{}"))]
        assert await poked.submit("hi") is Outcome.DONE, returned
        assert [part["part_kind"] for part in poked.state.transcript[4 * number + 2].message["parts"]] == [
            "tool-return"
        ]
    assert await poked.submit("again") is Outcome.DONE


async def test_a_reply_without_end_is_stopped_and_what_came_is_kept(
    session: Session, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_tui.agent.wire.guarded_model.MOST_REPLY_CHARS", 1_000)
    provider.script = [Reply(raw=(sse(*[chunk({"content": "x" * 100})] * 50, STOP),))]
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert told.kind == "too_long" and "longer than 1,000 characters" in told.what
    last = session.state.transcript[-1]
    assert last.interrupted and len(last.message["parts"][0]["content"]) == 1_000
    assert await session.submit("again") is Outcome.DONE


async def test_a_reply_of_any_size_on_the_wire_is_stopped(
    session: Session, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("co_tui.agent.wire.http.MOST_REPLY_BYTES", 10_000)
    provider.script = [Reply(raw=(sse(HELLO), b": keep alive\n\n" * 2_000, sse(STOP)))]
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert told.kind == "too_long" and session.state.transcript[-1].interrupted


async def test_a_redirect_gets_neither_the_conversation_nor_the_key(session: Session, provider: Provider) -> None:
    with Provider().serving() as other:
        place = {"Location": f"{other.url}/chat/completions"}
        provider.script = [Reply(status=307, headers=place, raw=(b"",))]
        assert await session.submit("hi") is Outcome.FAILED
        assert other.requests == []
    (told,) = facts(list(session.state.timeline), SessionError)
    assert told.kind == "redirect" and "OPENAI_BASE_URL" in told.what


@pytest.mark.parametrize("before", also_in_a_long_run([390], [380, 395]))
async def test_an_error_is_hidden_before_it_is_cut(before: int, session: Session, provider: Provider) -> None:
    provider.script = [Reply(status=400, body=error(f"{'x' * before} {PLAIN_KEY} {'y' * 100}"))]
    await session.submit("hi")
    (told,) = facts(list(session.state.timeline), SessionError)
    assert PLAIN_KEY[:2] not in told.what and "… If this persists, choose another" in told.what


@pytest.mark.parametrize(
    "body",
    also_in_a_long_run(['{"error":' * 900 + "1" + "}" * 900], ["[" * 30_000, '{"error":' * 30_000]),
    ids=len,
)
async def test_an_error_nested_without_end_is_reported(body: str, session: Session, provider: Provider) -> None:
    provider.script = [Reply(status=400, body=body)]
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert told.kind == "rejected" and len(told.what) <= 500
    assert await session.submit("again") is Outcome.DONE


ODD = {
    "choices": (sse({"choices": 5}), "`choices` is a number, not a list"),
    "a list": (sse(b"[1]"), "a list instead of"),
    "content": (sse(chunk({"content": 5})), "`content` is a number, not a text"),
    "nested": (sse(b"[" * 30_000), "nested too deeply"),
    "nothing": (b"", "an empty reply"),
    "no words": (sse(chunk({"content": ""}), STOP), "an empty reply"),
    "no text": (sse(b'{"choices": "\xff"}'), "unreadable reply"),
}


async def test_an_odd_reply_is_reported_with_what_is_odd_about_it(session: Session, provider: Provider) -> None:
    for name in ODD if LONG_RUN else ("content", "nested", "nothing", "no text"):
        with named_case(name):
            body, word = ODD[name]
            provider.default = Reply(raw=(body,))
            before = len(session.state.timeline)
            assert await session.submit("hi") is Outcome.FAILED
            told = facts(list(session.state.timeline)[before:], SessionError)
            assert {each.kind for each in told} == {"malformed"} and len(told) == 3
            assert word in told[-1].what and "openai-chat:scripted" in told[-1].what
    provider.default = Reply()
    assert await session.submit("again") is Outcome.DONE


async def test_feedback_about_an_empty_reply_goes_with_one_request_and_is_not_kept(
    session: Session, provider: Provider
) -> None:
    empty = Reply(raw=(sse(chunk({"content": ""}), STOP, DONE),))
    provider.script = [empty, Reply(text="Said."), *[empty] * 6, Reply()]
    for prompt, outcome in (("hi", Outcome.DONE), ("again", Outcome.FAILED), ("more", Outcome.DONE)):
        assert await session.submit(prompt) is outcome
    asked = ["Please return text" in str(each["messages"]) for each in provider.requests]
    assert asked == [False, True, *[False, True] * 3, False]
    assert "Please return text" not in str([entry.message for entry in session.state.transcript])


async def test_a_reply_that_a_content_filter_withheld_is_not_asked_for_again(
    session: Session, provider: Provider
) -> None:
    provider.script = [Reply(raw=(sse(chunk({"content": ""}), chunk({}, "content_filter"), DONE),))]
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert (told.kind, told.what) == ("filtered", "openai-chat:scripted's content filter withheld the reply.")
    assert len(provider.requests) == 1 and await session.submit("again") is Outcome.DONE


USAGES: list[Any] = [
    {"prompt_tokens": 1.5, "completion_tokens": 2},
    {"prompt_tokens": 10**30, "completion_tokens": 2},
    {"prompt_tokens": -1, "completion_tokens": "two"},
    {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 10**30}},
    [1, 2],
    5,
]


@pytest.mark.parametrize("told", also_in_a_long_run(USAGES[1:3], [USAGES[0], *USAGES[3:]]))
async def test_a_count_that_cannot_be_is_not_believed(
    told: Any, session: Session, provider: Provider, home: Path
) -> None:
    provider.script = [Reply(raw=(sse(HELLO, STOP, chunk({}, choices=[], usage=told), DONE),))]
    assert await session.submit("hi") is Outcome.DONE
    assert await session.submit("again") is Outcome.DONE
    usages = facts(stored_events(home, session.id), UsageInfo)
    assert all(isinstance(each.current_tokens, int) and 0 < each.current_tokens < 10_000 for each in usages)


async def test_half_a_character_does_not_stop_the_conversation(session: Session, provider: Provider) -> None:
    halves = [chunk({"content": text}) for text in ("a\ud83d", "\ude00 b\ud800c", "\udfff")]
    provider.script = [Reply(raw=(sse(*halves, STOP, DONE),))]
    assert await session.submit("hi") is Outcome.DONE
    assert session.state.transcript[-1].message["parts"][0]["content"] == "a🙀 b\ufffdc\ufffd".replace("🙀", "😀")
    assert await session.submit("again") is Outcome.DONE
    assert "😀" in str(provider.requests[-1]["messages"])


@pytest.mark.parametrize(("header", "waits_s"), [("7", 7.0), ("3600", LONGEST_BACKOFF_S)])
async def test_a_provider_is_not_asked_again_before_the_time_it_named(
    session: Session, provider: Provider, header: str, waits_s: float
) -> None:
    body = error("Rate limit reached", "rate_limit_exceeded")
    provider.script = [Reply(status=429, body=body, headers={"Retry-After": header})]
    listener = session.events()
    turn = asyncio.create_task(session.submit("hi"))
    told = await next_fact(listener, SessionError)
    assert told.retry_in_s == waits_s and f"retrying in {waits_s:.1f} s" in told.outcome
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED and len(provider.requests) == 1


async def test_what_was_streamed_before_a_reset_is_kept_in_the_event(session: Session, provider: Provider) -> None:
    provider.script = [Reply(text="half of an answer", reset_after=3)]
    await session.submit("hi")
    assert facts(list(session.state.timeline), SessionError)[0].partial == "half of "


async def test_after_the_last_retry_the_half_reply_is_kept_and_the_session_continues(
    session: Session, provider: Provider
) -> None:
    provider.script = [Reply(text="half of an answer", reset_after=3)] * 3
    assert await session.submit("hi") is Outcome.FAILED
    assert len(facts(list(session.state.timeline), SessionError)) == 3
    last = session.state.transcript[-1]
    assert last.interrupted and last.message["parts"][0]["content"] == "half of "
    assert await session.submit("again") is Outcome.DONE


FINAL = {
    "authentication": (Reply(status=401, body=error(f"Incorrect API key provided: {KEY}")), "OPENAI_API_KEY"),
    "not_found": (Reply(status=404, body=error("no such model", "model_not_found")), "openai-chat:scripted"),
    "rejected": (Reply(status=400, body=error("bad request")), "bad request"),
    "quota": (Reply(status=429, body=error("You exceeded your quota", "insufficient_quota")), "credit"),
}


async def test_final_failures_are_reported_once_and_never_show_a_key(session: Session, provider: Provider) -> None:
    for number, (kind, (reply, word)) in enumerate(FINAL.items(), 1):
        with named_case(kind):
            provider.script, before = [reply], len(session.state.timeline)
            assert await session.submit("hi") is Outcome.FAILED
            (told,) = facts(list(session.state.timeline)[before:], SessionError)
            assert told.kind == kind and word in told.what and KEY not in told.what
            assert len(provider.requests) == number
    assert await session.submit("again") is Outcome.DONE


async def test_a_retry_in_the_middle_of_a_turn_never_runs_a_tool_twice(home: Path, provider: Provider) -> None:
    runs = []

    def count() -> str:
        runs.append(1)
        return f"run {len(runs)}"

    paths = locate({"CO_TUI_HOME": str(home)})
    config = ModelConfig(environ={}, fetched_models=paths.models, base_url=provider.url)
    environment = Environment(
        paths=paths,
        settings=Settings(),
        store=SqliteStore(paths),
        open_model=lambda name: open_model(name, config),
        workplace=LocalWorkplace(home),
        toolsets=[FunctionToolset([count])],
        first_backoff_s=0.01,
    )
    provider.script = [Reply(text="Let me", tool=("count", "{}")), Reply(status=500, body="oops"), Reply(text="done")]
    listener = Listener()
    session = await Session.start(environment, "openai-chat:scripted", listener)
    assert await session.submit("count once") is Outcome.DONE
    assert runs == [1]
    roles = [message["role"] for message in provider.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    await session.close()
    messages = facts([event async for event in listener], Message)
    assert len(messages) == 4


async def test_a_server_that_is_not_there_is_named(home: Path) -> None:
    paths = locate({"CO_TUI_HOME": str(home)})
    config = ModelConfig(environ={}, fetched_models=paths.models, base_url="http://127.0.0.1:9/v1")
    environment = Environment(
        paths=paths,
        settings=Settings(max_retries=0),
        store=SqliteStore(paths),
        open_model=lambda name: open_model(name, config),
        workplace=LocalWorkplace(home),
    )
    session = await Session.start(environment, "openai-chat:x")
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert "http://127.0.0.1:9/v1" in told.what and told.kind == "unreachable"
    await session.close()


FAILED = Reply(status=401, body=error("Incorrect API key provided"))


async def test_retrying_sends_the_failed_request_again_and_adds_no_prompt(poked: Session, provider: Provider) -> None:
    provider.script = [FAILED, Reply(text="", tool=("poke", "{}")), FAILED, Reply(text="there")]
    assert await poked.submit("hi") is Outcome.FAILED
    assert await poked.retry() is Outcome.FAILED, "again, with the tool's result"
    assert await poked.retry() is Outcome.DONE
    first, again, with_result, last = (each["messages"] for each in provider.requests)
    assert first == again and with_result == last, "the same words, and nothing more"
    assert POKES == [""] and poked.state.turn == 1
    assert [entry.message["kind"] for entry in poked.state.transcript] == ["request", "response"] * 2
    assert await poked.retry() is None and len(provider.requests) == 4, "an answered prompt is not sent again"
