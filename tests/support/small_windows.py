"""A long working conversation in a small window, with a provider that counts in its own way and caches prompts."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.context.compact.decide import WELL_BELOW
from co_tui.events import CompactionComplete, CompactionStart, Event, SessionError, Truncation
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.context.request.test_pipeline import LOADED
from tests.support.counts import Counts
from tests.support.environments import facts
from tests.support.provider import Provider, Reply
from tests.support.talks import MODEL, served_environment

TOOL_EVERY_TURNS: Final = 3
PRICE_INPUT, PRICE_CACHED, PRICE_OUTPUT = 3.0, 0.3, 15.0
"""Assumed, in US dollars a million tokens."""
_STEMS: Final = ("parse", "store", "index", "merge", "queue", "retry", "cache", "fetch", "flush", "bind", "scan",
                 "render", "mount", "clip", "fold", "trace", "split", "patch", "link", "probe", "sort", "walk", "pack",
                 "drain", "guard", "route", "seed", "shard", "stamp", "sync")  # fmt: skip
_PLACES: Final = ("reader", "writer", "window", "buffer", "ledger", "worker", "socket", "bundle", "cursor", "header",
                  "record", "policy", "session")  # fmt: skip
NOTICES: Final = ("fixed_part", "no_room", "compaction_stopped", "tools_left_out")
_LIMIT: Final = re.compile(r"at most about (\d+) words")


def sentence(rng: random.Random) -> str:
    """One sentence with a path, a name and a number, unlike the ones before it."""
    verb, other = rng.sample(_STEMS, 2)
    place = rng.choice(_PLACES)
    number = rng.randint(100, 9_999)
    return (
        f"In src/{place}/{verb}_{other}.py the {place} has to {verb} before it can {other}, which failed in case "
        f"{number} because {rng.choice(_STEMS)}_{rng.choice(_PLACES)} returned too early."
    )


def text(seed: str, sentences: int) -> str:
    rng = random.Random(seed)
    return " ".join(sentence(rng) for _ in range(sentences))


def summary_as_asked(prompt: str) -> str:
    """As long as the request allows, in words of what is summarised."""
    found = _LIMIT.search(prompt)
    words = int(found[1]) if found else 100
    said = prompt.partition("<conversation>")[2].split()
    step = max(1, len(said) // max(1, words))
    chosen = said[:: step or 1][: int(words * 0.9)]
    lines = (" ".join(chosen[n : n + 12]) for n in range(0, len(chosen), 12))
    return "Title: Work so far\n## Decisions and outcomes\n" + "\n".join(f"- {line}" for line in lines)


def read_part(part: int) -> str:
    """Read one part of the file.

    Args:
        part: Which one.
    """
    return text(f"part {part}", 9)


class SmallWindowTalk(NamedTuple):
    """What came of a conversation, as the log and the provider have it."""

    events: list[Event]
    provider: Provider
    window_tokens: int
    failed_turns: int

    @property
    def automatic(self) -> list[CompactionComplete]:
        """Those that a mark started and that ended well or badly, but not because someone stopped them."""
        return [done for done in self.compactions if done.trigger in ("background", "blocking")]

    @property
    def compactions(self) -> list[CompactionComplete]:
        return facts(self.events, CompactionComplete)

    @property
    def successes(self) -> list[CompactionComplete]:
        return [done for done in self.automatic if done.success]

    @property
    def above(self) -> list[bool]:
        """Of each success, whether it ended too close to its trigger."""
        return [done.post_tokens > WELL_BELOW * mark_of(done, self) for done in self.successes]

    @property
    def thrown_away(self) -> int:
        """Summaries that were paid for and not used."""
        return sum(not done.success and bool(done.usage) for done in self.compactions)

    @property
    def truncations(self) -> int:
        return len(facts(self.events, Truncation))

    @property
    def notices(self) -> list[SessionError]:
        return [e for e in facts(self.events, SessionError) if e.kind in NOTICES]

    @property
    def waits(self) -> int:
        blocks = waits = 0
        for event in self.events:
            if isinstance(event.fact, CompactionStart):
                blocks = event.fact.blocks
            elif isinstance(event.fact, CompactionComplete):
                waits += bool(blocks or event.fact.waited_ms)
        return waits


def mark_of(done: CompactionComplete, talk: SmallWindowTalk) -> float:
    return done.mark_tokens


async def small_window_talk(
    home: Path,
    window_tokens: int,
    ratio: float,
    turns: int,
    *,
    policy: str = "balanced",
    tools: Sequence[Any] = (read_part,),
    **settings: Any,
) -> SmallWindowTalk:
    """Short and long turns, every third one with tool calls, in a folder with the real tools."""
    with Provider().serving() as provider:
        provider.window = provider.real_window = window_tokens
        provider.counts, provider.caches, provider.summarise = Counts(ratio), True, summary_as_asked
        provider.summary = Reply(prompt_tokens=-1, completion_tokens=-1)
        environment = served_environment(home, provider, tools=list(tools))
        environment.settings = LOADED[policy].but(**settings)
        environment.works_in_folder = True
        session = await Session.start(environment, MODEL)
        failed = 0
        try:
            for n in range(turns):
                provider.script = [
                    *(_calls(n) if n % TOOL_EVERY_TURNS == 2 else ()),
                    Reply(text=text(f"reply {n}", 2 + n % 3), prompt_tokens=-1, completion_tokens=-1),
                ]
                outcome = await session.submit(f"Question {n}: " + text(f"prompt {n}", 1 + n % 2))
                failed += outcome is not Outcome.DONE
                await session.settle(30)
        finally:
            await session.close()
            with environment.store.reading() as reading:
                events = list(reading.events(session.id))
            environment.store.close()
    return SmallWindowTalk(events, provider, window_tokens, failed)


def _calls(n: int) -> list[Reply]:
    return [
        Reply(
            text="I read it.",
            tool=("read_part", f'{{"part": {n * 10 + k}}}'),
            prompt_tokens=-1,
            completion_tokens=-1,
        )
        for k in range(1 + n % 4)
    ]
