"""What every store promises, whatever keeps it. A new implementation is one more line in `STORES`."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from co_tui.events import (
    Clear,
    CompactionComplete,
    Event,
    Message,
    RequestBilled,
    SessionFork,
    SessionRename,
    SessionStart,
    StreamDelta,
    Unknown,
    UsageInfo,
)
from co_tui.events.partial_reply import DraftPiece
from co_tui.events.storable import dump
from co_tui.paths import locate
from co_tui.store.port import Reading, Store
from co_tui.store.prompt_drafts import new_session_draft
from co_tui.store.search.message_search import Candidate
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.sqlite.store import SqliteStore
from co_tui.store.store_errors import QueryCancelled, SessionBusy, SessionNotFound, StoreError
from co_tui.store.stored_values import ImportOutcome
from tests.support.postgres import synced_store

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda home: SqliteStore(locate({"CO_TUI_HOME": str(home)})),
    "in memory": lambda _: InMemoryStore(),
    "with a server": synced_store,
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, home: Path) -> Iterator[Store]:
    with STORES[request.param](home) as store:
        yield store


@pytest.fixture
def reading(store: Store) -> Iterator[Reading]:
    """Opened before anything is there."""
    with store.reading() as reading:
        yield reading


def said(text: str, turn: int = 1) -> Message:
    return Message(turn=turn, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})


def told(text: str, kind: str = "text", **more: object) -> Message:
    part = {"part_kind": kind, "content": text, **more}
    return Message(turn=1, message={"kind": "response", "parts": [part]})


# The log


def test_nothing_is_an_empty_answer(reading: Reading) -> None:
    assert reading.sessions() == [] and reading.browse("", "/x") == [] and reading.count() == 0
    assert reading.latest("/x") is None and reading.prompts(9) == []
    assert list(reading.events("s")) == [] and reading.last_events("s", 5) == []
    assert reading.messages_with("s", ["heron"]).seqs == ()
    assert reading.usage("s") is None and list(reading.partial_reply("s")) == []


def test_what_was_spent_is_summed_over_sessions_since_a_time_and_nothing_twice(store: Store, reading: Reading) -> None:
    assert reading.spent_since("") == 0.0
    usage = UsageInfo(
        token_limit=1,
        current_tokens=1,
        messages_count=1,
        system_tokens=0,
        conversation_tokens=1,
        tool_definition_tokens=0,
    )
    writing = store.writing()
    events = writing.append("a", [SessionStart(model="m"), said("one"), usage.but(cost=0.5), usage]).result()
    writing.append(
        "a", [SessionRename(title="A", cost=0.25), CompactionComplete(success=True, trigger="manual", cost=1)]
    )
    writing.fork("a", "b", None, SessionFork(source_session_id="a", source_seq=6)).result()
    writing.append("b", [said("two"), usage.but(cost=2.0, agent="helper")]).result()
    old = [event.but(session_id="c") for event in events]
    assert writing.import_log(old).result() is ImportOutcome.NEW
    assert reading.spent_since(events[0].timestamp) == pytest.approx(0.5 + 0.25 + 1 + 2), "no copy counts"
    assert reading.spent_since("9999") == 0.0


def test_bills_count_once_at_assumed_prices_too_and_after_their_session_is_deleted(
    store: Store, reading: Reading
) -> None:
    bill = RequestBilled(what="turn", model="m", cost=0.5)
    facts = [bill, bill.but(cost=None, assumed_cost=0.25), bill.but(what="title", cost=0.125), bill.but(cost=None)]
    counted = CompactionComplete(success=True, trigger="manual", cost=4.0, billed=True)
    (start, *_) = store.writing().append("a", [SessionStart(model="m"), said("one"), *facts, counted]).result()
    assert reading.spent_since(start.timestamp) == pytest.approx(0.875)
    row = reading.session("a")
    assert (row.cost, row.summary_cost) == pytest.approx((0.625, 0.125)), "assumed prices are no cost"
    store.writing().append("b", [SessionStart(model="m"), said("two"), bill]).result()
    for each in ("a", "b"):
        store.writing().delete(each).result()
        assert reading.spent_since(start.timestamp) == pytest.approx(1.375)
    store.writing().add_spent(1.0).result()
    assert reading.spent_since(start.timestamp) == pytest.approx(2.375)
    assert reading.spent_since("9999") == 0.0


def test_events_come_back_in_order_with_their_numbers(store: Store, reading: Reading) -> None:
    first = store.writing().append("s", [SessionStart(model="m"), said("one")]).result()
    second = store.writing().append("s", [said("two", 2)]).result()
    assert [event.seq for event in (*first, *second)] == [1, 2, 3]
    assert all(event.session_id == "s" and event.timestamp for event in first)
    assert list(reading.events("s")) == [*first, *second]
    assert list(reading.events("s", after=1, upto=2)) == [first[1]]
    assert reading.last_events("s", 2) == [first[1], *second]
    assert reading.last_events("s", 2, before=3) == list(first)


def test_a_session_from_elsewhere_keeps_its_times_and_comes_once(store: Store, reading: Reading) -> None:
    told = [(1, "2020-01-02T10:00:00Z", SessionStart(cwd="/x")), (2, "2021-01-02T10:00:00Z", said("an old heron"))]
    log = [Event(session_id="s", seq=seq, timestamp=time, fact=fact) for seq, time, fact in told]
    store.writing().append("new", [said("today")]).result()
    assert store.writing().import_log(log).result() is ImportOutcome.NEW
    assert store.writing().import_log([*log, log[0].but(seq=3)]).result() is ImportOutcome.KNOWN
    assert list(reading.events("s")) == log
    rows = reading.sessions()
    assert [row.id for row in rows] == ["new", "s"], "it is as old as it is"
    assert (rows[1].created[:4], rows[1].updated[:4], rows[1].messages, rows[1].cwd) == ("2020", "2021", 1, "/x")
    assert [row.id for row in reading.sessions(search="heron")] == ["s"]
    assert [event.seq for event in store.writing().append("s", [said("more", 2)]).result()] == [3]
    assert reading.last_events("s", 9, before=1) == []


def test_the_rest_of_a_log_from_elsewhere_continues_the_session(store: Store, reading: Reading) -> None:
    facts = (SessionStart(cwd="/x"), said("an old heron"), said("an egret", 2), SessionRename(title="Birds"))
    log = [
        Event(session_id="s", seq=seq, timestamp=f"2020-01-0{seq}T10:00:00Z", fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]
    writing = store.writing()
    with pytest.raises(SessionNotFound, match="whole log"):
        writing.import_log(log[2:]).result()
    assert reading.count() == 0
    writing.import_log(log[:2], keeps_age=True).result()
    with pytest.raises(StoreError, match="event 4: its last one here is 2"):
        writing.import_log(log[3:]).result()
    assert writing.import_log(log[2:], keeps_age=True).result() is ImportOutcome.CONTINUED
    assert list(reading.events("s")) == log
    row = reading.session("s")
    assert (row.created[:10], row.updated[:10], row.messages, row.turns, row.title, row.last_seq) == (
        "2020-01-01", "2020-01-03", 2, 2, "Birds", 4,
    )  # fmt: skip
    assert [hit.seq for hit in reading.search("egret").hits] == [3]
    with pytest.raises(StoreError, match="its last one here is 4"):
        writing.import_log(log[2:]).result()
    assert list(reading.events("s")) == log


def test_each_session_counts_for_itself(store: Store, reading: Reading) -> None:
    for name in ("a", "b", "a"):
        store.writing().append(name, [said(f"to {name}")]).result()
    assert [event.seq for event in reading.events("a")] == [1, 2]
    assert [event.seq for event in reading.events("b")] == [1]


def test_events_no_one_knows_are_kept_as_they_are(store: Store, reading: Reading) -> None:
    future = Unknown(type="session.dreamt", version=4, payload={"of": ["sheep", 1]})
    store.writing().append("s", [future]).result()
    assert next(reading.events("s")).fact == future


def test_what_is_only_announced_is_refused_with_all_sent_with_it(store: Store) -> None:
    delta = StreamDelta(turn=1, part=0, kind="text", text="x")
    with pytest.raises(ValueError, match="never logged"):
        store.writing().append("s", [said("kept with it?"), delta]).result()
    assert [event.seq for event in store.writing().append("s", [said("next")]).result()] == [1]


def test_many_threads_may_write(store: Store, reading: Reading) -> None:
    def write(name: str) -> None:
        for n in range(50):
            store.writing().append(name, [said(f"{n}")]).result()

    threads = [threading.Thread(target=write, args=(f"s{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        texts = [event.fact.message["parts"][0]["content"] for event in reading.events(f"s{n}")]
        assert texts == [str(k) for k in range(50)]


def test_after_closing_nothing_can_be_written(store: Store) -> None:
    store.writing().append("s", [said("before")]).result()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="already closed"):
        store.writing().append("s", [said("after")]).result()
    with store.reading() as reading:
        assert len(list(reading.events("s"))) == 1


# Rows


def test_a_delegations_usage_costs_but_is_not_the_sessions_own(store: Store, reading: Reading) -> None:
    usage = UsageInfo(
        token_limit=1000, current_tokens=50, messages_count=2, system_tokens=5,
        conversation_tokens=45, tool_definition_tokens=0, cost=0.25,
    )  # fmt: skip
    store.writing().append("s", [said("go"), usage, usage.but(agent="reader", current_tokens=900)]).result()
    row = reading.session("s")
    assert (row.tokens, row.cost) == (50, 0.5) and reading.usage("s") == usage


def test_the_task_of_a_delegation_is_found_but_is_no_prompt_of_the_users(store: Store, reading: Reading) -> None:
    store.writing().append("s", [said("ask somebody"), said("count the whales").but(agent="self 1")]).result()
    assert reading.prompts(9) == ["ask somebody"]
    assert [row.id for row in reading.sessions(search="whales")] == ["s"]


def test_the_row_carries_its_counters(store: Store, reading: Reading) -> None:
    usage = UsageInfo(
        token_limit=1000, current_tokens=50, messages_count=2, system_tokens=5,
        conversation_tokens=45, tool_definition_tokens=0, cost=0.25,
    )  # fmt: skip
    start = SessionStart(model="m", cwd="/here", branch="main")
    store.writing().append("s", [start, said("Fix the\ttests\nplease")]).result()
    store.writing().append("s", [usage, said("more", 2), usage.but(current_tokens=60)]).result()
    store.writing().append(
        "s", [CompactionComplete(success=True, cost=0.5), CompactionComplete(success=False)]
    ).result()
    row = reading.session("s")
    assert (row.title, row.messages, row.turns, row.tokens, row.cost) == ("Fix the tests", 2, 2, 60, 1.0)
    assert (row.model, row.cwd, row.branch, row.last_seq, row.compactions) == ("m", "/here", "main", 7, 1)
    assert row.created < row.updated and row.summary_cost == 0.5
    assert reading.usage("s") == usage.but(current_tokens=60)


def test_a_new_name_is_the_title(store: Store, reading: Reading) -> None:
    store.writing().append("s", [SessionStart(), said("first words")]).result()
    store.writing().append("s", [SessionRename(title="A name"), said("more")]).result()
    assert reading.session("s").title == "A name"


def test_the_newest_come_first_and_those_of_a_folder_before_others(store: Store, reading: Reading) -> None:
    for name, cwd in (("a", "/here"), ("b", "/there"), ("c", "/here"), ("d", "/there")):
        store.writing().append(name, [SessionStart(cwd=cwd), said(f"about {name}")]).result()
    store.writing().append("a", [said("again")]).result()
    assert [row.id for row in reading.sessions()] == ["a", "d", "c", "b"]
    assert [row.id for row in reading.sessions(limit=1, cwd="/there")] == ["d"]
    assert [row.id for row in reading.browse("", "/there")] == ["d", "b", "a", "c"]
    assert [row.id for row in reading.browse("ABOUT C", "/there")] == ["c"]
    assert reading.browse("%", "/there") == [] and len(reading.browse("", "", limit=3)) == 3
    assert reading.count() == 4


def test_the_latest_is_that_of_the_folder_else_of_all(store: Store, reading: Reading) -> None:
    for name, cwd in (("a", "/here"), ("b", "/here"), ("c", "/there")):
        store.writing().append(name, [SessionStart(cwd=cwd)]).result()
    latest = [reading.latest(cwd) for cwd in ("/here", "/there", "/nowhere")]
    assert [row.id for row in latest if row] == ["b", "c", "c"]


def test_a_session_answers_to_part_of_its_id(store: Store, reading: Reading) -> None:
    for name in ("2026-aaa", "2026-bbb"):
        store.writing().append(name, [SessionStart()]).result()
    assert reading.session("bbb").id == "2026-bbb" and reading.session("2026-a").id == "2026-aaa"
    with pytest.raises(SessionNotFound, match="Several"):
        reading.session("2026")
    for wrong in ("zzz", "%", "", "_026"):
        with pytest.raises(SessionNotFound, match="No session"):
            reading.session(wrong)


def test_health_counts_everything(store: Store, reading: Reading) -> None:
    store.writing().append("a", [SessionStart(), said("x")]).result()
    store.writing().append("b", [SessionStart()]).result()
    health = reading.health()
    assert health.exists and (health.sessions, health.events, health.verdict) == (2, 3, "ok")
    assert store.location and not health.open_to_others


def test_a_cancelled_reader_stops_its_query_and_others_go_on(store: Store, reading: Reading) -> None:
    store.writing().append("a", [SessionStart(), *(said(f"heron {n}") for n in range(500))]).result()
    asked = store.reading()

    def cancel(*_: object) -> bool:
        asked.cancel()
        return False

    with asked, mock.patch.object(Candidate, "holds", cancel), pytest.raises(QueryCancelled):
        asked.search("heron")
    assert reading.count_found("heron").messages == 500
    store.writing().append("a", [said("still written")]).result()


# Search


def test_search_finds_words_in_messages_and_titles(store: Store, reading: Reading) -> None:
    store.writing().append("a", [SessionStart(), said("The login fixture is flaky")]).result()
    store.writing().append("b", [SessionStart(), said("Payment webhooks at the Café"), told("read_file")]).result()

    def found(text: str) -> list[str]:
        return [row.id for row in reading.sessions(search=text)]

    assert found("fixture login") == ["a"] and found("FLAKY") == ["a"]
    assert found("webh") == ["b"] and found("ogin fix") == ["a"], "the title holds it"
    assert found("cafe") == ["b"] and found("read_fi") == ["b"] and found("the") == ["b", "a"]
    assert found("nothing") == [] and found("login webhooks") == []
    for odd in ('"', "a AND", "NEAR(", "100%", "*", "'; drop table events; --"):
        found(odd)


def test_only_what_was_said_and_reported_is_searched(store: Store, reading: Reading) -> None:
    store.writing().append("s", [SessionStart(), told("heron", "thinking"), told("egret", "text")]).result()
    assert reading.sessions(search="heron") == [] and len(reading.sessions(search="egret")) == 1


def test_messages_of_a_session_with_the_most_of_some_words(store: Store, reading: Reading) -> None:
    facts = [
        SessionStart(),
        said("The port is 8080."),
        told("We export it", "thinking"),
        told("port\n 8080", "tool-return", tool_name="read_port"),
        told("8080 port", "tool-return", tool_name="recall"),
    ]
    store.writing().append("a", facts).result()
    store.writing().append("b", [said("port 8080")]).result()

    def found(*words: str, except_tool: str | None = None) -> tuple[int, tuple[int, ...]]:
        return tuple(reading.messages_with("a", words, except_tool=except_tool))

    assert found("port") == (1, (5, 4, 3, 2)) and found("8080", "port") == (2, (5, 4, 2))
    assert found("port", "8080", except_tool="recall") == (2, (4, 2))
    assert found("port 8080") == (1, (4,)) and found("read_") == (1, (4,)) and found("t is 8") == (1, (2,))
    assert found("export", "heron", "owl") == (1, (3,)) and found("rt") == found("port")
    assert found("heron") == found() == (0, ()) and tuple(reading.messages_with("zzz", ["port"])) == (0, ())
    store.writing().delete("a").result()
    assert found("port") == (0, ())


def test_prompts_come_oldest_first_each_once(store: Store, reading: Reading) -> None:
    for name, text in (("a", "one"), ("b", "two"), ("a", "three"), ("b", "two"), ("a", "four")):
        store.writing().append(name, [said(text), told(f"answer to {text}")]).result()
    assert reading.prompts(100) == ["one", "three", "two", "four"]
    assert reading.prompts(2) == ["two", "four"]
    assert reading.prompts(9, search="O") == ["one", "two", "four"] and reading.prompts(9, search="%") == []
    assert reading.prompts(9, cwd="/nowhere") == []


def test_prompts_sent_again_and_again_hide_no_older_one_and_are_found_in_any_case(
    store: Store, reading: Reading
) -> None:
    store.writing().append("a", [said("Ändere\ndas")]).result()
    store.writing().append("a", [said(text) for text in ("continue", "yes") * 20]).result()
    assert reading.prompts(3) == ["Ändere\ndas", "continue", "yes"] and reading.prompts(2) == ["continue", "yes"]
    assert reading.prompts(9, search="ändere") == ["Ändere\ndas"] == reading.prompts(9, search="ÄND")


# A reply in the making


def row(*pieces: DraftPiece) -> str:
    return dump({"turn": 1, "model": "m", "started": "2026-01-01T00:00:00Z", "pieces": pieces})


OLD_ROW = '{"turn":1,"message":{"kind":"response","parts":[{"part_kind":"text","content":"half a"}]}}'
ODD_ROW = '{"pieces": [[0], 7, [0, "text", 5, "", ""]]}'
HALF = row(DraftPiece(0, "text", "half"), DraftPiece(1, "tool_call", '{"a":', "poke", "c1"))


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([OLD_ROW], "half a"),
        ([HALF, row(DraftPiece(0, "text", " a"))], "half a"),
        ([HALF, "{damaged", "[" * 30_000, "5", ODD_ROW, row(DraftPiece(0, "text", "!"))], "half!"),
        (["{damaged"], None),
        (["null"], None),
        ([row(DraftPiece(0, "tool_call", "{}", "poke", "c1"))], None),
    ],
)  # fmt: skip
def test_a_half_reply_left_by_a_crash_is_logged_and_marked(
    store: Store, reading: Reading, rows: list[str], kept: str | None
) -> None:
    writing = store.writing()
    writing.append("s", [SessionStart(), said("hi")]).result()
    for number, body in enumerate(rows):
        writing.save_reply("s", number, body).result()
    assert list(reading.partial_reply("s")) == rows
    events = writing.recover("s").result()
    assert list(reading.partial_reply("s")) == [] and writing.recover("s").result() == ()
    if kept is None:
        assert events == ()
        return
    assert [event.type for event in events] == ["message", "session.interrupted"]
    assert [event.seq for event in events] == [3, 4]
    assert events[0].fact.interrupted and events[0].fact.turn == 1
    assert [part["content"] for part in events[0].fact.message["parts"]] == [kept]


def test_a_new_reply_in_the_making_takes_the_place_of_an_older_one(store: Store) -> None:
    writing = store.writing()
    writing.append("s", [SessionStart()]).result()
    for number, text in enumerate(("the first ", "and more")):
        writing.save_reply("s", number, row(DraftPiece(0, "text", text))).result()
    writing.save_reply("s", 0, row(DraftPiece(0, "text", "another"))).result()
    (message, _) = writing.recover("s").result()
    assert message.fact.message["parts"][0]["content"] == "another"


def test_a_reply_that_is_whole_leaves_no_half(store: Store, reading: Reading) -> None:
    writing = store.writing()
    writing.append("s", [SessionStart()]).result()
    writing.save_reply("s", 0, HALF).result()
    writing.append("s", [said("in between")]).result()
    assert list(reading.partial_reply("s")) == [HALF]
    writing.append("s", [told("half a thought")], ends_draft=True).result()
    assert list(reading.partial_reply("s")) == [] and writing.recover("s").result() == ()


# Forks, deletion, locks, drafts


def test_a_fork_begins_as_its_source_was(store: Store, reading: Reading) -> None:
    writing = store.writing()
    source = writing.append("a", [SessionStart(model="m"), said("heron"), said("later", 2), Clear()]).result()
    (fork,) = writing.fork("a", "b", 2, SessionFork(source_session_id="a", source_seq=2)).result()
    copied = [event.but(session_id="b") for event in source[:2]]
    assert list(reading.events("b")) == [*copied, fork] and fork.seq == 3
    assert [(row.id, row.title, row.model, row.messages) for row in reading.sessions(limit=1)] == [
        ("b", "heron", "m", 1)
    ]
    assert [row.id for row in reading.sessions(search="heron")] == ["b", "a"]
    assert list(reading.events("a")) == list(source)
    whole = SessionFork(source_session_id="a", source_seq=4)
    assert [event.seq for event in writing.fork("a", "c", None, whole).result()] == [5]
    with pytest.raises(SessionNotFound):
        writing.fork("zzz", "d", None, whole).result()
    assert reading.count() == 3


def test_deleting_leaves_nothing(store: Store, reading: Reading) -> None:
    writing = store.writing()
    writing.append("s", [SessionStart(), said("secret plan")]).result()
    writing.append("t", [SessionStart(), said("other plan")]).result()
    writing.save_reply("s", 0, "half a thought").result()
    writing.delete("s").result()
    assert [row.id for row in reading.sessions(search="plan")] == ["t"] and reading.sessions(search="secret") == []
    assert list(reading.events("s")) == [] and list(reading.partial_reply("s")) == []
    assert reading.prompts(9) == ["other plan"]
    with pytest.raises(SessionNotFound):
        writing.delete("s").result()
    assert [event.seq for event in writing.append("s", [said("anew")]).result()] == [1]


def test_a_session_is_claimed_once_at_a_time(store: Store) -> None:
    first = store.claim("s")
    with pytest.raises(SessionBusy, match=r"Session s is (already )?open"):
        store.claim("s")
    store.claim("another").release()
    busy = store.open_elsewhere("s")
    assert busy is not None and "Session s is" in str(busy) and store.open_elsewhere("another") is None
    first.release()
    assert store.open_elsewhere("s") is None
    first.release()
    with store.claim("s"), pytest.raises(SessionBusy):
        store.claim("s")
    second = store.claim("s")
    first.release()
    with pytest.raises(SessionBusy):
        store.claim("s")
    second.release()


def test_a_prompt_draft_is_kept_for_its_session_while_it_says_something(store: Store) -> None:
    drafts = store.prompt_drafts
    assert drafts.read("s") == ""
    drafts.write("s", "half a thou")
    assert (drafts.read("s"), drafts.read("t")) == ("half a thou", "")
    drafts.write("s", " \n")
    assert drafts.read("s") == ""


def test_a_prompt_draft_for_a_new_session_belongs_to_its_folder(store: Store, tmp_path: Path) -> None:
    drafts, shop, link = store.prompt_drafts, tmp_path / "shop", tmp_path / "link"
    link.symlink_to(shop)
    drafts.write(new_session_draft(shop), "for the shop")
    assert drafts.read(new_session_draft(link)) == "for the shop"
    assert drafts.read(new_session_draft(tmp_path)) == ""
