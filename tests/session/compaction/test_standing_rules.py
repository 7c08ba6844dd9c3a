"""Rules that the user gave survive in every form a compaction has, and in every step of a recovery (C10, C16)."""

import json
from pathlib import Path

import pytest

from co_tui.events import SessionError
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.session.compaction.test_policies import BROKEN, under
from tests.support.compacting import RULE, TOO_MUCH, successes, texts
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider
from tests.support.stores import replayed
from tests.support.talks import fill, talk, talking

pytestmark = pytest.mark.usefixtures("long_answers")

EARLIER = "[Earlier conversation, summarised]"


def sent(provider: Provider) -> str:
    return json.dumps(provider.requests[-1]["messages"])


async def trimmed(session: Session, times: int) -> None:
    while len(successes(session)) < times:
        await talk(session, 1)
        await session.settle(5)


@only_in_a_long_run
async def test_a_live_cowagent_session_keeps_rules_through_every_trimming(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("cowagent", agent_max_context_turns=4)) as session:
        assert await session.submit(RULE) is Outcome.DONE
        for times in (1, 2, 3):
            await trimmed(session, times)
            assert await session.submit("and now?") is Outcome.DONE
            assert sent(provider).count(RULE) == 1, "the summary of the model does not hold it"
        assert replayed(home, session.id) == session.state
        resumed = await _resumed(session)
        assert await resumed.submit("and after a resume?") is Outcome.DONE
        assert sent(provider).count(RULE) == 1
        await resumed.close()


async def _resumed(session: Session) -> Session:
    await session.close()
    return await Session.resume(session._environment, session.id)


async def test_the_two_messages_of_co_cli_keep_rules(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("co-cli")) as session:
        await session.submit(RULE)
        for _ in range(2):
            await fill(session, 3)
            assert (await session.compact()).success and len(session.state.history) == 2
            assert "\n".join(texts(session.state)).count(RULE) == 1


@pytest.mark.parametrize("has_summary", also_in_a_long_run([True], [False]))
async def test_the_window_of_co_cli_keeps_rules(home: Path, provider: Provider, has_summary: bool) -> None:
    provider.summary = provider.summary if has_summary else BROKEN
    async with talking(home, provider, **under("co-cli", max_history_messages=10)) as session:
        await talk(session, 1)
        await session.submit(RULE)
        for times in (1, 2):
            await trimmed(session, times)
            assert "\n".join(texts(session.state)).count(RULE) == 1
        assert replayed(home, session.id) == session.state


async def recovered(session: Session, provider: Provider, refusals: int) -> list[str]:
    """What a turn did until the model accepted its request."""
    provider.script = [TOO_MUCH] * refusals
    await session.submit("can you hear me?")
    provider.script = []
    return [error.outcome for error in facts(list(session.state.timeline), SessionError)]


@pytest.mark.parametrize(
    ("policy", "last"), also_in_a_long_run([("off", "kept ")], [("balanced", "except the summary")])
)
async def test_every_step_of_a_recovery_keeps_rules(home: Path, provider: Provider, policy: str, last: str) -> None:
    async with talking(home, provider, **under(policy)) as session:
        await session.submit(RULE)
        await fill(session, 8, words=100)
        for refusals in range(3, 9):
            steps = await recovered(session, provider, refusals)
            said = texts(session.state)
            assert RULE in "\n".join(said) and "can you hear me?" in said
            if any(last in step for step in steps):
                break
        assert last in "\n".join(steps)
        assert replayed(home, session.id) == session.state


async def test_the_last_clearing_takes_the_summary_out_of_the_prompt(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("cowagent")) as session:
        await session.submit(RULE)
        await fill(session, 4)
        await recovered(session, provider, 1)
        assert any(text.startswith(EARLIER) for text in texts(session.state)), "the summary is in the latest prompt"
        steps = await recovered(session, provider, 8)
        assert "cleared the context except the prompt" in steps
        said = "\n".join(texts(session.state))
        assert EARLIER not in said and "can you hear me?" in said and said.count(RULE) == 1
        assert await session.submit("still there?") is Outcome.DONE
        assert replayed(home, session.id) == session.state
        await session.edits.undo()
        assert replayed(home, session.id) == session.state
