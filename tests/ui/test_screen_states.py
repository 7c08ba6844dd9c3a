"""The screen in any order of things: resizing, typing, streaming, folding, scrolling, searching.

After each step nothing has failed, and every line drawn is the line that a fresh layout at that width has there.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from co_tui.events import Event, Message, StreamDelta, ToolActivity
from co_tui.ui.app import CoTui
from co_tui.ui.transcript.blocks import BlockBuilder
from co_tui.ui.transcript.layout import TranscriptLayout
from co_tui.ui.transcript.transcript_view import GAP_TO_BAR, GUTTER
from tests.support.long_run import drawn
from tests.support.screen import launch_for

TEXTS = (
    "a line",
    "# A title\n\nwith *words* and `code` in a paragraph that is long enough to be wrapped more than once " * 2,
    "```python\nfor n in range(10):\n    print(n, 'a long line of code that is wrapped')\n```\n",
    "- one\n- two <Suspense>\n\n1. first\n2. second\n\n",
    "| a | b |\n|---|---|\n| 漢字 | 𝒳 |\n\n",
    "漢字かな交じり文 " * 12,
    "x" * 300,
    "\n\n\n",
    "",
)
WORDS = ("a ", "longer words, ", "**bold** ", "\n\n", "`code` ", "\n- item ", "漢字 ", "```\n", "x" * 90)
KEYS = ("a", "ctrl+j", "pageup", "pagedown", "ctrl+o", "f4", "ctrl+end")


class Quiet(CoTui):
    """Without an backend: what happens on the screen is this test's to say."""

    def load_engine(self) -> None:
        pass


class Played:
    """The app, and the things that can happen to it."""

    def __init__(self, app: CoTui, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.seq = self.part = self.calls = 0

    def hear(self, fact: Any) -> None:
        self.seq += 1
        event = Event(session_id="s", seq=self.seq, timestamp="2026-01-01T12:00:00Z", fact=fact)
        self.app.chat.apply_event(event, self.app.controller.state)

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)

    async def say(self, text: str) -> None:
        message = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}
        self.hear(Message(turn=self.seq, message=message))

    async def stream(self, words: list[str]) -> None:
        for word in words:
            self.hear(StreamDelta(turn=1, part=self.part, kind="text", text=word))
        self.app.chat.transcript.draw_streamed()

    async def finish(self, text: str) -> None:
        self.part += 1
        self.hear(Message(turn=1, message={"kind": "response", "parts": [{"part_kind": "text", "content": text}]}))

    async def tool(self, text: str) -> None:
        self.calls += 1
        self.part += 1
        call = f"c{self.calls}"
        self.hear(
            StreamDelta(turn=1, part=self.part, kind="tool_call", text="{}", tool_name="shell", tool_call_id=call)
        )
        self.hear(ToolActivity(turn=1, tool_name="shell", tool_call_id=call, stage="finished", text=text))
        self.part += 1

    async def older(self, texts: list[str]) -> None:
        builder = BlockBuilder()
        for text in texts:
            builder.user(text, "11:00")
        self.app.chat.show_older(builder.blocks)

    async def scroll(self, lines: int) -> None:
        self.app.chat.transcript.scroll_relative(y=lines, animate=False)

    async def jump(self, share: float) -> None:
        transcript = self.app.chat.transcript
        transcript.scroll_to(y=share * transcript.max_scroll_y, animate=False)

    async def press(self, keys: list[str]) -> None:
        for key in keys:
            await self.pilot.press(key)

    async def find(self, text: str) -> None:
        self.app.chat.transcript.find(text)

    async def wait(self, prompts: list[str]) -> None:
        from co_tui.ui.chat.transcript_feed import QUEUED, WaitingShown

        self.app.chat.show_waiting([WaitingShown(prompt, QUEUED) for prompt in prompts])

    def check(self) -> None:
        assert self.app._exception is None
        transcript = self.app.chat.transcript
        width, height = transcript.scrollable_content_region.size
        if width < 10 or not height or not transcript.blocks:
            return
        fresh = TranscriptLayout()
        fresh.set_renderer(self.app.renderer)
        fresh.set_width(width - len(GUTTER) - GAP_TO_BAR)
        fresh.show(transcript.blocks)
        expected = [
            fresh.lay_out(n).line(line).crop_extend(0, width, None).text.rstrip()
            for n in range(len(fresh.blocks))
            for line in range(fresh.lay_out(n).height)
        ]
        drawn = [transcript.render_line(y).text[len(GUTTER) :].rstrip() for y in range(height)]
        top = fresh.row_of(transcript.top)
        assert drawn[: len(expected) - top] == expected[top : top + height]
        assert not any(drawn[len(expected) - top :]), "below the end there is nothing"
        assert len(expected) - top >= min(height, len(expected)), "no empty lines while there is text above"
        if transcript.following:
            assert top + height >= len(expected), "following shows the end"


Step = tuple[Callable[..., Any], tuple[Any, ...]]


def step(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(getattr(Played, name)), st.tuples(*arguments))


TEXT = st.sampled_from(TEXTS)
STEPS = st.lists(
    st.one_of(
        step("resize", st.sampled_from([30, 60, 61, 80, 109, 111, 200]), st.sampled_from([8, 16, 24, 60])),
        step("say", TEXT),
        step("stream", st.lists(st.sampled_from(WORDS), max_size=12)),
        step("finish", TEXT),
        step("tool", TEXT),
        step("older", st.lists(TEXT, max_size=4)),
        step("scroll", st.integers(-70, 70)),
        step("jump", st.floats(0, 1)),
        step("press", st.lists(st.sampled_from(KEYS), max_size=3)),
        step("find", st.sampled_from(["a", "code", "漢", "nothing like it"])),
        step("wait", st.lists(TEXT.filter(str.strip), max_size=2)),
    ),
    min_size=4,
    max_size=25,
)


async def play(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        app = Quiet(launch_for(Path(folder) / "home"))
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            played = Played(app, pilot)
            for text in TEXTS:
                await played.say(text)
                await played.finish(text)
            await played.tool(TEXTS[1])
            for act, arguments in steps:
                await act(played, *arguments)
                played.check()  # before the library has had time to settle
                await pilot.pause()
                played.check()


@settings(
    max_examples=drawn(2),
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # an example takes a second: shrinking would take minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(STEPS)
def test_whatever_happens_the_lines_are_those_of_a_fresh_layout(steps: list[Step]) -> None:
    asyncio.run(play(steps))
