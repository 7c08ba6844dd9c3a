"""Our figures against a provider that counts otherwise than we do (G5, G8, I6, E3)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import UsageInfo
from co_tui.session.history.learned_ratios import Ratios
from tests.context.request.test_pipeline import LOADED
from tests.support.counted import OTHER_MODEL, WINDOW_TOKENS, Seen, Talk, everything, freed
from tests.support.counts import Counts
from tests.support.here import Here
from tests.support.long_run import LONG_RUN, also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply

LEARNT_AFTER = 2
"""So many replies it takes; from then on the figures hold."""
NEAR, CONSTANT = 0.05, 0.10

ALL_WAYS = [Counts(ratio, hidden) for ratio in (0.5, 1.0, 1.7, 2.5) for hidden in (0, 900)]
WAYS = ALL_WAYS if LONG_RUN else [Counts(0.5, 900)]
GOVERNING = {"co-cli": Counts(2.5), "copilot": Counts(1.0), "inkeep": Counts(1.7, 900), "cowagent": Counts(2.3, 200)}
"""Each value once, with and without hidden tokens, each under another policy."""


@pytest.fixture
def talking(home: Path, provider: Provider) -> Callable[..., Any]:
    @asynccontextmanager
    async def opened(counts: Counts, **options: Any) -> AsyncIterator[Talk]:
        talk = Talk(home, provider, counts, **options)
        try:
            yield talk
        finally:
            await talk.close()

    return opened


def worst(seen: list[Seen]) -> float:
    return max(abs(each.error) for each in seen)


def is_constant(tokens: list[int]) -> bool:
    return max(tokens) <= (1 + CONSTANT) * min(tokens) + 1


@pytest.mark.parametrize(
    ("counts", "resumes"),
    also_in_a_long_run([(counts, False) for counts in WAYS], [(Counts(2.5, 900), True)]),
    ids=lambda value: {False: "live", True: "resumed at every turn"}.get(value) if isinstance(value, bool) else None,
)
async def test_after_two_replies_every_request_is_as_long_as_the_provider_says(
    talking: Callable[..., Any], provider: Provider, counts: Counts, resumes: bool
) -> None:
    async with talking(counts, resumes=resumes) as talk:
        await everything(talk)
    known = talk.seen[LEARNT_AFTER:]
    assert worst(known) <= NEAR
    assert is_constant([each.system_tokens for each in known])
    assert max(provider.counted) <= WINDOW_TOKENS, "nothing over the window is ever sent"
    assert all(done.success for done in talk.compactions), [done.error for done in talk.compactions]


@only_in_a_long_run
@pytest.mark.parametrize("policy", GOVERNING)
async def test_under_every_policy_that_governs(talking: Callable[..., Any], provider: Provider, policy: str) -> None:
    async with talking(GOVERNING[policy]) as talk:
        talk.environment.settings = LOADED[policy]
        await everything(talk)
    known = talk.seen[LEARNT_AFTER:]
    assert worst(known) <= NEAR and is_constant([each.system_tokens for each in known])
    assert max(provider.counted) <= WINDOW_TOKENS
    assert all(done.success for done in talk.compactions), [done.error for done in talk.compactions]


@pytest.mark.parametrize("counts", also_in_a_long_run([Counts(2.5, 900)], [Counts(0.5), Counts(1.7)]), ids=str)
async def test_a_compaction_frees_what_it_says(talking: Callable[..., Any], counts: Counts) -> None:
    async with talking(counts) as talk:
        said, true = await freed(talk)
    assert said == pytest.approx(true, rel=0.1)


async def test_clearing_leaves_what_goes_with_every_request(talking: Callable[..., Any]) -> None:
    async with talking(Counts(1.7, 500)) as talk:
        await talk.short(3)
        usage: UsageInfo = await talk.does(lambda session: session.edits.clear())
        assert (usage.messages_count, usage.conversation_tokens) == (0, 0)
        await talk.leave()
        again: UsageInfo = await talk.does(lambda session: session.edits.clear())
        assert again.current_tokens == usage.current_tokens, "another process knows the tools, too"
        await talk.short(1)
        # All but the prompt, which is some thirty tokens; a tool for what is no longer there is among the tools.
        assert talk.seen[-1].theirs - 60 <= usage.current_tokens <= talk.seen[-1].theirs


async def test_a_reply_to_another_request_teaches_nothing(talking: Callable[..., Any]) -> None:
    """Rewound after a request that failed: the newest reply there is answers an earlier one."""
    async with talking(Counts(1.7, 300), max_retries=0) as talk:
        await talk.short(2)
        await talk.paste(40)
        await talk.short(1)
        session = talk.session
        assert session is not None
        for undo in (lambda: session.edits.rewind(2), session.edits.clear, session.edits.undo, session.edits.undo):
            talk.provider.script = [Reply(status=400, body="{}")]
            await session.submit("This one fails.")
            await undo()
            ratio = session._runtime.history.governor.meter.ratio
            assert ratio == pytest.approx(1.7, rel=0.03)
        await talk.short(1)
        assert abs(talk.seen[-1].error) <= NEAR
    saved = Ratios(talk.environment.paths.state / "token-ratios.json").of("openai-chat:scripted")
    assert saved == pytest.approx(1.7, rel=0.03)


async def test_an_interrupted_reply_teaches_nothing(talking: Callable[..., Any]) -> None:
    async with talking(Counts(1.7)) as talk:
        await talk.short(3)
        session = talk.session
        assert session is not None
        talk.provider.script = [Reply(text="word " * 50, delay_s=0.02, prompt_tokens=-1, open_end=True)]
        running = asyncio.create_task(session.submit("Go on and on."))
        events = session.events()
        async for event in events:
            if event.type == "stream.delta":
                session.interrupt()
                break
        await running
        await talk.short(2)
    assert worst(talk.seen[LEARNT_AFTER:]) <= NEAR


async def test_another_model_is_counted_in_its_own_tokens(talking: Callable[..., Any]) -> None:
    async with talking(Counts(1.0)) as talk:
        await talk.short(3)
        await talk.paste(20)
        for counts, model in ((Counts(2.2, 200), OTHER_MODEL), (Counts(1.0), "openai-chat:scripted")):
            await talk.does(lambda session, model=model: session.switcher.switch_model(model))
            talk.provider.counts = counts
            begun = len(talk.seen)
            await talk.short(5)
            assert worst(talk.seen[begun + LEARNT_AFTER :]) <= NEAR
        # The first model is known already.
        assert worst(talk.seen[begun:]) <= NEAR


@pytest.mark.parametrize("said", also_in_a_long_run([40_000], [1, 100, 900_000]))
async def test_a_report_that_cannot_be_true_changes_nothing(talking: Callable[..., Any], said: int) -> None:
    async with talking(Counts(1.2, 100)) as talk:
        await talk.short(2)
        await talk.paste(50)
        odd = Reply(text="It does, as the tests say.", prompt_tokens=said, completion_tokens=-1)
        await talk.say("And this?", odd)
        await talk.short(2)
    believed = [each for each in talk.seen[LEARNT_AFTER:] if each.theirs != said]
    assert worst(believed) <= NEAR


async def test_replies_that_come_back_shorter_than_they_were_written(talking: Callable[..., Any]) -> None:
    """What a model thinks and does not show is counted as output, and never sent back."""
    async with talking(Counts(1.3)) as talk:
        thinks = Reply(text="It does, as the tests say.", prompt_tokens=-1, completion_tokens=700)
        talk.provider.default = thinks
        await talk.short(6)
    assert worst(talk.seen[LEARNT_AFTER:]) <= NEAR


def test_each_run_continues_from_what_the_one_before_learned(served_here: Here, provider: Provider) -> None:
    """As a script's loop is."""
    provider.counts, provider.window = Counts(1.9, 400), WINDOW_TOKENS
    provider.default = Reply(text="It does, as the tests say.", prompt_tokens=-1, completion_tokens=-1)
    errors = []
    for n in range(4):
        again = ("--continue",) if n else ()
        done = served_here("run", *again, "-p", f"And what does function_{n} do, in short?", "--json")
        usages = [event["payload"] for event in done.objects if event["type"] == "session.usage_info"]
        before, after = usages[0], usages[1]
        errors.append(before["current_tokens"] / after["input_tokens"] - 1)
    assert max(map(abs, errors[2:])) <= NEAR
