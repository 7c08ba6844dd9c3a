"""A journal over its life: appended to, written anew, stored and read again, and taken over from older sessions."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from co_tui.context.compact.offline_summary import earlier_journal, summarise_offline
from co_tui.context.compact.replacement import Digest, build
from co_tui.context.indexed_history import EARLIER, Cut
from co_tui.context.journal.entries import Kind
from co_tui.context.journal.journal import (
    FIRST_SHARE,
    LATEST_STEPS,
    Journal,
    appended,
    in_cache_blocks,
    rewritten,
)
from co_tui.context.journal.shown_lines import clean
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.transcript_lines import lines_of, transcript_parts
from co_tui.context.policy import SummaryForm
from co_tui.events.content import prompt_text
from co_tui.events.stored_messages import EXCERPTS, JOURNAL, REPLACES, SUMMARY
from co_tui.events.triggers import Trigger
from tests.support.histories import histories
from tests.support.journal_talks import answer, called, prompt, task_for
from tests.support.long_run import drawn


def step(n: int, lines: int = 6) -> list[ModelMessage]:
    rows = "\n".join(f"{k}: row_{n}_{k} = price_{n}(item_{n}_{k})" for k in range(lines))
    return called("read", rows, f"The model_{n} was wrong.", path=f"src/part_{n}.py")


def steps(first: int, last: int) -> list[ModelMessage]:
    return [message for n in range(first, last) for message in step(n)]


def grown(*ends: int, limit: float = 4_000) -> list[Journal]:
    """The journals of a conversation that is compacted after these steps."""
    history = steps(0, max(ends))
    found: list[Journal] = []
    for end in ends:
        task = task_for(history[: 2 * end], limit, earlier=found[-1] if found else None, ration=limit / 4)
        journal = appended(task)
        assert journal is not None
        found.append(journal)
    return found


def test_an_appended_journal_begins_byte_for_byte_as_before() -> None:
    journals = grown(5, 9, 12, 14)
    for before, after in pairwise(journals):
        assert after.text.startswith(f"{before.text}\n") and after.blocks[:-1] == before.blocks
        assert after.entries[: len(before.entries)] == before.entries
    assert [len(journal.blocks) for journal in journals] == [1, 2, 3, 4]
    assert journals[-1].covers == ((0, 27),)
    assert [entry.head.at for entry in journals[-1].entries] == sorted(entry.head.at for entry in journals[-1].entries)


def test_what_an_earlier_piece_shows_is_not_told_again() -> None:
    text = grown(5, 9, 12)[-1].text
    lines = [line for line in text.splitlines() if line.strip() != "…"]
    assert len(lines) == len(set(lines))


def test_a_story_stays_first_while_the_journal_grows() -> None:
    history = steps(0, 6)
    first = rewritten(task_for(history[:6], 2_000), 600, "The shop was slow.\n\nThe user wants it fast.")
    assert first.text.startswith("The shop was slow.\n\nThe user wants it fast.\n\n")
    second = appended(task_for(history, 2_000, earlier=first))
    assert second is not None and second.text.startswith(f"{first.text}\n") and second.story == first.story


def test_nothing_new_changes_nothing() -> None:
    (journal,) = grown(5)
    assert appended(task_for(steps(0, 5), 4_000, earlier=journal)) == journal
    assert appended(task_for([])) == Journal()


def test_a_journal_without_room_is_not_appended_to_but_written_anew_within_its_budget() -> None:
    history = steps(0, 40)
    full = rewritten(task_for(history[:60], 1_000), 940, "")
    task = task_for(history, 1_000, earlier=full)
    assert appended(task) is None
    anew = rewritten(task, 870, full.story)
    assert len(anew.blocks) == 1 and anew.covers == ((0, 79),)
    assert anew.tokens <= 1.25 * 870
    heads = [line for line in anew.text.splitlines() if line.startswith("- ")]
    assert heads[-LATEST_STEPS:] == [f"- read(path: src/part_{n}.py)" for n in range(30, 40)]


def test_a_first_journal_leaves_room_to_grow() -> None:
    journal = appended(task_for(steps(0, 80), 2_000))
    assert journal is not None and journal.tokens < 2_000 and FIRST_SHARE < 1


def test_older_passages_fade_before_older_entries() -> None:
    whole, less, least = (
        [entry for entry in rewritten(task_for(steps(0, 40)), budget, "").entries if entry.head.kind is Kind.CALL]
        for budget in (20_000, 2_000, 700)
    )
    assert len(whole) == 40 and all(len(entry.lines) == 6 for entry in whole)
    assert len(less) == 40 and sum(len(entry.lines) for entry in less) < 6 * 40 / 2, "passages went first"
    assert LATEST_STEPS <= len(least) < 40, "then entries"
    assert [entry.head for entry in least[-LATEST_STEPS:]] == [entry.head for entry in whole[-LATEST_STEPS:]]


STORIES = st.sampled_from(["", "One line.", "Two\n\nparagraphs of it", "## A heading\n- and a point"])


@settings(max_examples=drawn(4), deadline=None)
@given(histories, st.integers(30, 800), STORIES)
def test_what_is_stored_is_read_again_as_it_was(history: list[ModelMessage], budget: int, story: str) -> None:
    half = history[: len(history) // 2]
    first = rewritten(task_for(half, 2 * budget), budget, story)
    second = appended(task_for(history, 9 * budget, earlier=first))
    assert second is not None
    for journal in (first, second):
        again = Journal.from_json(journal.as_json(), journal.text)
        assert again.text == journal.text and again.blocks == journal.blocks and again.covers == journal.covers
        bare = [entry._replace(names=()) for entry in journal.entries]
        assert list(again.entries) == bare and again.story == journal.story


@pytest.mark.parametrize(
    "damage",
    [
        None,
        [],
        "text",
        {},
        {"story": "0"},
        {"blocks": [1, 2]},
        {"blocks": ["x"]},
        {"blocks": None},
        {"story": -3},
        {"story": True},
    ],
    ids=str,
)
def test_a_journal_that_is_stored_wrongly_is_a_story(damage: Any) -> None:
    journal = grown(4)[-1]
    stored = {**journal.as_json(), **damage} if isinstance(damage, dict) and damage else damage
    assert Journal.from_json(stored, journal.text) == Journal(story=journal.text)


@pytest.mark.parametrize("entry", [None, [], [1, 2, "call"], [1, 2, "king", "x", "", "", 1, []], "text", {"a": 1}])
def test_entries_and_ranges_that_are_stored_wrongly_are_left_out(entry: Any) -> None:
    journal = grown(4)[-1]
    stored = journal.as_json()
    stored["entries"].insert(1, entry)
    stored["entries"][0][-1].append(["not", "a line"])
    stored["covers"] += [[3], [5, 2], ["a", "b"], None, [-4, 2]]
    again = Journal.from_json(stored, journal.text)
    assert again.text == journal.text and len(again.entries) == len(journal.entries)
    assert again.covers == journal.covers


def summary_message(text: str, **metadata: Any) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(f"{EARLIER}\n{text}")], metadata={REPLACES: 4, SUMMARY: text, **metadata})


OLD_LINES = [[1, 0, 0, "assistant", "The price_table is filled by load_prices."], [2, 0, 3, "bash returned", "12: x_y"]]
OLD_TEXT = "[assistant]\nThe price_table is filled by load_prices.\n\n[bash returned]\n12: x_y\n\n[also named]\nz_name"


def test_an_offline_summary_of_an_older_session_is_told_from_the_transcript() -> None:
    """Its lines are original ones: the transcript has them, and nothing is told twice."""
    old = summary_message(OLD_TEXT, **{EXCERPTS: {"lines": OLD_LINES, "names": ["z_name"]}})
    assert earlier_journal([old, prompt("go on")]) == Journal()
    whole = [prompt("go"), answer("The price_table is filled by load_prices."), prompt("go on")]
    task = task_for(whole, 500, earlier=earlier_journal([old, prompt("go on")]))
    journal = appended(task)
    assert journal is not None and journal.text.count("The price_table is filled by load_prices.") == 1
    assert "[assistant]" not in journal.text and "[also named]" not in journal.text


def test_a_written_summary_of_an_older_session_with_lines_beside_it_is_the_story() -> None:
    """Its lines stood under `## Word for word`, outside of the summary."""
    story = "## Goal\n- Make the shop faster."
    old = summary_message(story, **{EXCERPTS: {"lines": OLD_LINES, "names": []}})
    assert earlier_journal([old]) == Journal(story=story)
    told = summarise_offline([old, answer("Now cart_view is next.")], 400, user_words=False).text
    assert told.startswith(story) and "Now cart_view is next." in told and "## Word for word" not in told


@pytest.mark.parametrize("excerpts", [None, [], {"lines": "x"}, {"lines": []}, {"lines": [[]]}, {"lines": [[1, 2, 3]]}])
def test_an_older_summary_whose_lines_are_stored_wrongly_is_a_story(excerpts: Any) -> None:
    assert earlier_journal([summary_message(OLD_TEXT, **{EXCERPTS: excerpts})]) == Journal(story=OLD_TEXT)


def test_summaries_that_someone_wrote_are_all_kept_when_they_become_one() -> None:
    layers = [summary_message(f"- Layer {n} was about topic number {n}.") for n in range(4)]
    told = summarise_offline(layers, 400, user_words=False).text
    assert all(f"Layer {n} was about" in told for n in range(4))


def journal_message(journal: Journal) -> ModelRequest:
    cut = Cut((0,), Trigger.MANUAL)
    message = build(SummaryForm.FULL, [prompt("x")], cut, Digest(journal.text, journal)).messages[0]
    assert isinstance(message, ModelRequest)
    return message


def test_a_stored_message_gives_its_journal_back() -> None:
    journal = grown(5, 9)[-1]
    found = earlier_journal([journal_message(journal), prompt("go on")])
    assert found.blocks == journal.blocks and found.covers == journal.covers


@pytest.mark.parametrize("model", ["anthropic:claude-x", "bedrock:anthropic.claude-x"])
def test_each_appended_piece_is_a_block_for_a_provider_that_caches_blocks(model: str) -> None:
    sent: list[list[str]] = []
    for journal in grown(5, 9, 12):
        message = journal_message(journal)
        (out, other) = in_cache_blocks([message, prompt("go on")], model)
        assert other.parts[0].content == "go on"
        content = out.parts[0].content
        blocks = [content] if isinstance(content, str) else list(content)
        assert "".join(blocks) == message.parts[0].content, "the same text"
        sent.append(blocks)
    assert [len(blocks) for blocks in sent] == [1, 2, 3]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before, "what was sent before stays in its blocks"


@pytest.mark.parametrize("model", ["openai:gpt-x", "google:gemini-x", "test", ""])
def test_other_providers_get_one_text(model: str) -> None:
    messages = [journal_message(grown(5, 9)[-1]), prompt("go on")]
    assert in_cache_blocks(messages, model) == messages


def test_a_journal_whose_text_or_metadata_was_changed_stays_one_text() -> None:
    message = journal_message(grown(5, 9)[-1])
    assert message.metadata is not None
    for metadata in ({**message.metadata, JOURNAL: None}, {**message.metadata, SUMMARY: "Edited."}):
        changed = ModelRequest(parts=message.parts, metadata=metadata)
        assert in_cache_blocks([changed], "anthropic:x") == [changed]


def originals(history: list[ModelMessage]) -> set[str]:
    return {clean(line) for message in history for said in transcript_parts(message) for line in lines_of(said.text)}


def shown_in(journal: Journal) -> list[str]:
    return [line.text for entry in journal.entries for line in entry.lines if not line.is_name]


@settings(max_examples=drawn(4), deadline=None)
@given(histories, st.integers(40, 1_500), st.data())
def test_any_conversation_gives_a_journal_of_original_lines(
    history: list[ModelMessage], budget: int, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(history)))
    first = appended(task_for(history[:at], budget)) or Journal()
    task = task_for(history, 3 * budget, earlier=first, ration=budget)
    second, anew = appended(task), rewritten(task, budget, "")
    assert (appended(task), rewritten(task, budget, "")) == (second, anew), "the same again"
    for journal in filter(None, (first, second, anew)):
        assert set(shown_in(journal)) <= originals(history)
        assert EARLIER not in journal.text and "[What is under way]" not in journal.text
        message = prompt_text(journal_message(journal).parts[0].content) if journal.text else EARLIER
        assert message.count(EARLIER) == 1
        lines = shown_in(journal)
        assert len({line.strip() for line in lines}) == len(lines), "each line once"
    if second is not None and first.text:
        assert second.text == first.text or second.text.startswith(f"{first.text}\n")
    assert estimate_text(first.text) <= 1.3 * budget + 40 and estimate_text(anew.text) <= 1.3 * budget + 40
