"""Whatever a provider sends: the turn ends as it should, in words, and the session continues."""

import asyncio
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from co_tui.agent.model_messages import UNREADABLE, read_messages
from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.events import SessionError
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import environment_for, facts
from tests.support.long_run import LONG_RUN, drawn
from tests.support.provider import Provider
from tests.support.replies import Case, cases, shown
from tests.support.waiting import PATIENCE_S

KEY = "sk-test-0123456789abcdef"
SILENCE_S = 1.0
MOST_MEMORY_KB = 400_000
"""How much more a whole run may take than the process had."""

# As in the app itself, which silences what libraries warn of.
pytestmark = pytest.mark.filterwarnings("ignore")


class Ground:
    """One provider and one environment for all cases; every case has a session of its own."""

    def __init__(self, home: Path, provider: Provider, runner: asyncio.Runner) -> None:
        self.provider = provider
        self.runner = runner
        self.environment: Environment = environment_for(home, tools=[poke], max_retries=0)
        config = ModelConfig(
            environ={"OPENAI_API_KEY": KEY}, fetched_models=home, base_url=provider.url, request_timeout_s=SILENCE_S
        )
        self.environment.open_model = lambda name: open_model(name, config)

    def converse(self, case: Case) -> None:
        self.runner.run(self._converse(case))

    async def _converse(self, case: Case) -> None:
        """A bad reply, then a good one; then the session is closed and opened again."""
        POKES.clear()
        async with asyncio.timeout(PATIENCE_S):
            session = await Session.start(self.environment, "openai-chat:scripted")
            try:
                self.provider.script = [case.reply]
                judge(case, await session.submit("hi"), session)
                self.provider.script = []
                assert await session.submit("again") is Outcome.DONE
                state = session.state
                assert await self.environment.stored_state(session.id) == state
            finally:
                await session.close()
            await (await Session.resume(self.environment, session.id)).close()
        parsed = read_messages([entry.message for entry in state.transcript])
        assert UNREADABLE not in str(parsed)


def judge(case: Case, outcome: Outcome, session: Session) -> None:
    """The outcome is the reply's, what came of it is kept, and the sentence is fit to be read."""
    last = session.state.transcript[-1]
    said = "".join(part["content"] for part in last.message["parts"] if part["part_kind"] == "text")
    told = [
        each for each in facts(list(session.state.timeline), SessionError) if each.kind != "length" or not case.sound
    ]
    assert outcome is (Outcome.DONE if case.sound else Outcome.FAILED), told
    assert POKES == []
    if case.sound:
        assert not told and not last.interrupted and said == shown(case.text)
        return
    (failure,) = told
    assert (
        failure.what.startswith(("openai-chat:scripted", "Unknown model openai-chat:scripted", "The "))
        and failure.what.rstrip("…").strip()
    ), failure.what
    assert "openai-chat:scripted" in failure.what and failure.kind != "unexpected", failure.what
    assert not any(word in failure.what for word in ("unexpectedly", "Traceback", "site-packages", KEY, KEY[:12]))
    assert len(failure.what) < 1_000
    if last.interrupted:
        assert case.text.startswith("It says: ") and said.startswith("It says: ")
    else:
        assert last.message["kind"] == "request"


POKES: list[str] = []


def poke(a: str = "") -> str:
    POKES.append(a)
    return "poked"


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with Provider().serving() as provider, asyncio.Runner() as runner:
        made = Ground(tmp_path_factory.mktemp("home"), provider, runner)
        yield made
        made.environment.store.close()


@settings(
    max_examples=drawn(6),
    deadline=None,
    derandomize=not LONG_RUN,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=cases)
def test_any_reply_leaves_a_session_that_continues(ground: Ground, case: Case) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ground.converse(case)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY_KB
