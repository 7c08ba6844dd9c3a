"""Whatever is asked, stopped, cut, compacted, rewound, forked, switched, delegated or resumed, in whatever order: every
request obeys the rules of its wire, and the conversation continues.

`CO_TUI_LONG_RUN=200 uv run pytest tests/session/turns/test_any_order_on_the_wires.py` draws 200 orders.
"""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai_harness import SubAgents

from co_tui.events import StreamDelta
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.environment import Environment
from co_tui.session.runtime.runtime_switcher import WindowTooSmall
from co_tui.session.session import Session
from co_tui.session.state.history_edits import NothingToUndo
from co_tui.session.turns.turn import Outcome
from tests.support.environments import environment_for
from tests.support.long_run import drawn
from tests.support.provider import Provider
from tests.support.provider_sessions import ALL, handle_for
from tests.support.waiting import PATIENCE_S, next_fact, until
from tests.support.wires import SPEAK, Spoken

pytestmark = pytest.mark.filterwarnings("ignore")
POLICIES = ("balanced", "cowagent", "inkeep", "copilot", "co-cli", "off")
MOMENT_S = 0.1
"""How long to wait for something to be shown before it is stopped."""
LONG = "many words about it " * 400

replies = st.builds(
    Spoken,
    text=st.sampled_from(["", "Said.", " \n", LONG, LONG]),
    calls=st.sampled_from(
        [(), (), (("call_1", "look", "{}"),), (("call_1", "look", "{}"), ("call_2", "no such tool", '{"a": 1}'))]
    ),
    thoughts=st.sampled_from([(), ("A thought.",), ("A thought.", "Another.")]),
    too_long=st.sampled_from([False] * 7 + [True]),
)
SUMMARY = Spoken("Title: So far\n## Decisions and outcomes\n- Many words were said about it.", thoughts=[])
PLACES = st.integers(0, 40)
steps = st.one_of(
    st.tuples(st.just("ask"), st.lists(replies, min_size=1, max_size=3)),
    st.tuples(st.just("stop"), replies, PLACES),
    st.tuples(st.just("cut"), replies, PLACES),
    st.tuples(st.just("delegate"), replies),
    st.tuples(st.sampled_from(["undo", "fork", "resume", "clear", "retry"])),
    st.tuples(st.just("compact")),
    st.tuples(st.sampled_from(["rewind", "pin"]), PLACES),
    st.tuples(st.just("switch"), st.sampled_from([*ALL])),
)


class Conversation:
    """One session with a provider that speaks all wires, and what is done with it."""

    def __init__(self, home: Path, provider: Provider, claude: str, policy: str, window: int) -> None:
        def look() -> str:
            return LONG

        self.provider, self.window, self.claude = provider, window, claude
        self.environment: Environment = environment_for(home, tools=[look], max_retries=0, policy=policy)
        self.environment.open_model = self._open
        self.environment.capabilities = [SubAgents(include_self=True, contain_errors=True)]
        self.wire = "anthropic"
        self.session: Session

    async def _open(self, name: str) -> Any:
        options = {"model": self.claude} if name == "anthropic" else {}
        handle: Any = handle_for(name, self.provider, **options)
        handle.known_window_tokens = self.window
        return handle

    async def run(self, wire: str, order: list[tuple[Any, ...]]) -> None:
        self.wire = wire
        self.session = await Session.start(self.environment, wire)
        try:
            await self.ask([Spoken("Hello.")])
            for name, *given in order:
                self.provider.script = []
                self.provider.default, self.provider.summary = Spoken("Done.").on(self.wire), SUMMARY.on(self.wire)
                async with asyncio.timeout(PATIENCE_S):
                    await getattr(self, name)(*given)
                assert not self.provider.broken_rules, f"after {name}"
            assert await self.ask([Spoken("The end.")]) is Outcome.DONE
            assert not self.provider.broken_rules, "at the end"
        finally:
            await self.session.close()
            self.environment.store.close()

    async def ask(self, said: list[Spoken]) -> Outcome:
        self.provider.default = Spoken("Done.").on(self.wire)
        self.provider.script = [each.on(self.wire) for each in said]
        return await self.session.submit("Go on.")

    async def stop(self, said: Spoken, place: int) -> None:
        await self._partly(said, place, stays_open=True)

    async def cut(self, said: Spoken, place: int) -> None:
        await self._partly(said, place, stays_open=False)

    async def _partly(self, said: Spoken, place: int, *, stays_open: bool) -> None:
        upto = place % len([*SPEAK[self.wire](said)])
        self.provider.script = [said.on(self.wire, upto=upto, stays_open=stays_open)]
        asked, listener = len(self.provider.requests), self.session.events()
        running = asyncio.create_task(self.session.submit("Go on."))
        if stays_open:
            await until(lambda: len(self.provider.requests) > asked or running.done())
            with contextlib.suppress(TimeoutError):  # some events show nothing
                await next_fact(listener, StreamDelta, MOMENT_S)
            self.session.interrupt()
        await running

    async def delegate(self, said: Spoken) -> None:
        task = json.dumps({"agent_name": "self", "task": "Look."})
        asks = Spoken("I ask another.", calls=[("call_d", "delegate_task", task)])
        await self.ask([asks, said])

    async def compact(self) -> None:
        with contextlib.suppress(CompactionRefused):
            await self.session.compact()

    async def undo(self) -> None:
        with contextlib.suppress(NothingToUndo):
            await self.session.edits.undo()

    async def clear(self) -> None:
        await self.session.edits.clear()

    async def rewind(self, place: int) -> None:
        with contextlib.suppress(NothingToUndo):
            await self.session.edits.rewind(place % (self.session.state.turn + 1))

    async def pin(self, place: int) -> None:
        said = self.session.state.transcript
        await self.session.edits.pin([said[place % len(said)].ref])

    async def retry(self) -> None:
        await self.session.retry()

    async def switch(self, wire: str) -> None:
        with contextlib.suppress(WindowTooSmall):
            await self.session.switcher.switch_model(wire)
            self.wire = wire

    async def fork(self) -> None:
        forked = await self.session.fork()
        await self._reopen(forked)

    async def resume(self) -> None:
        await self._reopen(self.session.id)

    async def _reopen(self, session_id: str) -> None:
        await self.session.close()
        self.session = await Session.resume(self.environment, session_id)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@settings(max_examples=drawn(2), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wire=st.sampled_from([*ALL]),
    claude=st.sampled_from(["claude-sonnet-5", "claude-opus-5-5"]),
    policy=st.sampled_from(POLICIES),
    window=st.sampled_from([6_000, 100_000]),
    order=st.lists(steps, min_size=3, max_size=8),
)
def test_every_request_obeys_the_rules_of_its_wire(
    provider: Provider,
    runner: asyncio.Runner,
    wire: str,
    claude: str,
    policy: str,
    window: int,
    order: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as home:
        provider.broken_rules.clear()
        runner.run(Conversation(Path(home), provider, claude, policy, window).run(wire, order))
