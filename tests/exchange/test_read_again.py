"""Sessions that an older reader imported: read again in place, never as forks, and never over what was said here."""

from pathlib import Path

import pytest

from co_tui.events import (
    Event,
    Message,
    Pin,
    Rewind,
    SessionEnd,
    SessionPinned,
    SessionRename,
    SessionTrashed,
    event_json,
)
from co_tui.events.facts.context import BY_IMPORT
from co_tui.events.stored_messages import text_of
from co_tui.exchange.exporters.story import story_of
from co_tui.exchange.importers import ImportedSession, load
from co_tui.exchange.importers.imported_log import READER_VERSION
from co_tui.exchange.intake.growth import Reading
from co_tui.exchange.intake.take_in import Outcome, look_up, take_in
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import NothingToUndo, beginning_of, undoable
from co_tui.session.state.history_edits import said as said_in
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.ui.control.stored_transcript import StoredTranscript
from co_tui.ui.transcript.blocks import BlockBuilder
from tests.support.foreign import claude_call, claude_result, claude_row, write_lines
from tests.support.growing_files import said
from tests.support.here import Here

ROWS = [
    claude_row("user", "go", 1, uuid="1"),
    claude_row("assistant", [claude_call("a")], 2, uuid="2"),
    claude_row("user", [claude_result("a", "of a")], 3, uuid="3"),
    claude_row("assistant", "Done.", 4, uuid="4"),
]
MORE = [claude_row("user", "and now?", 5, uuid="5"), claude_row("assistant", "More.", 6, uuid="6")]


def by_an_older_reader(session: ImportedSession) -> list[Event]:
    """As a reader that took calls for text would have stored it."""
    log: list[Event] = []
    for event in session.log:
        match fact := event.fact:
            case Message() if event.seq in (4, 5):
                words = said("[calls a]", by_user=False) if event.seq == 4 else said("[of a]", by_user=True)
                event = event.but(fact=fact.but(message={**words, "metadata": fact.message["metadata"]}))
            case SessionEnd():
                event = event.but(fact=fact.but(reader=0))
        log.append(event)
    return log


class Imported:
    """A file, and a store that an older reader imported it into."""

    def __init__(self, store: InMemoryStore, folder: Path) -> None:
        self.store, self.file = store, write_lines(folder / "talk.jsonl", ROWS)
        (self.session,) = load(self.file)
        self.id = self.session.session_id
        store.writing().import_log(by_an_older_reader(self.session)).result()

    def log(self) -> list[Event]:
        with self.store.reading() as reading:
            return list(reading.events(self.id))

    def texts(self) -> list[str]:
        return [text_of(part.get("content")) for each in replay(self.log()).history for part in each.message["parts"]]

    def listed(self) -> int:
        with self.store.reading() as reading:
            assert reading.count() == 1, "no fork"
            return reading.session(self.id).messages


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    return Imported(InMemoryStore(), tmp_path)


def test_a_session_knows_its_reader(imported: Imported) -> None:
    ends = [event.fact.reader for event in imported.session.log if isinstance(event.fact, SessionEnd)]
    assert ends == [READER_VERSION] and READER_VERSION > 0


def test_one_that_could_be_read_better_stays_until_asked_and_is_then_read_again_once(imported: Imported) -> None:
    before = imported.log()
    taken = take_in(imported.store, imported.session)
    assert (taken.outcome, taken.reading) == (Outcome.KNOWN, Reading.BETTER)
    planned = look_up(imported.store, imported.session, again=True)
    assert imported.log() == before, "nothing was written"
    imported.store.writing().append(imported.id, [SessionPinned(), SessionRename(title="Mine")]).result()
    taken = take_in(imported.store, imported.session, again=True)
    assert (taken.outcome, taken.reading) == (planned.outcome, planned.reading) == (Outcome.CONTINUED, Reading.AGAIN)
    whole = replay(imported.session.log)
    assert [each.message for each in replay(imported.log()).history] == [each.message for each in whole.history]
    assert imported.listed() == imported.session.message_count
    with imported.store.reading() as reading:
        row = reading.session(imported.id)
    assert (row.title, row.pinned) == ("Mine", True)
    taken = take_in(imported.store, imported.session, again=True)
    assert (taken.outcome, taken.reading) == (Outcome.KNOWN, Reading.SAME)


def test_one_that_was_continued_here_stays_as_it_is(imported: Imported) -> None:
    imported.store.writing().append(imported.id, [Message(turn=2, message=said("mine", by_user=True))]).result()
    for again in (False, True):
        taken = take_in(imported.store, imported.session, again=again)
        assert (taken.outcome, taken.reading) == (Outcome.KNOWN, Reading.CONTINUED)
    assert imported.texts() == ["go", "[calls a]", "[of a]", "Done.", "mine"] and imported.listed() == 5


def test_one_that_was_continued_on_both_sides_is_a_fork_also_when_read_again(imported: Imported) -> None:
    imported.store.writing().append(imported.id, [Message(turn=2, message=said("mine", by_user=True))]).result()
    (grown,) = load(write_lines(imported.file, [*ROWS, *MORE]))
    assert take_in(imported.store, grown, again=True).outcome is Outcome.FORKED
    assert take_in(imported.store, grown, again=True).outcome is Outcome.KNOWN


