"""Keeps the transcript in step with the session's events, streamed ones included."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from co_tui.events import (
    Announced,
    CommandOutput,
    Event,
    HookRun,
    Message,
    MessageNotSaved,
    PlanChanged,
    SessionError,
    SessionInterrupted,
    StreamDelta,
    StreamReset,
    ToolActivity,
    ToolOutput,
    agent_of,
)
from co_tui.events.stored_messages import command_in, prompt_of
from co_tui.events.tool_wording import Stage
from co_tui.events.wording import clock
from co_tui.inert import inert
from co_tui.ui.keys.command_table import ShortcutFor
from co_tui.ui.transcript.block import Block, Kind
from co_tui.ui.transcript.blocks import BlockBuilder
from co_tui.ui.transcript.transcript import Transcript

QUEUED = "queued"
STEERING = "added to this turn at its next step"
HELD = "on hold, Enter sends"
SAVED = "Everything is saved now."
STARTING = "starting…"
MOST_NOTED = 8
_KINDS: dict[str, Kind] = {"text": "reply", "thinking": "thinking", "tool_call": "tool"}


class WaitingShown(NamedTuple):
    """A prompt that is not part of the conversation yet, and why."""

    text: str
    status: str = ""
    """Empty while it is being sent."""


class Feed:
    """Feeds one session's events to one transcript."""

    def __init__(self, transcript: Transcript, shortcut_for: ShortcutFor) -> None:
        self._transcript = transcript
        self._builder = BlockBuilder(shortcut_for)
        self._builder.blocks.extend(transcript.blocks)  # an empty chat is shown before it has a feed
        self._streaming: dict[int, Block] = {}
        self._waiting: list[Block] = []
        """Prompts that are not part of the conversation yet; they stay at the bottom."""
        self._retry: Block | None = None
        """The note about a request being retried."""
        self._command: Block | None = None
        self._printed = ""
        """What it printed so far."""
        """The user's own shell command while it runs."""
        self._unsaved: list[Block] = []
        """Blocks that could not be saved to the log yet."""
        self._noted: deque[Block] = deque(maxlen=MOST_NOTED)
        """The app's own notes, which no log has."""

    def show(self, builder: BlockBuilder) -> None:
        """Start with a stored session's blocks."""
        self._builder = builder
        self._streaming.clear()
        self._waiting.clear()
        self._retry = self._command = None
        self._unsaved.clear()
        self._noted.clear()
        self._transcript.show(builder.blocks)

    def show_again(self, show: Callable[[], None]) -> None:
        """Show the same session again, and keep the notes made since it was first shown."""
        noted = [*self._noted]
        show()
        there = {block.text for block in self._noted}
        for block in noted:
            if block.kind in ("note", "error") and block.text not in there:
                self.note(block.text, block.kind)

    def unload(self, can_begin_at: Callable[[int], bool]) -> int:
        """As `Transcript.unload`."""
        if seq := self._transcript.unload(can_begin_at):
            self._builder.forget_before(self._transcript.blocks[0])
        return seq

    def show_waiting(self, prompts: Sequence[WaitingShown]) -> None:
        """Replace the waiting prompts shown."""
        for block in self._waiting:
            self._transcript.drop(block)
        self._waiting = [
            Block("user", inert(text), status=status, queued=bool(status) and status != STARTING)
            for text, status in prompts
        ]
        for before, block in pairwise(self._waiting):
            block.tight = before.queued and block.queued
        self._transcript.append(*self._waiting)

    def note(self, text: str, kind: Kind = "note") -> Block:
        block = self._builder.note(text, kind)
        self._noted.append(block)
        self._append(block)
        return block

    def _append(self, *blocks: Block) -> None:
        self._transcript.append(*blocks, before=self._waiting[0] if self._waiting else None)

    def drop(self, block: Block) -> None:
        """Remove a note."""
        if block in self._noted:
            self._noted.remove(block)
        if block in self._builder.blocks:
            self._builder.blocks.remove(block)
        self._transcript.drop(block)

    def apply_event(self, event: Event) -> None:
        """Show one event."""
        if event.seq is not None and self._unsaved:
            self._show_saved()
        if (delegated := self._builder.delegated(event)) is not None:
            self._transcript.changed(delegated)
            return
        if agent_of(event.fact) and not isinstance(event.fact, HookRun):
            return  # delegates are shown by whole messages, not by deltas
        match event.fact:
            case Announced() as announced:
                self._show_announced(announced, clock(event.timestamp))
            case Message() as message:
                is_reply = message.message.get("kind") == "response" and not message.interrupted
                if is_reply or prompt_of(message.message) is not None:
                    self._retry = None
                self._message(event, message)
            case PlanChanged(steps=steps):
                self._show_plan(self._builder.plan(steps))
            case SessionError(retry_in_s=float()) as error:
                self._show_retry(error)
            case SessionError() | SessionInterrupted():
                self._end_retries()
                self._add_new(event)
            case _:
                self._add_new(event)

    def _show_announced(self, fact: Announced, time: str) -> None:
        """Show what streams or runs; the logged message replaces it in the end."""
        match fact:
            case StreamDelta(kind="thinking", text=""):
                pass  # hidden thinking
            case StreamDelta():
                self._stream(fact, time)
            case StreamReset():
                self._drop_stream()
            case MessageNotSaved():
                self._mark_unsaved()
            case ToolActivity(tool_call_id=call_id, text=text, stage=stage, diff=diff) if stage != "started":
                self._show_result(call_id, text, stage, diff)
            case ToolActivity(tool_call_id=call_id):
                self._show_changed(self._builder.started(call_id))
            case ToolOutput(tool_call_id=call_id, text=text):
                self._show_changed(self._builder.output(call_id, text))
            case CommandOutput():
                self._show_command_output(fact)

    def _show_changed(self, block: Block | None) -> None:
        if block is not None:
            self._transcript.changed(block)

    def _mark_unsaved(self) -> None:
        """Mark the last block as not saved."""
        said = [block for block in self._builder.blocks if block.kind not in ("note", "error")]
        if said and said[-1] not in self._unsaved:
            self._unsaved.append(said[-1])
            said[-1].unsaved = True
            self._transcript.changed(said[-1])

    def _show_saved(self) -> None:
        """Saving works again: events are logged in order, so earlier ones are saved by now."""
        unsaved, self._unsaved = self._unsaved, []
        for block in unsaved:
            block.unsaved = False
            self._transcript.changed(block)
        self.note(SAVED)

    def _show_result(self, call_id: str, text: str, stage: Stage, diff: str) -> None:
        before = len(self._builder.blocks)
        block = self._builder.result(call_id, text, stage, diff)
        if block is not None and not block.unseen:
            self._append(*self._builder.blocks[before:])
            self._transcript.changed(block)

    def _show_plan(self, block: Block) -> None:
        """Show the plan: one checklist per turn, updated in place."""
        if block in self._transcript.blocks:
            self._transcript.changed(block)
        else:
            self._append(block)

    def _show_command_output(self, output: CommandOutput) -> None:
        """Show output of the user's own command; its message replaces the block in the end."""
        if self._command is None:
            self._command, self._printed = self._builder.command(output.command, ""), ""
            self._append(self._command)
        self._printed += output.text
        self._command.show_printed(self._printed)
        self._transcript.changed(self._command)

    def _show_retry(self, error: SessionError) -> None:
        """Show one note for all attempts at the same request."""
        text = inert(error.retry_sentence())
        if self._retry is None:
            self._retry = self.note(text)
        else:
            self._retry.text = text
            self._transcript.changed(self._retry)

    def _end_retries(self) -> None:
        """No further attempt: the error that follows says why."""
        retry, self._retry = self._retry, None
        if retry is not None:
            self.drop(retry)

    def _add_new(self, event: Event) -> None:
        before = len(self._builder.blocks)
        self._builder.add(event)
        self._append(*self._builder.blocks[before:])
        for block in self._builder.touched:  # a stopped call gets a synthetic result, without a tool event
            self._transcript.changed(block)

    def _message(self, event: Event, fact: Message) -> None:
        if fact.message.get("kind") == "response":
            self._finish_stream(event, fact)
            return
        if self._command is not None and command_in(fact.message):
            self.drop(self._command)
            self._command = None
        self._add_new(event)

    def _stream(self, delta: StreamDelta, time: str) -> None:
        block = self._streaming.get(delta.part)
        if block is None:
            self._builder.touched = []
            if delta.kind == "tool_call":
                block = self._builder.tool(delta.tool_name, delta.text, delta.tool_call_id, time)
            else:
                block = self._builder.part(_KINDS[delta.kind], delta.text, time)
            self._streaming[delta.part] = block
            if not block.unseen:
                self._append(block)
            for touched in self._builder.touched:
                self._transcript.changed(touched)
        elif block.unseen:
            block.text += inert(delta.text)
        else:
            self._transcript.grow(block, inert(delta.text))

    def _finish_stream(self, event: Event, fact: Message) -> None:
        """The whole reply is logged: keep the streamed blocks if they are equal."""
        self._transcript.draw_streamed()
        streamed = [block for _, block in sorted(self._streaming.items())]
        shown = [block for block in streamed if not block.unseen]
        self._streaming.clear()
        whole = BlockBuilder()
        whole.add(event)
        texts = [(block.kind, block.text.strip()) for block in shown]
        if texts and texts == [(block.kind, block.text.strip()) for block in whole.blocks]:
            for block in streamed:
                block.seq, block.turn = event.seq or 0, fact.turn
            shown[-1].interrupted = fact.interrupted
            for block in shown:
                if block.kind != "reply" or block.interrupted:  # text looks the same however it arrives
                    self._transcript.changed(block)
            return
        for block in shown:
            self._forget(block)
        self._add_new(event)

    def _drop_stream(self) -> None:
        for block in self._streaming.values():
            if not block.unseen:
                self._forget(block)
        self._streaming.clear()

    def _forget(self, block: Block) -> None:
        if block.first_of_reply:
            self._builder.end_reply()
        self.drop(block)
