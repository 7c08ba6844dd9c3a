"""What is exact about a session that is continued: half replies, references, seqs, and logs that travel."""

from pathlib import Path
from typing import Any

import pytest

from co_tui.events import (
    Clear,
    CompactionComplete,
    Event,
    Fact,
    Message,
    Rewind,
    SessionEnd,
    SessionPinned,
    SessionRename,
    SessionStart,
    UsageInfo,
    event_json,
)
from co_tui.events.decisions import without_decisions
from co_tui.events.stored_messages import FOREIGN_ID, text_of
from co_tui.exchange.exporters import exported
from co_tui.exchange.importers import ImportRefused, load
from co_tui.exchange.intake.growth import foreign_growth
from co_tui.exchange.intake.take_in import MAX_FORKS, Outcome, TakenIn, take_in
from co_tui.session.state.derive import replay
from co_tui.store.sqlite.in_memory import InMemoryStore
from tests.support.foreign import claude_call, claude_result, claude_row, codex_row, codex_said, write_lines
from tests.support.growing_files import said

Rows = list[dict[str, Any]]


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def brought(store: InMemoryStore, file: Path) -> TakenIn:
    (session,) = load(file)
    return take_in(store, session)


def events(store: InMemoryStore, session_id: str) -> list[Event]:
    with store.reading() as reading:
        return list(reading.events(session_id))


def history(log: list[Event] | tuple[Event, ...]) -> list[str]:
    return [text_of(part.get("content")) for entry in replay(log).history for part in entry.message["parts"]]


def grown(store: InMemoryStore, tmp_path: Path, before: Rows, after: Rows) -> TakenIn:
    """Import a file, then what became of it: the history is that of the last one."""
    file = tmp_path / "talk.jsonl"
    brought(store, write_lines(file, before))
    taken = brought(store, write_lines(file, after))
    (whole,) = load(file)
    assert history(events(store, taken.session_id)) == history(whole.log)
    assert brought(store, file).outcome is Outcome.KNOWN
    return taken


# What a program was still writing

PROMPT = claude_row("user", "go", 1, uuid="1")
CALLING = claude_row("assistant", [claude_call("a")], 2, uuid="2", message={"id": "m"})
MORE = claude_row("assistant", [claude_call("b")], 3, uuid="3", message={"id": "m"})
RESULT_B = claude_row("user", [claude_result("b", "of b")], 4, uuid="4")
QUEUED = claude_row("user", "and then?", 5, uuid="5", parentUuid="4")
RESULT_A = claude_row("user", [claude_result("a", "of a")], 6, uuid="6")


def test_a_reply_that_was_still_being_written_is_completed(store: InMemoryStore, tmp_path: Path) -> None:
    taken = grown(store, tmp_path, [PROMPT, CALLING], [PROMPT, CALLING, MORE, RESULT_B])
    assert taken.outcome is Outcome.CONTINUED
    (rewound,) = [event.fact for event in events(store, taken.session_id) if isinstance(event.fact, Rewind)]
    assert rewound.by == "import"
    file = write_lines(tmp_path / "talk.jsonl", [PROMPT, CALLING, MORE, RESULT_B, QUEUED])
    again = brought(store, file)
    assert (again.outcome, again.added) == (Outcome.CONTINUED, 1), "and the completed one is continued as usual"


def test_a_call_whose_arguments_were_still_being_written_is_completed(store: InMemoryStore, tmp_path: Path) -> None:
    whole = claude_row("assistant", [claude_call("a", path="x")], 2, uuid="2", message={"id": "m"})
    taken = grown(store, tmp_path, [PROMPT, CALLING], [PROMPT, whole, RESULT_A])
    assert taken.outcome is Outcome.CONTINUED
    other = claude_row("assistant", [claude_call("a", path="y")], 2, uuid="2", message={"id": "m"})
    assert brought(store, write_lines(tmp_path / "talk.jsonl", [PROMPT, other])).outcome is Outcome.FORKED


