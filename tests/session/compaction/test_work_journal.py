"""What replaces earlier messages under `balanced` where no model writes a note: the journal and the state."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from co_tui.events import CompactionComplete
from co_tui.events.stored_messages import EXCERPTS, JOURNAL, QUOTES, REPLACES, RULES, SUMMARY, UNQUOTED
from co_tui.session.session import Session
from co_tui.session.state.session_state import Entry
from tests.session.compaction.test_policies import BROKEN, under
from tests.support.compacting import RULE, texts
from tests.support.long_run import only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.stores import replayed
from tests.support.talks import MODEL, compactions, served_environment, talking

EARLIER = "[Earlier conversation, summarised]\n"
UNDER_WAY = "[What is under way]\n"
STORY = Reply(text="Title: Work\n- The cart was looked at, and what was found was answered.")
TOLD = "- The cart was looked at, and what was found was answered."


def balanced(**changes: Any) -> dict[str, Any]:
    return under("balanced", context_window=8_000, daily_memory="off", **changes)


def answer(n: int, count: int = 25) -> Reply:
    lines = "\n".join(f"part_{n}_{k} of the cart is read by src/shop_{n}_{k}.py before checkout." for k in range(count))
    return Reply(
        text=f"This is what I found about the cart, part {n}:\n{lines}", prompt_tokens=-1, completion_tokens=500
    )


async def work(session: Session, provider: Provider, turns: int, lines: int = 25) -> None:
    for _ in range(turns):
        number = session.state.turn + 1
        provider.script = [answer(number, lines)]
        await session.submit(f"What about part {number} of the cart?")
    await session.settle(30)


async def test_a_model_that_fails_leaves_the_journal(home: Path, provider: Provider) -> None:
    provider.window, provider.summary = 100_000, BROKEN
    async with talking(home, provider, **balanced()) as session:
        await work(session, provider, 5)
        done = await session.compact()
        assert done.success and done.summarised_by == "offline" and "no" in done.note
        assert done.summary.startswith("user: What about part 1") and "part_4_7 of the cart is read" in done.summary
        assert done.replacement[0]["metadata"][JOURNAL]["story"] == 0


async def test_under_a_seed_policy_a_models_summary_stands_alone(home: Path, provider: Provider) -> None:
    provider.window = 100_000
    async with talking(home, provider, **under("copilot", context_window=8_000)) as session:
        await work(session, provider, 5)
        provider.summaries = [STORY]
        done = await session.compact()
        assert done.summarised_by == MODEL and done.summary == TOLD and JOURNAL not in done.replacement[0]["metadata"]


async def test_restoring_only_texts_keeps_the_journal_and_the_rules_once(home: Path, provider: Provider) -> None:
    provider.window, provider.summary = 100_000, BROKEN
    async with talking(home, provider, **balanced()) as session:
        await session.submit(RULE)
        await work(session, provider, 5)
        assert (await session.compact()).success
        await work(session, provider, 4)
        before = texts(session.state)
    async with resumed(home, provider, session.id, **under("cowagent")) as again:
        await again.submit("and now?")
        restored = texts(again.state)
        assert restored[:2] == before[:2] and len(restored) < len(before) + 2
        assert "\n".join(restored).count(f"- {RULE}") == before[1].count(f"- {RULE}")
        await again.edits.undo()
        assert texts(again.state)[: len(before)] == before


async def test_an_edited_journal_is_no_longer_extended_but_kept_as_the_users_text(
    home: Path, provider: Provider
) -> None:
    provider.window, provider.summary = 100_000, BROKEN
    async with talking(home, provider, **balanced()) as session:
        await work(session, provider, 5)
        await session.compact()
        under_way = texts(session.state)[1]
        await session.edits.edit_summary(session.state.compactions[-1].seq or 0, "What really happened.")
        assert texts(session.state)[:2] == [f"{EARLIER}What really happened.", under_way]
        await work(session, provider, 4)
        assert (await session.compact()).success
        past = texts(session.state)[0]
        assert past.startswith(f"{EARLIER}What really happened.\n\n")
        assert "\nuser: What about part 8 of the cart?" in past and " of the cart is read by src/shop_" in past
        assert replayed(home, session.id) == session.state


# Sessions of before


def as_before(replaced: list[Entry], when: str, *, told: str) -> CompactionComplete:
    """A compaction as it was logged before there was a journal: original lines under labels, in or after a summary."""
    line = "part_2_7 of the cart is read by src/shop_2_7.py before checkout."
    lines = f"[assistant]\n{line}\n[also named]\nsrc/shop_2_9.py"
    text = f"{told}\n\n## Word for word\n{lines}" if told else lines
    words = f"## Standing rules of the user\n- {RULE}\n\n## What the user said\n- {RULE}"
    metadata = {
        REPLACES: len(replaced),
        SUMMARY: told or lines,
        RULES: [RULE],
        QUOTES: [RULE],
        UNQUOTED: 0,
        EXCERPTS: {"lines": [[3, 0, 8, "assistant", line]], "names": ["src/shop_2_9.py"]},
    }
    part = {"part_kind": "user-prompt", "content": f"{EARLIER}{text}\n\n{words}", "timestamp": when}
    return CompactionComplete(
        success=True,
        trigger="manual",
        replaced=tuple(entry.ref for entry in replaced),
        replacement=({"kind": "request", "parts": [part], "timestamp": when, "metadata": metadata},),
        summary=told or lines,
        summarised_by=MODEL if told else "offline",
    )


async def compacted_before(home: Path, provider: Provider, told: str) -> tuple[str, list[Entry]]:
    """A stored session with a compaction of the old form, and its history before that."""
    async with talking(home, provider, **balanced()) as session:
        await session.submit(RULE)
        await work(session, provider, 5)
        before = list(session.state.history)
        gone = before[:8]
        await session._recorder.record(as_before(gone, gone[-1].message["timestamp"], told=told))
        return session.id, before


@only_in_a_long_run
async def test_a_session_with_original_lines_of_the_old_form_is_compacted_again_and_undone(
    home: Path, provider: Provider
) -> None:
    await _goes_on(home, provider, told="")


async def test_a_session_with_a_summary_of_the_old_form_is_compacted_again_and_undone(
    home: Path, provider: Provider
) -> None:
    await _goes_on(home, provider, told="- The cart had been looked at long ago.")


async def _goes_on(home: Path, provider: Provider, told: str) -> None:
    provider.window, provider.summary = 100_000, BROKEN
    session_id, before = await compacted_before(home, provider, told)
    async with resumed(home, provider, session_id) as session:
        assert texts(session.state)[0].startswith(EARLIER) and len(session.state.history) == 5
        await work(session, provider, 2)
        middle = list(session.state.history)
        done = await session.compact()
        assert done.success and done.replacement[0]["metadata"][JOURNAL], done.note
        past, under_way, *_ = texts(session.state)
        lines = re.findall(r"part_\d+_\d+ of the cart is read", past)
        assert lines and len(set(lines)) == len(lines), "from the transcript, each once"
        assert not {"[also named]", "## Word for word", "[assistant]"} & set(past.splitlines())
        assert past.startswith(EARLIER + told) and under_way.count(f"- {RULE}") == 2, "as a rule, and as it was said"
        sent_before = len(provider.requests)
        await session.submit("and now?")
        assert f"- {RULE}" in str(provider.requests[sent_before]["messages"])
        await session.edits.undo()
        assert list(session.state.history)[: len(middle)] == middle
        await session.edits.undo(session.state.compactions[0].seq)
        assert list(session.state.history)[: len(before)] == before
        assert len(compactions(session.state)) == 2 and replayed(home, session_id) == session.state


@asynccontextmanager
async def resumed(home: Path, provider: Provider, session_id: str, **settings: Any) -> AsyncIterator[Session]:
    environment = served_environment(home, provider, **(settings or balanced()))
    session = await Session.resume(environment, session_id)
    try:
        yield session
    finally:
        await session.close()
        environment.store.close()
