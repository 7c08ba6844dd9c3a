"""Check the invariants of a request, independently of the engine."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, SystemPromptPart, ToolReturnPart, UserPromptPart

from co_tui.agent.wire.rules.wires import refused_by
from co_tui.context.indexed_history import EARLIER, is_prompt
from co_tui.sendable_reply import sendable


def breaches(before: Sequence[ModelMessage], request: Sequence[ModelMessage], *, fits: bool) -> list[str]:
    """The invariants a request breaks, given the messages before it."""
    inspector = Inspector()
    for message in before:
        inspector.add(message)
    return inspector.breaches(request, fits=fits)


class _Seen(NamedTuple):
    """Findings about a request up to one of its messages."""

    open_calls: tuple[str, ...] = ()
    unpaired: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    prompts: tuple[object, ...] = ()
    position: int = -1
    """Position in the conversation of the latest message so far."""
    ordered: bool = True
    refused: tuple[str, ...] = ()
    """Messages that a provider would refuse, and which one."""


class Inspector:
    """Checks the requests of a growing conversation; each costs only what differs from the last one."""

    def __init__(self) -> None:
        self._positions: dict[int, tuple[int, ModelMessage]] = {}
        self._system: tuple[str, ...] = ()
        self._prompt: object = None
        self._refused_before: set[str] = set()
        """What the conversation itself has, which no request can mend."""
        self._request: Sequence[ModelMessage] = ()
        self._seen: list[_Seen] = []

    def add(self, message: ModelMessage) -> None:
        """Add the next message of the conversation."""
        self._positions[id(message)] = (len(self._positions), message)
        self._system += _system(message)
        self._refused_before.update(_refused(message))
        if is_prompt(message):
            self._prompt = _prompts(message)[-1]

    def breaches(self, request: Sequence[ModelMessage], *, fits: bool) -> list[str]:
        """The invariants a request breaks, given the conversation so far."""
        seen = self._inspect(request)
        found = [*seen.unpaired, *["I1 unanswered call"] * len(seen.open_calls)]
        if self._system != seen.system:
            found.append("I2 system messages")
        if self._prompt is not None and not any(_is_whole(self._prompt, sent) for sent in reversed(seen.prompts)):
            found.append("I3 latest prompt")
        if not seen.ordered:
            found.append("I5 order")
        found += [each for each in seen.refused if each not in self._refused_before]
        if not fits:
            found.append("I6 does not fit")
        return found

    def _inspect(self, request: Sequence[ModelMessage]) -> _Seen:
        """Inspect the request from its first difference to the last one."""
        same = 0
        for message, other in zip(request, self._request, strict=False):
            if message is not other:
                break
            same += 1
        del self._seen[same:]
        seen = self._seen[-1] if self._seen else _Seen()
        for message in request[same:]:
            seen = self._next(seen, message)
            self._seen.append(seen)
        self._request = request
        return seen

    def _next(self, seen: _Seen, message: ModelMessage) -> _Seen:
        position, _ = self._positions.get(id(message), (seen.position, message))
        calls, unpaired = _pairs(message, seen.open_calls)
        return _Seen(
            open_calls=calls,
            unpaired=seen.unpaired + unpaired,
            system=seen.system + _system(message),
            prompts=seen.prompts + _prompts(message),
            position=max(position, seen.position),
            ordered=seen.ordered and position >= seen.position,
            refused=seen.refused + _refused(message),
        )


def _pairs(message: ModelMessage, open_calls: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The calls open after a message, and the pairing errors in it."""
    if isinstance(message, ModelResponse):
        return tuple(call.tool_call_id for call in message.tool_calls), ("I1 unanswered call",) * len(open_calls)
    left, found = list(open_calls), []
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            if part.tool_call_id in left:
                left.remove(part.tool_call_id)
            else:
                found.append("I1 orphaned return")
        elif left:
            found += ["I1 unanswered call"] * len(left)
            left = []
    return tuple(left), tuple(found)


def _refused(message: ModelMessage) -> tuple[str, ...]:
    """The wires that refuse the message as it is sent."""
    return tuple(f"G12 refused by {wire}" for each in sendable([message]) for wire in refused_by(each))


def _system(message: ModelMessage) -> tuple[str, ...]:
    return tuple(part.content for part in message.parts if isinstance(part, SystemPromptPart))


def _is_whole(prompt: object, sent: object) -> bool:
    """Whether a prompt was sent whole, by itself or at the end of one that begins with a summary."""
    if isinstance(prompt, str) and isinstance(sent, str) and sent.startswith(EARLIER):
        return sent == prompt or sent.endswith(f"\n\n{prompt}")
    if isinstance(prompt, list) and isinstance(sent, list) and len(sent) > len(prompt):
        return sent[1:] == prompt
    return prompt == sent


def _prompts(message: ModelMessage) -> tuple[object, ...]:
    return tuple(part.content for part in message.parts if isinstance(part, UserPromptPart))
