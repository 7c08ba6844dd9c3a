"""The note that the session's model writes: asked ahead, in the conversation itself, and checked."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from co_tui.context.compact.note import INTRO, NOT_FOUND, marked, unknown_names
from co_tui.session.session import Session
from tests.session.compaction.test_policies import successes, under
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import LONG, compactions, talk, talking
from tests.support.waiting import PATIENCE_S

WINDOW = 16_000
NOTE = Reply(
    text="The task: answer about `src/module.py`. Decided: nothing yet.", prompt_tokens=-1, completion_tokens=40
)


def look() -> str:
    """Look at something."""
    return "line of src/module.py 12345\n" * 40


def _talked(provider: Provider, home: Path, **settings: Any) -> Any:
    provider.default, provider.window, provider.summary = LONG, WINDOW, NOTE
    return talking(home, provider, tools=[look], **under("balanced", **settings))


async def _until_asked(session: Session, provider: Provider) -> None:
    while not provider.summary_requests:
        provider.script = [Reply(text="Let me", tool=("look", "{}"), prompt_tokens=-1)]
        await talk(session, 1, words=200)


async def test_it_is_the_next_message_of_the_same_conversation(home: Path, provider: Provider) -> None:
    async with _talked(provider, home) as session:
        await _until_asked(session, provider)
        await session.settle(PATIENCE_S)
        asked = provider.summary_requests[0]
        shorter = (each for each in provider.requests if len(each["messages"]) < len(asked["messages"]))
        before = max(shorter, key=lambda each: len(each["messages"]))
        shared = [json.dumps(each) for each in before["messages"]]
        assert [json.dumps(each) for each in asked["messages"]][: len(shared)] == shared, "the same prefix, to the byte"
        assert asked["tools"] == before["tools"] and asked.get("tool_choice") == before.get("tool_choice")
        assert "co-tui, not from the user" in asked["messages"][-1]["content"]
        (done,) = successes(session)
        assert (done.trigger, done.summarised_by) == ("background", "openai-chat:scripted")
        assert done.summary == f"{INTRO}\n\n{NOTE.text}" and done.usage["requests"] == 1
        await talk(session, 1)
        sent = provider.requests[-1]["messages"]
        assert sent[1]["content"] == f"[Earlier conversation, summarised]\n{done.summary}"
        assert done.post_tokens < 0.35 * WINDOW


async def test_calls_in_the_reply_are_not_run(home: Path, provider: Provider) -> None:
    ran: list[str] = []

    def look() -> str:
        """Look at something."""
        ran.append("look")
        return "line of src/module.py 12345\n" * 40

    provider.default, provider.window = LONG, WINDOW
    provider.summary, provider.summaries = NOTE, [Reply(text="", tool=("look", "{}"), prompt_tokens=-1)]
    async with talking(home, provider, tools=[look], **under("balanced")) as session:
        turns = 0
        while not provider.summary_requests:
            provider.script = [Reply(text="Let me", tool=("look", "{}"), prompt_tokens=-1)]
            await talk(session, 1, words=200)
            turns += 1
        await session.settle(PATIENCE_S)
        assert len(provider.summary_requests) == 2 and len(ran) == turns
        assert "as text" in provider.summary_requests[1]["messages"][-1]["content"]
        (done,) = successes(session)
        assert done.summary.endswith(NOTE.text) and done.usage["requests"] == 2


async def test_names_that_nobody_said_are_marked(home: Path, provider: Provider) -> None:
    provider.summaries = [Reply(text="Edited `src/module.py` and `lost_file.py`.", prompt_tokens=-1)]
    async with _talked(provider, home) as session:
        await _until_asked(session, provider)
        await session.settle(PATIENCE_S)
        (done,) = successes(session)
        assert done.summary.endswith(f"Edited `src/module.py` and `lost_file.py` {NOT_FOUND}.")
        assert len(provider.summary_requests) == 1, "no second note is paid for"


async def test_no_turn_waits_and_the_note_replaces_what_stood_in_for_it(home: Path, provider: Provider) -> None:
    written = threading.Event()
    async with _talked(provider, home) as session:
        provider.summary = Reply(text=NOTE.text, until=written, prompt_tokens=-1, completion_tokens=40)
        while not successes(session):
            await talk(session, 1, words=300)
        (stand_in,) = successes(session)
        before = len(session.state.transcript)
        assert stand_in.summarised_by == "offline" and not written.is_set() and stand_in.success
        await talk(session, 2)
        written.set()
        await session.settle(PATIENCE_S)
        await talk(session, 1)
        note = successes(session)[-1]
        assert note.summary.endswith(NOTE.text) and note.supersedes == session.state.compactions[0].seq
        sent = json.dumps(provider.requests[-1]["messages"])
        assert sent.count("[Earlier conversation, summarised]") == 1 and stand_in.summary[:200] not in sent
        assert len(provider.summary_requests) == 1, "nothing is asked twice"
        assert replayed(home, session.id) == session.state
        await session.edits.undo()
        assert len(session.state.history) == len(session.state.transcript) > before, "one undo brings back all"
        assert replayed(home, session.id) == session.state


@pytest.mark.parametrize("change", ["clear", "rewind"])
async def test_a_running_note_is_dropped_when_the_history_changes_and_its_cost_counts(
    home: Path, provider: Provider, change: str
) -> None:
    async with _talked(provider, home) as session:
        written = threading.Event()
        provider.summary = Reply(text=NOTE.text, until=written, prompt_tokens=-1, completion_tokens=40)
        await _until_asked(session, provider)
        await (session.edits.clear() if change == "clear" else session.edits.rewind(2))
        written.set()
        await session.settle(PATIENCE_S)
        (dropped,) = compactions(session.state)
        assert dropped.cancelled and not dropped.success and dropped.usage["requests"] == 1


async def test_code_writes_when_it_is_to(home: Path, provider: Provider) -> None:
    async with _talked(provider, home, summary_by="code") as session:
        while not successes(session):
            await talk(session, 1, words=300)
        assert not provider.summary_requests and successes(session)[0].summarised_by == "offline"


def test_which_names_are_marked() -> None:
    note = "Set `limit` to 98765 in src/lost.py, not in src/known.py; see src/lost.py. Next: Table.known_method."
    unknown = unknown_names(note, "src: known.py limit class table def known_method")
    assert unknown == ("98765", "src/lost.py")
    expected = note.replace("98765", f"98765 {NOT_FOUND}").replace("src/lost.py", f"src/lost.py {NOT_FOUND}", 1)
    assert marked(note, unknown) == expected
