"""Conversations with a provider that counts in its own way, and how far our figures were from its."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from co_tui.events import CompactionComplete, Event, UsageInfo
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.counts import Counts
from tests.support.provider import Provider, Reply
from tests.support.talks import MODEL, served_environment

WINDOW_TOKENS = 12_000
PASTE = "The quick brown fox jumps over the lazy dog, says line {n} of src/module_{n}.py.\n"
SUMMARY = (
    "Title: Foxes\n## Decisions and outcomes\n- The quick brown fox jumps over the lazy dog, src/module_1.py says."
)
OTHER_MODEL = "openai-chat:other"


class Seen(NamedTuple):
    """One request: what we measured before it, and what its provider then said."""

    ours: int
    theirs: int
    system_tokens: int

    @property
    def error(self) -> float:
        return self.ours / self.theirs - 1


class Talk:
    """A conversation that may be left and taken up again at any point, with all its requests kept."""

    def __init__(
        self, home: Path, provider: Provider, counts: Counts, *, resumes: bool = False, **settings: Any
    ) -> None:
        self.provider, self.counts, self.resumes = provider, counts, resumes
        self.environment: Environment = served_environment(home, provider, tools=[read_lines], **settings)
        self.session: Session | None = None
        self.session_id = ""
        self.seen: list[Seen] = []
        self.compactions: list[CompactionComplete] = []
        self._reading: UsageInfo | None = None
        provider.counts, provider.window = counts, WINDOW_TOKENS
        provider.default = Reply(text="It does, as the tests say.", prompt_tokens=-1, completion_tokens=-1)
        provider.summary = Reply(text=SUMMARY, prompt_tokens=-1, completion_tokens=-1)

    async def say(self, prompt: str, *script: Reply) -> Session:
        session = await self._opened()
        self.provider.script = list(script)
        assert await session.submit(prompt) is Outcome.DONE
        await session.settle(30)
        return session

    async def short(self, turns: int = 1) -> None:
        for _ in range(turns):
            await self.say(f"And what does function_{len(self.seen)} do, in short?")

    async def paste(self, lines: int) -> None:
        await self.say("Look at this:\n" + "".join(PASTE.format(n=n) for n in range(lines)))

    async def tools(self, steps: int, lines: int = 20) -> None:
        call = Reply(
            text="I look.", tool=("read_lines", f'{{"count": {lines}}}'), prompt_tokens=-1, completion_tokens=-1
        )
        await self.say("Read it, step by step.", *[call] * steps)

    async def does(self, work: Callable[[Session], Awaitable[Any]]) -> UsageInfo:
        """Something other than a turn; returns what was measured after it."""
        session = await self._opened()
        await work(session)
        assert session.state.usage is not None
        return session.state.usage

    async def _opened(self) -> Session:
        if self.resumes:
            await self.leave()
        if self.session is None:
            opening = (
                Session.resume(self.environment, self.session_id)
                if self.session_id
                else Session.start(self.environment, MODEL)
            )
            self.session = await opening
            self.session_id = self.session.id
            self._listening = asyncio.create_task(self._listen(self.session))
        return self.session

    async def leave(self) -> None:
        if self.session is not None:
            session, self.session = self.session, None
            await session.close()
            await self._listening

    async def close(self) -> None:
        await self.leave()
        self.environment.store.close()

    async def _listen(self, session: Session) -> None:
        async for event in session.events():
            self._hear(event)

    def _hear(self, event: Event) -> None:
        fact = event.fact
        if isinstance(fact, CompactionComplete):
            self.compactions.append(fact)
        if not isinstance(fact, UsageInfo):
            return
        if fact.input_tokens is None:
            self._reading = fact
        elif self._reading is not None:
            self.seen.append(Seen(self._reading.current_tokens, fact.input_tokens, self._reading.system_tokens))


def read_lines(count: int) -> str:
    """Read that many lines of the file.

    Args:
        count: How many lines.
    """
    return "".join(PASTE.format(n=n) for n in range(count))


async def everything(talk: Talk) -> None:
    """All that can happen to a conversation, in one."""
    await talk.short(4)
    await talk.paste(40)
    await talk.tools(3)
    await talk.short(2)
    await talk.does(lambda session: session.edits.rewind(4))
    await talk.short(2)
    await talk.does(lambda session: session.edits.undo())
    await talk.short(1)
    await talk.paste(60)
    await talk.does(lambda session: session.edits.clear())
    await talk.short(2)
    await talk.does(lambda session: session.edits.undo())
    await talk.short(1)
    await talk.tools(2, lines=30)
    for _ in range(5):
        await talk.paste(30)


async def freed(talk: Talk) -> tuple[int, int]:
    """What a compaction said it freed, and what it freed as the provider counts."""
    provider, counts = talk.provider, talk.counts
    await talk.short(2)
    await talk.paste(80)
    session = await talk.say("Thanks.")
    before = talk.seen[-1].theirs + counts.reply(provider.default.text)
    done = await session.compact()
    assert done.success and done.tokens_removed == done.pre_tokens - done.post_tokens
    await talk.short(1)
    *_, earlier, request = provider.requests
    # The prompt after it came in addition, and so did a tool for what is no longer there.
    after = counts.request({"messages": request["messages"][:-1], "tools": earlier["tools"]})
    return done.tokens_removed, before - after
