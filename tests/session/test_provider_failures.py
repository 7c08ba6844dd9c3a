"""What a provider can do to a turn, and what is left of the session afterwards."""

import json
from pathlib import Path

import pytest

from co_tui.agent.models import ModelConfig, open_model
from co_tui.events import Message, SessionError, StreamReset
from co_tui.paths import locate
from co_tui.session.desk import Desk
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.turn import Outcome
from co_tui.settings import Settings
from co_tui.store.writer import Writer
from tests.support.desks import facts
from tests.support.provider import Provider, Reply

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
async def session(home: Path, provider: Provider):
    paths = locate({"CO_TUI_HOME": str(home)})
    config = ModelConfig(
        environ={"OPENAI_API_KEY": KEY}, fetched_models=paths.models, base_url=provider.url, request_timeout_s=1.0
    )
    desk = Desk(
        paths=paths,
        settings=Settings(max_retries=2),
        writer=Writer(paths.database),
        open_model=lambda name: open_model(name, config),
        cwd=home,
        first_backoff_s=0.01,
    )
    session = await Session.start(desk, "openai-chat:scripted")
    yield session
    await session.close()


def error(message: str, code: str = "", kind: str = "") -> str:
    return json.dumps({"error": {"message": message, "type": kind, "code": code}})


PASSING = {
    "429": Reply(status=429, body=error("Rate limit reached", "rate_limit_exceeded"), headers={"Retry-After": "0"}),
    "500": Reply(status=500, body=error("The server had an error")),
    "503": Reply(status=503, body="<html>upstream unavailable</html>"),
    "reset": Reply(text="half of an ans wer", reset_after=3),
    "reset at once": Reply(reset_after=0),
    "garbage": Reply(garbage=True),
    "silence": Reply(text="one two three", delay_s=2.5),
}


@pytest.mark.parametrize("name", PASSING)
async def test_passing_failures_are_retried_and_told(name: str, session: Session, provider: Provider) -> None:
    provider.script = [PASSING[name], Reply(text="All good now.")]
    listener = session.events()
    assert await session.submit("hi") is Outcome.DONE
    told = facts(list(session.state.timeline), SessionError)
    assert len(told) == 1 and told[0].retry_in_s is not None and "retrying" in told[0].outcome
    assert session.state.transcript[-1].message["parts"][0]["content"].strip() == "All good now."
    assert len(session.state.transcript) == 2
    listener.put(None)
    assert facts([event async for event in listener], StreamReset)


async def test_what_was_streamed_before_a_reset_is_kept_in_the_event(session: Session, provider: Provider) -> None:
    provider.script = [Reply(text="half of an answer", reset_after=3)]
    await session.submit("hi")
    assert facts(list(session.state.timeline), SessionError)[0].partial == "half of "


async def test_after_the_last_retry_the_half_reply_is_kept_and_the_session_goes_on(
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


@pytest.mark.parametrize("kind", FINAL)
async def test_final_failures_are_told_once_and_never_show_a_key(
    kind: str, session: Session, provider: Provider
) -> None:
    reply, word = FINAL[kind]
    provider.script = [reply]
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert told.kind == kind and word in told.what and KEY not in told.what
    assert len(provider.requests) == 1
    assert await session.submit("again") is Outcome.DONE


async def test_a_retry_in_the_middle_of_a_turn_never_runs_a_tool_twice(home: Path, provider: Provider) -> None:
    from pydantic_ai.toolsets import FunctionToolset

    runs = []

    def count() -> str:
        runs.append(1)
        return f"run {len(runs)}"

    paths = locate({"CO_TUI_HOME": str(home)})
    config = ModelConfig(environ={}, fetched_models=paths.models, base_url=provider.url)
    desk = Desk(
        paths=paths,
        settings=Settings(),
        writer=Writer(paths.database),
        open_model=lambda name: open_model(name, config),
        cwd=home,
        toolsets=[FunctionToolset([count])],
        first_backoff_s=0.01,
    )
    provider.script = [Reply(text="Let me", tool=("count", "{}")), Reply(status=500, body="oops"), Reply(text="done")]
    listener = Listener()
    session = await Session.start(desk, "openai-chat:scripted", listener)
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
    desk = Desk(
        paths=paths,
        settings=Settings(max_retries=0),
        writer=Writer(paths.database),
        open_model=lambda name: open_model(name, config),
        cwd=home,
    )
    session = await Session.start(desk, "openai-chat:x")
    assert await session.submit("hi") is Outcome.FAILED
    (told,) = facts(list(session.state.timeline), SessionError)
    assert "http://127.0.0.1:9/v1" in told.what and told.kind == "unreachable"
    await session.close()
