"""The main screen: the conversation, its gauge and timeline, and the prompt."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Key, Paste
from textual.getters import query_one
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.context.marks import marks
from co_tui.context.policy import policy_of
from co_tui.events import CompactionComplete, CompactionStart, CompactionWait, Event, UsageInfo
from co_tui.inert import one_line
from co_tui.session.state.session_state import SessionState
from co_tui.ui import command_table
from co_tui.ui.activity import FRAME_S, Activity
from co_tui.ui.launch import Launch
from co_tui.ui.transcript_feed import HELD, Feed, WaitingShown
from co_tui.ui.widgets.blocks import Block, BlockBuilder
from co_tui.ui.widgets.compacting import CompactingIndicator
from co_tui.ui.widgets.completions import Completions
from co_tui.ui.widgets.find import FindBar
from co_tui.ui.widgets.gauge import Gauge, GaugeReading, MiniGauge
from co_tui.ui.widgets.key_line import KeyLine
from co_tui.ui.widgets.prompt import Prompt
from co_tui.ui.widgets.question import QuestionPanel
from co_tui.ui.widgets.rendering import Look
from co_tui.ui.widgets.timeline import Timeline
from co_tui.ui.widgets.too_small import MIN_COLUMNS, MIN_ROWS, TooSmall
from co_tui.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from co_tui.ui.screens.chat_host import ChatHost

WIDE_COLUMNS = 110
QUIET_S = 1.5
"""Whoever has not typed for so long is not about to type the next letter into a question."""
WELCOME = (
    "Ask anything; Enter sends, Ctrl+J makes a new line.\n"
    "Try:  Explain what a context window is\n"
    "      /model to choose who answers, /sessions to go back to earlier ones\n"
    "      /help for all keys and commands"
)


class ChatScreen(Screen[None]):
    """Shows one session. Does no engine work itself: it asks its host."""

    AUTO_FOCUS = "#prompt"
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (MIN_COLUMNS, "-narrow"), (WIDE_COLUMNS, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (MIN_ROWS, "-tall")]
    BINDINGS: ClassVar[list[BindingType]] = [
        *command_table.bindings(),
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

    def __init__(self, host: "ChatHost", launch: Launch, branch: str) -> None:
        super().__init__()
        self._host = host
        self.launch = launch
        """Its settings govern what is shown where no session says otherwise."""
        self.branch = branch
        """Checked out where the app was started."""
        self._look: Look | None = None
        self._welcome: Block | None = None
        self._busy = False
        self._status = ""
        """What is waited for while no turn runs."""
        self._waiting = self._held = 0
        self._activity = Activity()
        self._activity_timer: Timer | None = None
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
        self._host.chat_mounted()

    async def complete(self) -> None:
        """The widgets nobody can use before the first paint; parsing their styles takes as long as all others'."""
        timeline = Timeline(id="timeline")
        timeline.border_title = "Timeline"
        with self.app.batch_update():
            await self.query_one("#side").mount(timeline)
            late = (MiniGauge(id="mini"), CompactingIndicator(id="compacting"), Completions(id="completions"))
            await self.mount(*late, before="#prompt")
            await self.mount(KeyLine())
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

    def set_look(self, look: Look) -> None:
        self._look = look
        self.transcript.set_look(look)

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
        self._activity.hear(event.fact, time.monotonic())
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
        share = state.usage.share if state.usage else 0.0
        match event.fact:
            case CompactionStart(blocks=True, trigger=trigger):
                self.query_one(CompactingIndicator).begin(trigger, share)
            case CompactionWait(share=full, over=False):
                self.query_one(CompactingIndicator).begin("", full)
            case CompactionComplete() | CompactionWait():
                self.query_one(CompactingIndicator).end()
            case _:
                return
        self._show_activity()
        self.refresh_bindings()

    @property
    def _compacting(self) -> bool:
        return self._is_complete and bool(self.query_one(CompactingIndicator).display)

    def show_state(self, state: SessionState) -> None:
        self._state = state
        settings = self.launch.settings
        running = state.compacting.fact if state.compacting else None
        acts = marks(policy_of(settings), state.usage.token_limit if state.usage else 0)
        reading = GaugeReading(
            usage=state.usage,
            cost=state.total_cost,
            summary_cost=state.summary_cost,
            tokens_per_turn=state.tokens_per_turn,
            messages_per_turn=state.messages_per_turn,
            turns=state.turns_in_context if acts.turns else 0,
            marks=acts,
            summarising=running.messages if isinstance(running, CompactionStart) and not running.blocks else 0,
        )
        for gauge in self.query(Gauge):
            gauge.reading = reading
        self._show_title(state)

    def _show_title(self, state: SessionState) -> None:
        model = state.model or self.launch.choice.model
        if model.endswith(":"):  # the server's first model, which is not known before it is asked
            model = f"{model[:-1]} (first model of the server)"
        policy = state.policy or self.launch.settings.policy
        right = " · ".join(filter(None, (one_line(model, 44), policy, one_line(state.branch or self.branch, 24))))
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
            line.append(told.plain, self._look.muted if self._look else "")
        title.update(line)

    # What is being done

    def set_busy(self, busy: bool, status: str = "") -> None:
        """Whether a turn runs; while none does, what is being waited for."""
        if busy and not self._busy:
            self._activity.begin(time.monotonic())
        self._busy, self._status = busy, status
        self.prompt.set_class(busy, "-busy")
        if busy and self._activity_timer is None:
            self._activity_timer = self.set_interval(FRAME_S, self._show_activity)
        elif not busy and self._activity_timer is not None:
            self._activity_timer.stop()
            self._activity_timer = None
        self._show_activity()
        self.refresh_bindings()

    def stopping(self) -> None:
        self._activity.stop()
        self._show_activity()

    def show_waiting(self, prompts: Sequence[WaitingShown]) -> None:
        """The prompts that are not part of the conversation yet."""
        self.feed.show_waiting(prompts)
        self._waiting = len(prompts)
        self._held = sum(prompt.status == HELD for prompt in prompts)
        self.prompt.up_opens_queue = bool(prompts)
        self._show_activity()

    def _show_activity(self) -> None:
        """One line on the prompt's border: what runs, and what can be done about it."""
        running = self._busy and not self._compacting
        provider = (self._state.model or self.launch.choice.model).partition(":")[0]
        self.prompt.border_title = Text(self._activity.line(time.monotonic(), provider)) if running else ""
        hints = [self._status] if self._status else ["esc stop"] if running else []
        if self._held:
            hints.append(f"{self._held} on hold: enter sends, ↑ shows")
        elif self._waiting:
            hints.append(f"{self._waiting} waiting ↑")
        self.prompt.border_subtitle = Text(" · ".join(hints))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "escape":
            closable = (
                self._busy or self._compacting or self._offers or self.query(FindBar) or self.has_class("-drawer")
            )
            return True if closable or not self.prompt.has_focus else None
        return True

    # What the user does

    def took(self, event: Key | Paste) -> bool:
        """Whether a question took the key. What is typed where nothing can be written is turned to the prompt."""
        focused = self.focused
        if isinstance(focused, TextArea | Input):
            return False
        typed = isinstance(event, Paste) or event.is_printable
        if isinstance(focused, QuestionPanel) and typed:
            if isinstance(event, Key) and focused.press(event.key):
                return True
            if letter := focused.give_back():
                self.prompt._forward_event(Key(letter, letter))
        bound = isinstance(event, Key) and focused is not None and event.key in focused._bindings.key_to_bindings
        if typed and not bound:
            self.set_focus(self.prompt)
        return False

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        called = command_table.called(event.text)
        if called is not None:
            self._host.run_command(called.name, called.arguments)
        else:
            self.transcript.follow_end()
            self._host.send(event.text)

    @on(Prompt.Commanded)
    def _commanded(self, event: Prompt.Commanded) -> None:
        self._host.run_command(event.name, "")

    @on(Prompt.Unknown)
    def _unknown(self, event: Prompt.Unknown) -> None:
        self._host.run_command(event.name, "")

    @on(Prompt.Edited)
    def _edited(self, event: Prompt.Edited) -> None:
        if self._is_complete:
            self.prompt.offer.update(self.prompt.text)
            self.completions.show(self.prompt.offer)
        self._host.draft_changed(event.text)

    @on(Prompt.SentNothing)
    def _sent_nothing(self) -> None:
        self._host.send_held()

    @on(Prompt.WentUp)
    def _went_up(self) -> None:
        self._host.run_command("queue", "")

    @on(Prompt.PastedOpened)
    def _pasted_opened(self, event: Prompt.PastedOpened) -> None:
        """What a marker in the prompt stands for, to be read or changed."""
        from co_tui.ui.screens.edit import EditScreen

        def edited(changed: str | None) -> None:
            if changed is not None and changed != event.text:
                self.prompt.replace_pasted(event.marker, changed)

        self.app.push_screen(EditScreen(f"Pasted: {event.marker}", event.text), edited)

    # Questions

    def show_question(self, panel: QuestionPanel) -> None:
        """Ask above the prompt; the focus goes there only when nobody is writing."""
        self.mount(panel, before="#prompt")
        quiet = time.monotonic() - self._host.last_typed_at > QUIET_S
        if quiet and not self.prompt.text and self.focused in (self.prompt, None):
            self.call_after_refresh(panel.focus)

    def end_question(self, panel: QuestionPanel) -> None:
        had_focus = panel.has_focus
        panel.remove()
        if had_focus:
            self.prompt.focus()

    @property
    def _offers(self) -> bool:
        return self._is_complete and self.completions.display

    @on(Transcript.NearTop)
    def _near_top(self) -> None:
        self._host.load_older()

    @on(Timeline.Opened)
    def _opened(self, event: Timeline.Opened) -> None:
        self._host.open_entry(event.event)

    async def action_escape(self) -> None:
        if self._offers:
            self.prompt.offer.dismiss()
            self.completions.show(self.prompt.offer)
        elif self.query(FindBar):
            await self.query(FindBar).remove()
            self.transcript.find("")
            self.prompt.focus()
        elif self._compacting:
            self._host.cancel_compaction()
        elif self._busy:
            self._host.interrupt()
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

    def toggle_side(self) -> None:
        if self.has_class("-wide"):
            self.toggle_class("-folded")
        else:
            self.toggle_class("-drawer")
        if self._is_complete:
            self.call_after_refresh(self.timeline.see_newest)

    def toggle_folds(self) -> None:
        self.transcript.toggle_all()

    async def find(self, text: str) -> None:
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