def test_a_result_that_came_late_stands_behind_its_call(store: InMemoryStore, tmp_path: Path) -> None:
    before = [PROMPT, CALLING, MORE, RESULT_B, QUEUED]
    assert grown(store, tmp_path, before, [*before, RESULT_A]).outcome is Outcome.CONTINUED


def test_a_text_that_grows_in_place_is_completed_and_an_edited_one_is_a_fork(
    store: InMemoryStore, tmp_path: Path
) -> None:
    half, whole = (claude_row("assistant", text, 2, uuid="2") for text in ("At the", "At the pond."))
    assert grown(store, tmp_path, [PROMPT, half], [PROMPT, whole]).outcome is Outcome.CONTINUED
    edited = claude_row("assistant", "In the reeds.", 2, uuid="2")
    file = write_lines(tmp_path / "talk.jsonl", [PROMPT, edited])
    assert brought(store, file).outcome is Outcome.FORKED
    assert brought(store, file).outcome is Outcome.KNOWN


def test_a_usage_that_is_reported_late_is_taken_with_what_follows(store: InMemoryStore, tmp_path: Path) -> None:
    tokens = {"input_tokens": 90, "output_tokens": 10}
    before = [codex_row("session_meta", id="t"), codex_said("user", "hi", 1), codex_said("assistant", "ho", 2)]
    counted = codex_row("event_msg", 3, type="token_count", info={"last_token_usage": tokens})
    taken = grown(store, tmp_path, before, [*before, counted, codex_said("user", "next", 4)])
    assert taken.added == 1
    (used,) = [event.fact for event in events(store, taken.session_id) if isinstance(event.fact, UsageInfo)]
    assert used.input_tokens == 90


def log_of(*facts: Fact) -> list[Event]:
    return [
        Event(session_id="s", seq=n, timestamp=f"2026-01-01T00:00:{n:02}Z", fact=fact)
        for n, fact in enumerate(facts, 1)
    ]


def test_what_is_appended_is_what_is_new_each_report_once() -> None:
    def talk(text: str) -> Message:
        return Message(turn=1, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})

    sizes = "token_limit current_tokens messages_count system_tokens conversation_tokens tool_definition_tokens"
    nothing: dict[str, Any] = dict.fromkeys(sizes.split(), 0)
    used = [UsageInfo(**nothing, input_tokens=tokens) for tokens in (10, 20, 30)]
    start, ends = SessionStart(cwd="/work"), SessionEnd(reason="imported from codex")
    stored = log_of(start, talk("hi"), used[0], ends, SessionPinned())
    file = log_of(start, talk("hi"), used[0], used[1], SessionPinned(), talk("next"), used[2], ends)
    growth = foreign_growth(stored, file)
    assert [event.fact for event in growth.tail] == [used[1], talk("next"), used[2], ends]
    assert [event.seq for event in growth.tail] == [6, 7, 8, 9]
    growth = foreign_growth(stored, log_of(start, talk("hi"), talk("next"), used[2], ends))
    assert [event.fact for event in growth.tail] == [talk("next"), used[2], ends], "a report about another message"


# What a program compacted or rewound


