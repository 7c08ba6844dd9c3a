"""Builds the transcript's blocks from events."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from sys import intern
from typing import TYPE_CHECKING

from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    BackgroundNews,
    CompactionComplete,
    CompactionStart,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    HookRun,
    Json,
    Message,
    PlanChanged,
    SessionError,
    SessionInterrupted,
    ToolActivity,
    ToolOutput,
    UsageInfo,
    agent_of,
)
from co_tui.events.file_diff import diff_in
from co_tui.events.images import StoredImage, attached_image, image_of, images_in, text_without_images
from co_tui.events.model_names import model_name
from co_tui.events.stored_messages import (
    Role,
    attached_name,
    command_in,
    note_heading,
    note_source,
    pasted_in,
    pasted_size,
    pieces,
    replaced_spans,
)
from co_tui.events.tool_calls import PRINTING_TOOLS
from co_tui.events.tool_wording import (
    INTERRUPTED,
    Stage,
    last_output_line,
    plan_lines,
    plan_progress,
    result_summary,
    stage_of,
)
from co_tui.events.wording import clock
from co_tui.inert import inert, one_line
from co_tui.late_pattern import late_pattern
from co_tui.ui.keys.command_table import ShortcutFor, shortcut_for
from co_tui.ui.transcript.block import ATTACHED, MADE, NOTED, RAN, Block, Kind

if TYPE_CHECKING:
    from co_tui.ui.images.block_image import BlockImage
    from co_tui.ui.transcript.delegation_lines import DelegationLines

LINES_LEFT_OPEN = 40
MOST_STEPS_OPEN = 20
"""A longer plan is one line until it is opened."""
MOST_PARTS = 50
"""How far back the parts of an interrupted reply are looked for."""
QUIET_TOOLS = frozenset(("write_plan",))
"""Calls that have no line unless they fail: their effect is shown."""
_PASSING = ("cut_off", "malformed", "rate_limit", "timeout", "unreachable", "connection", "server", "http", "provider")
_NEXT_STEPS = {
    "steps": "{continue} continues.",
    "spending": "Then {continue} continues.",
    "length": "{continue} continues.",
    "stopped_by_hook": "{continue} continues.",
    "repeated_call": "{continue} continues, or type a correction.",
    **dict.fromkeys(_PASSING, "{continue} retries, {model} chooses another model."),
}
"""What the user can do about a failed turn, where the error message does not say so."""
LINE_BREAK = "\n"
ASKED, WAITS, RUNS = "asked below", "waits", "running"
"""The status of calls once one of their reply is asked about."""
SPEAKER_CHARS = 40
NOTE_CHARS = 48
"""Of a note for the model that are shown without opening it."""
_EXITED = late_pattern(r"ended with exit code (\d+) after ([\d.]+ s)")


class BlockBuilder:
    """Turns events into blocks, in order; tool results join the call they answer."""

    def __init__(self, shortcut_for: ShortcutFor = shortcut_for) -> None:
        self.program = ""
        """The program that wrote the replies added next, if they were imported."""
        self.blocks: list[Block] = []
        self._way_to = shortcut_for
        self.touched: list[Block] = []
        """Earlier blocks changed by the latest event."""
        self._speaking = False
        self._speaker = ""
        """The name of the model that was last asked."""
        self._open_calls: dict[str, Block] = {}
        self._stopped: Block | None = None
        """The note about a stopped turn that can be continued."""
        self._plan: Block | None = None
        """The plan's checklist in the current turn, updated in place."""

    @cached_property
    def _delegations(self) -> "DelegationLines":
        from co_tui.ui.transcript.delegation_lines import DelegationLines  # rarely needed

        return DelegationLines()

    def add_all(self, events: Iterable[Event]) -> list[Block]:
        for event in events:
            self._add(event)
        self._settle()
        return self.blocks

    def add(self, event: Event) -> None:
        """Add blocks for an event; most lifecycle events have none."""
        self._add(event)
        self._settle()

    def _settle(self, block: Block | None = None) -> None:
        """Put into the folds, or that of one block, what delegates did since."""
        if (delegations := vars(self).get("_delegations")) is None:
            return
        if block is None:
            delegations.settle()
        else:
            delegations.settle_in(block)

    def _add(self, event: Event) -> None:
        fact = event.fact
        self.touched = []
        match fact:
            case HookRun() if said := fact.sentence():
                self.note(said, "note", event.seq or 0)
            case _ if self._delegated(event) is not None or agent_of(fact):
                pass  # shown in the fold of the delegating call
            case Message():
                before = len(self.blocks)
                self._message(fact.message, clock(event.timestamp), fact.interrupted, event.seq or 0)
                for block in (*self.blocks[before:], *self._open_calls.values()):  # some calls are shown later
                    block.turn = block.turn or fact.turn
            case SessionError() if fact.retry_in_s is None:
                self.note(self._error_text(fact), "note" if fact.is_warning else "error", event.seq or 0)
            case SessionInterrupted():
                note = self.note(self._interruption(fact), "note", event.seq or 0)
                self._stopped = note if fact.is_stop else None
            case BackgroundNews():
                self.note(fact.sentence(), "note", event.seq or 0)
            case CompactionComplete():
                kind: Kind = "compaction" if fact.success else "note"
                self.note(fact.outcome_sentence(), kind, event.seq or 0).opens = event.seq or 0
            case PlanChanged(steps=steps):
                self.plan(steps)
            case _:
                self._follow(fact)

    def _follow(self, fact: Fact) -> None:
        """Note which model is asked; that a call is asked about, and those behind it wait; or that it is allowed."""
        if isinstance(fact, UsageInfo):
            self._speaker = speaker(fact.model)
        if isinstance(fact, ApprovalDecided) and fact.approved:
            self._set_status(fact.call_id, RUNS)
        if not isinstance(fact, ApprovalRequested):
            return
        calls = list(self._open_calls)
        behind = calls[calls.index(fact.call_id) + 1 :] if fact.call_id in calls else []
        for each in behind:
            self._set_status(each, WAITS)
        self._set_status(fact.call_id, ASKED)

    def started(self, call_id: str) -> Block | None:
        """A call that waited for the answer to another one runs now."""
        block = self._open_calls.get(call_id)
        if block is None or block.status != WAITS:
            return None
        block.status = RUNS
        return block

    def _set_status(self, call_id: str, status: str) -> None:
        if (block := self._open_calls.get(call_id)) is not None and not block.unseen:
            block.status = status
            self.touched.append(block)

    def _interruption(self, fact: SessionInterrupted) -> str:
        """What the note says. The reply's own mark is removed: it would say the same again."""
        partial = [block for block in self.blocks[-MOST_PARTS:] if block.interrupted]
        for block in partial:
            block.interrupted = False
        self.touched += partial
        sentence = fact.sentence(has_partial_reply=bool(partial))
        return f"{sentence} {self._continues}" if fact.is_stop else sentence

    @property
    def _continues(self) -> str:
        return f"{self._way_to('continue')} continues, or type a correction."

    def _end_stop(self) -> None:
        """A stopped turn was continued or corrected: its note no longer says how."""
        stopped, self._stopped = self._stopped, None
        if stopped is not None:
            stopped.text = stopped.text.removesuffix(f" {self._continues}")
            self.touched.append(stopped)

    def plan(self, steps: Sequence[Json]) -> Block:
        """Show the plan as this turn's checklist, changed in place."""
        text = inert(plan_progress(steps))
        if self._plan is None:
            self._plan = self.part("plan", text)
            self._plan.folded = len(steps) > MOST_STEPS_OPEN
        self._plan.text, self._plan.result = text, inert(plan_lines(steps))
        return self._plan

    def note(self, text: str, kind: Kind = "note", seq: int = 0) -> Block:
        self._speaking = False
        return self._append(Block(kind, inert(text), seq=seq))

    def delegated(self, event: Event) -> Block | None:
        """The block of the delegating call, updated; None for events of the main agent."""
        block = self._delegated(event)
        self._settle()
        return block

    def _delegated(self, event: Event) -> Block | None:
        match event.fact:
            case DelegationStart() as start:
                return self._delegations.start(start, self._open_calls.get(start.call_id), event.timestamp)
            case Message(agent=agent, message=message) if agent:
                return self._delegations.said(agent, message)
            case ToolActivity(agent=agent) as activity if agent:
                return self._delegations.active(activity)
            case ToolOutput(agent=agent) as output if agent:
                return self._delegations.says(output)
            case UsageInfo(agent=agent) as usage if agent:
                return self._delegations.measured(usage)
            case (CompactionStart(agent=agent) | CompactionComplete(agent=agent)) as compaction if agent:
                return self._delegations.compacts(compaction)
            case SessionError(agent=agent) as error if agent:
                return self._delegations.failed(error)
            case (ApprovalRequested(agent=agent) | ApprovalDecided(agent=agent)) as approval if agent:
                return self._delegations.asks(approval)
            case DelegationEnd() as end:
                return self._delegations.end(end, event.timestamp)
            case _:
                return None

    def user(self, text: str, time: str, status: str = "", seq: int = 0) -> Block:
        self._speaking, self._plan = False, None
        self.end_turn()
        return self._append(Block("user", inert(text), time=time, status=status, seq=seq))

    def end_turn(self) -> None:
        """What follows begins with a prompt."""
        self._end_stop()
        self._close_calls()

    def forget_before(self, block: Block) -> None:
        """Hold no block that was added before this one."""
        if block in self.blocks:
            del self.blocks[: self.blocks.index(block)]

    def _close_calls(self) -> None:
        """Mark calls without a result as interrupted: after a prompt none can arrive. Old logs have such calls."""
        for block in self._open_calls.values():
            block.status = block.outcome or INTERRUPTED
            self.touched += [] if block.unseen else [block]
        self._open_calls.clear()

    def attached(self, name: str, text: str, seq: int = 0, image: StoredImage | None = None) -> Block:
        """A file attached to the prompt above."""
        _, _, body = text.partition("\n")
        lines = _unfenced(body).count("\n") + 1
        wording = f"{lines:,} line{'s' if lines > 1 else ''}"  # a note says more: truncated, or an image
        note = body.partition("\n")[0].strip("()").removeprefix("only its ")
        note = re.sub(r"; the [^;]* has", " of", note)
        size = one_line(note, 72) if body.startswith("(") else wording
        block = Block("tool", inert(name), folded=True, tool_name=ATTACHED, result=inert(text), status=size, seq=seq)
        self._append(block).tight = True
        block.images = _block_images([image] if image is not None else [])
        return block

    def made(self, image: StoredImage, time: str = "", seq: int = 0) -> Block:
        """An image made by the model."""
        block = self.part("tool", "an image", time, seq)
        block.tool_name, block.status, block.images = MADE, image.media_type, _block_images([image])
        return block

    def command(self, command: str, output: str, how: str = "…", seq: int = 0) -> Block:
        """A command the user ran; folded when its output is long."""
        self._speaking = False
        exited = _EXITED.search(how)
        wording = one_line(how.partition(". It ")[2].rstrip(".]"), 60) or how
        ended = f"exit {exited[1]} · {exited[2]}" if exited else wording
        long = output.count("\n") > LINES_LEFT_OPEN
        block = Block("tool", inert(command), folded=long, tool_name=RAN, status=ended, seq=seq)
        block.show_printed(output)
        return self._append(block)

    def model_note(self, source: str, text: str, seq: int = 0) -> Block:
        """A note for the model that the user did not write: its first line, and all of it in the fold."""
        self._speaking = False
        first = one_line(text.strip().partition("\n")[0], NOTE_CHARS)
        return self._append(
            Block("tool", inert(source), folded=True, tool_name=NOTED, result=inert(text), status=first, seq=seq)
        )

    def end_reply(self) -> None:
        """Show the speaker's name on the next part of a reply."""
        self._speaking = False

    def part(self, kind: Kind, text: str, time: str = "", seq: int = 0) -> Block:
        """A part of the assistant's reply."""
        self._end_stop()
        block = Block(kind, inert(text), time=time, folded=kind != "reply", first_of_reply=not self._speaking, seq=seq)
        block.speaker = self.program or self._speaker
        self._speaking = True
        return self._append(block)

    def tool(self, name: str, arguments: str, call_id: str, time: str = "", seq: int = 0) -> Block:
        if name in QUIET_TOOLS:
            block = Block("tool", inert(arguments), time=time, folded=True, seq=seq, unseen=True)
        else:
            block = self.part("tool", arguments, time, seq)
        block.tool_name, block.tool_call_id, block.status = intern(one_line(name, 40)), call_id, "…"
        self._open_calls[call_id] = block
        return block

    def _reveal(self, block: Block) -> None:
        """Show a call that had no line."""
        block.unseen, block.first_of_reply, block.speaker = False, not self._speaking, self.program or self._speaker
        self._speaking = True
        self._append(block)

    def output(self, call_id: str, text: str) -> Block | None:
        """Show a running call's output: its end in the fold, its last line as the status."""
        block = self._open_calls.get(call_id)
        if block is not None:
            block.result = inert(text)
            block.status = last_output_line(text)
        return block

    def result(self, call_id: str, text: str, stage: Stage = "finished", diff: str = "") -> Block | None:
        """Add a result to its call; a reused call id means the latest call."""
        block = self._open_calls.pop(call_id, None)
        if block is not None:
            self._settle(block)
            inner = f"{block.inner}\n" if block.inner else ""
            if block.tool_name in PRINTING_TOOLS:
                block.show_printed(text, inner)
            else:
                block.result = inner + inert(text)
            block.status = block.outcome or result_summary(block.tool_name, block.text, block.result, stage, diff)
            if diff:
                block.show_change(diff, self._way_to("folds"))
            if block.unseen and stage != "finished":
                self._reveal(block)
        return block

    def _message(self, message: Json, time: str, interrupted: bool, seq: int) -> None:
        last: Block | None = None
        for role, text, part in pieces(message):
            match role:
                case "tool_result":
                    self._returned(part, text, seq)
                case "attached":
                    self.attached(attached_name(part), text, seq, attached_image(message, part))
                case "command":
                    output = _unfenced(text.partition("\n\n")[2])
                    self.command(command_in(message), output, text.partition("\n")[0], seq)
                case "note":
                    source = note_source(message)
                    self.model_note(source, text.removeprefix(note_heading(source)), seq)
                case _:
                    last = self._spoken(message, role, text, part, time, seq) or last
        if interrupted and last is not None:
            last.interrupted = True

    def _spoken(self, message: Json, role: Role, text: str, part: Json, time: str, seq: int) -> Block | None:
        """The block of something that the user or the model said; None if there is nothing to show."""
        match role:
            case "user":
                images = images_in(part)
                said = text_without_images(part) if images else text
                block = self.user(said, time, seq=seq)
                block.images = _block_images(images)
                if pasted := pasted_in(message):
                    block.short, block.folded = inert(replaced_spans(said, pasted, pasted_token)), True
                return block
            case "assistant" if (made := image_of(part.get("content"))) is not None:
                return self.made(made, time, seq)
            case "assistant" | "thinking" if text.strip():
                return self.part("reply" if role == "assistant" else "thinking", text, time, seq)
            case "tool_call":
                call = self.tool(part.get("tool_name", ""), text, part.get("tool_call_id", ""), time, seq)
                return None if call.unseen else call
            case _:
                return None

    def _returned(self, part: Json, text: str, seq: int) -> None:
        """A logged result: usually shown already, except for its images and its event."""
        call_id = part.get("tool_call_id", "")
        block = self.result(call_id, text, stage_of(part.get("outcome", "success")), diff_in(part))
        block = block or next((each for each in reversed(self.blocks) if each.tool_call_id == call_id), None)
        if block is not None:
            block.result_seq, block.images = seq, _block_images(images := images_in(part))
            if images:
                block.result, block.status = inert(text_without_images(part)).rstrip("\n"), images_status(images)
            self.touched.append(block)

    def _error_text(self, error: SessionError) -> str:
        if (next_step := _NEXT_STEPS.get(error.kind)) is None:
            return error.what
        shortcuts = {name: self._way_to(name) for name in ("continue", "model")}
        return f"{error.what}{'' if error.what.endswith(('.', '!', '?', '…')) else '.'} {next_step.format(**shortcuts)}"

    def _append(self, block: Block) -> Block:
        block.time, block.speaker = intern(block.time), intern(block.speaker)  # the same in many blocks
        before = self.blocks[-1] if self.blocks else None
        block.tight = before is None or (block.is_step and before.is_step and not block.first_of_reply)
        self.blocks.append(block)
        return block


def speaker(model: str) -> str:
    """How a model signs its replies: its name, without provider and address."""
    return EMBEDDED_LABEL if model == EMBEDDED else one_line(model_name(model), SPEAKER_CHARS)


def pasted_token(text: str) -> str:
    """What is shown of a pasted part of a prompt, on a line of its own where the text has line breaks there."""
    return f"[pasted {pasted_size(text)}]{LINE_BREAK if text.endswith(LINE_BREAK) else ''}"


def images_status(images: Sequence[StoredImage]) -> str:
    """The status of a call that returned images."""
    return f"{len(images):,} images" if len(images) > 1 else images[0].media_type


def _unfenced(text: str) -> str:
    return "\n".join(text.split("\n")[1:-1]) if text.startswith("```") else text


def _block_images(images: Sequence[StoredImage]) -> "tuple[BlockImage, ...]":
    if not images:
        return ()
    from co_tui.ui.images.block_image import BlockImage

    return tuple(map(BlockImage, images))
