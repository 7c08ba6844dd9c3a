"""Every event has its words on the timeline, or none on purpose; from an entry one gets to its place in the chat."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

import co_tui
from co_tui.agent.wire import request_failures
from co_tui.events import (
    AgentTransfer,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    FilesChanged,
    FilesRestored,
    HookRun,
    MemoryReleased,
    MemoryWritten,
    Message,
    ModeChange,
    ModelChange,
    Pin,
    PlanChanged,
    PolicyChange,
    Recollection,
    Rewind,
    SessionEnd,
    SessionError,
    SessionFork,
    SessionInterrupted,
    SessionStart,
    StreamReset,
    Truncation,
    UsageInfo,
    is_durable,
)
from co_tui.events.symbols import EntryKind, EntryWeight
from co_tui.events.wording import TROUBLES
from co_tui.exchange.exporters.story import exported_event
from co_tui.session.state.derive import apply, replay
from co_tui.session.state.released import is_event_packed
from co_tui.session.state.session_state import Entry
from co_tui.ui.control.stored_transcript import StoredTranscript
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.themes.themes import DARK, palette_of
from co_tui.ui.timeline import timeline_widget
from co_tui.ui.timeline.detail_screen import EventScreen
from co_tui.ui.timeline.timeline_entry import INDENT, timeline_row
from co_tui.ui.timeline.timeline_log import EVERYTHING, MAIN, TimelineLog
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.block_lines import head_of
from co_tui.ui.transcript.marked_blocks import event_at, index_of_event
from tests.support.events import any_fact
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, until
from tests.support.stores import store_in

CO_TUI = Path(co_tui.__file__).parent


@given(any_fact)
def test_whatever_is_logged_shows_but_for_measurements(fact: Fact) -> None:
    found_nothing = isinstance(fact, Recollection) and not fact.note
    entry, is_entry = fact.entry(), is_durable(fact) and not isinstance(fact, UsageInfo) and not found_nothing
    assert (entry is not None) is bool(fact.timeline_text()) is is_entry
    exported = exported_event(Event(session_id="s", seq=1, timestamp="t", fact=fact))
    assert exported is None or exported.symbol == fact.symbol, "the same symbol everywhere"


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (ApprovalRequested(call_id="c", tool="shell", what="git push"), "asks to use shell\ngit push"),
        (
            ApprovalRequested(
                call_id="c", tool="write_file", arguments={"path": "a.py", "content": "x"}, what="--- new"
            ),
            "asks to change\na.py",
        ),
        (ApprovalDecided(call_id="c", approved=True, by="user"), "allowed\nonce, by user"),
        (
            ApprovalDecided(call_id="c", approved=True, scope="session", rules=("Bash(ls)",)),
            "allowed\nthis session: Bash(ls)",
        ),
        (ApprovalDecided(call_id="c", approved=True, scope="pattern", pattern="git *"), "allowed\nalways: git *"),
        (ApprovalDecided(call_id="c", approved=True, by="user", mode="edits"), "plan accepted"),
        (
            ApprovalRequested(call_id="c", tool="present_plan", arguments={"steps": ["a", "b"]}, what=""),
            "presents a plan\n2 steps",
        ),
        (
            ApprovalRequested(call_id="c", tool="run_command", arguments={"command": "make"}, what=""),
            "asks to run\nmake",
        ),
        (ModeChange(from_="ask", to="auto"), "mode → auto (sandbox)"),
        (ApprovalRevoked(rule="Bash(make:*)"), "revoked\nBash(make:*)"),
        (ApprovalRevoked(rule="Bash(make a, harmless options)"), "revoked\nmake a, harmless options"),
        (ApprovalDecided(call_id="c", approved=False, reason="not now"), "denied\nnot now"),
        (ApprovalDecided(call_id="c", approved=False, by="user"), "denied\nby user"),
        (SessionInterrupted(what="interrupted by the user"), "Stopped"),  # an older log
        (
            DelegationStart(agent="reader-1", name="reader", task="read it all"),
            "delegated to reader (conversation)\nread it all",
        ),
        (DelegationEnd(agent="reader-1", outcome="whales"), "reader-1 ended\nwhales"),
        (DelegationEnd(agent="reader-1", error="lost"), "reader-1 ended\nlost"),
        (PlanChanged(steps=({"text": "a", "state": "done"}, {"text": "b"})), "plan changed\n1 of 2 steps done"),
    ],
)
def test_the_words_of_approvals_delegations_and_plans(fact: Fact, words: str) -> None:
    assert fact.timeline_text() == words


def event(seq: int, fact: Fact) -> Event:
    return Event(session_id="s", seq=seq, timestamp="2026-01-01T12:00:00Z", fact=fact)


COMPACTED = CompactionComplete(success=True, replaced=((1, 0),), pre_tokens=148_000, post_tokens=21_000)


def test_every_kind_of_trouble_has_plain_words() -> None:
    source = "".join(path.read_text() for name in ("agent", "session") for path in (CO_TUI / name).rglob("*.py"))
    kinds = {*(rule.kind for rule in request_failures._RULES), *re.findall(r'Failure\(kind="(\w+)"', source)}
    assert "rate_limit" in kinds and kinds <= set(TROUBLES)
    assert SessionError(what="x", kind="rate_limit").trouble == "rate limited"
    assert SessionError(what="x", kind="of_a_newer_version").trouble == "of a newer version"


def test_a_compaction_is_the_heaviest_and_a_turn_the_lightest() -> None:
    styles = {weight: Style(meta={"weight": str(weight)}) for weight in EntryWeight}

    def weights(fact: Fact) -> set[str]:
        row = timeline_row(event(1, fact), 30, styles)
        return {span.style.meta["weight"] for span in row.spans if isinstance(span.style, Style)}

    turn = Message(turn=7, message={"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Why?"}]})
    assert weights(turn) == {"light"}
    assert weights(COMPACTED) == {"light", "heavy", "normal"}, "its time, its words, its figures"
    assert weights(SessionError(what="x", kind="quota")) == {"light", "bad"}
    assert str(timeline_row(event(1, turn), 30)).endswith("● turn 7 · Why?")


@given(st.text(max_size=80), st.integers(20, 60))
def test_every_line_of_an_entry_fits_and_hangs_under_its_words(text: str, width: int) -> None:
    lines = str(timeline_row(event(1, SessionInterrupted(what=text)), width)).split("\n")
    assert all(cell_len(line) <= width for line in lines) and all(line.startswith(INDENT) for line in lines[1:])


def test_one_kind_after_the_other_is_shown_and_the_empty_ones_are_passed_over() -> None:
    turn = Message(turn=1, message={"kind": "request", "parts": []})
    log = TimelineLog([event(1, turn), event(2, COMPACTED), event(3, turn), event(4, StreamReset(turn=1))])
    log.add(event(5, MemoryWritten(what="memory")))
    assert [each.seq for each in log.of(EVERYTHING)] == [1, 2, 3, 5] and [each.seq for each in log.of(MAIN)] == [
        1,
        2,
        3,
    ]
    shown, seen = log.filter_after(MAIN), []
    while shown != MAIN:
        seen.append((shown, [each.seq for each in log.of(shown)]))
        shown = log.filter_after(shown)
    assert seen == [
        (EVERYTHING, [1, 2, 3, 5]),
        (EntryKind.TURN, [1, 3]),
        (EntryKind.COMPACTION, [2]),
        (EntryKind.MEMORY, [5]),
    ]


def turn_event(seq: int) -> Event:
    return event(seq, Message(turn=seq, message={"kind": "request", "parts": []}))


def failure(seq: int, *, retried: bool, where: str = "turn 1", agent: str = "") -> Event:
    delay, outcome = (2.0, "retrying in 2.0 s") if retried else (None, "the turn ended; it can be tried again")
    what = "The server failed."
    return event(
        seq, SessionError(what=what, where=where, outcome=outcome, kind="server", retry_in_s=delay, agent=agent)
    )


def shown_rows(log: TimelineLog) -> list[str]:
    return [timeline_row(each, 60, about=log.about(each)).plain for each in log.of(MAIN)]


def test_a_failed_turn_is_one_entry_with_its_retries() -> None:
    log = TimelineLog([turn_event(1), *(failure(n, retried=True) for n in (2, 3, 4)), failure(5, retried=False)])
    log.add(failure(6, retried=False))  # tried again by the user
    assert [each.seq for each in log.of(MAIN)] == [1, 6]
    assert "✗ server error after 4 retries the turn ended" in " ".join(shown_rows(log)[1].split())
    assert (
        [each.seq for each in log.of(EVERYTHING)]
        == [1, 2, 3, 4, 5, 6]
        == [
            1,
            *(each.seq or 0 for each in log.of(EntryKind.TROUBLE)),
        ]
    )
    log.add(failure(7, retried=True, where="turn 1", agent="self 1"))
    log.add(turn_event(8))
    log.add(failure(9, retried=False, where="turn 8"))
    log.add(failure(10, retried=False, where="turn 9"))
    assert [each.seq for each in log.of(MAIN)] == [1, 6, 7, 8, 9, 10], "another's, and another turn's, are their own"
    assert "after" not in shown_rows(log)[-1]


def test_a_mode_is_an_entry_once_a_turn_used_it() -> None:
    modes = ("edits", "plan", "auto", "edits")
    log = TimelineLog(event(n, ModeChange(from_="", to=mode)) for n, mode in enumerate(modes, 1))
    assert not log.of(MAIN)
    log.add(event(5, COMPACTED))
    assert log.add(turn_event(6)).main, "more changed than its end"
    assert [each.seq for each in log.of(MAIN)] == [4, 5, 6], "in the order of the log"
    log.add(event(7, ModeChange(from_="edits", to="plan")))
    log.add(event(8, ModeChange(from_="plan", to="edits")))
    assert not log.add(turn_event(9)).main
    assert [each.seq for each in log.of(MAIN)] == [4, 5, 6, 9] and log.routine == 5
    log.add(event(10, ModeChange(from_="", to="")))
    log.add(turn_event(11))
    assert log.of(MAIN)[-1].seq == 11 and log.routine == 6, "an imported mode is not named"


def test_a_mode_in_force_during_a_part_of_a_turn_is_an_entry() -> None:
    events = [turn_event(1), event(3, ModeChange(from_="ask", to="edits")), event(5, ModeChange(from_="", to="ask"))]
    replies = [Entry((seq, 0), 1, {}, "") for seq in (1, 2, 4)]
    stored = TimelineLog([*events, turn_event(6)], replies)
    assert [each.seq for each in stored.of(MAIN)] == [1, 3, 5, 6]
    assert [each.seq for each in TimelineLog([*events, turn_event(6)], replies[:2]).of(MAIN)] == [1, 6], "never used"
    live = TimelineLog(events[:2])
    assert live.use_mode() and not live.use_mode() and [each.seq for each in live.of(MAIN)] == [1, 3]
    live = TimelineLog(events[:2])
    assert live.add(event(4, FilesChanged(turn=1, paths=("a",), snapshot=""))).main
    assert [each.seq for each in live.of(MAIN)] == [1, 3]


def test_entries_are_held_as_the_state_holds_them_once_their_messages_are_packed() -> None:
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "What is in it?"}]}
    summary = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "It was read."}]}
    compacted = CompactionComplete(success=True, replaced=((1, 0), (2, 0)), replacement=(summary,), summary="It is.")
    again = compacted.but(replaced=((3, 0), (4, 0)))
    turns = [event(seq, Message(turn=seq, message=asked)) for seq in (1, 2, 4, 6)]
    events = [*turns[:2], event(3, compacted), turns[2], event(5, again), turns[3]]
    log, before = TimelineLog(events), TimelineLog(events)
    state = apply(replay(events), event(0, MemoryReleased()))
    log.release(state.timeline)
    for shown in (MAIN, EVERYTHING, EntryKind.COMPACTION):
        held = [each for each in log.of(shown) if each.seq in (1, 2, 3, 4)]
        assert held and all(is_event_packed(each) for each in held)
        assert log.of(shown) == before.of(shown)
        assert all(any(each is kept for kept in state.timeline) for each in log.of(shown))
    assert shown_rows(log) == shown_rows(before)
    log.add(newest := event(7, Message(turn=7, message=asked)))
    log.release(replay([newest], state).timeline)
    assert log.of(MAIN)[-1] is newest and is_event_packed(log.of(MAIN)[0])


async def test_routine_is_counted_and_the_filter_shows_it(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        timeline = app.chat.query_one(Timeline)
        assert not timeline.border_subtitle
        timeline.show([turn_event(1), event(2, MemoryWritten(what="memory")), failure(3, retried=True)])
        timeline.add(failure(4, retried=False))
        await until(pilot, lambda: "2 routine entries hidden" in screen_text(app))
        assert "after 1 retry" in screen_text(app) and timeline.option_count == 2
        await pilot.press("ctrl+l", "f")
        await until(pilot, lambda: "all entries" in screen_text(app) and timeline.option_count == 4)
        timeline.show([turn_event(1), failure(2, retried=True), failure(3, retried=True)])
        await until(pilot, lambda: "retrying in 2.0 s" in screen_text(app))
        timeline.add(event(4, SessionInterrupted(what="Stopped", where="turn 1")))
        await until(pilot, lambda: "Stopped" in screen_text(app))
        assert "after 1 retry" in screen_text(app) and "retrying" not in screen_text(app)


WORTH_AN_ENTRY = (
    AgentTransfer,
    CompactionComplete,
    CompactionUndone,
    Truncation,
    Clear,
    Rewind,
    ModelChange,
    ModeChange,
    PolicyChange,
    SessionError,
    SessionInterrupted,
    Message,
    Pin,
    SessionFork,
    FilesRestored,
)


@given(any_fact)
def test_only_what_matters_is_shown_unless_the_filter_asks_for_more(fact: Fact) -> None:
    log = TimelineLog([event(1, fact)])
    went_wrong = isinstance(fact, DelegationEnd) and bool(fact.error)
    spoke = isinstance(fact, HookRun) and (fact.failed or bool(fact.notice))
    matters = isinstance(fact, WORTH_AN_ENTRY) or went_wrong or spoke
    assert bool(log.of(MAIN)) is matters
    assert len(log.of(EVERYTHING)) == (fact.entry() is not None)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "reader-1"]), st.booleans()), max_size=12))
def test_an_answered_question_leaves_one_entry_that_names_the_call(answers: list[tuple[str, str, bool]]) -> None:
    """Whatever was asked and answered in which order, amber is only what still waits."""
    log, waiting = TimelineLog(), set[tuple[str, str]]()
    for seq, (call, agent, is_answer) in enumerate(answers, 1):
        if is_answer:
            log.add(event(seq, ApprovalDecided(call_id=call, agent=agent, approved=True)))
            assert bool(log.about(log.of(EVERYTHING)[-1])) is ((agent, call) in waiting)
            waiting.discard((agent, call))
        elif (agent, call) not in waiting:
            arguments = {"command": f"make {call}"}
            log.add(event(seq, ApprovalRequested(call_id=call, agent=agent, tool="run_command", arguments=arguments)))
            waiting.add((agent, call))
    amber = [each.fact for each in log.of(EVERYTHING) if each.fact.entry().weight is EntryWeight.NOTABLE]
    assert {(each.agent, each.call_id) for each in amber} == waiting
    assert log.of(EVERYTHING) == log.of(EntryKind.APPROVAL) or not answers


def test_an_answer_is_one_line_with_what_was_allowed() -> None:
    log = TimelineLog(
        [
            event(1, ApprovalRequested(call_id="c", tool="run_command", arguments={"command": "pytest -q tests"})),
            event(2, ApprovalDecided(call_id="c", approved=True, by="user", scope="once")),
        ]
    )
    (entry,) = log.of(EVERYTHING)
    row = str(timeline_row(entry, 60, about=log.about(entry)))
    assert row.splitlines()[0].endswith("✓ allowed · pytest -q tests")


def test_an_answer_keeps_the_dangers_of_its_call() -> None:
    arguments, dangers = {"command": "rm -r a && git push"}, "deletes files and publishes or sends to others"
    asked = ApprovalRequested(call_id="c", tool="run_command", arguments=arguments, danger=dangers)
    log = TimelineLog([event(1, asked), event(2, ApprovalDecided(call_id="c", approved=True, by="user"))])
    (entry,) = log.of(EVERYTHING)
    first, *others = str(timeline_row(entry, 60, about=log.about(entry))).splitlines()
    assert first.endswith("✓ allowed · rm -r a && git push")
    assert " ".join(" ".join(others).split()) == f"{dangers} once, by user"


def test_a_compaction_is_one_entry_and_its_start_leaves_when_it_ends() -> None:
    start = CompactionStart(trigger="manual", focus="the API", messages=32, conversation_tokens=110_000)
    log = TimelineLog([event(1, start), event(2, CompactionStart(trigger="background", agent="reader-1"))])
    assert [each.seq for each in log.of(EntryKind.COMPACTION)] == [1, 2], "under way"
    assert log.add(event(3, COMPACTED)) and [each.seq for each in log.of(EntryKind.COMPACTION)] == [2, 3]
    log.add(event(4, CompactionUndone(compaction_seq=9, history=(), what="rewind")))
    assert [each.seq for each in log.of(EntryKind.CONTEXT)] == [4], "not among the compactions"
    opened = str(EventScreen(event(1, start))._text)
    assert opened.splitlines() == [
        "Summarises 32 messages, requested by you.",
        "The next request waits for it.",
        "Focus: the API",
        "Tokens before: system 0 · tools 0 · conversation 110k.",
    ]


def test_a_compaction_that_a_rewind_went_back_before_is_marked_until_the_rewind_is_undone() -> None:
    rewind = Rewind(to_seq=1, history=())
    log = TimelineLog([event(1, COMPACTED), event(2, COMPACTED), event(3, rewind), event(4, COMPACTED)])
    assert [each.seq for each in log.of(MAIN) if log.is_undone(each)] == [2]
    log.add(event(5, CompactionUndone(compaction_seq=3, history=(), what="rewind")))
    assert [each.seq for each in log.of(MAIN) if log.is_undone(each)] == [3], "the rewind itself"


PAGE, MAX_DRAWN = 50, 150
"""Smaller than usual, more than fits on the screen."""


async def test_from_the_prompt_to_an_entry_to_its_place_in_the_chat_and_back(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_widget, "PAGE", PAGE)
    monkeypatch.setattr(timeline_widget, "MAX_DRAWN", MAX_DRAWN)
    provider.default = Reply(text="\n\n".join(f"paragraph {n}" for n in range(30)))
    async with running(launch_for(home, provider)) as (app, pilot):
        for n in range(3):
            await ask(app, pilot, f"question {n}")
        await pilot.press("ctrl+l")
        timeline = app.chat.query_one(Timeline)
        assert timeline.has_focus and "turn 3 · question 2" in screen_text(app)
        await pilot.press("up", "up", "g")
        await until(pilot, lambda: app.chat.transcript.has_focus)
        assert "▌ question 0" in screen_text(app) and "▌ question 2" not in screen_text(app)
        await pilot.press("g")
        await until(pilot, lambda: timeline.has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not app.chat)
        assert "question 0" in screen_text(app), "the entry it came from"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("f", "f")
        await until(pilot, lambda: "─ session ─" in screen_text(app) and "session started" in screen_text(app))
        await pilot.press("f", "f")
        await until(pilot, lambda: "─ all entries ─" in screen_text(app) and "question 2" in screen_text(app))

        # The filter stays when one comes back.
        app.chat.prompt.focus()
        await pilot.press("ctrl+l")
        await until(pilot, lambda: timeline.has_focus and "─ all entries ─" in screen_text(app))

        # A screen that becomes narrow: whoever reads goes on reading.
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: timeline.has_focus and "─ all entries ─" in screen_text(app))
        await pilot.press("f4")
        await until(pilot, lambda: app.focused is app.chat.prompt and "─ all entries ─" not in screen_text(app))
        await pilot.resize_terminal(120, 40)

        # A long session: only its newest page is drawn, and more when somebody goes there.
        many = [event(n, Message(turn=n, message={"kind": "request", "parts": []})) for n in range(1, 5_001)]
        timeline.show(many)
        assert timeline.option_count == PAGE and "4,950 more above" in str(timeline.border_title)
        timeline.go_to(5_000)
        await pilot.press("home")
        assert timeline.option_count == PAGE and timeline.highlighted == 0
        assert str(timeline.border_title) == "Timeline · 4,950 more below"
        timeline.go_to(2_000)
        assert timeline.highlighted == PAGE // 2, "as many entries are drawn above it as below"
        for _ in range(PAGE // 2):
            timeline.action_cursor_up()
        await pilot.press("up")
        assert timeline.highlighted is not None and timeline.option_count == PAGE
        await pilot.press("enter")
        await until(pilot, lambda: f"turn {2_000 - PAGE // 2 - 1} ·" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        app.chat.prompt.focus()
        await pilot.pause()
        for n in range(5_001, 5_001 + 4 * PAGE):
            timeline.add(event(n, Message(turn=n, message={"kind": "request", "parts": []})))
            assert timeline.option_count <= MAX_DRAWN, "however long it is open"
        await until(pilot, lambda: f"turn {5_000 + 4 * PAGE}" in screen_text(app))


def test_an_entry_far_back_brings_its_part_of_the_chat(home: Path) -> None:
    store = store_in(home)
    said = [event_of("user-prompt", n) if n % 2 else event_of("text", n) for n in range(1, 1_001)]
    store.writing().append("long", [SessionStart(model="m"), *said]).result()
    stored = StoredTranscript(store, "long")
    newest = stored.newest().blocks
    blocks = [*stored.pages.back_to(500), *newest]
    place = index_of_event(blocks, 500)
    assert place is not None and blocks[place].seq == 500 and blocks[place].text == "said 499"
    assert len(newest) < len(blocks) < 700, "no more than it takes"
    assert [block.seq for block in blocks] == sorted(block.seq for block in blocks)
    assert stored.pages.back_to(600) == [], "it is there already"
    assert event_at([*blocks, Block("note", "ours")], len(blocks)) == blocks[-1].seq
    store.close()


def test_imported_replies_carry_the_name_of_their_program(home: Path) -> None:
    store = store_in(home)
    said = [event_of("user-prompt", n) if n % 2 else event_of("text", n) for n in range(1, 301)]
    imported = [SessionStart(model="m"), *said[:200], SessionEnd(reason="imported from Codex")]
    store.writing().append("long", [*imported, *said[200:]]).result()
    stored = StoredTranscript(store, "long")
    newest = stored.newest()
    blocks = [*stored.pages.back_to(1), *newest.blocks]
    replies = [block.speaker for block in blocks if block.kind == "reply"]
    assert replies == ["Codex"] * 100 + [""] * 50 and newest.program == "", "what follows is our own"
    reply = next(block for block in blocks if block.speaker)
    assert "Codex" in head_of(reply, TextRenderer(palette_of(DARK)), 80)[0].text
    store.close()


def event_of(part_kind: str, n: int) -> Message:
    kind = "request" if part_kind == "user-prompt" else "response"
    message = {"kind": kind, "parts": [{"part_kind": part_kind, "content": f"said {n}"}]}
    return Message(turn=(n + 1) // 2, message=message)
