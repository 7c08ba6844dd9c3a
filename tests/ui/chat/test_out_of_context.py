"""What the model no longer sees is set apart in the chat, and follows whatever changes that."""

import re
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from co_tui.events import Clear, CompactionComplete, CompactionUndone, Event, Message, Rewind, SessionStart, Truncation
from co_tui.session.state.derive import replay
from co_tui.session.state.out_of_context import out_of_context
from co_tui.ui.app import CoTui
from co_tui.ui.compaction.compaction_screen import CompactionScreen
from co_tui.ui.control.stored_transcript import StoredTranscript
from co_tui.ui.gauge.gauge_widget import MiniGauge
from co_tui.ui.timeline.detail_screen import EventScreen
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.transcript.block import Block
from co_tui.ui.transcript.context_marks import ContextMarks
from co_tui.ui.transcript.transcript_view import REMOVED_BAR
from tests.support.long_run import LONG_RUN, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, click_on, launch_for, running, screen_text, transcript_text, type_text, until
from tests.support.stores import store_in

SUMMARY = "Title: Tides\n## Decisions and outcomes\n- The tides were explained, as notes/tides.md tells."
SAID = re.compile(r"prompt-\d+x|answer-\d+x")


class Talk:
    """An app whose prompts and answers can be distinguished in what a provider is sent."""

    def __init__(self, app: CoTui, pilot: Pilot[Any], provider: Provider) -> None:
        self.app, self.pilot, self.provider = app, pilot, provider
        self.said = 0

    async def say(self) -> None:
        self.said += 1
        text = f"answer-{self.said}x " + "The moon pulls at the water, as notes/tides.md tells. " * 12
        self.provider.default = Reply(text=text, prompt_tokens=-1, completion_tokens=120)
        await ask(self.app, self.pilot, f"prompt-{self.said}x")

    async def do(self, command: str, arguments: str = "") -> None:
        session = self.app.controller.session
        assert session is not None
        seq = session.state.seq
        self.app.run_command(command, arguments)
        await until(self.pilot, lambda: self.app.controller.state.seq > seq and self.app.controller.idle)
        self.app.chat.prompt.text = ""

    @property
    def messages(self) -> list[Block]:
        return [block for block in self.app.chat.transcript.blocks if block.kind in ("user", "reply")]

    @property
    def faded(self) -> set[str]:
        return {name for block in self.messages if block.removal is not None for name in SAID.findall(block.text)}

    @property
    def quoted(self) -> set[str]:
        return {name for block in self.messages if block.quoted for name in SAID.findall(block.text)}

    async def check(self) -> None:
        """Ask once more: exactly what is not faded is sent."""
        faded, quoted = self.faded, self.quoted
        everything = {name for block in self.messages for name in SAID.findall(block.text)}
        await self.say()
        contents = [str(message["content"]) for message in self.provider.requests[-1]["messages"]]
        sent = {found[0] for content in contents if (found := SAID.match(content)) is not None}  # not as a quotation
        assert sent == everything - faded | {f"prompt-{self.said}x"}
        assert quoted <= set(SAID.findall(" ".join(contents))), "not dim: the model sees their words"
        assert self.faded == faded, "what was said since is in the context"

    def seq_of(self, name: str) -> int:
        return next(block.seq for block in self.messages if name in block.text)


async def test_what_is_faded_in_the_chat_is_what_the_next_request_lacks(home: Path, provider: Provider) -> None:
    provider.window = 100_000
    provider.summary = Reply(text=SUMMARY, prompt_tokens=400, completion_tokens=40)
    launch = launch_for(home, provider, environ={"CO_TUI_TOOLS": "none"})
    async with running(launch) as (app, pilot):
        talk = Talk(app, pilot, provider)
        for _ in range(4):
            await talk.say()
        assert not talk.faded
        await talk.do("compact")
        assert "prompt-1x" in talk.faded and "prompt-4x" not in talk.faded
        assert "prompt-1x" in talk.quoted
        await talk.check()
        await talk.do("pin", str(talk.seq_of("prompt-1x")))
        assert "prompt-1x" not in talk.faded, "a pinned message is back"
        await talk.check()
        await talk.do("compact")
        assert "prompt-1x" not in talk.faded and "prompt-5x" in talk.faded
        await talk.check()
        await talk.do("undo")
        assert "prompt-5x" not in talk.faded
        await talk.check()
        await talk.do("rewind", "3")
        assert {"prompt-3x", "answer-3x"} <= talk.faded and "prompt-2x" not in talk.faded
        await talk.check()
        if not LONG_RUN:
            return  # clearing is shown by tests below, a copy only in a long run
        await talk.do("clear")
        await talk.check()
        await talk.do("undo")
        await talk.check()
        before, copied_from = talk.faded, app.controller.session_id
        app.run_command("fork", "")
        await until(pilot, lambda: app.controller.session_id != copied_from and app.controller.idle)
        assert talk.faded == before
        await talk.check()
        before = talk.faded
        await app.controller.switch_session(copied_from)
        await until(pilot, lambda: app.controller.idle)
        assert talk.faded < before or talk.faded == before
        await talk.check()


