"""What a session under `cowagent` begins with when it is resumed (S4), and what clearing never removes (I2)."""

import json
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import ApprovalRequested, Clear
from co_tui.session.history.restoring import restoring
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.session.compaction.test_policies import under
from tests.support.compacting import RULE, texts
from tests.support.environments import facts
from tests.support.foreign import write_lines
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.stores import listed, replayed
from tests.support.talks import fill, talk, talking

pytestmark = pytest.mark.usefixtures("long_answers")

EARLIER = "[Earlier conversation, summarised]"


async def resumed(session: Session) -> Session:
    environment, name = session._environment, session.id
    await session.close()
    return await Session.resume(environment, name)


def sent(provider: Provider) -> str:
    return json.dumps(provider.requests[-1]["messages"])


async def test_after_trimming_the_summary_the_rules_and_the_last_prompts_come_back(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider, **under("cowagent", agent_max_context_turns=4)) as session:
        assert await session.submit(RULE) is Outcome.DONE
        await fill(session, 4)
        await session.settle(5)
        assert any(text.startswith(EARLIER) for text in texts(session.state)), "turns were trimmed"
        again = await resumed(session)
        assert await again.submit("and now?") is Outcome.DONE
        request = sent(provider)
        assert request.count(EARLIER) == 1 and "about src/module.py and the function was answered" in request
        assert RULE in request, "the summary of the model does not hold it"
        for number in (3, 4, 5):
            assert f"Question {number}: what about" in request
        assert replayed(home, again.id) == again.state
        await again.close()


async def test_the_summary_comes_along_when_its_prompt_is_too_old(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("cowagent", agent_max_context_turns=8)) as session:
        await fill(session, 9)
        await session.settle(5)
        await talk(session, 1)
        before = texts(session.state)
        assert before[0].startswith(EARLIER) and "Question 5:" in before[1]
        policy, question = session.history.policy, ApprovalRequested(call_id="c", tool="write_file")
        assert restoring(session.state, policy) is not None
        assert restoring(session.state.but(pending=(question,)), policy) is None, "its call would be lost"
        again = await resumed(session)
        assert await again.submit("and now?") is Outcome.DONE
        request = sent(provider)
        assert request.count(EARLIER) == 1 and "about src/module.py and the function was answered" in request
        assert "Question 5:" not in request and "Question 7:" not in request
        assert [f"Question {n}:" in request for n in (8, 9, 10)] == [True] * 3
        assert len(again.state.history) == 6 + 2, "three turns, and the new one"
        assert replayed(home, again.id) == again.state
        await again.edits.undo()
        assert texts(again.state)[: len(before)] == before, "and it can be undone"
        await again.close()


async def test_rules_come_back_without_any_summary_and_only_once(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("cowagent")) as session:
        assert await session.submit(RULE) is Outcome.DONE
        await talk(session, 3)
        for _ in range(3):
            session = await resumed(session)
            assert await session.submit("Never use tabs.") is Outcome.DONE
            assert sent(provider).count(RULE) == 1 and EARLIER not in sent(provider)
        await talk(session, 4)
        session = await resumed(session)
        await session.submit("and now?")
        assert sent(provider).count("Never use tabs.") == 1 and sent(provider).count(RULE) == 1
        assert replayed(home, session.id) == session.state
        await session.close()


async def test_a_session_with_nothing_to_leave_out_is_resumed_as_it_is(home: Path, provider: Provider) -> None:
    async with talking(home, provider, **under("cowagent", agent_max_context_turns=4)) as session:
        await fill(session, 5)
        await session.settle(5)
        again = await resumed(session)
        once, clears = list(again.state.history), len(facts(list(again.state.timeline), Clear))
        twice = await resumed(again)
        assert list(twice.state.history) == once and len(facts(list(twice.state.timeline), Clear)) == clears
        await twice.close()


async def test_turns_that_were_reduced_to_texts_are_turns(home: Path, provider: Provider) -> None:
    def look() -> str:
        return "a long result " * 100

    async with talking(home, provider, tools=[look], **under("cowagent", agent_max_context_tokens=900)) as session:
        provider.script = [Reply(text="Let me", tool=("look", "{}"))]
        await talk(session, 4)
        before = [text for text in texts(session.state) if text.startswith("Question")]
        again = await resumed(session)
        assert [text for text in texts(again.state) if text.startswith("Question")] == before[-3:]
        await again.close()


IMPORTED: list[dict[str, Any]] = [
    {"role": "system", "content": "You are the keeper of the heron."},
    *({"role": role, "content": f"{role} {n}"} for n in range(1, 7) for role in ("user", "assistant")),
]


def imported(here: Here, tmp_path: Path) -> str:
    file = write_lines(tmp_path / "talk.jsonl", [{"messages": IMPORTED}])
    assert here("import", str(file)).code == 0
    return listed(here.home)[0].id


def test_the_system_message_of_an_imported_session_stays(served_here: Here, provider: Provider, tmp_path: Path) -> None:
    provider.default = Reply(text="Yes.")
    name = imported(served_here, tmp_path)
    for _ in range(2):
        assert served_here("run", "--session", name, "--policy", "cowagent", "-p", "again").code == 0
        assert sent(provider).count("keeper of the heron") == 1
    assert "user 2" not in sent(provider) and "user 6" in sent(provider)


async def test_clearing_keeps_system_messages(home: Path, provider: Provider) -> None:
    from co_tui.events import Message

    system = {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "You keep the heron."}]}
    both = {"kind": "request", "parts": [*system["parts"], {"part_kind": "user-prompt", "content": "Where is it?"}]}
    async with talking(home, provider) as session:
        await session._recorder.record(Message(turn=0, message=system), Message(turn=1, message=both))
        await talk(session, 1)
        await session.edits.clear()
        assert texts(session.state) == ["You keep the heron."] * 2
        await session.submit("and now?")
        assert "Where is it?" not in sent(provider) and sent(provider).count("You keep the heron.") == 2
        assert replayed(home, session.id) == session.state
        await session.edits.undo()
        assert "Where is it?" in texts(session.state)
        await session.close()
