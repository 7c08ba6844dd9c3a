"""Repair a growing history and shorten its tool outputs, working only on what was added since the last request."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart

from co_tui.append_only import AppendOnly, Joined
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
from co_tui.context.turns import latest_prompt
from co_tui.events.stored_messages import RECOLLECTED
from co_tui.sendable_reply import sendable_reply

T = TypeVar("T")
Keep = Callable[[ToolReturnPart, str], str]
"""Stores a tool result and returns the reference that replaces it."""


class Note(NamedTuple):
    """A text added to a message of the history."""

    message_index: int
    text: str


class Staged(NamedTuple):
    """A history after the stages that need no measurement."""

    live: Sequence[ModelMessage]
    """The history, repaired."""
    origins: Sequence[int | None]
    """The index of each message in the history; None for messages added by repair."""
    request: Sequence[ModelMessage]
    """The same with tool outputs shortened."""
    pinned: Collection[int]
    """Indexes of pinned messages in `live`."""
    unchanged: int
    """How many messages at the start of the request are those of the last request."""


class _Settled(NamedTuple):
    """The part of the last request that no stage will change any more."""

    lineage: object = None
    live: AppendOnly[ModelMessage] = AppendOnly()
    """Up to the last reply."""
    origins: AppendOnly[int | None] = AppendOnly()
    last_reply: int = 0
    """Its index in the history; `live` is what precedes it."""
    request: AppendOnly[ModelMessage] = AppendOnly()


class Stages:
    """Runs the stages under a policy and caches the result for each message."""

    def __init__(self, policy: Policy, keep: Keep | None = None) -> None:
        self._policy = policy
        self._keep = keep or _reference
        self._memos: dict[str, Memo] = {"trim": {}, "ends": {}, "archive": {}, "clear": {}}
        self._sendable: Memo = {}
        """Replies of which something is not sent, and what is."""
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
        tail = self._sent(repair_traced(history[settled.last_reply :] if settled.last_reply else history))
        origins = [None if origin is None else origin + settled.last_reply for origin in tail.origins]
        live, all_origins = _joined(settled.live, tail.messages), _joined(settled.origins, origins)
        kept = self._pin(live, all_origins, pinned)
        if kept is None:
            settled = settled._replace(request=AppendOnly())
            kept = {n for n, origin in enumerate(all_origins) if origin in pinned}
        cleared = self._cleared_upto(len(settled.live), live)
        if cleared != self._cleared:
            self._cleared, settled = cleared, settled._replace(request=AppendOnly())
        unchanged = len(settled.request)
        rest = self._tool_outputs(live[unchanged:])
        rest = clear(rest, cleared - unchanged, self._policy.cleared_result_chars, self._memos["clear"])
        if note is not None:
            self._add_note(note, rest, unchanged, all_origins)
        request = _joined(settled.request, rest)
        self._settled = _after(settled, Repaired(tail.messages, origins), rest, lineage)
        return Staged(live, all_origins, request, kept, unchanged)

    def _sent(self, repaired: Repaired) -> Repaired:
        """Without what no provider takes back, such as replies of thinking alone."""
        sent = [self._sendable_reply(each) if isinstance(each, ModelResponse) else each for each in repaired.messages]
        kept = [index for index, message in enumerate(sent) if message.parts]
        return Repaired([sent[index] for index in kept], [repaired.origins[index] for index in kept])

    def _sendable_reply(self, reply: ModelResponse) -> ModelMessage:
        """The same object as before for each reply; the reply itself if all its parts are sent."""
        known = self._sendable.get(id(reply))
        if known is not None and known[0] is reply:
            return known[1]
        sent = sendable_reply(reply)
        if len(sent.parts) == len(reply.parts):
            return reply
        self._sendable[id(reply)] = reply, sent
        return sent

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
        for memo in (*self._memos.values(), self._sendable):
            for key in [key for key in memo if key not in live]:
                del memo[key]
        self.forget()

    def _pin(
        self, live: Sequence[ModelMessage], origins: Sequence[int | None], pinned: Collection[int]
    ) -> Collection[int] | None:
        """The indexes of pinned messages, registered with all stages; None if they changed."""
        if not pinned and not self._pinned:
            return ()
        kept = {n for n, origin in enumerate(origins) if origin in pinned}
        messages = [live[n] for n in sorted(kept)]
        if len(messages) == len(self._pinned) and all(a is b for a, b in zip(messages, self._pinned, strict=True)):
            return kept
        for memo in self._memos.values():
            for message in self._pinned:
                memo.pop(id(message), None)
            memo.update({id(message): (message, message) for message in messages})  # no stage shortens it
        self._pinned = messages
        return None

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

    def _tool_outputs(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        policy, upto = self._policy, latest_prompt(messages) or 0
        # First, because a reference refers to the result as logged.
        rest = archive(messages, policy.archive_over_chars, self._keep, upto, self._memos["archive"])
        rest = trim(rest, policy.tool_output_trim_chars, self._memos["trim"])
        return keep_ends(rest, policy.head_tail_chars, self._memos["ends"])


def _joined(beginning: AppendOnly[T], end: list[T]) -> Sequence[T]:
    """Both as one sequence; a plain list is faster if there is no beginning."""
    return Joined(beginning, end) if beginning else end


def _after(settled: _Settled, tail: Repaired, rest: list[ModelMessage], lineage: object) -> _Settled:
    """What is settled after this request: everything before the last reply that is no longer recent."""
    messages = tail.messages
    index = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], ModelResponse)), None)
    if index is None or lineage is None or (last := tail.origins[index]) is None:
        return _Settled()
    live = settled.live.extend(tail.messages[:index])
    before, whole = len(settled.live), Joined(settled.live, tail.messages)
    final = min(before + index, latest_prompt(whole) or 0, max(0, len(whole) - RECENT_MESSAGES))
    request = settled.request.extend(rest[: max(0, final - len(settled.request))])
    return _Settled(lineage, live, settled.origins.extend(tail.origins[:index]), last, request)


def with_note(message: ModelMessage, text: str) -> ModelMessage:
    """The message with a note at its end."""
    if not isinstance(message, ModelRequest):
        return message
    note = UserPromptPart(text, timestamp=message.timestamp or datetime(1970, 1, 1, tzinfo=UTC))
    return replace(message, parts=[*message.parts, note], metadata={**(message.metadata or {}), RECOLLECTED: text})


def split_note(message: ModelRequest) -> tuple[ModelRequest, ModelRequest]:
    """Split a message with a note into the original message and the note."""
    metadata = {key: value for key, value in (message.metadata or {}).items() if key != RECOLLECTED}
    before = replace(message, parts=message.parts[:-1], metadata=metadata or None)
    return before, replace(message, parts=message.parts[-1:], metadata=None)


def _reference(part: ToolReturnPart, text: str) -> str:
    """The reference without a store: the beginning, and the full length."""
    return f"[{part.tool_name}: {len(text)} chars archived]\n{text[:400]}"
