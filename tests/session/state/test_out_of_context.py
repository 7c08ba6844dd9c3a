"""Under every policy, what counts as out of the context is what the next request does not say."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

from co_tui.events import CompactionComplete, Event
from co_tui.events.stored_messages import REPLACES, SUMMARY
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.state.out_of_context import out_of_context, removal_reason
from tests.support.environments import ScriptedModel, environment_for
from tests.support.long_run import also_in_a_long_run

SAID = re.compile(r"(?:prompt|answer)-\d+x")


async def talker(sent: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    if "working memory" in (info.instructions or ""):
        yield "Title: Questions\n## Decisions and outcomes\n- The questions were answered."
        return
    number = SAID.findall(str(sent[-1].parts[-1].content))[-1].removeprefix("prompt-")
    yield f"answer-{number} " + "and some more words about src/module.py " * 20


def names_sent(session: Session) -> set[str]:
    """What the history says in its own messages, without what is quoted in summaries."""
    said: set[str] = set()
    for entry in session.state.history:
        metadata = entry.message.get("metadata") or {}
        if REPLACES not in metadata:
            parts = [str(part.get("content")) for part in entry.message["parts"]]
            notes = [text for text in parts if SUMMARY in metadata and metadata[SUMMARY] in text]
            said.update(name for text in parts if text not in notes for name in SAID.findall(text)[:1])
    return said


def check(session: Session) -> None:
    out = out_of_context(session.state)
    assert out == out_of_context(replay(stored(session)))
    for entry in session.state.transcript:
        (name, *_) = SAID.findall(str(entry.message))
        assert (entry.seq in out.removals) == (name not in names_sent(session)), name
        if entry.seq in out.quoted:
            assert entry.seq in out.removals and any(name in str(each.message) for each in session.state.history), name


def stored(session: Session) -> list[Event]:
    with session._environment.store.reading() as reading:
        return list(reading.events(session.id, upto=session.state.seq))


WAYS: dict[str, dict[str, object]] = {
    "a summary of its own": {},
    "a marker in the middle": {"compaction": "window", "summary_form": "marker", "max_history_messages": 8},
    "a summary in a prompt": {"compaction": "turns", "summary_form": "prompt", "agent_max_context_turns": 4},
    "texts only": {"compaction": "turns", "agent_max_context_tokens": 900, "few_turns": 9},
    "restored texts": {"compaction": "turns", "summary_form": "prompt", "restored": "texts"},
}


@pytest.mark.parametrize("way", also_in_a_long_run([*WAYS][1:2], [*WAYS][:1] + [*WAYS][2:]))
async def test_whatever_a_policy_leaves_of_a_talk_is_not_set_apart(home: Path, way: str) -> None:
    environment = environment_for(home, ScriptedModel(talker), **WAYS[way])
    session = await Session.start(environment, "scripted")
    for number in range(1, 7):
        await session.submit(f"prompt-{number}x")
        await session.settle(5)
        check(session)
    await session.compact()
    check(session)
    await session.submit("prompt-9x")
    check(session)
    await session.edits.undo()
    check(session)
    await session.close()
    session = await Session.resume(environment, session.id)
    check(session)
    await session.submit("prompt-10x")
    await session.settle(5)
    await session.compact()
    check(session)
    assert out_of_context(session.state).removals
    await session.close()
    environment.store.close()


async def test_a_removed_prompt_counts_as_quoted_while_its_whole_words_are_in_a_summary(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(talker))
    session = await Session.start(environment, "scripted")
    for text in ("prompt-1x\n  on two lines", "prompt-2x " + "too long to quote " * 50, "prompt-3x", "prompt-4x"):
        await session.submit(text)
    await session.compact()
    by_text = {str(entry.message["parts"][0]["content"])[:9]: entry.seq for entry in session.state.transcript}
    assert out_of_context(session.state).quoted == {by_text["prompt-1x"], by_text["prompt-3x"]}
    check(session)
    await session.edits.clear()
    assert not out_of_context(session.state).quoted
    await session.edits.undo()
    await session.edits.undo()
    assert not out_of_context(session.state).quoted
    await session.close()
    environment.store.close()


async def test_an_edited_summary_is_still_the_compaction_that_made_it(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(talker))
    session = await Session.start(environment, "scripted")
    for number in range(1, 5):
        await session.submit(f"prompt-{number}x")
    await session.compact()
    made = session.state.compactions[-1].seq or 0
    before = out_of_context(session.state)
    await session.edits.edit_summary(made, "Something else was decided.")
    after = out_of_context(session.state)
    assert after.removals == before.removals and after.compactions == before.compactions == 1
    assert {removal.seq for removal in after.removals.values()} == {made}
    assert [group.undoable for group in after.groups] == [0], "undoing the edit brings no message back"
    await session.close()
    environment.store.close()


async def test_a_second_compaction_counts_as_many_messages_as_the_line_in_the_chat(home: Path) -> None:
    environment = environment_for(home, ScriptedModel(talker))
    session = await Session.start(environment, "scripted")
    for number in range(1, 9):
        await session.submit(f"prompt-{number}x")
        if number % 4 == 0:
            done = await session.compact()
            (group,) = out_of_context(session.state).groups
            assert done.originals == group.messages == 2 * number - 2
            in_all = f"{done.originals} summarised in all"
            for text in (done.timeline_text(), done.outcome_sentence(), str(done.export_entry())):
                assert ("6 of 8 messages" if number == 4 else "8 more messages") in text
                assert (in_all in text) is (number == 8)
            assert group.undoable == done.summarised_now == (6 if number == 4 else 8)
    assert len(done.replaced) < done.originals, "one of them is the first summary"
    await session.close()
    environment.store.close()


def test_what_a_rewrite_did_has_a_word() -> None:
    facts = [CompactionComplete(success=True, summary=summary) for summary in ("a", "")]
    words = [removal_reason(Event(session_id="s", seq=1, timestamp="", fact=fact)) for fact in facts]
    assert words == ["summarised", "left out"]
