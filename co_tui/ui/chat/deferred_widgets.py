"""The chat's widgets that are mounted after the first paint; their styles would double its time."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from co_tui.events import (
    CompactionComplete,
    CompactionStart,
    CompactionWait,
    Event,
    MemoryReleased,
    Message,
    SpentToday,
)
from co_tui.inert import one_line
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Settings
from co_tui.ui.compaction.compacting_bar import CompactingIndicator
from co_tui.ui.gauge.gauge_reading import GaugeReading, reading_of
from co_tui.ui.gauge.gauge_widget import Gauge, MiniGauge, StreamedReply
from co_tui.ui.prompt.completion import Choice, CompletionOffer
from co_tui.ui.prompt.file_finder import FileFinder
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.widgets.key_line import ChatKeys
from co_tui.ui.work.session_work import WorkRow
from co_tui.ui.work.work_strip import WorkStrip

NAME_CHARS = 200
MAX_NAME_COLUMNS = 22
"""Descriptions start in one column, unless a name is longer than this."""


class DeferredWidgets:
    """Both gauges, the timeline, what runs, the compacting indicator, completions and the key line."""

    def __init__(self, finder: FileFinder, commands: Callable[[], list[WorkRow]]) -> None:
        """`commands` returns the background commands that run."""
        self.finder = finder
        self._gauges = (Gauge(id="gauge"), MiniGauge(id="mini"))
        self._gauges[0].border_title = "Context"
        self._reading, self._reply = GaugeReading(), StreamedReply()
        self._day_cost: float | None = None
        self.timeline = Timeline(id="timeline")
        self.timeline.border_title = "Timeline"
        self.compacting = CompactingIndicator(id="compacting")
        """Displayed while a compaction blocks the turn."""
        self.work = WorkStrip(commands, id="work")
        """Displayed while something runs in the background, or a plan is worked on."""
        self.completions = Completions(id="completions")

    async def mount(self, screen: Screen[Any]) -> None:
        """Mount everything into the space reserved for it."""
        screen.app.stylesheet.read(Path(__file__).with_name("late.tcss"))
        with screen.app.batch_update():
            screen.add_class("-complete", update=False)
            await screen.query_one("#side").mount(self._gauges[0], self.timeline)
            await screen.mount(self._gauges[1], self.work, self.compacting, self.completions, before="#prompt")
            await screen.mount(ChatKeys())
            for each in screen.query("Prompt, ToastRack"):  # all that was there before and has rules in late.tcss
                each.update_node_styles(animate=False)

    def show_session(self, state: SessionState) -> None:
        self.compacting.end()
        self._reply = StreamedReply()
        self.timeline.show(state.timeline, state.transcript)
        self.work.show_session()

    def show_state(self, state: SessionState, settings: Settings, compactions: int) -> None:
        """Show the plan and the figures, with the number of compactions in force."""
        self.work.show_plan(state.plan_in_use)
        self._reading = reading_of(state, settings, compactions, self._day_cost)
        self._draw_gauges()

    def _draw_gauges(self) -> None:
        for gauge in self._gauges:
            gauge.reading = self._reading.with_reply(self._reply.tokens)

    def apply_event(self, event: Event, state: SessionState) -> None:
        """Show one event of the running session; the gauge shows background compaction by itself."""
        if event.seq is not None and state.timeline and state.timeline[-1].seq == event.seq:
            self.timeline.add(event)
        elif isinstance(event.fact, Message):
            self.timeline.use_mode()
        self.work.apply(event.fact)
        if self._reply.apply(event.fact, time.monotonic()):
            self._draw_gauges()
        match event.fact:
            case SpentToday(dollars=dollars):
                self._day_cost = dollars
                self._reading = self._reading._replace(day_cost=dollars)
                self._draw_gauges()
            case CompactionStart(blocks=True, trigger=trigger):
                self.compacting.begin(trigger, state.usage.share if state.usage else 0.0)
            case CompactionWait(share=full, over=False):
                self.compacting.begin("", full)
            case CompactionComplete() | CompactionWait():
                self.compacting.end()
            case MemoryReleased():
                self.timeline.release(state.timeline)
            case _:
                pass

    def follow(self, prompt: Prompt) -> None:
        """Update the completions for the text being typed; files follow as soon as they are found."""
        offer = prompt.follow_offer()
        self.completions.show(offer)
        self.finder.search(offer, lambda: self.completions.show(offer))


class TooSmall(Static):
    """Covers the screen while the terminal is too small."""

    DEFAULT_CSS = """
    TooSmall {
        layer: drawer;
        dock: top;
        width: 100%;
        height: 100%;
        background: $background;
        content-align: center middle;
        text-align: center;
    }
    """

    def __init__(self, needed: str, quits: str) -> None:
        """`needed` is the minimum size, `quits` the key that still works, if any."""
        super().__init__(markup=False)
        self._needed, self._quits = needed, quits

    def on_mount(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        size = self.app.size
        here = f"This terminal is {size.width}×{size.height}: make it larger."
        quits = f"\n{self._quits} quits." if self._quits else ""
        self.update(f"co-tui needs {self._needed}.\n{here}{quits}")


class Completions(OptionList, can_focus=False):
    """Shown above the prompt, which keeps the focus and handles the keys."""

    DEFAULT_CSS = """
    Completions {
        display: none;
        height: auto;
        max-height: 8;
        border: round $border;
        border-subtitle-color: $muted;
        background: $surface;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-background: $surface;
    }
    .-low Completions { max-height: 6; }
    """

    def show(self, offer: CompletionOffer) -> None:
        self.display = offer.is_open
        if not offer.is_open:
            return
        if [option.id for option in self.options] != [choice.name for choice in offer.found]:
            self.clear_options()
            width = max(len(choice.title) + len(choice.arguments) + 1 for choice in offer.found)
            self.add_options([_option(choice, min(width, MAX_NAME_COLUMNS)) for choice in offer.found])
        self.highlighted = offer.index
        keys = "Enter runs it · Tab completes it" if offer.runs_on_enter else "Tab completes it"
        self.border_subtitle = f"{keys} · {offer.index + 1} of {len(offer.found):,}"


def _option(choice: Choice, name_width: int) -> Option:
    # A file may have any name.
    name = Content.assemble((one_line(choice.title, NAME_CHARS), "bold"), f" {choice.arguments}".rstrip())
    gap = " " * max(2, name_width + 2 - name.cell_length)
    return Option(Content.assemble(name, gap, (one_line(choice.help, NAME_CHARS), "$muted")), id=choice.name)
