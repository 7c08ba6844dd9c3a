"""The log of a session that another program wrote."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from co_tui.agent.model_messages import message_json
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, estimate_message
from co_tui.events import (
    CompactionComplete,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    Message,
    Ref,
    Rewind,
    SessionEnd,
    SessionRename,
    SessionStart,
    UsageInfo,
)
from co_tui.events.facts.agents import DELEGATION_SEPARATOR
from co_tui.events.facts.life import IMPORTED_FROM
from co_tui.events.stored_messages import REPLACES, SUMMARY
from co_tui.exchange.importers.imported import written

READER_VERSION: Final = 2
"""Of all readers. Raise it when one of them reads better: what older ones imported can then be read again."""

START: Final = -1
"""The place before all items."""


class Said(NamedTuple):
    """A message, and when it was said."""

    message: ModelMessage
    time: datetime
    opens_turn: bool = False
    interrupted: bool = False

    @property
    def said(self) -> tuple[ModelMessage, ...]:
        return (self.message,)


class Compacted(NamedTuple):
    """Where the conversation was compacted."""

    summary: str
    time: datetime
    trigger: str
    pre_tokens: int
    kept_from: int | None
    """Which item is the first that stayed; None when all went."""
    replacement: tuple[ModelMessage, ...]

    @property
    def said(self) -> tuple[ModelMessage, ...]:
        """The summary as a message; the rest was said before."""
        if self.replacement or not self.summary.strip():
            return ()
        part = UserPromptPart(self.summary, timestamp=self.time)
        return (ModelRequest(parts=[part], timestamp=self.time, metadata={REPLACES: 0, SUMMARY: self.summary}),)


class WentBack(NamedTuple):
    """Where what follows was said behind an earlier item, on its branch."""

    time: datetime
    after: int
    """Which item that is, or `START`."""

    @property
    def said(self) -> tuple[ModelMessage, ...]:
        return ()


class Delegated(NamedTuple):
    """A task that another agent was given, and all that was said in it."""

    agent: str
    """Under which it is logged."""
    name: str
    task: str
    call_id: str
    """Empty if it is not known which call it belongs to."""
    items: "tuple[Item, ...]"

    @property
    def time(self) -> datetime:
        return max(item.time for item in self.items)

    @property
    def said(self) -> tuple[ModelMessage, ...]:
        """Nothing in the conversation itself."""
        return ()


Item: TypeAlias = Said | Compacted | WentBack | Delegated


def log_of(
    session_id: str,
    items: Sequence[Item],
    *,
    title: str,
    place: Mapping[str, Any],
    window_tokens: int,
    source: str,
) -> tuple[Event, ...]:
    """The events that the same session would have left here, each under its own time."""
    first = items[0].time
    log = _Log(session_id, window_tokens)
    log.add(first, SessionStart(**place))
    if title:
        log.add(first, SessionRename(title=title, **place))
    branches = {item.after for item in items if isinstance(item, WentBack)}
    for index, item in enumerate(items):
        match item:
            case Said():
                log.say(index, item)
            case Compacted():
                log.compact(item, source)
            case WentBack():
                log.go_back(item)
            case Delegated():
                log.delegate(item)
        if index in branches:
            log.remember(index)
    end = SessionEnd(reason=f"{IMPORTED_FROM} {source}", reader=READER_VERSION, **place)
    log.add(max(item.time for item in items), end)
    return tuple(log.events)


class _Shown(NamedTuple):
    """A message that the model would see."""

    item: int
    """Which item it came from; `START` for a summary."""
    ref: Ref
    tokens: int


class _Log:
    def __init__(self, session_id: str, window_tokens: int) -> None:
        self.events: list[Event] = []
        self._session_id = session_id
        self._window_tokens = window_tokens
        self._turn = 0
        self._turn_has_prompt = False
        self._measured = False
        self._agents: dict[str, int] = {}
        """How many tasks there are under each name."""
        self._history: deque[_Shown] = deque()
        self._tokens = 0
        """Of all in the history."""
        self._histories: dict[int, list[_Shown]] = {START: []}
        """The history behind the items that another branch begins at."""

    def add(self, time: datetime, fact: Fact) -> int:
        seq = len(self.events) + 1
        self.events.append(Event(session_id=self._session_id, seq=seq, timestamp=written(time), fact=fact))
        return seq

    def say(self, index: int, item: Said) -> None:
        if item.opens_turn and self._turn_has_prompt:
            self._turn += 1
        self._turn = max(1, self._turn)
        self._turn_has_prompt = self._turn_has_prompt or item.opens_turn
        message = message_json(item.message)
        seq = self.add(item.time, Message(turn=self._turn, message=message, interrupted=item.interrupted))
        self._history.append(_Shown(index, (seq, 0), estimate_message(item.message)))
        self._tokens += self._history[-1].tokens
        if isinstance(item.message, ModelResponse) and item.message.usage.input_tokens:
            self._measure(item.message, item.time)

    def delegate(self, item: Delegated, path: str = "") -> None:
        """What was said in a task; what was compacted or taken back there is part of it as it was said."""
        agent = f"{path}{item.agent}"
        self._agents[agent] = times = self._agents.get(agent, 0) + 1
        agent += f" {times}" if times > 1 else ""
        start = DelegationStart(agent=agent, name=item.name, task=item.task, call_id=item.call_id, context="fresh")
        self.add(item.items[0].time, start)
        number = 0
        for each in item.items:
            if isinstance(each, Delegated):
                self.delegate(each, f"{agent}{DELEGATION_SEPARATOR}")
            elif isinstance(each, Said):
                number += 1
                self._say_in_task(each, agent, number)
        replies = [each.message for each in item.items if isinstance(each, Said)][-1:]
        is_done = all(isinstance(reply, ModelResponse) and not reply.tool_calls for reply in replies)
        self.add(item.time, DelegationEnd(agent=agent, outcome="done" if is_done else "interrupted"))

    def _say_in_task(self, item: Said, agent: str, number: int) -> None:
        fact = Message(turn=self._turn, agent=agent, message=message_json(item.message), interrupted=item.interrupted)
        self.add(item.time, fact)
        if isinstance(item.message, ModelResponse) and item.message.usage.input_tokens:
            self._measure(item.message, item.time, agent, number)

    def _measure(self, reply: ModelResponse, time: datetime, agent: str = "", messages: int = 0) -> None:
        usage = reply.usage
        total = usage.input_tokens + usage.output_tokens
        self.add(
            time,
            UsageInfo(
                token_limit=self._window_tokens or FALLBACK_WINDOW_TOKENS,
                limit_known=bool(self._window_tokens),
                current_tokens=total,
                messages_count=messages or len(self._history),
                system_tokens=0,
                conversation_tokens=total,
                tool_definition_tokens=0,
                is_initial=not self._measured and not agent,
                measured="provider",
                model=reply.model_name or "",
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cache_read_tokens,
                agent=agent,
            ),
        )
        self._measured = self._measured or not agent

    def compact(self, item: Compacted, source: str) -> None:
        replacement = item.replacement or item.said
        sizes = [estimate_message(message) for message in replacement]
        before, count = self._tokens, len(self._history)
        gone = self._take_out(item.kept_from) if replacement else []
        after = sum(sizes) + self._tokens
        pre_tokens = item.pre_tokens or before
        fact = CompactionComplete(
            success=True,
            trigger=item.trigger,
            pre_tokens=pre_tokens,
            post_tokens=min(after, pre_tokens),
            pre_messages=count,
            post_messages=len(self._history) + len(replacement),
            tokens_removed=max(0, pre_tokens - after),
            messages_removed=len(gone),
            replaced=tuple(each.ref for each in gone),
            replacement=tuple(message_json(_standing_for(message, len(gone))) for message in replacement),
            summary=item.summary,
            summarised_by=source,
        )
        seq = self.add(item.time, fact)
        if gone:
            made = [_Shown(START, (seq, number), size) for number, size in enumerate(sizes)]
            self._history.extendleft(reversed(made))
            self._tokens = after

    def remember(self, index: int) -> None:
        """Keep the history behind an item, for what goes back to there."""
        self._histories[index] = list(self._history)

    def go_back(self, item: WentBack) -> None:
        self._history = deque(self._histories[item.after])
        self._tokens = sum(each.tokens for each in self._history)
        refs = tuple(each.ref for each in self._history)
        self.add(item.time, Rewind(to_seq=max((seq for seq, _ in refs), default=0), history=refs))

    def _take_out(self, kept_from: int | None) -> list[_Shown]:
        """What was said before that item, or all; results stay behind their calls, which are the same item."""
        gone: list[_Shown] = []
        while self._history and (kept_from is None or self._history[0].item < kept_from):
            gone.append(self._history.popleft())
            self._tokens -= gone[-1].tokens
        return gone


def _standing_for(message: ModelMessage, count: int) -> ModelMessage:
    if isinstance(message, ModelRequest) and REPLACES in (message.metadata or {}):
        return replace(message, metadata={**(message.metadata or {}), REPLACES: count})
    return message
