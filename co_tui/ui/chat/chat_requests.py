"""Messages of the chat's widgets, passed on to the app or another widget."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, NamedTuple

from textual import on
from textual.containers import Vertical
from textual.geometry import Size
from textual.getters import query_one
from textual.screen import Screen

from co_tui.actions import SlashCommand
from co_tui.inert import inert
from co_tui.session.slash import typed_command
from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.safe_screen import SafeScreen
from co_tui.ui.keys import command_table
from co_tui.ui.prompt.prompt_area import PLACEHOLDER, SHORT_PLACEHOLDER, Prompt
from co_tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from co_tui.session.state.session_state import SessionState
    from co_tui.ui.chat.chat_host import ChatHost
    from co_tui.ui.chat.deferred_widgets import DeferredWidgets
    from co_tui.ui.chat.find_in_chat import ChatSearch
    from co_tui.ui.chat.message_actions import MessageActions
    from co_tui.ui.chat.transcript_feed import Feed
    from co_tui.ui.compaction.compact_offer import CompactOffer
    from co_tui.ui.timeline.timeline_widget import Timeline
    from co_tui.ui.widgets.find_bar import FindBar
    from co_tui.ui.work.work_strip import WorkStrip


MIN_COLUMNS: Final = 60
"""With fewer, as on a phone held upright, some texts are shorter."""
FEWEST_COLUMNS, MIN_ROWS = 43, 16
"""A phone's soft keyboard leaves about as many rows."""
SMALLEST: Final = f"{FEWEST_COLUMNS}×{MIN_ROWS}"
WIDE_COLUMNS: Final = 110
"""The least width that has room for chat and side column."""
CHAT_COLUMNS: Final = 105
"""Prose of 100 columns, with the border, the padding and the scroll bar of the chat."""
LEAST_SIDE, MOST_SIDE = 36, 64

MAX_EDITED_CHARS = 200_000
"""Longest text to edit in a `TextArea`: it lays out all of its lines, so more takes seconds to open."""


ESC_TWICE_S: Final = 0.4
"""The longest time between two Esc that belong together."""


class EscTwice:
    """Finds Esc pressed twice for nothing else: not where the first of these presses stopped or closed something."""

    def __init__(self) -> None:
        self._at = float("-inf")
        self._is_first = False

    def pressed(self, at: float, *, for_nothing_else: bool = False) -> bool:
        """Esc was pressed at this time of the monotonic clock; whether this is the second one."""
        before, self._at = self._at, at
        follows = self._at - before < ESC_TWICE_S
        is_second = for_nothing_else and follows and self._is_first
        self._is_first = for_nothing_else and not follows
        return is_second


