"""What the widgets of the chat ask for, handed on to whoever does it."""

from typing import TYPE_CHECKING

from textual import on
from textual.getters import query_one
from textual.screen import Screen

from co_tui.inert import inert
from co_tui.session.state.session_state import SessionState
from co_tui.ui.chat.message_actions import MessageActions
from co_tui.ui.chat.transcript_feed import Feed
from co_tui.ui.dialogs.steady_screen import SteadyScreen
from co_tui.ui.keys import command_table
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from co_tui.ui.chat.chat_host import ChatHost
    from co_tui.ui.chat.find_in_chat import Finding
    from co_tui.ui.chat.late_widgets import LateWidgets
    from co_tui.ui.timeline.timeline_widget import Timeline
    from co_tui.ui.widgets.find_bar import FindBar


MOST_EDITED_CHARS = 200_000
"""In a text area of the library, which lays out all of its lines: more would take seconds to open."""


class ChatRequests(SteadyScreen, Screen[None]):
    """Has a transcript and a prompt, and later a timeline."""

    transcript = query_one(Transcript)
    prompt = query_one(Prompt)
    feed: Feed
    way_to: command_table.WayTo
    """Under the keys in force."""

    def __init__(self, host: "ChatHost") -> None:
        super().__init__()
        self._host = host
        self._late: LateWidgets | None = None
        self._finding: Finding | None = None
        self._messages = MessageActions(self, host)
        self._state = SessionState()

    # What is written

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        called = command_table.called(event.text)
        if called is not None:
            self._host.run_command(called.name, called.arguments)
        else:
            self.transcript.follow_end()
            self._host.send(event.text, event.files, steers=event.steers)

    @on(Prompt.Commanded)
    def _commanded(self, event: Prompt.Commanded) -> None:
        self._host.run_command(event.name, "")

    @on(Prompt.Unknown)
    def _unknown(self, event: Prompt.Unknown) -> None:
        self._host.run_command(event.name, "")

    @on(Prompt.Refused)
    def _refused(self, event: Prompt.Refused) -> None:
        self.transcript.follow_end()
        self.feed.note(event.why, "error")

    @on(Prompt.Edited)
    def _edited(self) -> None:
        if self._late is not None:
            self._late.follow(self.prompt)
        self._host.controller.draft_changed()

    @on(Prompt.SentNothing)
    def _sent_nothing(self) -> None:
        self._host.controller.sender.send_held()

    @on(Prompt.WentUp)
    def _went_up(self) -> None:
        self._host.run_command("queue", "")

    @on(Prompt.PastedOpened)
    def _pasted_opened(self, event: Prompt.PastedOpened) -> None:
        """What a marker in the prompt stands for, to be read or changed; a very long text only to be read."""
        if len(event.text) > MOST_EDITED_CHARS:
            from co_tui.ui.dialogs.text_screen import PagerScreen

            title = f"Pasted: {event.marker} · {self.way_to('editor')} in the prompt changes it in your editor"
            self.app.push_screen(PagerScreen(title, inert(event.text)))
            return
        from co_tui.ui.dialogs.simple_dialogs import EditScreen

        def edited(changed: str | None) -> None:
            if changed is not None and changed != event.text:
                self.prompt.replace_pasted(event.marker, changed)

        self.app.push_screen(EditScreen(f"Pasted: {event.marker}", event.text), edited)

    # What is read

    @on(Transcript.NearTop)
    def _near_top(self) -> None:
        self._host.controller.older.load()

    # Found by its name: the timeline's module is imported after the first paint.
    def on_timeline_opened(self, event: "Timeline.Opened") -> None:
        self._host.open_entry(event.event)

    async def on_timeline_wanted_in_chat(self, event: "Timeline.WantedInChat") -> None:
        await self._host.controller.older.load_back_to(event.event.seq or 0)
        self.remove_class("-drawer")
        self.transcript.show_event(event.event.seq or 0)
        self.transcript.focus()

    def on_timeline_folded_away(self) -> None:
        """The screen became narrow under whoever reads it: it comes back as a drawer."""
        if self.has_class("-narrow") and self._late is not None:
            self.add_class("-drawer")
            self.call_after_refresh(self._late.focus_timeline)
        else:
            self.prompt.focus()

    @on(Transcript.Wished)
    def _wished(self, event: Transcript.Wished) -> None:
        self._messages.do(event.wish, event.block)

    @on(Transcript.Copied)
    def _copied(self, event: Transcript.Copied) -> None:
        self._messages.copied(event.text, event.what)

    @on(Transcript.LinkClicked)
    def _link_clicked(self, event: Transcript.LinkClicked) -> None:
        self._messages.show_links([event.address])

    @on(Transcript.WantedInTimeline)
    def _wanted_in_timeline(self, event: Transcript.WantedInTimeline) -> None:
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
            from co_tui.ui.chat.find_in_chat import Finding

            self._finding = Finding(self, self.transcript, self._host)
        await self._finding.open(text)

    def on_input_changed(self, event: "FindBar.Changed") -> None:
        if self._finding is not None:
            self._finding.look(event.value)

    def on_find_bar_stepped(self, event: "FindBar.Stepped") -> None:
        if self._finding is not None:
            self._finding.step(event.step)

    def go_to_timeline(self, seq: int | None = None) -> None:
        """To its newest entry, or to the one that tells of an event."""
        self.remove_class("-folded")
        self.set_class(self.has_class("-narrow"), "-drawer")
        if self._late is not None:
            self._late.go_to_timeline(self._state.seq if seq is None else seq)
