"""Points in the middle of recorded work, and what each condition would send there."""

import asyncio
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.measure.count import Window
from co_tui.context.policy import Policy
from co_tui.exchange.openai_format import Conversation, to_chat
from co_tui.lab.results import NEXT_MESSAGES, replay

WHOLE: Final = "whole"
"""The condition of a reader who gets the whole conversation."""
KINDS: Final = ("a detail needed next", "a detail needed next", "the state of the work", "the user's own words")
"""Of the questions at each point."""
EDGE_SHARE: Final = 0.2
"""Of the requests that are longer than the window: the first and last are no middle."""


class Point(NamedTuple):
    """One request of a conversation."""

    conversation: Conversation
    request: int
    """Its number, from 1."""
    messages: int
    """How many messages came before it."""


def write_cases(
    folder: Path, conversations: Sequence[Conversation], policies: Mapping[str, Policy], window: Window, count: int
) -> int:
    """Write the points, what each condition sends there, and the questions to fill in; returns how many points."""
    first = next(iter(policies.values()))
    points = asyncio.run(_points(conversations, first, window, count))
    requests = {name: asyncio.run(_requests(points, policy, window)) for name, policy in policies.items()}
    for number, point in enumerate(points, 1):
        before = point.conversation.messages[: point.messages]
        after = point.conversation.messages[point.messages : point.messages + NEXT_MESSAGES]
        came = f"{as_text(before)}\n\n# What came next\n\n{as_text(after)}"
        _write(folder / "points" / f"{number:02}.md", came)
        _write(folder / "conditions" / f"{number:02} {WHOLE}.md", as_text(before))
        for name, sent in requests.items():
            _write(folder / "conditions" / f"{number:02} {name}.md", as_text(sent[number - 1]))
    blank = [{"kind": kind, "question": "", "answer": ""} for kind in KINDS]
    _write(folder / "questions.json", as_json({f"{number:02}": blank for number in range(1, len(points) + 1)}))
    return len(points)


async def _points(conversations: Iterable[Conversation], policy: Policy, window: Window, count: int) -> list[Point]:
    """One point a conversation, in an order that is the same every time; a second one only if there are too few."""
    middles: list[list[Point]] = []
    for conversation in conversations:
        long = [
            Point(conversation, request.number, request.input_messages)
            async for request in replay(conversation, policy, window)
            if request.is_long and request.compactions
        ]
        edge = int(len(long) * EDGE_SHARE)
        if middle := long[edge : len(long) - edge]:
            random.Random(conversation.id).shuffle(middle)
            middles.append(middle)
    random.Random(len(middles)).shuffle(middles)
    rounds = max(map(len, middles), default=0)
    return [middle[turn] for turn in range(rounds) for middle in middles if turn < len(middle)][:count]


async def _requests(points: Sequence[Point], policy: Policy, window: Window) -> list[list[ModelMessage]]:
    found: dict[tuple[str, int], list[ModelMessage]] = {}
    for conversation in {point.conversation.id: point.conversation for point in points}.values():
        wanted = {point.request for point in points if point.conversation.id == conversation.id}
        async for request in replay(conversation, policy, window):
            if request.number in wanted:
                found[conversation.id, request.number] = list(request.prepared.messages)
    return [found[point.conversation.id, point.request] for point in points]


def as_text(messages: Iterable[ModelMessage]) -> str:
    """Messages as a reader gets them."""
    kept = [message for message in messages if not isinstance(message, ModelResponse) or message.parts]
    return "\n\n".join(_chat_text(chat) for chat in to_chat(kept))


def _chat_text(chat: Mapping[str, Any]) -> str:
    content = chat.get("content") or ""
    said = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [f"→ {call['function']['name']} {call['function']['arguments']}" for call in chat.get("tool_calls") or ()]
    return "\n".join(filter(None, (f"# {chat['role']}", said, *calls)))


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