class ChatRequests(SafeScreen, Screen[None]):
    """A screen with a transcript and a prompt, and a timeline after the first paint."""

    transcript = query_one(Transcript)
    prompt = query_one(Prompt)
    shortcut_for: command_table.ShortcutFor
    """Names keys as the user has bound them."""

    def __init__(self, host: "ChatHost") -> None:
        super().__init__()
        self._host = host
        self._late: DeferredWidgets | None = None
        self._has_slash = False
        """Whether the prompt began as a command does; keys that come fast arrive as one edit."""
        self._finding: ChatSearch | None = None
        self._shown: SessionState | None = None

    @property
    def _state(self) -> "SessionState":
        """Of the session shown. An empty chat is painted without one."""
        if self._shown is None:
            from co_tui.session.state.session_state import SessionState

            self._shown = SessionState()
        return self._shown

    @cached_property
    def feed(self) -> "Feed":
        from co_tui.ui.chat.transcript_feed import Feed

        return Feed(self.transcript, self.shortcut_for)

    @cached_property
    def _messages(self) -> "MessageActions":
        from co_tui.ui.chat.message_actions import MessageActions

        return MessageActions(self, self._host)

    # What Esc does

    def on_screen_suspend(self) -> None:
        self.refresh_bindings()

    def on_screen_resume(self) -> None:
        self.refresh_bindings()

    @property
    def has_something_to_close(self) -> bool:
        """Whether Esc closes something, or goes back to the prompt, before it stops anything."""
        late = self._late
        is_reading = self.transcript.has_focus or self.has_class("-drawer") or self._is_timeline_read
        is_reading = is_reading or (late is not None and late.work.has_focus)
        return not self.is_active or self.is_offering or self._finding is not None or is_reading

    @property
    def is_compacting(self) -> bool:
        return self._late is not None and self._late.compacting.display

    @property
    def is_offering(self) -> bool:
        return self._late is not None and self._late.completions.display

    @property
    def _is_timeline_read(self) -> bool:
        return self._late is not None and self._late.timeline.has_focus

    def label_of(self, action: str) -> str:
        """A compaction is cancelled, everything else is stopped."""
        return "Cancel" if action == "stop" and self.is_compacting else ""

    # The side column

    def toggle_side(self) -> None:
        """Show or hide the side column."""
        if self._is_timeline_read:
            self.prompt.focus()
        if self.has_class("-wide"):
            self.toggle_class("-folded")
            self.set_columns(self.size.width)
        else:
            self.toggle_class("-drawer")
            self.refresh_bindings()
        if self._late is not None:
            self.call_after_refresh(self._late.timeline.see_newest)

    def set_columns(self, width: int) -> None:
        self.prompt.placeholder = PLACEHOLDER if width >= MIN_COLUMNS else SHORT_PLACEHOLDER
        is_wide = width >= WIDE_COLUMNS
        if is_wide and self.has_class("-drawer"):  # the column has room now: nothing to close
            self.remove_class("-drawer")
            self.refresh_bindings()
        with_side = is_wide and not self.has_class("-folded")
        set_columns(self.transcript, self.query_one("#side", Vertical), width, with_side=with_side)

    # Writing

    @property
    def own_commands(self) -> Sequence[SlashCommand]:
        """The commands from files and MCP servers."""
        return self.prompt.offer.commands

    def offer_commands(self, own: Sequence[SlashCommand]) -> None:
        """Offer these commands in addition to the built-in ones."""
        self.prompt.offer.use_commands(own)
        if self._late is not None:
            self._late.follow(self.prompt)

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        called = typed_command.parse_command(event.text)
        if called is not None and typed_command.find(called.name, self.own_commands) is not None:
            self._host.run_command(called.name, called.arguments)
        else:
            self.transcript.follow_end()
            self._host.send(event.text, event.files, steers=event.steers, pasted=event.pasted)

    async def use_configured_model(self) -> bool:
        """Let the configured model answer in the example session; False if it cannot, or the user does not want it."""
        return await self._host.use_configured_model()

    @on(Prompt.CommandChosen)
    def _commanded(self, event: Prompt.CommandChosen) -> None:
        self._host.run_command(event.name, "")

    @on(Prompt.UnknownCommand)
    def _unknown(self, event: Prompt.UnknownCommand) -> None:
        self._host.run_command(event.name, "")

    @on(Prompt.Refused)
    def _refused(self, event: Prompt.Refused) -> None:
        self.transcript.follow_end()
        self.feed.note(event.why, "error")

    @on(Prompt.Edited)
    def _edited(self) -> None:
        has_slash, self._has_slash = self._has_slash, self.prompt.text.startswith("/")
        if self._has_slash and not has_slash:
            self._host.refresh_commands()
        if self._late is not None:
            self._late.follow(self.prompt)
            self._host.controller.draft_changed()

    @on(Prompt.EmptySubmitted)
    def _sent_nothing(self) -> None:
        self._host.controller.sender.send_held()

    @on(Prompt.QueueRequested)
    def _went_up(self) -> None:
        self._host.run_command("queue", "")

    @on(Prompt.PastedOpened)
    def _pasted_opened(self, event: Prompt.PastedOpened) -> None:
        """Open the text behind a paste marker for editing; a very long one is read-only."""
        if len(event.text) > MAX_EDITED_CHARS:
            from co_tui.ui.dialogs.text_screen import PagerScreen

            title = f"Pasted: {event.marker} · edit it with {self.shortcut_for('editor')} in the prompt"
            self.app.push_screen(PagerScreen(title, inert(event.text)))
            return
        from co_tui.ui.dialogs.simple_dialogs import EditScreen

        def edited(changed: str | None) -> None:
            if changed is not None and changed != event.text:
                self.prompt.replace_pasted(event.marker, changed)

        self.app.push_screen(EditScreen(f"Pasted: {event.marker}", event.text), edited)

    def on_compact_offer_accepted(self, event: "CompactOffer.Accepted") -> None:
        self._host.run_command("compact", "--deep" if event.deep else "")

    def on_compact_offer_refused(self, event: "CompactOffer.Refused") -> None:
        self.feed.note(event.why, "error")
        self.transcript.follow_end()

    # Reading

    @on(Transcript.NearTop)
    def _near_top(self) -> None:
        self._host.controller.older.load()

    # Dispatched by name: the timeline's module is imported after the first paint.
    def on_timeline_opened(self, event: "Timeline.Opened") -> None:
        self._host.open_entry(event.event)

    def on_timeline_show_in_chat(self, event: "Timeline.ShowInChat") -> None:
        show = partial(self.show_message, event.event.seq or 0)
        run_in_background(self, "Showing the message", show, group="jump")  # a screen that waits draws nothing

    def on_work_strip_opened(self, event: "WorkStrip.Opened") -> None:
        self._host.open_work(event.key)

    def on_work_strip_stopped(self, event: "WorkStrip.Stopped") -> None:
        self._host.controller.stop_work(event.key)

    def on_work_strip_emptied(self) -> None:
        self.prompt.focus()

    def look_at_work(self) -> None:
        """Show work that began or ended without an event."""
        if self._late is not None:
            self._late.work.look()

    async def show_message(self, seq: int) -> None:
        if not await self._host.controller.older.load_back_to(seq):
            return
        self.remove_class("-drawer")
        self.transcript.show_event(seq)
        self.transcript.focus()

    def on_timeline_folded_away(self) -> None:
        """The screen became narrow while the timeline had the focus: show it as a drawer."""
        if self.has_class("-narrow") and self._late is not None:
            self.add_class("-drawer")
            self.call_after_refresh(self._late.timeline.focus)
        else:
            self.prompt.focus()

    @on(Transcript.ActionRequested)
    def _action_requested(self, event: Transcript.ActionRequested) -> None:
        if event.action == "open":
            self._open_entry(event.block.opens)
        else:
            self._messages.do(event.action, event.block)

    def _open_entry(self, seq: int) -> None:
        """Open the timeline entry of an event, if it is known by now."""
        from co_tui.session.state.session_state import seq_of

        timeline = self._state.timeline
        place = bisect_left(timeline, seq, key=seq_of)
        if place < len(timeline) and timeline[place].seq == seq:
            self._host.open_entry(timeline[place])

    @on(Transcript.Copied)
    def _copied(self, event: Transcript.Copied) -> None:
        self._messages.copied(event.text, event.what)

    @on(Transcript.LinkClicked)
    def _link_clicked(self, event: Transcript.LinkClicked) -> None:
        self._messages.show_links([event.address])

    @on(Transcript.ShowInTimeline)
    def _show_in_timeline(self, event: Transcript.ShowInTimeline) -> None:
        self.go_to_timeline(event.seq)

    def action_page(self, direction: int) -> None:
        self.transcript.scroll_relative(y=direction * max(1, self.transcript.size.height - 2), animate=False)

    def action_line(self, direction: int) -> None:
        self.transcript.scroll_relative(y=direction, animate=False)

    def action_end(self) -> None:
        self.transcript.follow_end()

    def action_turn(self, step: int) -> None:
        self.transcript.go_to_turn(step)

    # Searching

    async def find(self, text: str) -> None:
        if self._finding is None:
            from co_tui.ui.chat.find_in_chat import ChatSearch

            self._finding = ChatSearch(self, self.transcript, self._host)
        await self._finding.open(text)

    def on_input_changed(self, event: "FindBar.Changed") -> None:
        if self._finding is not None:
            self._finding.search_for(event.value)

    def on_find_bar_stepped(self, event: "FindBar.Stepped") -> None:
        if self._finding is not None:
            self._finding.step(event.step)

    def go_to_timeline(self, seq: int | None = None) -> None:
        """Focus the timeline at its newest entry, or at the entry of an event."""
        if self.has_class("-folded"):
            self.toggle_side()
        self.set_class(self.has_class("-narrow"), "-drawer")
        if self._late is not None:
            self._late.timeline.go_to(seq)


class Columns(NamedTuple):
    """Cells of the side column; and the margin left of the prose, which centres it where the chat is wider."""

    side: int
    margin: int


def is_too_small(size: Size) -> bool:
    return size.width < FEWEST_COLUMNS or size.height < MIN_ROWS


def columns_for(width: int, *, with_side: bool) -> Columns:
    """The chat gets what its prose needs, then the side column grows, and what is left goes around the prose."""
    side = max(LEAST_SIDE, min(MOST_SIDE, width - CHAT_COLUMNS)) if with_side else 0
    return Columns(side, max(0, width - side - CHAT_COLUMNS) // 2)


def set_columns(transcript: Transcript, side: Vertical, width: int, *, with_side: bool) -> None:
    """Apply the columns; a narrow screen is left to the style sheet."""
    columns = columns_for(width, with_side=with_side)
    if width >= WIDE_COLUMNS:
        side.styles.width = columns.side or None
    else:
        side.styles.clear_rule("width")
    if columns.margin:
        transcript.styles.padding = (0, 0, 0, 1 + columns.margin)
    else:
        transcript.styles.clear_rule("padding")
