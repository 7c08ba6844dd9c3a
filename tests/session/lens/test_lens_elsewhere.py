"""What another process says of a session's next request is what the session says, and what it then sends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

from co_tui.context.policy import policy_of
from co_tui.events import UsageInfo
from co_tui.session.compaction.compaction_files import Remembered
from co_tui.session.environment import Environment
from co_tui.session.lens.request_rows import Kind, Lens
from co_tui.session.lens.snapshot import read_lens
from co_tui.session.lens.stored_lens import StoredRequests
from co_tui.session.session import Session
from co_tui.session.tools.own_tools import MIN_REMOVED_CHARS, MemoryUse, Offer
from co_tui.session.turns.turn import Outcome
from tests.context.request.test_pipeline import LOADED
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.lens import Asked, agrees, lens_of, plain, read_large, said
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.talks import fill, served_environment, talk, talking


@asynccontextmanager
async def opened(home: Path, policy: str, *models: ScriptedModel) -> AsyncIterator[Session]:
    environment = environment_for(home, *models, tools=[read_large])
    environment.settings = LOADED[policy]
    session = await Session.start(environment, models[0].name)
    try:
        yield session
    finally:
        if not session.state.ended:
            await session.close()
        environment.store.close()


async def seen_elsewhere(session: Session, session_id: str = "") -> Lens:
    """The lens of a process that has the log and the files, but not the session."""
    environment: Environment = session._environment
    state = await environment.stored_state(session_id or session.id)
    return read_lens(StoredRequests(environment.paths, environment.store).source(state, environment.settings))


def same(one: Lens, other: Lens) -> bool:
    rows = [[each._replace(message=None, stored=None) for each in lens.messages] for lens in (one, other)]
    return rows[0] == rows[1] and one.total_json() == other.total_json()


async def test_after_a_command_and_after_a_failure_a_prompt_is_awaited_elsewhere_too(home: Path) -> None:
    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if "fail" in str(messages[-1].parts[-1].content):
            raise ValueError("no")
        yield "An answer about src/main.py."

    async with opened(home, "copilot", ScriptedModel(script, window=60_000)) as session:
        await said(session, "Hello", "And now?")
        await session.run_command("echo hello")
        assert same(lens_of(session), await seen_elsewhere(session))
        await said(session, "Seen?")
        assert await session.submit("fail now") is Outcome.FAILED
        assert same(lens_of(session), await seen_elsewhere(session))


async def test_a_fork_begins_with_what_went_with_the_last_request(home: Path) -> None:
    async with opened(home, "balanced", ScriptedModel(Asked().script, window=60_000)) as session:
        await said(session, "Hello", "read it")
        own, fork = lens_of(session), await session.fork()
        lens = await seen_elsewhere(session, fork)
        assert [each.text for each in lens.messages] == [each.text for each in own.messages]
        assert lens.reading == own.reading and "read_large" in lens.messages[1].text


async def test_another_model_is_told_with_the_tools_it_gets(home: Path) -> None:
    model = Asked()
    others = [ScriptedModel(model.script, window=60_000, name=name) for name in ("scripted", "other")]
    silent = ScriptedModel(model.script, window=60_000, name="without tools", takes_tools=False)
    async with opened(home, "balanced", *others, silent) as session:
        await said(session, "Hello", "What else?")
        before = session.state.usage
        await session.switcher.switch_model("other")
        agrees(session, lens := lens_of(session))
        assert before and lens.reading.tool_definition_tokens == before.tool_definition_tokens > 0
        assert same(lens, await seen_elsewhere(session))
        seq = session.state.seq
        await said(session, "And now?")
        with session._environment.store.reading() as reading:
            sent = facts(list(reading.events(session.id, after=seq)), UsageInfo)[0]
        assert sent.tool_definition_tokens == before.tool_definition_tokens
        await session.switcher.switch_model("without tools")
        assert session.state.usage and session.state.usage.tool_definition_tokens == 0


async def test_what_is_restored_only_in_part_is_shown_so_before_it_is_opened(home: Path) -> None:
    model = Asked()
    async with opened(home, "cowagent", ScriptedModel(model.script, window=60_000)) as session:
        await said(session, *["read it, and tell me more about src/main.py " * 30] * 6)
        assert same(lens_of(session), await seen_elsewhere(session)), "while it is open, nothing is restored"
        await session.close()
        lens = await seen_elsewhere(session)
        again = await Session.resume(session._environment, session.id)
        assert again.state.usage and again.state.usage.current_tokens == lens.reading.current_tokens
        assert same(lens._replace(seq=0), lens_of(again)._replace(seq=0))
        await said(again, "Hello?")
        assert plain([each.message for each in lens.messages]) == plain(model.requests[-1])[:-1]
        await again.close()


@pytest.mark.parametrize(
    ("policy", "pins"),
    also_in_a_long_run(
        [("co-cli", True)],
        [("balanced", False), ("inkeep", True), ("co-cli", False), ("balanced", True), ("inkeep", False)],
    ),
)
async def test_a_compaction_shows_what_the_gauge_showed_before_and_after(home: Path, policy: str, pins: bool) -> None:
    async with opened(home, policy, ScriptedModel(Asked().script, window=60_000)) as session:
        await said(session, *["Tell me about src/main.py and what it does. " * 30] * 3, "read it")
        if pins:
            await session.edits.pin([session.state.history[-2].ref])
        agrees(session, lens_of(session))
        shown = session.state.usage
        done = await session.compact()
        assert done.success and shown is not None and session.state.usage is not None
        assert (done.pre_tokens, done.post_tokens) == (shown.current_tokens, session.state.usage.current_tokens)
        assert done.tokens_removed == done.pre_tokens - done.post_tokens > 0
        agrees(session, lens_of(session))


@pytest.mark.usefixtures("long_answers")
async def test_the_compaction_of_a_short_talk_brings_no_tool_that_takes_what_it_frees(
    home: Path, provider: Provider
) -> None:
    environment = served_environment(home, provider)
    environment.settings = LOADED["balanced"]
    provider.window = 60_000
    async with talking(home, provider, environment=environment) as session:
        await fill(session, 3)
        done = await session.compact()
        assert done.success and done.tokens_removed > 0 and session.state.removed_chars < MIN_REMOVED_CHARS
        await talk(session, 1)
        assert "tools" not in provider.requests[-1]
        await fill(session, 5, words=280)
        assert (await session.compact()).success and session.state.removed_chars >= MIN_REMOVED_CHARS
        await talk(session, 1)
        names = {tool["function"]["name"] for tool in provider.requests[-1]["tools"]}
        assert names == {"recall", "search_memory", "request_compaction"}


async def test_what_frees_nothing_by_the_figures_that_are_shown_is_not_done(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="Yes. " * 40, prompt_tokens=-1, completion_tokens=1)  # which is not how long it is
    async with talking(home, provider) as session:
        await talk(session, 1, words=0)
        history = list(session.state.history)
        done = await session.compact()
        assert not done.success or done.tokens_removed > 0
        assert done.success or (done.error and list(session.state.history) == history)


ALL, TRIMMED = (MemoryUse(True, written) for written in (Remembered.COMPACTIONS, Remembered.TRIMMING))
MUCH = MIN_REMOVED_CHARS


@pytest.mark.parametrize(
    ("policy", "window", "left", "memory", "exists", "with_other_tools", "offered"),
    [
        ("balanced", 60_000, 0, ALL, False, True, "recall search_memory request_compaction"),
        ("balanced", 60_000, 0, ALL, True, False, ""),
        ("balanced", 60_000, MUCH, ALL, True, False, "recall search_memory request_compaction"),
        ("balanced", 60_000, MUCH - 1, ALL, True, False, ""),
        ("copilot", 60_000, 0, TRIMMED, False, True, "recall request_compaction"),
        ("copilot", 60_000, 0, TRIMMED, True, False, "search_memory request_compaction"),
        ("cowagent", 60_000, 0, TRIMMED, False, True, "recall search_memory request_compaction"),
        ("cowagent", 60_000, 0, MemoryUse(False, Remembered.TRIMMING), True, True, "recall request_compaction"),
        ("inkeep", 4_000, MUCH, TRIMMED, True, True, "read_artifact"),
    ],
)
def test_what_is_offered_comes_from_the_beginning_or_where_much_is_freed(
    policy: str, window: int, left: int, memory: MemoryUse, exists: bool, with_other_tools: bool, offered: str
) -> None:
    offer = Offer(policy_of(LOADED[policy]), window, left, memory, exists)
    assert offer.names(with_other_tools=with_other_tools, runs_commands=False) == offered.split()
    assert "read_artifact" in offer.names(with_other_tools=True, runs_commands=True)


async def test_instructions_are_shown_also_where_a_provider_says_that_they_cost_nothing(
    home: Path, provider: Provider
) -> None:
    provider.default = Reply(prompt_tokens=30, completion_tokens=5)
    async with talking(home, provider) as session:
        await talk(session, 2)
        lens = lens_of(session)
        assert lens.messages[0].kind is Kind.SYSTEM and lens.messages[0].text
        agrees(session, lens)
