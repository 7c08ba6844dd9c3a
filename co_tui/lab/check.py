"""Whether a request keeps the invariants, judged from the outside."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, SystemPromptPart, ToolReturnPart, UserPromptPart

from co_tui.context.turns import is_prompt


def breaches(before: Sequence[ModelMessage], request: Sequence[ModelMessage], *, fits: bool) -> list[str]:
    """What is wrong with a request made from the messages before it; empty when all is well."""
    inspector = Inspector()
    for message in before:
        inspector.said(message)
    return inspector.breaches(request, fits=fits)


class _Seen(NamedTuple):
    """What is known of a request up to one of its messages."""

    open_calls: tuple[str, ...] = ()
    unpaired: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    prompts: tuple[object, ...] = ()
    place: int = -1
    """The latest message of the conversation among them."""
    ordered: bool = True


class Inspector:
    """Judges the requests of one conversation as it grows; each costs what differs from the one before."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, ModelMessage]] = {}
        self._system: tuple[str, ...] = ()
        self._prompt: object = None
        self._request: Sequence[ModelMessage] = ()
        self._seen: list[_Seen] = []

    def said(self, message: ModelMessage) -> None:
        """The conversation went on."""
        self._places[id(message)] = (len(self._places), message)
        self._system += _system(message)
        if is_prompt(message):
            self._prompt = _prompts(message)[-1]

    def breaches(self, request: Sequence[ModelMessage], *, fits: bool) -> list[str]:
        """What is wrong with a request made from what was said until now; empty when all is well."""
        seen = self._look_at(request)
        found = [*seen.unpaired, *["I1 unanswered call"] * len(seen.open_calls)]
        if self._system != seen.system:
            found.append("I2 system messages")
        if self._prompt is not None and self._prompt not in seen.prompts:
            found.append("I3 latest prompt")
        if not seen.ordered:
            found.append("I5 order")
        if not fits:
            found.append("I6 does not fit")
        return found

    def _look_at(self, request: Sequence[ModelMessage]) -> _Seen:
        """Goes on from where the request begins to differ from the last one."""
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
        place, _ = self._places.get(id(message), (seen.place, message))
        calls, unpaired = _pairs(message, seen.open_calls)
        return _Seen(
            open_calls=calls,
            unpaired=seen.unpaired + unpaired,
            system=seen.system + _system(message),
            prompts=seen.prompts + _prompts(message),
            place=max(place, seen.place),
            ordered=seen.ordered and place >= seen.place,
        )


def _pairs(message: ModelMessage, open_calls: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The calls that are open after a message, and what is wrong with those it closes."""
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


def _system(message: ModelMessage) -> tuple[str, ...]:
    return tuple(part.content for part in message.parts if isinstance(part, SystemPromptPart))


def _prompts(message: ModelMessage) -> tuple[object, ...]:
    return tuple(part.content for part in message.parts if isinstance(part, UserPromptPart))