def test_an_agent_that_ended_last_is_no_growth(imported: Imported) -> None:
    """Older readers left agents out: no fork of what was continued here, and nothing is replaced unasked."""
    (folder := imported.file.with_suffix("") / "subagents").mkdir(parents=True)
    rows = [claude_row(role, "x", at, uuid=role, isSidechain=True) for role, at in (("user", 2), ("assistant", 59))]
    write_lines(folder / "agent-a.jsonl", rows)
    (session,) = load(imported.file)
    assert take_in(imported.store, session).reading is Reading.BETTER
    imported.store.writing().append(imported.id, [Message(turn=2, message=said("mine", by_user=True))]).result()
    assert take_in(imported.store, session).reading is Reading.CONTINUED
    assert imported.listed() == 5


def test_a_file_that_lost_its_end_replaces_nothing(imported: Imported) -> None:
    (cut,) = load(write_lines(imported.file, ROWS[:3]))
    assert take_in(imported.store, cut, again=True).outcome is Outcome.KNOWN
    assert imported.texts()[-1] == "Done."


COMPACTED = [
    *ROWS[:3],
    {**claude_row("system", "", 4, uuid="c"), "subtype": "compact_boundary", "compactMetadata": {"trigger": "manual"}},
    claude_row("user", "The summary", 5, uuid="s", isCompactSummary=True),
    *[claude_row("assistant", "Done.", 6, uuid="4"), claude_row("user", "and now?", 7, uuid="5")],
]


def test_what_was_read_again_is_there_once_for_all_who_look(tmp_path: Path) -> None:
    """The list, an export and the chat; pins stay, going back leads to what was read last, and nothing is undone."""
    (session,) = load(write_lines(tmp_path / "talk.jsonl", COMPACTED))
    store = InMemoryStore()
    store.writing().import_log(by_an_older_reader(session)).result()
    store.writing().append(session.session_id, [Pin(messages=((4, 0),))]).result()
    assert take_in(store, session, again=True).reading is Reading.AGAIN
    with store.reading() as reading:
        log, row = list(reading.events(session.session_id)), reading.session(session.session_id)
    exported = ImportedSession(source="co-tui", session_id=row.id, title="", messages=[], log=tuple(log))
    assert row.compactions == 1 and row.messages == session.message_count == exported.message_count
    story, once = story_of(log), story_of(session.log)
    assert (story.messages, story.compactions) == (once.messages, 1)
    assert len(story.entries) == len(once.entries) + 2, "the pin, here and of what was read again"
    shown = [block.text for block in StoredTranscript(store, session.session_id).newest().blocks]
    assert shown == [block.text for block in BlockBuilder().add_all(session.log)]
    state = replay(log)
    (call,) = (entry for entry in said_in(state) if "tool-call" in str(entry.message))
    assert call.ref in state.pins
    again = next(event.seq or 0 for event in log if isinstance(event.fact, Rewind))
    assert beginning_of(state, 2).seq > again
    with pytest.raises(NothingToUndo, match="read again"):
        undoable(replay(log[:again]))


@pytest.mark.parametrize("again", [9, -9])
def test_a_file_that_counts_wrongly_takes_no_more_than_there_is(imported: Imported, again: int) -> None:
    rewind = Rewind(to_seq=3, history=((3, 0),), by=BY_IMPORT, messages_again=again, compactions_again=again)
    imported.store.writing().append(imported.id, [rewind]).result()
    with imported.store.reading() as reading:
        row = reading.session(imported.id)
    assert (row.messages, row.compactions) == (0 if again > 0 else 4, 0)


def test_one_that_has_grown_is_read_again_with_what_is_new(imported: Imported) -> None:
    (grown,) = load(write_lines(imported.file, [*ROWS, *MORE]))
    taken = take_in(imported.store, grown)
    assert (taken.outcome, taken.reading) == (Outcome.CONTINUED, Reading.AGAIN)
    assert imported.texts()[-3:] == ["Done.", "and now?", "More."] and imported.listed() == 6


def test_one_in_the_trash_comes_back_and_can_be_read_better(imported: Imported) -> None:
    imported.store.writing().append(imported.id, [SessionTrashed()]).result()
    assert take_in(imported.store, imported.session).reading is Reading.BETTER
    assert imported.listed() == 4


def test_the_command_offers_reads_again_and_says_what_it_left(here: Here, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "talk.jsonl", ROWS)
    (session,) = load(file)
    (old := tmp_path / "old.jsonl").write_text("\n".join(map(event_json, by_an_older_reader(session))))
    here("import", str(old))
    done = here("import", str(file))
    assert "already imported" in done.out
    assert done.err == "co-tui: 1 session can be read better now: `co-tui import --again`.\n"
    assert here("import", str(file), "--again", "--dry-run", "--json").objects[0]["better"] == 1
    assert "(4 messages, read again)" in here("import", "--again", str(file)).out
    assert here("sessions", "--json").objects[0]["messages"] == 4
    shown = here("show", session.session_id).out
    exported = here("export", session.session_id).out
    assert "[calls a]" not in shown + exported and shown.count("Done.") == exported.count("Done.") == 1
    assert "already imported" in here("import", "--again", str(file)).out
    assert here("import", "--again").code == 0, "without files: all programs"
