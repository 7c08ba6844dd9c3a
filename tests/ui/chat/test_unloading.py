"""What is far above the view of a long session is unloaded, and comes back as it was when the reader wants it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import NoReturn

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from co_tui.events import (
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    Message,
    PlanChanged,
    SessionEnd,
    SessionInterrupted,
    SessionStart,
)
from co_tui.events.facts.conversation import TURN_STOPPED
from co_tui.session.launch import Launch
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.store_errors import StoreError
from co_tui.ui.app import CoTui
from co_tui.ui.control import older_pages
from co_tui.ui.control.older_pages import OlderPages, page_before
from co_tui.ui.keys.command_table import shortcut_for
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.transcript import transcript as transcripts
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.blocks import BlockBuilder
from co_tui.ui.transcript.marked_blocks import opens_turn
from co_tui.ui.widgets.find_bar import FindBar
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, transcript_text, until
from tests.support.stores import store_in

KEPT = 12
SUMMARY = "Title: Files\n## Decisions and outcomes\n- The files were read."


@pytest.fixture(autouse=True)
def few_are_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(transcripts, "KEPT_BLOCKS", KEPT)
    yield


def _shown(app: CoTui) -> list[tuple[object, ...]]:
    """All that is shown of the messages and what is between them, but when a streamed reply began and the row above a
    block."""
    names = [field.name for field in fields(Block) if field.name not in ("time", "tight")]
    return [tuple(getattr(block, name) for name in names) for block in app.chat.transcript.blocks]


def _lines(app: CoTui) -> list[str]:
    """What the chat draws."""
    transcript = app.chat.transcript
    return [transcript.render_line(row).text for row in range(transcript.size.height)]


def _prompts(app: CoTui) -> list[str]:
    return [block.text for block in app.chat.transcript.blocks if block.kind == "user"]


async def _talk(app: CoTui, pilot: Pilot[None], turns: range) -> None:
    for number in turns:
        await ask(app, pilot, f"prompt-{number}x")


async def _release(app: CoTui, pilot: Pilot[None]) -> None:
    """As after a turn in which messages left the history."""
    session = app.controller.session
    assert session is not None
    session.history.release_memory()
    await pilot.pause()


async def _scroll_to_the_first(app: CoTui, pilot: Pilot[None], prompt: str) -> None:
    transcript = app.chat.transcript
    for _ in range(40):
        if _prompts(app)[:1] == [prompt]:
            return
        transcript.scroll_home(animate=False)
        await pilot.pause()
    raise AssertionError(f"{prompt} did not come back")


def _fails(*_: object) -> NoReturn:
    raise StoreError("The disk is away.")


async def test_early_messages_leave_the_chat_and_come_back_as_they_were(home: Path, provider: Provider) -> None:
    provider.window = 100_000
    provider.summary = Reply(text=SUMMARY, prompt_tokens=400, completion_tokens=40)
    async with running(launch_for(home, provider)) as (app, pilot):
        transcript = app.chat.transcript
        for number in range(10):
            (home.parent / "file.py").write_text("a = 1\n" * 40)
            call = ("read_file", json.dumps({"path": "file.py"}))
            provider.script = [Reply(text="I read it.", tool=call)] if number == 2 else []
            provider.script += [Reply(text=f"answer-{number}x\n" + "more words " * 40)]
            await ask(app, pilot, f"prompt-{number}x")
            if number == 1:
                app.run_command("pin", str(transcript.blocks[-1].seq))
                await until(pilot, lambda: app.controller.state.pins)
        app.run_command("compact", "")
        await until(pilot, lambda: app.controller.state.rewrites and app.controller.idle)
        before, seen = _shown(app), _lines(app)
        await _release(app, pilot)

        assert KEPT <= len(transcript.blocks) < KEPT + 4 and _shown(app) == before[-len(transcript.blocks) :]
        assert len(app.chat.feed._builder.blocks) <= len(transcript.blocks)
        assert _lines(app) == seen, "nothing moves"

        await _scroll_to_the_first(app, pilot, "prompt-0x")
        assert next(block for block in transcript.blocks if block.tool_name == "read_file").result_seq
        assert _shown(app) == before, "each once, in its place, with its pin and what it says of the context"
        assert [block.tight for block in transcript.blocks if block.kind == "user"] == [True] + [False] * 9
        await _release(app, pilot)
        assert _shown(app) == before, "it is being read"

        transcript.follow_end()
        await ask(app, pilot, "prompt-10x")
        await _release(app, pilot)
        assert "prompt-0x" not in _prompts(app) and _prompts(app)[-1] == "prompt-10x" and transcript.following
        await app.chat.show_message(next(entry.seq for entry in app.controller.state.transcript if entry.turn == 2))
        assert transcript.marked_block is not None and transcript.marked_block.text == "prompt-1x"


async def test_nothing_is_unloaded_while_it_is_used_and_a_search_finds_all(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider).but(store=InMemoryStore(), private=True)
    async with running(launch) as (app, pilot):
        transcript = app.chat.transcript
        await _talk(app, pilot, range(10))
        count = len(transcript.blocks)
        transcript.mark(count - 1)
        await _release(app, pilot)
        assert len(transcript.blocks) == count, "a block is marked"
        transcript._mark.leave()
        app.screen.selections = {transcript: Selection(Offset(0, 0), Offset(4, 2))}
        await _release(app, pilot)
        assert len(transcript.blocks) == count, "text is selected"
        app.screen.clear_selection()
        transcript.follow_end()
        await _release(app, pilot)
        assert len(transcript.blocks) < count

        app.run_command("find", "prompt-0x")
        await until(pilot, lambda: transcript.search.match is not None)
        assert app.chat.query(FindBar)
        transcript.follow_end()
        await _release(app, pilot)
        assert len(transcript.blocks) == count and _prompts(app) == [f"prompt-{n}x" for n in range(10)]
        await app.chat.action_back()
        transcript.follow_end()
        await _release(app, pilot)
        assert len(transcript.blocks) < count
        loaded = len(transcript.blocks)
        app.screen.selections = {transcript: Selection(Offset(0, 0), Offset(4, 2))}
        transcript.scroll_home(animate=False)
        await pilot.pause()
        assert len(transcript.blocks) == loaded, "what is selected would be on other lines"
        app.screen.clear_selection()
        transcript.follow_end()
        assert transcript.go_to_turn(-1)
        await _scroll_to_the_first(app, pilot, "prompt-0x")
        assert len(transcript.blocks) == count


async def test_a_page_that_cannot_be_read_now_is_read_at_the_next_scroll(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        transcript = app.chat.transcript
        await _talk(app, pilot, range(10))
        await _release(app, pilot)
        with monkeypatch.context() as broken:
            broken.setattr(OlderPages, "older", _fails)
            broken.setattr(OlderPages, "back_to", _fails)
            for _ in range(3):
                transcript.scroll_home(animate=False)
                await pilot.pause()
                transcript.follow_end()
            assert [each.message for each in app._notifications] == ["The disk is away."]
            await app.chat.show_message(app.controller.state.transcript[0].seq)
            assert transcript.marked_block is None, "another message is not what was asked for"
        await _scroll_to_the_first(app, pilot, "prompt-0x")


def _stored(home: Path, provider: Provider, *facts: Fact, turns: int = 150) -> Launch:
    launch = launch_for(home, provider, session_id="long")
    start = SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd))
    with store_in(home) as store:
        said_before = (each for n in range(turns) for each in said(n))
        store.writing().append("long", [start, *said_before, *facts]).result()
    return launch


async def test_a_reader_at_the_very_top_gets_more_by_scrolling_on(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(_stored(home, provider)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript = app.chat.transcript

        async def is_more_after_scrolling() -> bool:
            first = _prompts(app)[0]
            transcript.scroll_home(animate=False)
            await pilot.press("pageup")
            return _prompts(app)[0] != first

        with monkeypatch.context() as broken:
            broken.setattr(OlderPages, "older", _fails)
            assert not await is_more_after_scrolling()
        assert await is_more_after_scrolling()
        transcript.scroll_end(animate=False)
        end = transcript.layout_of_blocks.row_count
        app.screen.selections = {transcript: Selection(Offset(0, end - 8), Offset(9, end - 5))}
        assert not await is_more_after_scrolling()
        app.screen.clear_selection()
        assert await is_more_after_scrolling()


async def test_a_last_page_that_does_not_fill_the_view_is_followed_by_more(home: Path, provider: Provider) -> None:
    step = Message(turn=91, agent="helper-1", message=said(0)[1].message)
    async with running(_stored(home, provider, said(90)[0], *[step] * 200, said(90)[1], turns=90)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript = app.chat.transcript
        assert transcript.max_scroll_y > 0
        last = transcript.blocks[-2:]
        for _ in range(2):  # a session is opened, and again later
            transcript.show(last)
            await pilot.pause()
            assert transcript.max_scroll_y > 0


async def test_what_is_kept_fills_a_tall_view_each_time(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(120, 60)) as (app, pilot):
        await _talk(app, pilot, range(10))
        for _ in range(2):
            await _release(app, pilot)
            assert app.chat.transcript.max_scroll_y > 0


async def test_while_the_store_is_away_searches_and_jumps_say_so_each_time(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(_stored(home, provider)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript = app.chat.transcript
        there = transcript.blocks[4].seq
        monkeypatch.setattr(app.controller.launch.store, "reading", _fails)
        await app.chat.show_message(there)
        assert transcript.marked_block is transcript.blocks[4] and not app._notifications
        for _ in range(2):
            app.clear_notifications()
            await app.chat.show_message(20)
            await pilot.pause()
            assert [each.message for each in app._notifications] == ["The disk is away."]
        app.clear_notifications()
        app.run_command("find", "prompt-3x")
        await until(pilot, lambda: bool(app._notifications))
        await pilot.pause()
        assert str(app.chat.query_one(FindBar).border_title) == "Find · …", "not all was searched"


async def test_a_jump_clears_the_selection_and_ends_with_its_session(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(_stored(home, provider)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript, older = app.chat.transcript, app.controller.older
        app.screen.selections = {transcript: Selection(Offset(0, 0), Offset(4, 2))}
        back_to = OlderPages.back_to

        def back_after_a_switch(pages: OlderPages, seq: int) -> list[Block]:
            older.open(app.controller.launch.store, "")
            return back_to(pages, seq)

        assert await older.load_back_to(100)
        assert app.screen.get_selected_text() is None, "its lines are others now"
        async with older._reading:  # as a search that still reads
            jump = asyncio.create_task(older.load_back_to(50))
            await asyncio.sleep(0)
            older.open(app.controller.launch.store, "long")
        assert not await jump
        monkeypatch.setattr(OlderPages, "back_to", back_after_a_switch)
        assert not await older.load_back_to(20)


async def test_the_chat_draws_while_a_jump_from_the_timeline_reads(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_to, go_on = OlderPages.back_to, threading.Event()

    def back_later(pages: OlderPages, seq: int) -> list[Block]:
        go_on.wait(60)
        return back_to(pages, seq)

    async with running(_stored(home, provider)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        monkeypatch.setattr(OlderPages, "back_to", back_later)
        drawn, asked = asyncio.Event(), Event(session_id="long", seq=20, timestamp="", fact=said(9)[0])
        app.chat.post_message(Timeline.ShowInChat(asked))
        app.chat.call_after_refresh(drawn.set)
        try:
            await asyncio.wait_for(drawn.wait(), 20)
        finally:
            go_on.set()
        await until(pilot, lambda: app.chat.transcript.marked_block)
        assert app.chat.transcript.marked_block.text == "prompt-9x"


async def test_a_resumed_session_unloads_its_pages_and_what_was_said_since(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    with store_in(home) as store:
        start = SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd))
        store.writing().append("long", [start, *(each for n in range(150) for each in said(n))]).result()
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript = app.chat.transcript
        transcript.show_block(0)
        seen = _lines(app)
        app.controller.older.load()
        assert _lines(app) == seen, "the reader's line stays where it is"
        transcript.follow_end()
        app.controller.older.load()
        loaded = _prompts(app)
        await _release(app, pilot)
        assert 0 < len(_prompts(app)) < len(loaded) < 150, "the last page is enough"
        for number in range(150, 158):
            await ask(app, pilot, f"prompt-{number}x")
        await _release(app, pilot)
        assert set(_prompts(app)).isdisjoint(loaded)
        await _scroll_to_the_first(app, pilot, "prompt-0x")
        assert _prompts(app) == [f"prompt-{n}x" for n in range(158)]
        assert [block.tight for block in transcript.blocks if block.kind == "user"] == [True] + [False] * 157
        assert all(block.removal is None for block in transcript.blocks)

        transcript.follow_end()
        await _release(app, pilot)
        app.run_command("rewind", "3")
        await until(pilot, lambda: app.controller.state.rewrites)
        await app.controller.older.load_back_to(0)
        assert _prompts(app)[:2] == ["prompt-0x", "prompt-1x"] and "messages above are rewound" in transcript_text(app)
        kept = [block.text for block in transcript.blocks if block.kind == "user" and block.removal is None]
        app.run_command("undo", "")
        await until(pilot, lambda: not app.controller.state.rewrites)
        assert all(block.removal is None for block in transcript.blocks) and len(kept) < 4


def said(number: int) -> list[Message]:
    """A turn."""
    prompt = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"prompt-{number}x"}]}
    reply = {"kind": "response", "parts": [{"part_kind": "text", "content": f"answer-{number}x"}]}
    return [Message(turn=number + 1, message=prompt), Message(turn=number + 1, message=reply)]


def test_pages_that_were_unloaded_are_read_again_with_the_name_of_their_program() -> None:
    store = InMemoryStore()
    imported = [*(each for n in range(100) for each in said(n)), SessionEnd(reason="imported from Codex")]
    log = [SessionStart(model="m"), *imported, *(each for n in range(100, 150) for each in said(n))]
    store.writing().append("s", log).result()
    pages = OlderPages(store, "s", 10_000, shortcut_for)
    read = [pages.older() for _ in range(8)]
    starts = [page[0].seq for page in read if page]
    assert starts[-1] <= 2 and pages.older() == [] and pages.can_begin_at(20_000)
    assert not pages.can_begin_at(starts[1] + 1), "in the middle of a page"
    for kept in (1, 3, 2):
        assert pages.can_begin_at(starts[kept])
        pages.unload(starts[kept])
        again = [pages.older() for _ in starts[kept + 1 :]]
        assert [_told(page) for page in again] == [_told(page) for page in read[kept + 1 : len(starts)]]
        assert pages.older() == []
    pages.unload(starts[2])
    older = [reply for page in reversed(read[3:]) for reply in _told(page)]
    assert _told(pages.back_to(0)) == older and {speaker for _, speaker in older} == {"Codex"}


def test_what_a_search_loaded_is_unloaded_page_by_page() -> None:
    store = InMemoryStore()
    store.writing().append("s", [SessionStart(model="m"), *(each for n in range(150) for each in said(n))]).result()
    by_page, at_once = (OlderPages(store, "s", 10_000, shortcut_for) for _ in range(2))
    starts = [page[0].seq for page in iter(by_page.older, []) if page]
    assert len(starts) > 3 and len(at_once.back_to(0)) == 300
    assert all(map(at_once.can_begin_at, starts)) and not at_once.can_begin_at(starts[1] + 1)
    at_once.unload(starts[2])
    assert [block.text for block in at_once.back_to(0)][-1] == f"answer-{(starts[2] - 2) // 2 - 1}x"


async def test_pages_without_a_block_are_passed_over(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    step = {"kind": "response", "parts": [{"part_kind": "text", "content": "a step of a delegate"}]}
    steps = [Message(turn=2, agent="helper-1", message=step)] * 1_300
    with store_in(home) as store:
        facts = [SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd)), *said(0), said(1)[0], *steps]
        store.writing().append("long", [*facts, said(1)[1], *(each for n in range(2, 40) for each in said(n))]).result()
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        for _ in range(2):
            app.controller.older.load()
        assert _prompts(app)[0] == "prompt-0x" and len(_prompts(app)) == 40


def _step(turn: int, call_id: str) -> list[Message]:
    """A call and its result."""
    call = {"part_kind": "tool-call", "tool_name": "read_file", "tool_call_id": call_id, "args": "{}"}
    result = {"part_kind": "tool-return", "tool_name": "read_file", "tool_call_id": call_id, "content": call_id}
    return [
        Message(turn=turn, message={"kind": kind, "parts": [part]})
        for kind, part in (("response", call), ("request", result))
    ]


def _delegation(steps: int) -> list[Fact]:
    call = {"part_kind": "tool-call", "tool_name": "delegate_task", "tool_call_id": "d", "args": "{}"}
    result = {"part_kind": "tool-return", "tool_name": "delegate_task", "tool_call_id": "d", "content": "Three."}
    agent = "self 1"
    return [
        Message(turn=1, message={"kind": "response", "parts": [call]}),
        DelegationStart(agent=agent, name="self", task="find", call_id="d", context="fresh"),
        *(Message(turn=1, agent=agent, message=each.message) for each in said(0)[:1] + [said(0)[1]] * steps),
        DelegationEnd(agent=agent, outcome="done"),
        Message(turn=1, message={"kind": "request", "parts": [result]}),
    ]


@pytest.mark.parametrize(
    "turns",
    also_in_a_long_run(
        [
            [[said(0)[0], *(each for n in range(330) for each in _step(1, f"c{n}")), said(0)[1]]],
            [[said(0)[0], *_delegation(54), said(0)[1]]],
            [
                [*said(0)[:1], *(each for n in range(n % 47) for each in _step(1, f"c{n}")), said(0)[1]]
                for n in range(60)
            ],
        ],
        [[[said(0)[0], *_delegation(steps), said(0)[1]]] for steps in range(50, 60)],
    ),
)
def test_no_page_begins_within_a_turn(turns: list[list[Fact]]) -> None:
    pages, whole = _pages_of([SessionStart(model="m"), *(fact for turn in turns for fact in turn), *said(1)])
    assert pages == whole


@pytest.mark.parametrize("more", range(3))
def test_a_page_of_a_very_long_turn_begins_at_a_step(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(older_pages, "LARGEST_PAGE_EVENTS", 70)
    steps = [each for n in range(100) for each in (*_step(1, f"c{n}"), *[PlanChanged(steps=[])] * (n % 3))]
    plans = [PlanChanged(steps=[{"text": "Answer.", "state": "done"}])] * more
    facts = [SessionStart(model="m"), said(0)[0], *steps, *_delegation(54), *plans, said(0)[1], *said(1)]
    read, whole = _pages_of(facts)
    tools, tools_read = ([each for each in shown if each[0] == "tool"] for shown in (whole, read))
    assert tools_read == tools and len(tools) == 101
    plan, plan_read = ([each for each in shown if each[0] == "plan"] for shown in (whole, read))
    assert plan_read == plan and len(plan) == 1, "once, as it is now"


async def test_the_previous_prompt_is_loaded_when_the_chat_begins_within_its_turn(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(older_pages, "LARGEST_PAGE_EVENTS", 100)
    steps = (each for n in range(150) for each in _step(6, f"c{n}"))
    async with running(_stored(home, provider, said(5)[0], *steps, said(5)[1], turns=5)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        assert _prompts(app) == []
        for _ in range(4):
            app.chat.action_turn(-1)
            await pilot.pause()
        assert "prompt-5x" in _prompts(app) and not app.chat.transcript.following
        first, *others = (block for block in app.chat.transcript.blocks if block.turn == 6 and block.kind == "tool")
        assert first.first_of_reply and all(each.tight and not each.first_of_reply for each in others)


def test_a_page_within_a_long_delegation_is_read_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryStore()
    facts = [SessionStart(model="m"), *(fact for n in range(20) for fact in said(n)), *_delegation(3_000)]
    store.writing().append("s", facts).result()
    with store.reading() as reading:
        last_events, counts = reading.last_events, list[int]()

        def counted(session_id: str, count: int, before: int | None = None) -> list[Event]:
            counts.append(count)
            return last_events(session_id, count, before)

        monkeypatch.setattr(reading, "last_events", counted)
        page = page_before(reading, "s")
    assert [event.fact for event in page] == _delegation(3_000), "it begins at the step that delegates"
    assert len(counts) < 12


def _pages_of(facts: list[Fact]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """What is shown before the last prompt: read page by page, and at once."""
    store = InMemoryStore()
    store.writing().append("s", facts).result()
    with store.reading() as reading:
        whole = BlockBuilder().add_all(reading.events("s"))
    prompt = next(block.seq for block in whole if block.text == "prompt-1x")
    pages = OlderPages(store, "s", prompt, shortcut_for)
    pages.unload(prompt)
    read: list[Block] = []
    while not pages.are_all_read:
        older = pages.older()
        if read and older:
            read[0].put_below(older)
        read[:0] = older
    before = (block for block in whole if block.seq < prompt)
    return [_look(block) for block in read], [_look(block) for block in before]


def _look(block: Block) -> tuple[str, ...]:
    look = (block.kind, block.text, block.result, block.status, block.speaker)
    return *look, str(block.first_of_reply), str(block.tight)


def _told(blocks: list[Block]) -> list[tuple[str, str]]:
    return [(block.text, block.speaker) for block in blocks if block.kind == "reply"]


def test_a_page_ends_as_it_does_when_the_next_prompt_follows() -> None:
    store = InMemoryStore()
    call = {"part_kind": "tool-call", "tool_name": "read_file", "tool_call_id": "c", "args": "{}"}
    cut = Message(turn=1, message={"kind": "response", "parts": [call]})
    stopped = SessionInterrupted(what=TURN_STOPPED)
    facts = [SessionStart(model="m"), said(0)[0], cut, stopped, *said(1)]
    store.writing().append("s", facts).result()
    with store.reading() as reading:
        whole = BlockBuilder().add_all(reading.events("s"))
        prompt = next(block.seq for block in whole if block.text == "prompt-1x")
    pages = OlderPages(store, "s", prompt, shortcut_for)
    pages.unload(prompt)
    expected = [(block.kind, block.text, block.status) for block in whole if block.seq < prompt]
    assert [(block.kind, block.text, block.status) for block in pages.older()] == expected


def test_a_prompt_added_to_a_turn_under_way_does_not_open_one() -> None:
    blocks = [
        Block("note", "The mode is ask."),
        Block("user", "first", seq=1, turn=1),
        Block("tool", "{}", seq=2, result_seq=3, turn=1),
        Block("user", "steered", seq=3, turn=1),
        Block("boundary", "2 messages above", opens=3),
        Block("tool", "a note", seq=5, turn=2),
        Block("user", "second", seq=5, turn=2),
        Block("user", "third, not sent yet"),
    ]
    assert [n for n in range(len(blocks)) if opens_turn(blocks, n)] == [1, 5]
