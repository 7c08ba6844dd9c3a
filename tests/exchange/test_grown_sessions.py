"""Sessions that grow in their file, here, or in both: nothing twice, nothing lost."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from co_tui.events import Message, SessionFork, SessionRename
from co_tui.events.stored_messages import text_of
from co_tui.exchange.importers import load
from co_tui.exchange.intake.take_in import Outcome, TakenIn, take_in
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import SessionState
from co_tui.store.housekeeping import move_to_trash
from co_tui.store.sqlite.in_memory import InMemoryStore
from tests.support.growing_files import PROGRAMS, Exchange, said
from tests.support.long_run import drawn


def texts(state: SessionState) -> list[str]:
    return [text_of(part.get("content")) for entry in state.history for part in entry.message["parts"]]


class FileAndStore:
    """A file of one program that grows or diverges, and a store that it is imported into."""

    def __init__(self, program: str, folder: Path) -> None:
        self.write, self.folder = PROGRAMS[program], folder
        self.store = InMemoryStore()
        self.number = 0
        self.exchanges: list[Exchange] = []
        self.title = "A title"
        self.local: dict[str, list[str]] = {}
        """What was said here, by session."""
        self.grow()

    def exchange(self) -> Exchange:
        self.number += 1
        return Exchange(self.number, f"prompt {self.number}", f"reply {self.number}")

    def grow(self, count: int = 1) -> None:
        self.exchanges += [self.exchange() for _ in range(count)]

    def bring_in(self) -> TakenIn:
        (session,) = load(self.write(self.folder, self.exchanges, self.title))
        return take_in(self.store, session)

    def file_texts(self) -> list[str]:
        """The history of the file if it were imported at once."""
        (session,) = load(self.write(self.folder, self.exchanges, self.title))
        return texts(replay(session.log))

    def state(self, session_id: str) -> SessionState:
        with self.store.reading() as reading:
            return replay(reading.events(session_id))

    def listed(self) -> list[str]:
        with self.store.reading() as reading:
            return [row.id for row in reading.sessions(limit=1000)]

    def all_texts(self) -> dict[str, list[str]]:
        with self.store.reading() as reading:
            rows = [*reading.sessions(limit=1000), *reading.sessions(limit=1000, in_trash=True)]
        return {row.id: texts(self.state(row.id)) for row in rows}

    def say_here(self, session_id: str) -> None:
        one = self.exchange()
        turn = self.state(session_id).turn + 1
        facts = [
            Message(turn=turn, message=said(f"here {one.prompt}", by_user=True)),
            Message(turn=turn, message=said(f"here {one.reply}", by_user=False)),
        ]
        self.store.writing().append(session_id, facts).result()
        self.local.setdefault(session_id, []).extend((f"here {one.prompt}", f"here {one.reply}"))

    def log_sizes(self) -> dict[str, int]:
        with self.store.reading() as reading:
            return {id: reading.session(id).last_seq for id in self.all_texts()}

    def check_imported(self, taken: TakenIn) -> None:
        stored = self.all_texts()
        whole = self.file_texts()
        assert stored[taken.session_id][: len(whole)] == whole, "all of the file is here"
        assert taken.session_id in self.listed(), "and not in the trash"
        assert sum(each == whole for each in stored.values()) <= 1, "nothing twice"
        for session_id, local in self.local.items():
            assert [text for text in stored[session_id] if text.startswith("here ")] == local, "nothing lost"
        for each in stored.values():
            assert len(set(each)) == len(each), "no message twice"
        before = self.log_sizes()
        again = self.bring_in()
        assert (again.outcome, again.session_id) == (Outcome.KNOWN, taken.session_id)
        assert self.log_sizes() == before, "importing again writes nothing"


@pytest.fixture(params=PROGRAMS)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> FileAndStore:
    return FileAndStore(request.param, tmp_path)


def test_a_session_that_grows_in_five_steps_is_the_one_imported_at_once(both: FileAndStore) -> None:
    first = both.bring_in()
    assert first.outcome is Outcome.NEW
    for _ in range(5):
        both.grow()
        taken = both.bring_in()
        assert (taken.outcome, taken.session_id, taken.added) == (Outcome.CONTINUED, first.session_id, 2)
        both.check_imported(taken)
    assert both.listed() == [first.session_id] and both.state(first.session_id).turn == 6


def test_a_session_that_grew_on_both_sides_becomes_one_fork_that_is_continued(both: FileAndStore) -> None:
    first = both.bring_in()
    both.say_here(first.session_id)
    assert both.bring_in().outcome is Outcome.KNOWN, "the file did not change"
    both.grow()
    fork = both.bring_in()
    assert fork.outcome is Outcome.FORKED and fork.fork_of == first.session_id
    both.check_imported(fork)
    with both.store.reading() as reading:
        (fact,) = [event.fact for event in reading.events(fork.session_id) if isinstance(event.fact, SessionFork)]
        seqs = [event.seq or 0 for event in reading.events(first.session_id) if isinstance(event.fact, Message)]
    assert fact.source_session_id == first.session_id
    assert seqs[-3] <= fact.source_seq < seqs[-2], "up to what was said here"
    both.grow()
    grown = both.bring_in()
    assert (grown.outcome, grown.session_id, grown.added) == (Outcome.CONTINUED, fork.session_id, 2)
    both.check_imported(grown)
    both.say_here(fork.session_id)
    both.grow()
    second = both.bring_in()
    assert second.outcome is Outcome.FORKED and len(both.listed()) == 3
    both.check_imported(second)


def test_a_trashed_session_comes_back_with_the_files_newest_state(both: FileAndStore) -> None:
    first = both.bring_in()
    move_to_trash(both.store, first.session_id)
    both.grow()
    taken = both.bring_in()
    assert (taken.outcome, taken.restored) == (Outcome.CONTINUED, True)
    both.check_imported(taken)
    both.store.delete(first.session_id)
    assert both.bring_in().outcome is Outcome.NEW


def test_a_file_that_says_something_else_becomes_a_fork(both: FileAndStore) -> None:
    both.grow(2)
    first = both.bring_in()
    both.exchanges = [*both.exchanges[:-1], both.exchange()]
    taken = both.bring_in()
    assert taken.outcome is Outcome.FORKED
    both.check_imported(taken)
    both.exchanges.pop()
    assert both.bring_in() == TakenIn(Outcome.KNOWN, first.session_id), "an older copy of the file has nothing new"


def test_a_new_title_in_the_file_is_taken_unless_the_user_named_the_session(both: FileAndStore) -> None:
    first = both.bring_in()
    both.title = "A better title"
    assert both.bring_in().outcome is Outcome.CONTINUED
    assert both.state(first.session_id).title == "A better title"
    both.store.writing().append(first.session_id, [SessionRename(title="Mine")]).result()
    both.grow()
    taken = both.bring_in()
    assert (taken.outcome, taken.added) == (Outcome.CONTINUED, 2), "a name does not count as going on"
    both.check_imported(taken)
    if both.write is not PROGRAMS["co-tui"]:
        both.title = "Another title"
        both.bring_in()
        assert both.state(first.session_id).title == "Mine"


class Growing(RuleBasedStateMachine):
    """All that may happen between two imports, in any order."""

    program = ""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.both = FileAndStore(self.program, self.folder)

    def teardown(self) -> None:
        if hasattr(self, "both"):
            self.both.store.close()
            shutil.rmtree(self.folder)

    def _one(self, number: int) -> str:
        listed = sorted(self.both.listed())
        return listed[number % len(listed)]

    @rule(count=st.integers(1, 3))
    def grow(self, count: int) -> None:
        self.both.grow(count)

    @precondition(lambda self: len(self.both.exchanges) > 1)
    @rule(back=st.integers(1, 2))
    def diverge(self, back: int) -> None:
        kept = max(1, len(self.both.exchanges) - back)
        self.both.exchanges = [*self.both.exchanges[:kept], self.both.exchange()]

    @rule(title=st.sampled_from(["Red", "Green"]))
    def retitle(self, title: str) -> None:
        self.both.title = title

    @rule()
    def bring_in(self) -> None:
        if len(self.both.all_texts()) < 8:  # so many forks are enough
            self.both.check_imported(self.both.bring_in())

    @precondition(lambda self: self.both.listed())
    @rule(which=st.integers(0, 7))
    def say_here(self, which: int) -> None:
        self.both.say_here(self._one(which))

    @precondition(lambda self: self.both.listed())
    @rule(which=st.integers(0, 7))
    def rename_here(self, which: int) -> None:
        self.both.store.writing().append(self._one(which), [SessionRename(title="Mine")]).result()

    @precondition(lambda self: self.both.listed())
    @rule(which=st.integers(0, 7))
    def trash(self, which: int) -> None:
        move_to_trash(self.both.store, self._one(which))

    @precondition(lambda self: self.both.listed())
    @rule(which=st.integers(0, 7))
    def delete(self, which: int) -> None:
        gone = self._one(which)
        self.both.store.delete(gone)
        self.both.local.pop(gone, None)


def _test_case(name: str) -> type:
    machine = type(f"Growing_{name}", (Growing,), {"program": name})
    case: type = machine.TestCase  # type: ignore[attr-defined]
    case.settings = settings(max_examples=drawn(4), stateful_step_count=12)  # type: ignore[attr-defined]
    return case


TestClaudeCode = _test_case("claude-code")
TestCodex = _test_case("codex")
TestGeminiCli = _test_case("gemini-cli")
TestOpencode = _test_case("opencode")
TestLlm = _test_case("llm")
TestOwnLog = _test_case("co-tui")