async def test_the_line_below_says_why_and_opens_the_compaction(home: Path, provider: Provider) -> None:
    provider.window = 100_000
    provider.summary = Reply(text=SUMMARY, prompt_tokens=400, completion_tokens=40)
    launch = launch_for(home, provider, environ={"CO_TUI_TOOLS": "none"})
    async with running(launch, (120, 60)) as (app, pilot):
        talk = Talk(app, pilot, provider)
        for _ in range(3):
            await talk.say()
        await talk.do("compact")
        seen = screen_text(app)
        assert seen.count("not in context · summarised") == 2, "the replies"
        assert seen.count("quoted in the summary") == 2, "the prompts, which the model still reads"
        assert "◆ 4 messages above are summarised · Enter opens · /undo brings them back" in seen
        last, line = seen.index("answer-2x"), seen.index("4 messages above")
        assert last < line < seen.index("▌ prompt-3x")
        assert f"{REMOVED_BAR}▌ prompt-1x" in seen and f"{REMOVED_BAR}▌ prompt-3x" not in seen
        transcript = app.chat.transcript
        transcript.focus()
        transcript.mark(next(n for n, block in enumerate(transcript.blocks) if block.kind == "boundary"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen))
        await pilot.press("escape")
        transcript.mark(next(n for n, block in enumerate(transcript.blocks) if block.kind == "compaction"))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CompactionScreen))
        await pilot.press("u")
        await until(pilot, lambda: "Compaction undone. " in screen_text(app))
        assert "not in context" not in screen_text(app) and "messages above" not in screen_text(app)
        said = " ".join(transcript_text(app).split())
        assert "4 of 6 messages summarised by scripted" in said and " undone" in screen_text(app)
        await talk.do("clear")
        await click_on(app, pilot, "6 messages above are cleared")
        await until(pilot, lambda: isinstance(app.screen, EventScreen))
        await pilot.press("escape")
        entries = [str(option.prompt) for option in app.chat.query_one(Timeline).options]
        assert ["undone" in entry for entry in entries if "Conversation Compacted" in entry] == [True]

        transcript.focus()
        transcript.mark(next(n for n, block in enumerate(transcript.blocks) if block.kind == "compaction"))
        await pilot.press("enter", "3")
        await until(pilot, lambda: "no longer in context" in screen_text(app))
        assert re.search(r"Kept whole.*recent +\d\d:\d\d +you +prompt-3x", " ".join(screen_text(app).split()))
        await pilot.press("u")
        assert isinstance(app.screen, CompactionScreen)
        assert not app.controller.state.history, "what was done since is not undone in its place"


def prompt(n: int) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"prompt-{n}x"}]}


def reply(n: int) -> dict[str, Any]:
    return {"kind": "response", "parts": [{"part_kind": "text", "content": f"answer-{n}x"}]}


def store_long_talk(home: Path, turns: int, *, removed: int, cwd: Path) -> None:
    """A session whose first turns were summarised, of which the second summary was undone."""
    said = [Message(turn=n, message=each) for n in range(1, turns + 1) for each in (prompt(n), reply(n))]
    refs = tuple((seq, 0) for seq in range(2, 2 + 2 * turns))
    seq = 2 * turns + 2
    summary = CompactionComplete(success=True, replaced=refs[: 2 * removed], replacement=(prompt(0),), summary="Sum")
    again = CompactionComplete(success=True, replaced=refs[2 * removed :], replacement=(prompt(0),), summary="Sum")
    undone = CompactionUndone(compaction_seq=seq + 1, history=((seq, 0), *refs[2 * removed :]))
    with store_in(home) as store:
        start = SessionStart(model="openai-chat:scripted", cwd=str(cwd))
        store.writing().append("long", [start, *said, summary, again, undone]).result()


