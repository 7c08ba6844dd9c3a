"""A history with the kind of each message: turns, steps and cuts (G3) are found without reading it again. Pure."""

from collections.abc import Callable, Collection, Iterable
from itertools import compress
from typing import Final, NamedTuple, Self

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.events.stored_messages import COMMAND, NOTE, RECOLLECTED, REPLACES
from co_tui.events.triggers import Trigger

EARLIER: Final = "[Earlier conversation, summarised]"
SMALLEST_TAIL: Final = 4

Tokens = Callable[[ModelMessage], float]

PROMPT, ANSWERS, SYSTEM, REPLACEMENT, REPLY, TEXT = (1 << bit for bit in range(6))
"""What a message is or contains: a prompt of the user, results of the preceding calls, a system prompt, what replaces
others, a reply, and text in it."""
_TABLES: Final = {
    kind: bytes(bool(code & kind) for code in range(256)) for kind in (PROMPT, ANSWERS, SYSTEM, REPLY, TEXT)
}
"""For `bytes.translate`: 1 where a message is of the kind, else 0."""


def kind_of(message: ModelMessage) -> int:
    """The sum of what a message is."""
    if isinstance(message, ModelResponse):
        has_text = any(isinstance(part, TextPart) and part.content.strip() for part in message.parts)
        return REPLY | TEXT if has_text else REPLY
    kind = prompts = 0
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            prompts += 1
        elif isinstance(part, ToolReturnPart):
            kind |= ANSWERS
        elif isinstance(part, SystemPromptPart):
            kind |= SYSTEM
    metadata = message.metadata or {}
    # A recollected note is a part of its own, which the user did not write.
    if prompts > (RECOLLECTED in metadata) and not {REPLACES, COMMAND, NOTE} & metadata.keys():
        kind |= PROMPT
    return kind | REPLACEMENT if REPLACES in metadata else kind


def is_prompt(message: ModelMessage) -> bool:
    """Whether the message contains a prompt of the user."""
    return bool(kind_of(message) & PROMPT)


def is_replacement(message: ModelMessage) -> bool:
    """Whether the message replaces others."""
    return bool(kind_of(message) & REPLACEMENT)


def holds_system(message: ModelMessage) -> bool:
    return bool(kind_of(message) & SYSTEM)


def answers_calls(message: ModelMessage) -> bool:
    """Whether the message contains results of the preceding calls."""
    return bool(kind_of(message) & ANSWERS)


class Cut(NamedTuple):
    """Messages to be replaced by a summary: their indexes, in order, and why."""

    replaced: tuple[int, ...]
    trigger: Trigger
    dropped: frozenset[int] = frozenset()
    """Those of them that are removed without being summarised."""
    unsent: int = 0
    """How many messages between them are never sent, and are removed with them."""

    @property
    def messages_count(self) -> int:
        """How many messages of the history it replaces."""
        return len(self.replaced) + self.unsent


