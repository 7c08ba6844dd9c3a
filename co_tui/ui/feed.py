"""Keeps the transcript in step with the session's events, streamed ones included."""

from co_tui.events import (
    Event,
    Message,
    PromptQueued,
    PromptReturned,
    SessionError,
    StreamDelta,
    StreamReset,
    ToolActivity,
)
from co_tui.events.messages import prompt_of
from co_tui.inert import inert
from co_tui.ui.widgets.blocks import Block, BlockBuilder, Kind, clock
from co_tui.ui.widgets.transcript import Transcript

QUEUED = "waits its turn"
LOADING = "waits for the engine to load"
_KINDS: dict[str, Kind] = {"text": "reply", "thinking": "thinking", "tool_call": "tool"}


class Feed:
    """One transcript, one session."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._builder = BlockBuilder()
        self._streaming: dict[int, Block] = {}
        self._waiting: list[Block] = []

    def show(self, builder: BlockBuilder) -> None:
        """Begin with what is stored."""
        self._builder = builder
        self._streaming.clear()
        self._waiting.clear()
        self._transcript.show(builder.blocks)

    def give_back(self, prompt: str) -> None:
        """A waiting prompt returns to the user."""
        self._stop_waiting(prompt)

    def wait(self, prompt: str, status: str) -> None:
        """Show a prompt that is not part of the conversation yet."""
        block = Block("user", inert(prompt), status=status)
        self._waiting.append(block)
        self._transcript.append(block)

    def note(self, text: str, kind: Kind = "note") -> Block:
        block = self._builder.note(text, kind)
        self._transcript.append(block)
        return block

    def drop(self, block: Block) -> None:
        """Take a note away again."""
        if block in self._builder.blocks:
            self._builder.blocks.remove(block)
        self._transcript.drop(block)

    def hear(self, event: Event) -> None:
        """Show what an event brings."""
        match event.fact:
            case StreamDelta() as delta:
                self._stream(delta, clock(event.timestamp))
            case StreamReset():
                self._drop_stream()
            case ToolActivity(stage="started"):
                pass
            case ToolActivity(tool_call_id=call_id, text=text, stage=stage):
                if (block := self._builder.result(call_id, text, failed=stage == "failed")) is not None:
                    self._transcript.changed(block)
            case PromptQueued(prompt=prompt):
                self.wait(prompt, QUEUED)
            case PromptReturned():
                pass
            case Message() as message:
                self._message(event, message)
            case SessionError(retry_in_s=float() as delay, what=what):
                self.note(f"{what} Trying again in {delay:.0f} s.")
            case _:
                self._add_new(event)

    def _add_new(self, event: Event) -> None:
        before = len(self._builder.blocks)
        self._builder.add(event)
        self._transcript.append(*self._builder.blocks[before:])

    def _message(self, event: Event, fact: Message) -> None:
        if fact.message.get("kind") == "response":
            self._finish_stream(event, fact)
            return
        prompt = prompt_of(fact.message)
        if prompt is not None:
            self._stop_waiting(prompt)
        self._add_new(event)

    def _stop_waiting(self, prompt: str) -> None:
        for block in self._waiting:
            if block.text == inert(prompt):
                self._waiting.remove(block)
                self._transcript.drop(block)
                return

    def _stream(self, delta: StreamDelta, time: str) -> None:
        block = self._streaming.get(delta.part)
        if block is None:
            if delta.kind == "tool_call":
                block = self._builder.tool(delta.tool_name, delta.text, delta.tool_call_id, time)
            else:
                block = self._builder.part(_KINDS[delta.kind], delta.text, time)
            self._streaming[delta.part] = block
            self._transcript.append(block)
        else:
            self._transcript.grow(block, inert(delta.text))

    def _finish_stream(self, event: Event, fact: Message) -> None:
        """The whole reply is logged: what was streamed of it stays, if it is the same."""
        streamed = [block for _, block in sorted(self._streaming.items())]
        self._streaming.clear()
        whole = BlockBuilder()
        whole.add(event)
        if [(b.kind, b.text.strip()) for b in whole.blocks] == [(b.kind, b.text.strip()) for b in streamed]:
            for block in streamed:
                block.seq = event.seq or 0
            if fact.interrupted and streamed:
                streamed[-1].interrupted = True
                self._transcript.changed(streamed[-1])
            return
        for block in streamed:
            self._forget(block)
        self._add_new(event)

    def _drop_stream(self) -> None:
        for block in self._streaming.values():
            self._forget(block)
        self._streaming.clear()

    def _forget(self, block: Block) -> None:
        if block.first_of_reply:
            self._builder.end_reply()
        self.drop(block)