def test_a_compaction_in_the_file_replaces_the_same_messages_here(store: InMemoryStore, tmp_path: Path) -> None:
    before = [PROMPT, claude_row("assistant", "done", 2, uuid="2")]
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "timestamp": "2025-03-01T10:00:30Z"}
    summary = claude_row("user", "In short.", 31, uuid="7", isCompactSummary=True)
    after = [*before, boundary, summary, claude_row("user", "next", 40, uuid="8")]
    file = tmp_path / "talk.jsonl"
    first = brought(store, write_lines(file, before))
    # Seqs here are no longer those of the file.
    store.writing().append(first.session_id, [SessionRename(title="Mine"), SessionPinned()]).result()
    assert brought(store, write_lines(file, [*before, boundary])).outcome in (Outcome.KNOWN, Outcome.CONTINUED)
    taken = brought(store, write_lines(file, after))
    assert (taken.outcome, taken.session_id) == (Outcome.CONTINUED, first.session_id)
    assert history(events(store, first.session_id)) == ["In short.", "next"]
    back = claude_row("user", "other", 50, uuid="9", parentUuid="7")
    taken = brought(store, write_lines(file, [*after, back]))
    (whole,) = load(file)
    assert taken.outcome is Outcome.CONTINUED
    assert history(events(store, first.session_id)) == history(whole.log)
    assert brought(store, file).outcome is Outcome.KNOWN


@pytest.mark.parametrize("kind", [Clear, Rewind])
def test_clearing_or_rewinding_here_counts_as_going_on(store: InMemoryStore, tmp_path: Path, kind: type) -> None:
    file = write_lines(tmp_path / "talk.jsonl", [PROMPT])
    first = brought(store, file)
    fact = Clear() if kind is Clear else Rewind(to_seq=0, history=())
    store.writing().append(first.session_id, [fact]).result()
    assert brought(store, file).outcome is Outcome.KNOWN
    write_lines(file, [PROMPT, claude_row("user", "next", 9, uuid="9")])
    assert brought(store, file).outcome is Outcome.FORKED
    assert history(events(store, first.session_id)) == []


# What is not a new session


def test_a_session_imported_without_ids_is_continued_or_left_alone(store: InMemoryStore, tmp_path: Path) -> None:
    def without_ids(event: Event) -> Event:
        match fact := event.fact:
            case Message():
                return event.but(fact=fact.but(message={**fact.message, "metadata": None}))
            case SessionEnd():  # such a version kept no number of its own either
                return event.but(fact=fact.but(reader=0))
            case _:
                return event

    file = write_lines(tmp_path / "talk.jsonl", [PROMPT, CALLING])
    (old,) = load(file)
    store.writing().import_log([without_ids(event) for event in old.log]).result()
    assert brought(store, file).outcome is Outcome.KNOWN
    read_differently = claude_row("assistant", "As a newer version reads it.", 2, uuid="2")
    assert brought(store, write_lines(file, [PROMPT, read_differently])).outcome is Outcome.KNOWN, "no fork of all"
    taken = brought(store, write_lines(file, [PROMPT, CALLING, RESULT_A]))
    assert (taken.outcome, taken.added) == (Outcome.CONTINUED, 1)


@pytest.mark.parametrize("events_written", range(1, 6))
def test_an_import_that_was_cut_short_is_completed(store: InMemoryStore, tmp_path: Path, events_written: int) -> None:
    file = write_lines(tmp_path / "talk.jsonl", [PROMPT, CALLING, MORE, RESULT_B, QUEUED])
    (session,) = load(file)
    store.writing().import_log(session.log[:events_written]).result()
    taken = brought(store, file)
    assert taken.outcome is Outcome.CONTINUED and taken.session_id == session.session_id
    assert history(events(store, session.session_id)) == history(session.log)
    assert brought(store, file).outcome is Outcome.KNOWN


def test_ids_are_the_programs_own_else_fingerprints(tmp_path: Path) -> None:
    head = {"type": "session", "id": "p", "cwd": "/w", "timestamp": "2025-03-01T10:00:00Z"}
    entries = [{"type": "message", "message": {"role": "user", "content": text}} for text in ("one", "two")]
    (session,) = load(write_lines(tmp_path / "a.jsonl", [head, entries[0] | {"id": "1"}, entries[1]]))
    ids = [(message.metadata or {})[FOREIGN_ID] for message in session.messages]
    assert ids[0] == "1" and ids[1].startswith("#")