class IndexedHistory(tuple[ModelMessage, ...]):
    """Messages, and what each of them is. No cut separates a call from its return."""

    kinds: bytes
    """For each message the sum of what it is."""
    _answers: bytes
    """For each message 1 if it has results of calls, else 0."""

    def __new__(cls, messages: Iterable[ModelMessage] = (), known: bytes = b"") -> Self:
        """`known` are the kinds of the first messages."""
        made = super().__new__(cls, messages)
        made.kinds = known + bytes(map(kind_of, made[len(known) :]))
        made._answers = made.kinds.translate(_TABLES[ANSWERS])
        return made

    def all_of(self, kind: int) -> list[int]:
        """The indexes of the messages of a kind."""
        return [*compress(range(len(self)), self.kinds.translate(_TABLES[kind]))]

    def latest(self, kind: int) -> int | None:
        """The index of the newest message of a kind."""
        index = self.kinds.translate(_TABLES[kind]).rfind(1)
        return index if index >= 0 else None

    @property
    def turn_starts(self) -> list[int]:
        """The index of each turn's prompt."""
        return self.all_of(PROMPT)

    @property
    def latest_prompt(self) -> int | None:
        return self.latest(PROMPT)

    # Steps: a reply with the requests that answer its calls

    def cut_before(self, index: int) -> int:
        """The nearest index at or before `index` where a cut separates no call from its return."""
        if not 0 < index < len(self):
            return max(0, min(index, len(self)))
        return max(0, self._answers.rfind(0, 0, index + 1))

    def _answers_end(self, start: int, end: int) -> int:
        """The end of the results that begin at `start`."""
        stop = self._answers.find(0, start, end)
        return stop if stop >= 0 else end

    def step_around(self, index: int) -> range:
        """The step of a message: a call and its returns stay together."""
        start = self.cut_before(index)
        return range(start, self._answers_end(index + 1, len(self)) if self.kinds[start] & REPLY else index + 1)

    def steps_around(self, indexes: Iterable[int]) -> set[int]:
        """All messages of the steps of these messages."""
        return {near for index in indexes for near in self.step_around(index)}

    def steps(self, start: int, end: int) -> list[range]:
        """The steps between two indexes."""
        return [range(reply, self._answers_end(reply + 1, end)) for reply in self.all_of(REPLY) if start <= reply < end]

    def kept_by_rule(self, pinned: Iterable[int] = (), *, prompt: bool = True) -> set[int]:
        """What no stage may remove: system and pinned messages, and the latest prompt unless `prompt` is false."""
        latest = self.latest_prompt if prompt else None
        return self.steps_around((*self.all_of(SYSTEM), *pinned, *(() if latest is None else (latest,))))

    # Where messages begin that are kept

    def recent_start(self, room_tokens: float, tokens: Tokens) -> int:
        """The start of the newest messages that fit the room."""
        start = len(self)
        while start > 0 and (room_tokens := room_tokens - tokens(self[start - 1])) >= 0:
            start -= 1
        return self.cut_before(start)

    def unseen_start(self) -> int:
        """The start of the calls whose results the model has not seen yet; the end if there are none."""
        return self.cut_before(len(self) - 1) if self and self.kinds[-1] & ANSWERS else len(self)

    # Cuts

    def window_cut(self, max_messages: int, pinned: Collection[int] = ()) -> Cut | None:
        """What is between the first run and the newest half of the window (G3a)."""
        text = self.kinds.translate(_TABLES[TEXT]).find(1)
        first_run_end = self._answers_end(text + 1, len(self)) if text >= 0 else 0
        tail = self.cut_before(len(self) - max(SMALLEST_TAIL, max_messages // 2))
        return self._cut(range(first_run_end, tail), Trigger.WINDOW, pinned)

    def share_cut(self, trigger: Trigger, *, keep_from: int | None = None, pinned: Collection[int] = ()) -> Cut | None:
        """Everything before the current turn, or before `keep_from`; the newest prompt only with all of its answer."""
        start = self.cut_before((self.latest_prompt if keep_from is None else keep_from) or 0)
        return self._cut(range(start), trigger, pinned, prompt=start < len(self) or not self._is_over)

    @property
    def _is_over(self) -> bool:
        """Whether the newest prompt was answered."""
        last = self[-1] if self else None
        return isinstance(last, ModelResponse) and not last.tool_calls and last.state == "complete"

    def turns_cut(self, count: int, trigger: Trigger, pinned: Collection[int] = ()) -> Cut | None:
        """The oldest `count` whole turns, never the current one (G3e)."""
        starts = self.turn_starts
        if not 0 < count < len(starts):
            return None
        # A prompt may share a message with the results of the step before it.
        return self._cut(range(self.cut_before(starts[0]), self.cut_before(starts[count])), trigger, pinned)

    def run_cut(self, trigger: Trigger, pinned: Collection[int] = ()) -> Cut | None:
        """All but the newest step of the current run; the task and the earlier conversation stay (G3c)."""
        prompt = self.latest_prompt
        done = self.steps(prompt + 1 if prompt is not None else 0, len(self))[:-1]
        return self._cut(range(done[0].start, done[-1].stop), trigger, pinned) if done else None

    def whole_cut(self, trigger: Trigger, *, upto: int | None = None, pinned: Collection[int] = ()) -> Cut | None:
        """Everything before `upto`, or to the end; an unanswered prompt stays."""
        end = len(self) if upto is None else self.cut_before(upto)
        answered = bool(self) and bool(self.kinds[-1] & REPLY)
        return self._cut(range(end), trigger, pinned, prompt=not answered)

    def _cut(self, reach: range, trigger: Trigger, pinned: Collection[int], *, prompt: bool = True) -> Cut | None:
        """What of `reach` may be replaced; None if that is nothing or only replacements."""
        kept = self.kept_by_rule(pinned, prompt=prompt)
        replaced = tuple(index for index in reach if index not in kept)
        # A summary alone is not summarised again: that would only lose information.
        return Cut(replaced, trigger) if not all(self.kinds[index] & REPLACEMENT for index in replaced) else None
