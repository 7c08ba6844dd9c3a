"""A prompt that joins the turn which runs: given to the model with its next request, and never lost."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import DeltaToolCall

from co_tui.agent.model_messages import read_messages
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from tests.context.request.test_repair import breaches
from tests.support.environments import ScriptedModel, environment_for
from tests.support.stores import replayed
from tests.support.waiting import until


class Digging:
    """A model that digs as often as it is asked to, and a tool that waits for a sign each time."""

    def __init__(self, digs: int) -> None:
        self._digs = digs
        self.begun = 0
        self.signs = asyncio.Semaphore(0)
        self.sent: list[list[ModelMessage]] = []

    async def dig(self, where: str) -> str:
        self.begun += 1
        await self.signs.acquire()
        return f"dug at {where}"

    async def script(self, messages, info):
        assert breaches(messages) == []
        self.sent.append(messages)
        if len(self.sent) <= self._digs:
            calls = ("left", "right")
            yield {
                n: DeltaToolCall("dig", f'{{"where": "{at}"}}', tool_call_id=f"{at}{len(self.sent)}")
                for n, at in enumerate(calls)
            }
        else:
            yield "done"

    async def start(self, home: Path, **settings: Any) -> Session:
        environment = environment_for(home, ScriptedModel(self.script), tools=[self.dig], **settings)
        environment.environ = {"PATH": "/usr/bin:/bin"}
        return await Session.start(environment, "scripted")


def said(messages: list[ModelMessage]) -> list[str]:
    """Prompts by their words, all else by its kind."""
    parts = [part for message in messages for part in message.parts]
    return [part.content if part.part_kind == "user-prompt" else part.part_kind for part in parts]


async def closed(home: Path, session: Session) -> None:
    """The log is sound: in pairs, and replayed to the same state."""
    assert breaches(read_messages([entry.message for entry in session.state.history])) == []
    await session.close()
    assert replayed(home, session.id) == session.state


async def test_it_reaches_the_model_after_the_results_it_waits_for_and_in_the_same_turn(home: Path) -> None:
    digging = Digging(digs=2)
    session = await digging.start(home)
    turn = asyncio.create_task(session.submit("dig"))
    await until(lambda: digging.begun == 1)
    later = asyncio.create_task(session.submit("and then rest"))
    steered = [asyncio.create_task(session.submit(text, steer=True)) for text in ("deeper", "and wider")]
    await until(lambda: len(session.queue.prompts) == 3)
    assert [(each.text, each.steers) for each in session.queue.prompts] == [
        ("deeper", True),
        ("and wider", True),
        ("and then rest", False),
    ]
    for _ in range(4):
        digging.signs.release()
    assert await asyncio.gather(turn, *steered, later) == [Outcome.DONE] * 4
    calls, results = ["tool-call"] * 2, ["tool-return"] * 2
    assert said(digging.sent[1]) == ["dig", *calls, *results, "deeper", "and wider"]
    assert said(digging.sent[3])[-2:] == ["text", "and then rest"]
    turns = [entry.turn for entry in session.state.transcript]
    assert session.state.turn == 2 and turns == sorted(turns)
    assert session.state.title == "dig"
    await closed(home, session)


async def test_what_comes_too_late_for_the_turn_is_the_next_prompt(home: Path) -> None:
    digging = Digging(digs=0)
    waiting = asyncio.Event()

    async def slow(messages, info):
        digging.sent.append(messages)
        yield "so "
        await waiting.wait()
        yield "be it"

    digging.script = slow
    session = await digging.start(home)
    turn = asyncio.create_task(session.submit("hello"))
    await until(lambda: digging.sent)
    later = asyncio.create_task(session.submit("fourth"))
    steered = [asyncio.create_task(session.submit(text, steer=True)) for text in ("second", "third")]
    await until(lambda: len(session.queue.prompts) == 3)
    waiting.set()
    assert await asyncio.gather(turn, *steered, later) == [Outcome.DONE] * 4
    assert said(digging.sent[-1]) == ["hello", "text", "second", "text", "third", "text", "fourth"]
    assert session.state.turn == 4, "each has a turn of its own"
    await closed(home, session)


async def test_stopped_before_it_was_given_it_waits_on_hold_like_any_prompt(home: Path) -> None:
    digging = Digging(digs=1)
    session = await digging.start(home)
    turn = asyncio.create_task(session.submit("dig"))
    await until(lambda: digging.begun == 1)
    steered = asyncio.create_task(session.submit("stop digging", steer=True))
    await until(lambda: session.queue.prompts)
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    assert [(each.text, each.held, each.steers) for each in session.queue.prompts] == [("stop digging", True, False)]
    session.queue.release()
    assert await steered is Outcome.DONE
    assert said(digging.sent[-1])[-1] == "stop digging" and session.state.turn == 2
    await closed(home, session)


async def test_stopped_while_a_hook_checks_it_all_that_steers_waits_on_hold(home: Path) -> None:
    checks = home / "checks"
    slow = HookEntry(f"grep -q deeper && touch '{checks}' && sleep 600; exit 0")
    digging = Digging(digs=1)
    session = await digging.start(home, hooks={"userPromptSubmit": (slow,)}, hook_timeout_s=600.0)
    turn = asyncio.create_task(session.submit("dig"))
    await until(lambda: digging.begun == 1)
    steered = [asyncio.create_task(session.submit(text, steer=True)) for text in ("deeper", "and wider")]
    await until(lambda: len(session.queue.prompts) == 2)
    for _ in range(2):
        digging.signs.release()
    await until(checks.exists)
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    assert [(each.text, each.held) for each in session.queue.prompts] == [("deeper", True), ("and wider", True)]
    assert [session.queue.withdraw(each.number) for each in session.queue.prompts] == ["deeper", "and wider"]
    assert await asyncio.gather(*steered) == [Outcome.INTERRUPTED] * 2
    await closed(home, session)


async def test_withdrawn_while_a_hook_checks_it_it_is_not_sent(home: Path) -> None:
    checks, checked = home / "checks", home / "checked"
    slow = HookEntry(f"grep -q deeper && touch '{checks}' && while [ ! -e '{checked}' ]; do sleep 0.02; done; exit 0")
    digging = Digging(digs=1)
    session = await digging.start(home, hooks={"userPromptSubmit": (slow,)}, hook_timeout_s=600.0)
    turn = asyncio.create_task(session.submit("dig"))
    await until(lambda: digging.begun == 1)
    steered = asyncio.create_task(session.submit("deeper", steer=True))
    await until(lambda: session.queue.prompts)
    for _ in range(2):
        digging.signs.release()
    await until(checks.exists)
    assert session.queue.withdraw(session.queue.prompts[0].number) == "deeper"
    checked.touch()
    assert await turn is Outcome.DONE and await steered is Outcome.INTERRUPTED
    assert "deeper" not in said(digging.sent[-1])
    await closed(home, session)


async def test_without_a_turn_it_is_a_prompt(home: Path) -> None:
    session = await Digging(digs=0).start(home)
    assert await session.submit("hello", steer=True) is Outcome.DONE
    assert session.state.turn == 1
    await closed(home, session)