def test_the_forks_of_one_session_are_limited(store: InMemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    for number in range(MAX_FORKS + 1):
        brought(store, write_lines(file, [PROMPT, claude_row("user", f"way {number}", 9, uuid=f"w{number}")]))
    write_lines(file, [PROMPT, claude_row("user", "one too many", 9, uuid="x")])
    with pytest.raises(ImportRefused, match="forks here already"):
        brought(store, file)


def test_a_session_that_is_open_is_not_continued_behind_its_back(store: InMemoryStore, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "talk.jsonl", [PROMPT])
    first = brought(store, file)
    write_lines(file, [PROMPT, claude_row("user", "next", 9, uuid="9")])
    with store.claim(first.session_id), pytest.raises(ImportRefused, match="is open"):
        brought(store, file)
    assert brought(store, file).outcome is Outcome.CONTINUED


# Our own logs, which travel between machines


def logged(store: InMemoryStore, *texts: str, session_id: str = "ours") -> None:
    facts = [Message(turn=1, message=said(text, by_user=True)) for text in texts]
    start = () if events(store, session_id) else (SessionStart(cwd="/w", model="m"),)
    store.writing().append(session_id, [*start, *facts]).result()


def sent(store: InMemoryStore, folder: Path, keys: tuple[str, ...] = ()) -> Path:
    file = folder / "ours.jsonl"
    file.write_text("".join(exported(events(store, "ours"), "jsonl", keys)))
    return file


def test_a_log_that_grew_elsewhere_is_taken_up_from_its_tail_exactly(store: InMemoryStore, tmp_path: Path) -> None:
    other = InMemoryStore()
    logged(other, "one", "two")
    assert brought(store, sent(other, tmp_path)).outcome is Outcome.NEW
    logged(other, "three")
    taken = brought(store, sent(other, tmp_path))
    assert (taken.outcome, taken.session_id, taken.added) == (Outcome.CONTINUED, "ours", 1)
    there = without_decisions(events(other, "ours"))
    assert list(map(event_json, events(store, "ours"))) == list(map(event_json, there))
    logged(store, "four")
    assert brought(store, sent(other, tmp_path)).outcome is Outcome.KNOWN, "the shorter one is already here"
    assert brought(other, sent(store, tmp_path)).added == 1


def test_two_machines_that_only_name_and_pin_come_to_rest(store: InMemoryStore, tmp_path: Path) -> None:
    other = InMemoryStore()
    logged(other, "one")
    brought(store, sent(other, tmp_path))
    store.writing().append("ours", [SessionPinned()]).result()
    other.writing().append("ours", [SessionRename(title="Theirs")]).result()
    logged(other, "two")
    seq = events(other, "ours")[-1].seq or 0
    done = CompactionComplete(success=True, trigger="manual", pre_tokens=9, post_tokens=1, replaced=((seq, 0),))
    other.writing().append("ours", [done.but(replacement=(said("In short.", by_user=True),))]).result()
    assert brought(store, sent(other, tmp_path)).outcome is Outcome.CONTINUED
    assert history(events(store, "ours")) == ["one", "In short."], "what it refers to has another seq here"
    assert brought(store, sent(other, tmp_path)).outcome is Outcome.KNOWN
    assert brought(other, sent(store, tmp_path)).outcome is Outcome.CONTINUED
    for _ in range(2):
        assert brought(store, sent(other, tmp_path)).outcome is Outcome.KNOWN
        assert brought(other, sent(store, tmp_path)).outcome is Outcome.KNOWN
    assert replay(events(store, "ours")).title == replay(events(other, "ours")).title == "Theirs"


def test_a_log_in_which_a_key_is_hidden_is_still_the_same(store: InMemoryStore, tmp_path: Path) -> None:
    logged(store, "the key is hunter2-hunter2", "two")
    assert brought(store, sent(store, tmp_path, ("hunter2-hunter2",))).outcome is Outcome.KNOWN
    assert "hunter2-hunter2" in history(events(store, "ours"))[0]
