"""The chat's widgets that are mounted after the first paint; their styles would double its time."""

import time
from pathlib import Path
from typing import Any

from textual.screen import Screen
from textual.widgets import Static

from co_tui.events import CompactionComplete, CompactionStart, CompactionWait, Event, SpentToday
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Settings
from co_tui.ui.compaction.compacting_bar import CompactingIndicator
from co_tui.ui.gauge.gauge_reading import GaugeReading, reading_of
from co_tui.ui.gauge.gauge_widget import Gauge, MiniGauge, StreamedReply
from co_tui.ui.prompt.completion import CompletionOffer
from co_tui.ui.prompt.completion_list import Completions
from co_tui.ui.prompt.file_finder import FileFinder
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.timeline.timeline_widget import Timeline
from co_tui.ui.widgets.key_line import ChatKeys


class DeferredWidgets:
    """Both gauges, the timeline, the compacting indicator, completions and the key line."""

    def __init__(self, finder: FileFinder) -> None:
        self._finder = finder
        self._gauges = (Gauge(id="gauge"), MiniGauge(id="mini"))
        self._gauges[0].border_title = "Context"
        self._reading, self._reply = GaugeReading(), StreamedReply()
        self._day_cost: float | None = None
        self._timeline = Timeline(id="timeline")
        self._timeline.border_title = "Timeline"
        self._compacting = CompactingIndicator(id="compacting")
        self._completions = Completions(id="completions")

    async def mount(self, screen: Screen[Any]) -> None:
        """Mount everything into the space reserved for it."""
        with screen.app.batch_update():
            await screen.query_one("#side").mount(self._gauges[0], self._timeline)
            await screen.mount(self._gauges[1], self._compacting, self._completions, before="#prompt")
            await screen.mount(ChatKeys())
            screen.add_class("-complete")

    def set_folder(self, folder: Path) -> None:
        """Complete files of another folder."""
        self._finder.set_folder(folder)

    def show_session(self, state: SessionState) -> None:
        self._compacting.end()
        self._reply = StreamedReply()
        self.show_timeline(state)

    def show_gauge(self, state: SessionState, settings: Settings, compactions: int) -> None:
        """Show the figures, with the number of compactions in force."""
        self._reading = reading_of(state, settings, compactions, self._day_cost)
        self._draw_gauges()

    def _draw_gauges(self) -> None:
        for gauge in self._gauges:
            gauge.reading = self._reading.with_reply(self._reply.tokens)

    def show_timeline(self, state: SessionState) -> None:
        self._timeline.show(state.timeline)

    def see_newest(self) -> None:
        self._timeline.see_newest()

    def focus_timeline(self) -> None:
        self._timeline.focus()

    @property
    def is_timeline_read(self) -> bool:
        """Whether it has the focus."""
        return self._timeline.has_focus

    def go_to_timeline(self, seq: int | None) -> None:
        self._timeline.go_to(seq)

    def apply_event(self, event: Event, state: SessionState) -> None:
        """Show one event of the running session; the gauge shows background compaction by itself."""
        if event.seq is not None and state.timeline and state.timeline[-1] is event:
            self._timeline.add(event)
        if self._reply.apply(event.fact, time.monotonic()):
            self._draw_gauges()
        match event.fact:
            case SpentToday(dollars=dollars):
                self._day_cost = dollars
                self._reading = self._reading._replace(day_cost=dollars)
                self._draw_gauges()
            case CompactionStart(blocks=True, trigger=trigger):
                self._compacting.begin(trigger, state.usage.share if state.usage else 0.0)
            case CompactionWait(share=full, over=False):
                self._compacting.begin("", full)
            case CompactionComplete() | CompactionWait():
                self._compacting.end()
            case _:
                pass

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction blocks the turn."""
        return self._compacting.display

    def follow(self, prompt: Prompt) -> None:
        """Update the completions for the text being typed; files follow as soon as they are found."""
        offer = prompt.follow_offer()
        self.offer(offer)
        self._finder.search(offer, lambda: self.offer(offer))

    def offer(self, offer: CompletionOffer) -> None:
        self._completions.show(offer)

    @property
    def is_offering(self) -> bool:
        return self._completions.display


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

    def __init__(self, needed: str) -> None:
        """`needed` is the minimum size."""
        super().__init__(markup=False)
        self._needed = needed

    def on_mount(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        size = self.app.size
        self.update(f"co-tui needs {self._needed}.\nThis terminal is {size.width}×{size.height}: make it larger.")
