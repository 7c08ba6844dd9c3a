"""The main screen: the conversation, its gauge and timeline, and the prompt."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.getters import query_one
from textual.screen import Screen
from textual.widgets import Footer, Input, Static

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.events import Event, UsageInfo
from co_tui.inert import one_line
from co_tui.session.state import SessionState
from co_tui.ui import commands
from co_tui.ui.feed import Feed
from co_tui.ui.widgets.blocks import Block, BlockBuilder
from co_tui.ui.widgets.completions import Completions
from co_tui.ui.widgets.gauge import Gauge, GaugeReading, MiniGauge
from co_tui.ui.widgets.prompt import Prompt
from co_tui.ui.widgets.timeline import Timeline
from co_tui.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from co_tui.ui.app import CoTui

MIN_COLUMNS, MIN_ROWS, WIDE_COLUMNS = 60, 16, 110
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

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="hint", markup=False)
        with Horizontal(id="middle"):
            yield Transcript(id="transcript")
            with Vertical(id="side"):
                gauge = Gauge(id="gauge")
                gauge.border_title = "Context"
                yield gauge
                timeline = Timeline(id="timeline")
                timeline.border_title = "Timeline"
                yield timeline
        yield Input(id="find", placeholder="Search in this conversation: Enter finds upwards, Esc closes")
        yield MiniGauge(id="mini")
        yield Completions(id="completions")
        yield Prompt(id="prompt")
        yield Footer(show_command_palette=True)
        yield Static(id="too-small", markup=False)

    def on_mount(self) -> None:
        self.transcript.border_title = "Chat"
        self.feed = Feed(self.transcript)
        self.transcript.set_look(self.app.look)
        self.app.chat_mounted(self)

    def on_resize(self) -> None:
        size = self.size
        self.query_one("#too-small", Static).update(
            f"co-tui needs a terminal of {MIN_COLUMNS}×{MIN_ROWS}; this one is {size.width}×{size.height}.\n"
            "Make it larger, and everything is back."
        )

    # What the session says

    def show_session(self, builder: BlockBuilder, state: SessionState) -> None:
        """Show a stored session, or an empty chat."""
        self._welcome = None
        self.feed.show(builder)
        if not builder.blocks:
            self._welcome = self.feed.note(WELCOME)
        self.timeline.show(state.timeline)
        self.show_state(state)

    def show_older(self, blocks: list[Block]) -> None:
        self.transcript.prepend(blocks)

    def hear(self, event: Event, state: SessionState) -> None:
        """One event of the running session."""
        if self._welcome is not None and event.type == "message":
            self.transcript.drop(self._welcome)
            self._welcome = None
        self.feed.hear(event)
        if event.seq is not None:
            if state.timeline and state.timeline[-1] is event:
                self.timeline.add(event)
            if not isinstance(event.fact, UsageInfo) or event.fact is state.usage:
                self.show_state(state)

    def show_state(self, state: SessionState) -> None:
        settings = self.app.launch.settings
        reading = GaugeReading(
            usage=state.usage,
            cost=state.cost,
            summary_cost=state.summary_cost,
            tokens_per_turn=state.tokens_per_turn,
            background_at=settings.background_compaction_threshold,
            blocking_at=settings.buffer_exhaustion_threshold,
        )
        self.query_one("#gauge", Gauge).reading = reading
        self.query_one("#mini", MiniGauge).reading = reading
        self._show_title(state)

    def _show_title(self, state: SessionState) -> None:
        model = state.model or self.app.launch.choice.model
        policy = state.policy or self.app.launch.settings.policy
        right = " · ".join(filter(None, (one_line(model, 44), policy, one_line(state.branch or self.app.branch, 24))))
        left = f"co-tui · {one_line(state.title, 60)}" if state.title else "co-tui"
        room = max(0, self.app.size.width - 2)
        line = Text(left, style="bold", no_wrap=True)
        line.truncate(max(8, room - len(right) - 2), overflow="ellipsis")
        line.append(" " * max(2, room - line.cell_len - len(right)))
        line.append(right)
        line.truncate(room, overflow="ellipsis")
        self.query_one("#title", Static).update(line)
        hint = self.query_one("#hint", Static)
        hint.set_class(model == EMBEDDED, "-shown")
        hint.update(f"Embedded model {EMBEDDED_LABEL} (offline, small). F6 or `co-tui --model …` to use another.")

    def set_busy(self, busy: bool, status: str = "") -> None:
        """Whether a turn runs, and what is being waited for."""
        self._busy = busy
        self.prompt.set_class(busy, "-busy")
        self.prompt.border_subtitle = status or ("answering · esc stops" if busy else "")
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "escape":
            closable = self._busy or self.completions.display or self.query_one("#find").has_class("-shown")
            return True if closable or self.has_class("-drawer") or not self.prompt.has_focus else None
        return True

    # What the user does

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        text = event.text.strip()
        self.completions.offer("")
        self.prompt.completing = False
        if text.startswith("/") and "\n" not in text:
            name, _, arguments = text[1:].partition(" ")
            self.app.run_command(name, arguments.strip())
        else:
            self.transcript.follow_end()
            self.app.send(event.text)

    @on(Prompt.Edited)
    def _edited(self, event: Prompt.Edited) -> None:
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

    def _close_completions(self) -> None:
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

    def action_escape(self) -> None:
        find = self.query_one("#find", Input)
        if self.completions.display:
            self._close_completions()
        elif find.has_class("-shown"):
            find.remove_class("-shown")
            self.transcript.find("")
            self.prompt.focus()
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

    def do_folds(self) -> None:
        self.transcript.toggle_all()

    def do_find(self, text: str) -> None:
        find = self.query_one("#find", Input)
        find.add_class("-shown")
        find.focus()
        if text:
            find.value = text
            self._find(text)

    @on(Input.Submitted, "#find")
    def _find_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._find(event.value)

    def _find(self, text: str) -> None:
        if text and not self.transcript.find(text):
            self.notify(f"{one_line(text, 40)!r} does not occur in what is loaded.", severity="warning", markup=False)

    def on_screen_resume(self) -> None:
        self.prompt.focus()
