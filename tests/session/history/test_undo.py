"""Taking back what was compacted, cleared or rewound; pins, and summaries rewritten."""

from pathlib import Path

import pytest

from co_tui.events import Message
from co_tui.session.session import Session
from co_tui.session.state.history_edits import NothingToUndo, fork_title
from tests.support.compacting import texts
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import fill, talk, talking

pytestmark = pytest.mark.usefixtures("long_answers")


async def test_undo_restores_what_was_there_and_keeps_what_was_said_since(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 4)
        before = [entry.message for entry in session.state.history]
        await session.compact()
        await session.submit("said later")
        later = [entry.message for entry in session.state.history][-2:]
        await session.edits.undo()
        assert [entry.message for entry in session.state.history] == [*before, *later]
        assert replayed(home, session.id) == session.state
        with pytest.raises(NothingToUndo):
            await session.edits.undo()
        assert (await session.compact()).success


async def test_two_compactions_are_undone_one_after_the_other(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 4)
        whole = list(session.state.history)
        await session.compact()
        first = session.state.rewrites[-1].seq
        await talk(session, 2)
        middle = list(session.state.history)
        await session.compact()
        with pytest.raises(NothingToUndo, match="later change"):
            await session.edits.undo(first)
        await session.edits.undo()
        assert list(session.state.history) == middle
        await session.edits.undo(first)
        assert list(session.state.history) == [*whole, *middle[-4:]]


async def test_an_automatic_compaction_that_was_undone_is_not_made_again_at_once(
    home: Path, provider: Provider
) -> None:
    provider.window = 3_000
    async with talking(home, provider) as session:
        await fill(session, 4, words=120)
        while not session.state.compactions:
            await talk(session, 1, words=120)
            await session.settle(5)
        await session.edits.undo()
        done = len(session.state.compactions)
        await session.submit("And?")
        await session.settle(5)
        assert len(session.state.compactions) == done


async def test_clearing_and_rewinding_can_be_undone_too(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        whole = list(session.state.history)
        await session.edits.clear()
        await session.edits.undo()
        assert list(session.state.history) == whole
        assert (await session.edits.rewind(2)).startswith("Question 2")
        assert list(session.state.history) == whole[:2]
        await session.edits.undo()
        assert list(session.state.history) == whole
        with pytest.raises(NothingToUndo, match="No turn 9"):
            await session.edits.rewind(9)
        assert replayed(home, session.id) == session.state


async def test_a_summary_in_force_can_be_rewritten(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        await session.compact()
        await session.edits.edit_summary(session.state.compactions[-1].seq or 0, "What really happened.")
        assert "What really happened." in texts(session.state)[0] and "was answered" not in texts(session.state)[0]
        assert "function_1" in texts(session.state)[1], "the user's words are still there"
        assert replayed(home, session.id) == session.state


async def test_pinned_messages_survive_and_replaced_ones_come_back(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 4)
        kept, gone = session.state.history[1], session.state.history[2]
        await session.edits.pin([kept.ref])
        await session.compact()
        assert kept in list(session.state.history) and gone not in list(session.state.history)
        await session.edits.pin([gone.ref])
        history = list(session.state.history)
        assert history.index(kept) < history.index(gone)
        await talk(session, 2)
        assert (await session.compact()).success
        assert {kept.ref, gone.ref} <= {entry.ref for entry in session.state.history}
        await session.edits.pin([kept.ref], pinned=False)
        assert session.state.pins == {gone.ref}
        assert replayed(home, session.id) == session.state


@pytest.mark.parametrize("pinned", also_in_a_long_run(["result"], ["call"]))
async def test_a_pinned_half_of_a_pair_keeps_the_other_half(home: Path, provider: Provider, pinned: str) -> None:
    def look() -> str:
        return "the very thing"

    async with talking(home, provider, tools=[look]) as session:
        await talk(session, 2)
        provider.script = [Reply(text="Let me", tool=("look", "{}"))]
        await session.submit("look, please")
        call, result = (entry.ref for entry in list(session.state.history)[5:7])
        await session.edits.pin([call if pinned == "call" else result])
        await talk(session, 2)
        assert (await session.compact()).success
        assert {call, result} <= {entry.ref for entry in session.state.history}
        await session.submit("and now?")
        sent = provider.requests[-1]["messages"]
        place = next(n for n, message in enumerate(sent) if message["role"] == "tool")
        assert sent[place]["content"] == "the very thing" and sent[place - 1]["tool_calls"]


async def test_clearing_an_empty_context_changes_nothing(home: Path, provider: Provider) -> None:
    system = {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "You keep the heron."}]}
    async with talking(home, provider) as session:
        assert not await session.edits.clear()
        await session._recorder.record(Message(turn=0, message=system))
        await talk(session, 1)
        assert await session.edits.clear()
        before = session.state
        assert not await session.edits.clear()
        assert session.state is before, "nothing was logged, so undo means the first clearing"
        await session.edits.undo()
        assert len(session.state.history) == 3


async def test_a_fork_keeps_what_was_pinned_after_its_first_turns(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 4)
        early, late = session.state.history[0], session.state.history[6]
        upto = session.state.history[3].seq
        await session.compact()
        await session.edits.pin([early.ref, late.ref])
        name = await session.fork(upto)
        forked = replayed(home, name)
        assert forked.pins == {early.ref} and early in list(forked.history)
        assert replayed(home, await session.fork()).pins == session.state.pins
        environment = session._environment
        await session.close()
        again = await Session.resume(environment, name)
        await talk(again, 2)
        assert (await again.compact()).success and early.ref in {entry.ref for entry in again.state.history}
        await again.close()


def test_every_fork_has_a_name_of_its_own() -> None:
    assert fork_title("Boats") == "Boats (fork)" and fork_title("") == "(fork)"
    assert fork_title("Boats (fork)") == "Boats (fork 2)" and fork_title("Boats (fork 9)") == "Boats (fork 10)"
