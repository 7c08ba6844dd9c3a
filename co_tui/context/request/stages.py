"""Repair a growing history and shorten its tool outputs, working only on what was added since the last request."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from operator import is_, is_not
from typing import NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.indexed_history import EARLIER, REPLY, IndexedHistory
from co_tui.context.policy import Policy
from co_tui.context.request.repair import Repaired, repair_traced
from co_tui.context.request.tool_outputs import (
    RECENT_MESSAGES,
    Memo,
    archive,
    clear,
    cleared_upto,
    keep_ends,
    result_tokens,
    trim,
)
from co_tui.events.stored_messages import COMMAND, RECOLLECTED, SUMMARY
from co_tui.events.tool_calls import PRINTING_TOOLS
from co_tui.sendable_reply import sendable_reply
from co_tui.terminal_text import printed

Keep = Callable[[ToolReturnPart, str], str]
"""Stores a tool result and returns the reference that replaces it."""
END_OF_SUMMARY = "\n\n---\n\n"
"""Between a summary and the prompt that it was added to."""


class Note(NamedTuple):
    """A text added to a message of the history."""

    message_index: int
    text: str


class Staged(NamedTuple):
    """A history after the stages that need no measurement."""

    live: IndexedHistory = IndexedHistory()
    """The history, repaired."""
    origins: Sequence[int | None] = ()
    """The index of each message in the history; None for messages added by repair."""
    request: Sequence[ModelMessage] = ()
    """The same with tool outputs shortened."""
    pinned: tuple[int, ...] = ()
    """Indexes of pinned messages in `live`."""
    unchanged: int = 0
    """How many messages at the start of the request are those of the last request."""


class _Settled(NamedTuple):
    """The last request, and how much of it holds for the next one."""

    lineage: object = None
    last: Staged = Staged()
    pins: Collection[int] = ()
    """Indexes of pinned messages in the history."""
    reply: int = 0
    """Index of the last reply in `live`: repair changes nothing before it."""
    reply_origin: int = 0
    """Its index in the history."""
    shortened: int = 0
    """How many messages at the start of the request no stage changes before the next prompt."""
    prompt: int = 0
    """Index of the latest prompt: no stage ever changes what is shortened before it."""


class Stages:
    """Runs the stages under a policy and caches the result for each message."""

    def __init__(self, policy: Policy, keep: Keep | None = None) -> None:
        self._policy = policy
        self._keep = keep or _reference
        self._memos: dict[str, Memo] = {"trim": {}, "ends": {}, "archive": {}, "clear": {}}
        self._sendable: Memo = {}
        """Messages of which something is not sent, and what is."""
        self._logged: dict[int, tuple[ModelRequestPart, ModelRequestPart]] = {}
        """The parts of such messages, and those of the log."""
        self._joined: Memo = {}
        """Prompts with a summary, and the same as one text."""
        self._settled = _Settled()
        self._result_tokens: list[int] = []
        """Of the results up to and with each message, if the policy clears old ones."""
        self._cleared = 0
        """How many messages at the start have their results cleared."""
        self._pinned: list[ModelMessage] = []
        self._note: Note | None = None
        self._noted: tuple[ModelMessage, str, ModelMessage] | None = None

    def run(
        self,
        history: Sequence[ModelMessage],
        lineage: object = None,
        pinned: Collection[int] = (),
        note: Note | None = None,
    ) -> Staged:
        """Repair and shorten a history. Histories of the same `lineage` only grow at their end."""
        if note != self._note:
            self.forget()
            self._note = note
        settled = self._settled if lineage is not None and self._settled.lineage is lineage else _Settled()
        last, start = settled.last, settled.reply
        tail = self._sent(repair_traced(history[settled.reply_origin :] if settled.reply_origin else history))
        live = IndexedHistory((*last.live[:start], *tail.messages), last.live.kinds[:start])
        added = [None if origin is None else origin + settled.reply_origin for origin in tail.origins]
        origins = [*last.origins[:start], *added]
        prompt = live.latest_prompt or 0
        unchanged = settled.shortened if prompt == settled.prompt else min(settled.shortened, settled.prompt)
        kept = _pinned_indexes(settled, origins, pinned) if pinned else ()
        cleared = self._cleared_upto(start, live)
        if not self._pin([live[index] for index in kept]) or cleared != self._cleared:
            self._cleared, unchanged = cleared, 0
        rest = self._tool_outputs(live[unchanged:], prompt - unchanged, cleared - unchanged)
        rest = [self._with_summary_inside(message) if _has_summary(message) else message for message in rest]
        if note is not None:
            self._add_note(note, rest, unchanged, origins)
        staged = Staged(live, origins, [*last.request[:unchanged], *rest], kept, unchanged)
        self._settled = _after(staged, start, lineage, tuple(pinned), prompt)
        return staged

    def _sent(self, repaired: Repaired) -> Repaired:
        """Without what no provider takes back, such as replies of thinking alone, and with what commands printed
        as a terminal shows it in the end."""
        sent = [self._sendable_message(each) for each in repaired.messages]
        kept = [index for index, message in enumerate(sent) if message.parts]
        return Repaired([sent[index] for index in kept], [repaired.origins[index] for index in kept])

    def _sendable_message(self, message: ModelMessage) -> ModelMessage:
        """The same object as before for each message; the message itself if all of it is sent."""
        known = self._sendable.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if isinstance(message, ModelResponse):
            sent: ModelMessage = sendable_reply(message)
            if len(sent.parts) == len(message.parts):
                return message
        elif (sent := as_printed(message)) is message:
            return message
        else:
            self._logged |= {id(part): (part, own) for part, own in zip(sent.parts, message.parts, strict=True)}
        self._sendable[id(message)] = message, sent
        return sent

    def _reference(self, part: ToolReturnPart, text: str) -> str:
        """The reference of a result, by the part that is logged."""
        known = self._logged.get(id(part))
        own = known[1] if known is not None and known[0] is part else part
        return self._keep(own if isinstance(own, ToolReturnPart) else part, text)

    def _with_summary_inside(self, message: ModelMessage) -> ModelMessage:
        """The same object as before for each message."""
        known = self._joined.get(id(message))
        if known is None or known[0] is not message:
            self._joined[id(message)] = known = message, with_summary_inside(message)
        return known[1]

    def shortened_by(self, message: ModelMessage) -> tuple[str, ...]:
        """The stages that shortened a message of the history: `archive`, `trim`, `ends`, `clear`."""
        found = []
        for stage in ("archive", "trim", "ends", "clear"):
            known = self._memos[stage].get(id(message))
            if known is not None and known[0] is message and known[1] is not message:
                found.append(stage)
                message = known[1]
        return tuple(found)

    def forget(self) -> None:
        """Start the next request from scratch."""
        self._settled = _Settled()

    def release(self, messages: Sequence[ModelMessage]) -> None:
        """Drop everything cached for other messages."""
        live = {id(message) for message in messages}
        for memo in (*self._memos.values(), self._sendable, self._joined):
            for key in [key for key in memo if key not in live]:
                del memo[key]
        kept = {id(part) for _, message in self._sendable.values() for part in message.parts}
        self._logged = {key: parts for key, parts in self._logged.items() if key in kept}
        self.forget()

    def _pin(self, messages: list[ModelMessage]) -> bool:
        """Register pinned messages, so that no stage shortens them; False if they changed."""
        if len(messages) == len(self._pinned) and all(map(is_, messages, self._pinned)):
            return True
        for memo in self._memos.values():
            for message in self._pinned:
                memo.pop(id(message), None)
            memo.update({id(message): (message, message) for message in messages})
        self._pinned = messages
        return False

    def _add_note(self, note: Note, rest: list[ModelMessage], start: int, origins: Sequence[int | None]) -> None:
        """Add the note to its message if that comes after `start`."""
        index = next((n for n in range(len(origins) - 1, start - 1, -1) if origins[n] == note.message_index), None)
        if index is None:
            return
        message = rest[index - start]
        if self._noted is None or self._noted[0] is not message or self._noted[1] != note.text:
            self._noted = (message, note.text, with_note(message, note.text))
        rest[index - start] = self._noted[2]

    def _cleared_upto(self, known: int, live: Sequence[ModelMessage]) -> int:
        """How many messages at the start get their results cleared; the results of the first `known` are counted."""
        policy, totals = self._policy, self._result_tokens
        if not policy.clear_results_tokens:
            return 0
        del totals[known:]
        for index in range(len(totals), len(live)):
            totals.append((totals[-1] if totals else 0) + result_tokens(live[index]))
        upto = cleared_upto(totals, policy.clear_results_tokens, policy.clear_results_step_tokens)
        return max(0, min(upto, len(live) - RECENT_MESSAGES))

    def _tool_outputs(self, messages: Sequence[ModelMessage], prompt: int, cleared: int) -> list[ModelMessage]:
        """The messages with their results shortened; those before the prompt are of earlier turns."""
        policy, memos = self._policy, self._memos
        rest = list(messages)
        # First, because a reference refers to the result as logged.
        if policy.archive_over_chars and prompt > 0:
            rest = archive(rest, policy.archive_over_chars, self._reference, prompt, memos["archive"])
        if policy.tool_output_trim_chars:
            rest = trim(rest, policy.tool_output_trim_chars, memos["trim"])
        if policy.head_tail_chars and prompt > 0:
            rest = keep_ends(rest, policy.head_tail_chars, memos["ends"], prompt)
        return clear(rest, cleared, policy.cleared_result_chars, memos["clear"]) if cleared > 0 else rest


def _pinned_indexes(settled: _Settled, origins: Sequence[int | None], pinned: Collection[int]) -> tuple[int, ...]:
    """The indexes of pinned messages; those before the last reply are known if the same are pinned as before."""
    start = settled.reply if settled.pins == tuple(pinned) else 0
    known = (index for index in settled.last.pinned if index < start)
    return (*known, *(index for index in range(start, len(origins)) if origins[index] in pinned))


def _after(staged: Staged, start: int, lineage: object, pins: tuple[int, ...], prompt: int) -> _Settled:
    """What is settled after a request of which everything before `start` was settled before."""
    reply = staged.live.latest(REPLY)
    if reply is None or reply < start or lineage is None or (origin := staged.origins[reply]) is None:
        return _Settled()
    shortened = min(reply, max(0, len(staged.live) - RECENT_MESSAGES))
    return _Settled(lineage, staged, pins, reply, origin, shortened, prompt)


def with_note(message: ModelMessage, text: str) -> ModelMessage:
    """A prompt with a note before it, or another message with a note at its end."""
    if not isinstance(message, ModelRequest):
        return message
    note = UserPromptPart(text, timestamp=message.timestamp or datetime(1970, 1, 1, tzinfo=UTC))
    is_prompt = all(isinstance(part, UserPromptPart) for part in message.parts)
    parts = [note, *message.parts] if is_prompt else [*message.parts, note]
    return replace(message, parts=parts, metadata={**(message.metadata or {}), RECOLLECTED: text})


def _has_summary(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and SUMMARY in (message.metadata or {})


def with_summary_inside(message: ModelMessage) -> ModelMessage:
    """A prompt whose summary is a part of its own as one text: some wires send every part as a message."""
    if not isinstance(message, ModelRequest):
        return message
    for index, (summary, prompt) in enumerate(pairwise(message.parts)):
        if not isinstance(summary, UserPromptPart) or not isinstance(prompt, UserPromptPart):
            continue
        if isinstance(summary.content, str) and summary.content.startswith(EARLIER):
            head, said = summary.content + END_OF_SUMMARY, prompt.content
            content = head + said if isinstance(said, str) else [head, *said]
            one = replace(prompt, content=content)
            return replace(message, parts=[*message.parts[:index], one, *message.parts[index + 2 :]])
    return message


def split_note(message: ModelRequest) -> tuple[ModelRequest, ModelRequest]:
    """Split a message with a note into the original message and the note."""
    metadata = dict(message.metadata or {})
    text = metadata.pop(RECOLLECTED)
    first, *others = message.parts
    is_first = isinstance(first, UserPromptPart) and first.content == text
    said, note = (others, first) if is_first else (message.parts[:-1], message.parts[-1])
    return replace(message, parts=said, metadata=metadata or None), replace(message, parts=[note], metadata=None)


def as_printed(message: ModelRequest) -> ModelRequest:
    """The message with what commands printed as a terminal shows it in the end; itself if that is the same."""
    is_own = COMMAND in (message.metadata or {})
    parts = list(message.parts)
    for index, part in enumerate(parts):
        is_result = isinstance(part, ToolReturnPart) and part.tool_name in PRINTING_TOOLS
        if not isinstance(part, ToolReturnPart | UserPromptPart) or not (is_result or is_own):
            continue
        if isinstance(part.content, str) and (said := printed(part.content).text) != part.content:
            parts[index] = replace(part, content=said)  # type: ignore[arg-type]
    changed = any(map(is_not, parts, message.parts))
    return replace(message, parts=parts) if changed else message


def _reference(part: ToolReturnPart, text: str) -> str:
    """The reference without a store: the beginning, and the full length."""
    return f"[{part.tool_name}: {len(text)} chars archived]\n{text[:400]}"
