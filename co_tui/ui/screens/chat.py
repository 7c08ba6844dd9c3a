"""The main screen: the conversation, its gauge and timeline, and the prompt."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.getters import query_one
from textual.screen import Screen
from textual.widgets import Footer, Static

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.events import CompactionComplete, CompactionStart, CompactionWait, Event, UsageInfo
from co_tui.inert import one_line
from co_tui.session.state import SessionState
from co_tui.ui import commands
from co_tui.ui.feed import Feed
from co_tui.ui.widgets.blocks import Block, BlockBuilder
from co_tui.ui.widgets.compacting import CompactingIndicator
from co_tui.ui.widgets.completions import Completions
from co_tui.ui.widgets.find import FindBar
from co_tui.ui.widgets.gauge import Gauge, GaugeReading, MiniGauge
from co_tui.ui.widgets.prompt import Prompt
from co_tui.ui.widgets.timeline import Timeline
from co_tui.ui.widgets.too_small import MIN_COLUMNS, MIN_ROWS, TooSmall
from co_tui.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from co_tui.ui.app import CoTui

WIDE_COLUMNS = 110
WELCOME = (
    "Ask anything; Enter sends, Ctrl+J makes a new line.\n"
    "Try:  Explain what a context window is\n"
    "      /model to choose who answers, /sessions to go back to earlier ones\n"
    "      /help for all keys and commands"
)


class ChatScreen(Screen[None]):
    """Shows one session. Does no engine work itself: it asks the app."""

    AUTO_FOCUS = "#prompt"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (MIN_COLUMNS, "-narrow"), (WIDE_COLUMNS, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (MIN_ROWS, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *commands.bindings(),
        Binding("escape", "escape", "Stop", id="chat.stop"),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
        Binding("ctrl+up", "line(-1)", "Line up", show=False, priority=True),
        Binding("ctrl+down", "line(1)", "Line down", show=False, priority=True),
        Binding("ctrl+end", "end", "To the end", show=False, priority=True),
    ]

    transcript = query_one(Transcript)
    prompt = query_one(Prompt)
    completions = query_one(Completions)
    timeline = query_one(Timeline)
    app: "CoTui"

    def __init__(self) -> None:
        super().__init__()
        self._welcome: Block | None = None
        self._busy = False
        self._is_complete = False
        self._state = SessionState()

    def compose(self) -> ComposeResult:
        """What the first paint needs; `complete` brings the rest, into places that are kept free here."""
        yield Static(id="title", markup=False)
        with Horizontal(id="middle"):
            yield Transcript(id="transcript")
            with Vertical(id="side"):
                yield Gauge(id="gauge")
        yield Prompt(id="prompt")

    def on_mount(self) -> None:
        self.transcript.border_title = "Chat"
        self.query_one("#gauge").border_title = "Context"
        self.feed = Feed(self.transcript)
        self.transcript.set_look(self.app.look)
        self.app.chat_mounted()

    async def complete(self) -> None:
        """The widgets nobody can use before the first paint; parsing their styles takes as long as all others'."""
        timeline = Timeline(id="timeline")
        timeline.border_title = "Timeline"
        with self.app.batch_update():
            await self.query_one("#side").mount(timeline)
            late = (MiniGauge(id="mini"), CompactingIndicator(id="compacting"), Completions(id="completions"))
            await self.mount(*late, before="#prompt")
            await self.mount(Footer(show_command_palette=True))
            self.add_class("-complete")
        self._is_complete = True
        timeline.show(self._state.timeline)
        self.show_state(self._state)

    def on_resize(self) -> None:
        too_small = self.size.width < MIN_COLUMNS or self.size.height < MIN_ROWS
        if too_small != bool(self.query(TooSmall)):
            if too_small:
                self.mount(TooSmall(markup=False))
            else:
                self.query(TooSmall).remove()
        self._show_title(self._state)

    # What the session says

    def show_session(self, builder: BlockBuilder, state: SessionState) -> None:
        """Show a stored session, or an empty chat."""
        self._welcome = None
        if self._is_complete:
            self.query_one(CompactingIndicator).end()
        self.feed.show(builder)
        if not builder.blocks:
            self._welcome = self.feed.note(WELCOME)
        self.show_timeline(state)
        self.show_state(state)

    def show_timeline(self, state: SessionState) -> None:
        self._state = state
        if self._is_complete:
            self.timeline.show(state.timeline)

    def show_older(self, blocks: list[Block]) -> None:
        self.transcript.prepend(blocks)

    def hear(self, event: Event, state: SessionState) -> None:
        """One event of the running session."""
        if self._welcome is not None and event.type == "message":
            self.feed.drop(self._welcome)
            self._welcome = None
        self.feed.hear(event)
        self._follow_compaction(event, state)
        if event.seq is not None:
            if self._is_complete and state.timeline and state.timeline[-1] is event:
                self.timeline.add(event)
            if not isinstance(event.fact, UsageInfo) or event.fact is state.usage:
                self.show_state(state)

    def _follow_compaction(self, event: Event, state: SessionState) -> None:
        """Show what somebody waits for; what runs in the background shows on the gauge."""
        if not self._is_complete:
            return
        share = state.usage.current_tokens / max(1, state.usage.token_limit) if state.usage else 0.0
        match event.fact:
            case CompactionStart(blocks=True, trigger=trigger):
                self.query_one(CompactingIndicator).begin(trigger, share)
            case CompactionWait(share=full, over=False):
                self.query_one(CompactingIndicator).begin("", full)
            case CompactionComplete() | CompactionWait():
                self.query_one(CompactingIndicator).end()
            case _:
                return
        self.refresh_bindings()

    @property
    def _compacting(self) -> bool:
        return self._is_complete and bool(self.query_one(CompactingIndicator).display)

    def show_state(self, state: SessionState) -> None:
        self._state = state
        settings = self.app.launch.settings
        running = state.compacting.fact if state.compacting else None
        reading = GaugeReading(
            usage=state.usage,
            cost=state.cost,
            summary_cost=state.summary_cost,
            tokens_per_turn=state.tokens_per_turn,
            background_at=settings.background_compaction_threshold,
            blocking_at=settings.buffer_exhaustion_threshold,
            summarising=running.messages if isinstance(running, CompactionStart) and not running.blocks else 0,
        )
        for gauge in self.query(Gauge):
            gauge.reading = reading
        self._show_title(state)

    def _show_title(self, state: SessionState) -> None:
        model = state.model or self.app.launch.choice.model
        policy = state.policy or self.app.launch.settings.policy
        right = " · ".join(filter(None, (one_line(model, 44), policy, one_line(state.branch or self.app.branch, 24))))
        left = f"co-tui · {one_line(state.title, 60)}" if state.title else "co-tui"
        room = max(0, self.app.size.width - 2)
        line = Text(no_wrap=True)
        line.append(left, "bold")
        line.truncate(max(8, room - len(right) - 2), overflow="ellipsis")
        line.append(" " * max(2, room - line.cell_len - len(right)))
        line.append(right)
        line.truncate(room, overflow="ellipsis")
        title = self.query_one("#title", Static)
        if model == EMBEDDED:
            told = Text(f"Embedded model {EMBEDDED_LABEL} (offline, small). F6 or `co-tui --model …` to use another.")
            told.truncate(room, overflow="ellipsis")
            line.append("\n")
            line.append(told.plain, self.app.look.muted)
        title.update(line)

    def set_busy(self, busy: bool, status: str = "") -> None:
        """Whether a turn runs, and what is being waited for."""
        self._busy = busy
        self.prompt.set_class(busy, "-busy")
        self.prompt.border_subtitle = status or ("answering · esc stops" if busy else "")
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "escape":
            closable = (
                self._busy or self._compacting or self._offers or self.query(FindBar) or self.has_class("-drawer")
            )
            return True if closable or not self.prompt.has_focus else None
        return True

    # What the user does

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        text = event.text.strip()
        self._close_completions()
        if text.startswith("/") and "\n" not in text:
            name, _, arguments = text[1:].partition(" ")
            if commands.find(name) is None and "/" not in name:
                self.prompt.set_text(event.text)  # to be mended, not typed again
        if text.startswith("/") and "\n" not in text and "/" not in name:
            self.app.run_command(name, arguments.strip())
        else:
            self.transcript.follow_end()
            self.app.send(event.text)

    @on(Prompt.Edited)
    def _edited(self, event: Prompt.Edited) -> None:
        if self._is_complete:
            self.prompt.completing = self.completions.offer(event.text)
        self.app.draft_changed(event.text)

    @on(Prompt.Steered)
    def _steered(self, event: Prompt.Steered) -> None:
        chosen = self.completions.chosen
        match event.key:
            case "up":
                self.completions.action_cursor_up()
            case "down":
                self.completions.action_cursor_down()
            case "escape":
                self._close_completions()
            case "tab" if chosen:
                self.prompt.set_text(f"{chosen.slash} ")
            case "enter" if chosen:
                self._close_completions()
                self.prompt.text = ""
                self.app.run_command(chosen.name, "")
            case _:
                pass

    @property
    def _offers(self) -> bool:
        return self._is_complete and self.completions.display

    def _close_completions(self) -> None:
        if self._is_complete:
            self.completions.display = False
        self.prompt.completing = False

    @on(Transcript.NearTop)
    def _near_top(self) -> None:
        self.app.load_older()

    @on(Timeline.Opened)
    def _opened(self, event: Timeline.Opened) -> None:
        self.app.open_event(event.event)

    def action_command(self, name: str) -> None:
        self.app.run_command(name, "")

    async def action_escape(self) -> None:
        if self._offers:
            self._close_completions()
        elif self.query(FindBar):
            await self.query(FindBar).remove()
            self.transcript.find("")
            self.prompt.focus()
        elif self._compacting:
            self.app.cancel_compaction()
        elif self._busy:
            self.app.interrupt()
        else:
            self.remove_class("-drawer")
            self.prompt.focus()

    def action_page(self, direction: int) -> None:
        self.transcript.scroll_relative(y=direction * max(1, self.transcript.size.height - 2), animate=False)

    def action_line(self, direction: int) -> None:
        self.transcript.scroll_relative(y=direction, animate=False)

    def action_end(self) -> None:
        self.transcript.follow_end()

    # Commands that concern this screen alone

    def do_side(self) -> None:
        if self.has_class("-wide"):
            self.toggle_class("-folded")
        else:
            self.toggle_class("-drawer")
        if self._is_complete:
            self.call_after_refresh(self.timeline.see_newest)

    def do_folds(self) -> None:
        self.transcript.toggle_all()

    async def do_find(self, text: str) -> None:
        if not self.query(FindBar):
            await self.mount(FindBar(text), before="#prompt")
        self.query_one(FindBar).focus()
        self._find(text)

    @on(FindBar.Submitted, "FindBar")
    def _find_submitted(self, event: FindBar.Submitted) -> None:
        event.stop()
        self._find(event.value)

    def _find(self, text: str) -> None:
        if text and not self.transcript.find(text):
            self.notify(f"{one_line(text, 40)!r} does not occur in what is loaded.", severity="warning", markup=False)

    def on_screen_resume(self) -> None:
        self.prompt.focus()