async def test_a_long_session_shows_it_page_by_page_after_a_resume(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    store_long_talk(home, 200, removed=150, cwd=launch.cwd)
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript = app.chat.transcript
        assert all(block.removal is None for block in transcript.blocks), "only the end is loaded"
        entries = [str(option.prompt) for option in app.chat.query_one(Timeline).options]
        compacted = [entry for entry in entries if "Conversation Compacted" in entry]
        assert ["undone" in entry for entry in compacted] == [False, True]
        assert app.chat.query_one(MiniGauge).reading.compactions == 1
        await app.controller.older.load_back_to(0)
        assert len(transcript.blocks) == 400 + 2 + 1
        boundary = next(n for n, block in enumerate(transcript.blocks) if block.kind == "boundary")
        assert boundary == 300 and transcript.blocks[299].text == "answer-150x"
        assert {n for n, block in enumerate(transcript.blocks) if block.removal is not None} == set(range(300))
        assert "300 messages above are summarised" in transcript.blocks[boundary].text


@only_in_a_long_run
async def test_messages_of_several_pages_have_one_line_below_the_last(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    store_long_talk(home, 200, removed=195, cwd=launch.cwd)
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        transcript = app.chat.transcript
        assert [block.kind for block in transcript.blocks].count("boundary") == 1 and len(transcript.blocks) < 100
        await app.controller.older.load_back_to(0)
        assert [n for n, block in enumerate(transcript.blocks) if block.kind == "boundary"] == [390]
        app.run_command("clear", "")
        await until(pilot, lambda: "11 messages above are cleared" in screen_text(app))
        assert [n for n, block in enumerate(transcript.blocks) if block.kind == "boundary"] == [400]
        app.run_command("undo", "")
        await until(pilot, lambda: "Clearing undone. " in screen_text(app))
        assert [n for n, block in enumerate(transcript.blocks) if block.kind == "boundary"] == [390]


async def test_the_reader_stays_where_they_are_when_messages_leave_the_context(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    store_long_talk(home, 40, removed=10, cwd=launch.cwd)
    async with running(launch, (100, 24)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        await app.controller.older.load_back_to(0)
        transcript = app.chat.transcript
        transcript.show_block(50)
        await pilot.pause()
        text = {line.strip("│▏ ") for line in screen_text(app).splitlines() if "x" in line and "prompt" in line}
        app.run_command("clear", "")
        await until(pilot, lambda: "not in context · cleared" in screen_text(app))
        after = {line.strip("│▏ ") for line in screen_text(app).splitlines() if "x" in line and "prompt" in line}
        assert text == after and text


async def test_a_message_that_does_not_fit_is_set_apart_too(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    cut = Truncation(
        pre_tokens=9, post_tokens=5, pre_messages=4, post_messages=2, tokens_removed=4, messages_removed=2,
        performed_by="co-tui", left_out=((2, 0), (3, 0)),
    )  # fmt: skip
    said = [Message(turn=n, message=each) for n in (1, 2) for each in (prompt(n), reply(n))]
    with store_in(home) as store:
        start = SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd))
        store.writing().append("long", [start, *said, cut]).result()
    async with running(launch) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        assert "not in context · does not fit" in screen_text(app)
        assert "✂ 2 messages above do not fit · Enter opens · /compact summarises them" in screen_text(app)


async def test_each_way_out_has_its_own_line(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, session_id="long")
    said = [Message(turn=n, message=each) for n in (1, 2, 3) for each in (prompt(n), reply(n))]
    summary = CompactionComplete(success=True, replaced=((2, 0), (3, 0)), replacement=(prompt(0),), summary="Sum")
    back = Rewind(to_seq=5, history=((8, 0), (4, 0), (5, 0)))
    with store_in(home) as store:
        start = SessionStart(model="openai-chat:scripted", cwd=str(launch.cwd))
        store.writing().append("long", [start, *said, summary, back]).result()
    async with running(launch, (60, 30)) as (app, pilot):
        await until(pilot, lambda: app.controller.idle)
        seen = screen_text(app)
        assert "◆ 2 messages above are summarised · Enter opens" in seen
        assert "↶ 2 messages above are rewound · Enter opens" in seen
        await type_text(pilot, "/clear\n")
        await until(pilot, lambda: "⌫ 3 messages above are cleared" in screen_text(app))
        assert Clear.TYPE in {event.type for event in app.controller.state.timeline}
        assert "↶ 2 messages above are rewound" in screen_text(app)


def test_the_first_paint_of_a_session_that_is_not_long_shows_it_already(home: Path) -> None:
    store_long_talk(home, 100, removed=90, cwd=home)
    with store_in(home) as store:
        state = StoredTranscript(store, "long").preview_state()
    assert len(out_of_context(state).removals) == 180


def test_notes_and_plans_fade_with_the_messages_around_them() -> None:
    said = [Message(turn=n, message=each) for n in (1, 2) for each in (prompt(n), reply(n))]
    compaction = CompactionComplete(success=True, replaced=((1, 0), (2, 0)), replacement=(prompt(0),), summary="Sum")
    events = [Event(session_id="s", seq=n, timestamp="", fact=fact) for n, fact in enumerate([*said, compaction], 1)]
    one, plan, two, *_ = blocks = [
        Block("user", "prompt-1x", seq=1),
        Block("plan", "[x] look", seq=1),
        Block("reply", "answer-1x", seq=2),
        Block("note", "The mode is ask."),
        Block("user", "prompt-2x", seq=3),
        Block("reply", "answer-2x", seq=4),
    ]
    marks = ContextMarks()
    marks.use(out_of_context(replay(events)))
    assert marks.apply(blocks) == [one, two, plan]
    assert [block.is_faded for block in blocks] == [True, True, True, False, False, False]
    shown = marks.with_boundaries(blocks)
    assert [block.kind for block in shown].index("boundary") == 3, "below the last of them"
    assert marks.apply(blocks) == [], "once is enough"
    marks.use(out_of_context(replay(events[:4])))
    assert marks.apply(blocks) == [one, two, plan] and not any(block.is_faded for block in blocks)
