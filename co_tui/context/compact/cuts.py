"""Which messages a compaction would replace, by each policy's rule (G3). Pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.turns import (
    EARLIER,
    answers_calls,
    cut_before,
    has_text,
    is_replacement,
    kept_by_rule,
    latest_prompt,
    steps,
    turn_starts,
)
from co_tui.events.triggers import Trigger

SMALLEST_TAIL = 4

Tokens = Callable[[ModelMessage], float]


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


def window_cut(messages: Sequence[ModelMessage], max_messages: int, pinned: Collection[int] = ()) -> Cut | None:
    """Over `max_messages`: keep the first run and the newest half, replace what is between (G3a)."""
    if not max_messages or len(messages) <= max_messages:
        return None
    return beyond_window(messages, max_messages, pinned)


def beyond_window(messages: Sequence[ModelMessage], max_messages: int, pinned: Collection[int] = ()) -> Cut | None:
    """What is between the first run and the newest half of the window."""
    tail = cut_before(messages, len(messages) - max(SMALLEST_TAIL, max_messages // 2))
    return _cut(messages, range(_first_run_end(messages), tail), Trigger.WINDOW, pinned)


def share_cut(
    messages: Sequence[ModelMessage], trigger: Trigger, *, keep_from: int | None = None, pinned: Collection[int] = ()
) -> Cut | None:
    """Everything before the current turn, or before `keep_from`."""
    start = latest_prompt(messages) if keep_from is None else keep_from
    return _cut(messages, range(cut_before(messages, start or 0)), trigger, pinned)


def recent_start(messages: Sequence[ModelMessage], room_tokens: float, tokens: Tokens) -> int:
    """The start of the newest messages that fit the room, without splitting a pair."""
    start = len(messages)
    while start > 0 and (room_tokens := room_tokens - tokens(messages[start - 1])) >= 0:
        start -= 1
    return cut_before(messages, start)


def unseen_start(messages: Sequence[ModelMessage]) -> int:
    """The start of the calls whose results the model has not seen yet; the end if there are none."""
    return cut_before(messages, len(messages) - 1) if messages and answers_calls(messages[-1]) else len(messages)


def newest_start(messages: Sequence[ModelMessage], max_messages: int, room_tokens: float, tokens: Tokens) -> int:
    """Like `recent_start`, but at most `max_messages`."""
    return max(recent_start(messages, room_tokens, tokens), cut_before(messages, len(messages) - max_messages))


def turns_cut(messages: Sequence[ModelMessage], max_turns: int, pinned: Collection[int] = ()) -> Cut | None:
    """Over `max_turns`: the oldest half of whole turns (G3e)."""
    starts = turn_starts(messages)
    if not max_turns or len(starts) <= max_turns:
        return None
    return oldest_turns(messages, len(starts) // 2, Trigger.TURNS, pinned)


def oldest_turns(
    messages: Sequence[ModelMessage], count: int, trigger: Trigger, pinned: Collection[int] = ()
) -> Cut | None:
    """The oldest `count` whole turns, never the current one."""
    starts = turn_starts(messages)
    if not 0 < count < len(starts):
        return None
    # A prompt may share a message with the results of the step before it.
    first, end = (cut_before(messages, starts[number]) for number in (0, count))
    return _cut(messages, range(first, end), trigger, pinned)


def run_cut(messages: Sequence[ModelMessage], trigger: Trigger, pinned: Collection[int] = ()) -> Cut | None:
    """All but the newest step of the current run; the task and the earlier conversation stay (G3c)."""
    prompt = latest_prompt(messages)
    done = steps(messages, prompt + 1 if prompt is not None else 0, len(messages))[:-1]
    return _cut(messages, range(done[0][0], done[-1][1]), trigger, pinned) if done else None


def whole_cut(
    messages: Sequence[ModelMessage], trigger: Trigger, *, upto: int | None = None, pinned: Collection[int] = ()
) -> Cut | None:
    """Everything before `upto`, or to the end; an unanswered prompt stays."""
    end = len(messages) if upto is None else cut_before(messages, upto)
    answered = bool(messages) and isinstance(messages[-1], ModelResponse)
    return _cut(messages, range(end), trigger, pinned, prompt=not answered)


def first_and_last_texts(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Each turn reduced to its first user text and its last reply (G3f, few turns); what replaces others stays."""
    starts = turn_starts(messages)
    kept = kept_by_rule(messages)
    result = list(messages[: starts[0] if starts else len(messages)])
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(messages)
        result += [messages[start]] if start in kept else [_first_text(messages[start])]
        if number + 1 == len(starts):
            result += messages[start + 1 : end]  # the current turn
            continue
        rest = messages[start + 1 : end]
        reply = next((m for m in reversed(rest) if has_text(m)), None)
        result += [
            _only_text(m) if isinstance(m, ModelResponse) else m for m in rest if m is reply or is_replacement(m)
        ]
    return result


def _cut(
    messages: Sequence[ModelMessage], reach: range, trigger: Trigger, pinned: Collection[int], *, prompt: bool = True
) -> Cut | None:
    kept = kept_by_rule(messages, pinned, prompt=prompt)
    replaced = tuple(index for index in reach if index not in kept)
    # A summary alone is not summarised again: that would only lose information.
    return Cut(replaced, trigger) if not all(is_replacement(messages[index]) for index in replaced) else None


def _first_run_end(messages: Sequence[ModelMessage]) -> int:
    """The index after the first reply with text and the results of its calls; 0 if there is none."""
    for index, message in enumerate(messages):
        if has_text(message):
            end = index + 1
            while end < len(messages) and cut_before(messages, end) != end:
                end += 1
            return end
    return 0


def _first_text(message: ModelMessage) -> ModelMessage:
    assert isinstance(message, ModelRequest)
    prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
    joined = [part for part in prompts if isinstance(part.content, str) and part.content.startswith(EARLIER)]
    kept = [*joined, *[part for part in prompts if part not in joined][:1]]
    return message if list(message.parts) == kept else replace(message, parts=kept)


def _only_text(reply: ModelResponse) -> ModelResponse:
    """The reply's texts, without the provider's data about them, which refers to the thinking that is left out."""
    texts = [part for part in reply.parts if isinstance(part, TextPart)]
    if len(texts) == len(reply.parts):
        return reply
    plain = [TextPart(part.content) for part in texts]
    return replace(reply, parts=plain, provider_response_id=None, provider_details=None)
