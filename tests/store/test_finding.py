"""Finding sessions again, in every store: lists and their filter, pins, the trash, and the search over all messages."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_tui.events import (
    CompactionComplete,
    Event,
    Fact,
    Message,
    SessionFork,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
)
from co_tui.store.port import Reading, Store
from co_tui.store.search.case_folding import folded
from co_tui.store.search.message_search import Hit
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.stored_values import ImportOutcome, Preview, PreviewLine
from tests.store.test_contract import STORES, said, told
from tests.support.long_run import drawn
from tests.support.stores import store_in


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, home: Path) -> Iterator[Store]:
    with STORES[request.param](home) as store:
        yield store


@pytest.fixture
def reading(store: Store) -> Iterator[Reading]:
    with store.reading() as reading:
        yield reading


@pytest.fixture
def log(store: Store) -> Callable[..., tuple[Event, ...]]:
    def log(session_id: str, *facts: Fact) -> tuple[Event, ...]:
        return store.writing().append(session_id, facts).result()

    return log


Log = Callable[..., tuple[Event, ...]]


def ids(rows: object) -> list[str]:
    return [row.id for row in rows]  # type: ignore[attr-defined]  # of any kind of row


def from_elsewhere(session_id: str, year: int, *facts: Fact) -> list[Event]:
    return [
        Event(session_id=session_id, seq=seq, timestamp=f"{year}-01-02T10:00:{seq:02}Z", fact=fact)
        for seq, fact in enumerate(facts, 1)
    ]


# Lists


def test_pinned_sessions_come_first_and_pinning_makes_none_newer(log: Log, reading: Reading) -> None:
    for name, cwd in (("a", "/here"), ("b", "/there"), ("c", "/here"), ("d", "/there")):
        log(name, SessionStart(cwd=cwd), said(f"about {name}"))
    before = reading.session("b")
    log("b", SessionPinned())
    assert reading.session("b") == before._replace(pinned=True, last_seq=3)
    assert ids(reading.browse("", "/here")) == ["b", "c", "a", "d"] and ids(reading.sessions()) == ["d", "c", "b", "a"]
    assert ids(reading.browse("", "/here", limit=2)) == ["b", "c"]
    log("b", SessionPinned(pinned=False), SessionRename(title="another name"))
    assert reading.session("b").pinned is False and ids(reading.browse("", "/here")) == ["c", "a", "d", "b"]


def test_a_list_is_filtered_by_words_of_titles_and_folders(log: Log, reading: Reading) -> None:
    log("a", SessionStart(cwd="/home/me/Läden"), said("Fix the login"))
    log("b", SessionStart(cwd="/home/me/shop"), said("ÄRGER mit dem Login"))
    log("c", SessionStart(cwd="/home/me/shop"), said("100% sicher_heit"))
    log("d", SessionStart(cwd="/home/me/shop"), said("天気予報"))

    def filtered(typed: str) -> list[str]:
        found = ids(reading.browse(typed, ""))
        assert reading.count(typed) == len(found)
        return found

    assert filtered("login") == ["b", "a"] and filtered("LOGIN laden") == ["a"] and filtered("arger shop") == ["b"]
    assert filtered("100%") == ["c"] and filtered("sicher_") == ["c"] and filtered("sicherx") == []
    assert filtered("気") == ["d"] and filtered("  ") == ["d", "c", "b", "a"]
    log("a", SessionRename(title="Something else"))
    assert filtered("fix") == [] and filtered("else") == ["a"]


def test_the_trash_is_left_out_of_everything_but_itself(log: Log, reading: Reading) -> None:
    for name in ("a", "b", "c"):
        log(name, SessionStart(cwd="/x"), said(f"the heron of {name}"))
    before = reading.session("c")
    (trashing,) = log("c", SessionTrashed())
    assert reading.session("c") == before._replace(trashed=trashing.timestamp, last_seq=3)
    assert (
        ids(reading.sessions()) == ids(reading.browse("", "/x")) == ids(reading.sessions(search="heron")) == ["b", "a"]
    )
    assert reading.count() == reading.count("heron") == 2 and reading.count(in_trash=True) == 1
    assert reading.latest("/x").id == "b" and reading.prompts(9) == ["the heron of a", "the heron of b"]
    assert ids(hit.session for hit in reading.search("heron").hits) == ["b", "a"]
    log("a", SessionTrashed())
    assert ids(reading.browse("", "", in_trash=True)) == ["a", "c"] and ids(reading.sessions(in_trash=True)) == [
        "c",
        "a",
    ]
    assert (
        ids(reading.browse("of c", "", in_trash=True)) == ["c"] == ids(reading.sessions(search="of c", in_trash=True))
    )
    assert ids(hit.session for hit in reading.search("heron", in_trash=True).hits) == ["c", "a"]
    log("c", SessionTrashed(trashed=False))
    assert ids(reading.sessions()) == ["c", "b"] and reading.session("c").trashed == ""
    log("a", SessionResume())
    assert ids(reading.sessions()) == ["c", "b", "a"], "it is back, and not newer for having been looked at"


def test_a_fork_is_neither_pinned_nor_in_the_trash(store: Store, log: Log, reading: Reading) -> None:
    log("a", said("x"), SessionPinned(), SessionTrashed())
    store.writing().fork("a", "b", None, SessionFork(source_session_id="a", source_seq=3)).result()
    assert reading.session("b").pinned is False and ids(reading.sessions()) == ["b"]


def test_what_is_imported_again_comes_out_of_the_trash(store: Store, log: Log, reading: Reading) -> None:
    events = from_elsewhere("s", 2020, SessionStart(), said("old"))
    assert store.writing().import_log(events).result() is ImportOutcome.NEW
    log("s", SessionTrashed())
    assert store.writing().import_log(events).result() is ImportOutcome.RESTORED
    assert ids(reading.sessions()) == ["s"] and len(list(reading.events("s"))) == 4
    assert store.writing().import_log(events).result() is ImportOutcome.KNOWN
    trash = from_elsewhere("t", 2021, said("old, too"), SessionTrashed())
    assert store.writing().import_log(trash).result() is ImportOutcome.NEW and reading.session("t").trashed == ""


def test_a_session_that_is_brought_back_as_it_was_stays_in_the_trash(store: Store, reading: Reading) -> None:
    trash = from_elsewhere("t", 2021, said("old"), SessionPinned(), SessionTrashed())
    back = partial(store.writing().import_log, keeps_age=True, keeps_trash=True)
    assert back(trash[:1]).result() is ImportOutcome.NEW
    assert back(trash[1:]).result() is ImportOutcome.CONTINUED
    assert back(trash).result() is ImportOutcome.KNOWN
    assert list(reading.events("t")) == trash
    assert reading.session("t").pinned and reading.session("t").trashed == trash[-1].timestamp


def test_what_is_open_somewhere_is_known(store: Store) -> None:
    assert store.claimed() == frozenset()
    with store.claim("a"), store.claim("b"):
        assert store.claimed() == {"a", "b"}
    assert store.claimed() == frozenset()


def test_a_preview_shows_how_it_began_and_the_last_that_was_said(log: Log, reading: Reading) -> None:
    log("s", SessionStart(), said("first " * 9), told("thought", "thinking"), told("an answer"))
    log("s", told("{}", "tool-call", tool_name="look", args="{}"), said("then?", 2), told("the end"))
    assert reading.preview("s", count=2, chars=8) == Preview(
        "first fi", (PreviewLine(6, "user", "then?"), PreviewLine(7, "assistant", "the end"))
    )
    assert len(reading.preview("s").last) == 4 and reading.preview("zzz") == Preview()


# The search over all messages


def test_every_message_is_found_newest_first_with_what_to_mark(store: Store, log: Log, reading: Reading) -> None:
    first = log(
        "a", SessionStart(cwd="/x"), said("The Herön stands"), CompactionComplete(success=True, replaced=((2, 0),))
    )
    log("b", told("a herons' nest", "tool-return", tool_name="look"), told("Heron thoughts", "thinking"))
    log("b", told("", "tool-call", tool_name="read_heron", args={"path": "src/heron.py"}))
    store.writing().import_log(from_elsewhere("old", 2020, said("an imported heron"))).result()
    hits = reading.search("HERON").hits
    assert [(hit.session.id, hit.seq, hit.role, hit.tool) for hit in hits] == [
        ("b", 3, "tool_call", "read_heron"),
        ("b", 1, "tool_result", "look"),
        ("a", 2, "user", ""),
        ("old", 1, "user", ""),
    ]
    assert [marked(hit) for hit in hits] == [["heron"], ["heron"], ["Herön"], ["heron"]]
    assert hits[2].timestamp == first[1].timestamp and hits[2].session == reading.session("a")
    assert hits[3].timestamp[:4] == "2020", "as old as it is, though it came last"
    assert [hit.session.id for hit in reading.search("heron stands").hits] == ["a"]
    assert reading.count_found("heron") == (4, 3, False) and reading.count_found("heron", most=3) == (3, 2, True)
    assert [hit.seq for hit in reading.search("heron", session_id="a").hits] == [2]
    assert reading.count_found("nest heron", session_id="b").messages == 1 and reading.search("nothing").hits == ()


def marked(hit: Hit) -> list[str]:
    return [hit.snippet.text[start:end] for start, end in hit.snippet.spans]


def test_pages_of_a_search_show_each_hit_once(log: Log, reading: Reading) -> None:
    for n in range(7):
        log(f"s{n % 3}", said(f"egret number {n}", n))

    def paged(**how: bool) -> list[str]:
        texts: list[str] = []
        page = reading.search("egret", limit=2, **how)
        while True:
            texts += [hit.snippet.text[-1] for hit in page.hits]
            if page.next is None:
                return texts
            page = reading.search("egret", limit=2, page=page.next, **how)

    assert paged() == ["6", "5", "4", "3", "2", "1", "0"] and paged(once_per_session=True) == ["6", "5", "4"]
    assert (
        sorted(paged(by_relevance=True)) == list("0123456")
        and len(paged(by_relevance=True, once_per_session=True)) == 3
    )


def test_several_may_search_at_a_time(log: Log, reading: Reading) -> None:
    for n in range(10):
        log(f"s{n}", *(said(f"egret {k} " + "word " * 100) for k in range(10)))

    def search(typed: str) -> int:
        return len(reading.search(typed, once_per_session=True).hits) + reading.count_found(typed).messages

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(search, ["egret", "word egret"] * 6)) == {110}


def test_by_relevance_what_is_about_the_words_comes_first(log: Log, reading: Reading) -> None:
    log("a", said("The login is broken: fix the login"))
    log("b", told("all of it " * 200 + "login", "tool-return", tool_name="look"))
    log("c", said("what about blogins in general"))
    assert [hit.session.id for hit in reading.search("login", by_relevance=True).hits] == ["a", "c", "b"]
    assert [hit.session.id for hit in reading.search("login").hits] == ["c", "b", "a"]


def test_short_words_are_found_and_scripts_without_spaces(log: Log, reading: Reading) -> None:
    log("a", said("Write it in Go, or in C# or R – simply."))
    log("b", said("A good category of Roads"))
    log("c", said("今天天气很好，我们去公园。"))
    log("d", said("東京タワーへ行く 😀"), told("ภาษาไทยไม่มีช่องว่าง"), told("우리는 한국어를"))

    def found(typed: str) -> list[str]:
        return ids(hit.session for hit in reading.search(typed).hits)

    assert found("go") == found("R") == found("C#") == found("go r") == ["a"] and found("of") == ["b"]
    assert found("天") == found("天气") == found("公园") == found("天气 很好") == found("气很好") == ["c"]
    assert found("東京") == found("ワ") == found("😀") == found("ไทย") == found("ษา") == found("한국") == ["d"]
    assert found("天東") == found("oa") == found("q") == [] and found("goo") == ["b"]
    log("e", said("std::move(it)"))
    assert found(":") == found("::") == found("(") == found(": (") == ["e"] and found("#") == ["a"]
    assert found(";") == found(": ;") == []


def test_a_snippet_is_one_line_around_the_match_and_steers_nothing(log: Log, reading: Reading) -> None:
    log("s", said("x" * 500 + "\n\x1b[31m the\tİstanbul\u202e heron\r\n" + "y" * 500))
    (hit,) = reading.search("istanbul").hits
    snippet = hit.snippet
    assert marked(hit) == ["İstanbul"] and len(snippet.text) == 200 and snippet.is_cut_before and snippet.is_cut_after
    assert not set(snippet.text) & set("\n\r\t\x1b\u202e")


# Whatever is typed


LETTERS = "abIkK0_%\\\"'.-*():^+{}é Éñ\n\tжЖΣςıßİÅ天气很ะกა한😀\0\ud800"
TYPED = st.text(LETTERS, max_size=8) | st.sampled_from(
    ['"', "*", "NEAR(", "a-b", "a AND", "x OR", "^a", "col:a", "{a}", "a" * 10_000, "a b " * 2_500, "天" * 10_000, "\0"]
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Store]]:
    home = tmp_path_factory.mktemp("home")
    with store_in(home) as kept:
        yield [kept, InMemoryStore()]


@settings(max_examples=drawn(20), deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(st.text(LETTERS, max_size=12), min_size=1, max_size=4), TYPED, st.data())
def test_whatever_is_typed_the_index_finds_what_reading_finds(
    both: list[Store], texts: list[str], typed: str, data: st.DataObject
) -> None:
    whole = " ".join(texts)
    start = data.draw(st.integers(0, len(whole)))
    cut = whole[start : start + data.draw(st.integers(1, 6))]
    name = f"s{both[1].reading().count()}"
    messages = [Message(turn=1, message={"kind": "request", "parts": [_part(text)]}) for text in texts]
    for store in both:
        store.writing().append(name, [*messages, SessionRename(title=whole)]).result()
    with both[0].reading() as kept, both[1].reading() as plain:
        for asked in (typed, cut, f"{cut} {typed}"):
            found = [sorted(hit[1:4] for hit in each.search(asked, session_id=name).hits) for each in (kept, plain)]
            assert found[0] == found[1], asked
            assert ids(kept.browse(asked, "")) == ids(plain.browse(asked, "")), asked
            kept.search(asked, by_relevance=True), kept.count_found(asked), kept.sessions(search=asked)


def _part(text: str) -> dict[str, str]:
    return {"part_kind": "user-prompt", "content": text}


# Phrases


def test_words_in_quotes_are_found_together(log: Log, reading: Reading) -> None:
    log("a", said("Fix the\n  login page of the Shöp"))
    log("b", said("the page after login; relogin paged"))
    log("c", said("今天天气很好，我们去公园。"), told("東京タワーへ行く"))
    log("d", said("login"), told("page two", "tool-return", tool_name="login"))

    def found(typed: str) -> list[str]:
        return ids(hit.session for hit in reading.search(typed, once_per_session=True).hits)

    assert found("login page") == ["d", "b", "a"] and found('"login page"') == found("“LOGIN page”") == ["a"]
    assert found('"the login"') == ["a"] and found('"login pag"') == [] and found('"login pag') == ["a"]
    assert (
        found('"page of" shop') == ["a"] and found('"page of" heron') == [] and found('"of the" "the login"') == ["a"]
    )
    assert found('"ogin page"') == [], "it begins where a word does"
    assert found('"天气很好"') == found('"天气很好，我们"') == found('"東京タワー"') == ["c"] and found('"天很"') == []
    assert found('"relogin paged"') == ["b"] and found('""') == found('"') == []
    assert marked(reading.search('"the login page"').hits[0]) == ["the   login page"]
    assert ids(reading.sessions(search='"login page"')) == ["a"] and reading.count_found('"login page"').messages == 1


def test_a_list_is_filtered_by_phrases_too(log: Log, reading: Reading) -> None:
    log("a", SessionStart(cwd="/home/me/shop"), said("Fix the login page"))
    log("b", SessionStart(cwd="/home/me/shop"), said("The page after login"))
    assert ids(reading.browse("login page", "")) == ["b", "a"] and ids(reading.browse('"login page"', "")) == ["a"]
    assert reading.count('"login page"') == 1 and ids(reading.browse('shop "after login', "")) == ["b"]


PHRASES = st.lists(
    st.sampled_from(["log", "in", "a", "Lögin", "天", "天气", "C#", "x_", "--", "ß", "한국"]), min_size=1, max_size=3
)


@settings(max_examples=drawn(20), deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(st.lists(PHRASES.map(" ".join), max_size=4).map("\n".join), min_size=1, max_size=3), PHRASES, PHRASES)
def test_phrases_are_found_as_a_plain_scan_finds_them(
    both: list[Store], texts: list[str], first: list[str], second: list[str]
) -> None:
    name = f"p{both[1].reading().count()}"
    messages = [Message(turn=1, message={"kind": "request", "parts": [_part(text)]}) for text in texts]
    for typed, wanted in (
        (f'"{" ".join(first)}"', [first]),
        (f'"{"  ".join(first)}" "{" ".join(second)}"', [first, second]),
    ):
        expected = [n for n, text in enumerate(texts, 1) if all(_follow_each_other(words, text) for words in wanted)]
        for store in both:
            with store.reading() as reading:
                if not list(reading.events(name)):
                    store.writing().append(name, messages).result()
                seqs = sorted(hit.seq for hit in reading.search(typed, session_id=name).hits)
                assert seqs == expected, (typed, texts)


def _follow_each_other(words: list[str], text: str) -> bool:
    """Whether the words are in the text one after the other: found word by word, without patterns or an index."""

    def is_letter(character: str) -> bool:
        return character.isalnum() and not "\u3040" <= character <= "\ufaff"

    text, phrase = " ".join(folded(text).split()), folded(" ".join(words))
    return any(
        text.startswith(phrase, at)
        and not (at and is_letter(text[at - 1]) and is_letter(phrase[0]))
        and not (is_letter(phrase[-1]) and is_letter(text[at + len(phrase) : at + len(phrase) + 1] or " "))
        for at in range(len(text))
    )
