"""What the user said and a compaction keeps: standing rules and clipped quotes (C5, C16).

They are also stored in the metadata of the replacing message, so that the next compaction copies them instead of
summarising them again.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from co_tui.context.compact.user_answers import answers_in, calls_in
from co_tui.context.indexed_history import EARLIER, is_prompt
from co_tui.context.measure.count import estimate_text
from co_tui.events.content import typed_text
from co_tui.events.stored_messages import QUOTES, RULES, SUMMARY, UNQUOTED

QUOTE_CHARS: Final = 600
"""Maximum length of a quoted user message."""
RULES_A_MESSAGE: Final = 6
RULES_SHARE: Final = 0.4
"""Of the room: for standing rules; the rest is for quotes."""
LINE_CHARS: Final = 220
_RULE: Final = re.compile(
    r"\b(always|never|must|don't|do not|only|prefer|make sure|remember|from now on|please use|avoid)\b", re.I
)
_STRONG: Final = re.compile(r"\b(always|never|from now on|remember|must|in every|every time|standing|rule)\b", re.I)


class UserMessages(NamedTuple):
    """What the user wrote, oldest first: prompts, reasons of denials, and answers to the model's questions."""

    rules: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    unsaid: int = 0
    """How many user messages are not quoted; the transcript has them."""

    def as_metadata(self) -> dict[str, Any]:
        return {RULES: list(self.rules), QUOTES: list(self.said), UNQUOTED: self.unsaid}


def user_messages_in(replaced: Iterable[ModelMessage]) -> UserMessages:
    """All rules and quotes in the messages, including those kept by earlier compactions."""
    rules: dict[str, None] = {}
    said: list[str] = []
    unsaid = 0
    calls: dict[str, ToolCallPart] = {}
    for message in replaced:
        if isinstance(message, ModelResponse):
            calls = calls_in(message)
            continue
        earlier = message.metadata or {}
        rules.update(dict.fromkeys(earlier.get(RULES, ())))
        said.extend(earlier.get(QUOTES, ()))
        unsaid += earlier.get(UNQUOTED, 0)
        for answer in answers_in(message, calls):
            rules.update(dict.fromkeys(_rules_in(answer.words) if answer.is_reason else ()))
            said.append(clipped(answer.line))
        if is_prompt(message):
            text = "\n".join(_texts(message))
            rules.update(dict.fromkeys(_rules_in(text)))
            said.append(clipped(text))
    return UserMessages(tuple(rules), tuple(said), unsaid)


def rules_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The standing rules in user messages, each once."""
    return tuple(dict.fromkeys(rule for text in texts for rule in _rules_in(text)))


def earlier_summary(messages: Iterable[ModelMessage], *, user_words: bool = False) -> str:
    """The summaries among the messages, oldest first: to be updated, not summarised again.

    With `user_words` also the quotes kept with them, for forms without a section for quotes.
    """
    found: list[str] = []
    for message in messages:
        metadata = (message.metadata or {}) if isinstance(message, ModelRequest) else {}
        if summary := metadata.get(SUMMARY):
            found.append(summary)
        if user_words:
            text = as_sections(UserMessages(tuple(metadata.get(RULES, ())), tuple(metadata.get(QUOTES, ()))))
            found += [text] if text and not any(text in each for each in found) else []
    return "\n\n".join(found)


def fitting(words: UserMessages, room_tokens: float) -> UserMessages:
    """What fits the room: rules first, then the first quote and the newest ones."""
    rules_room = RULES_SHARE * room_tokens
    strong = [rule for rule in reversed(words.rules) if _STRONG.search(rule)]
    weak = [rule for rule in reversed(words.rules) if not _STRONG.search(rule)]
    chosen, _ = _fitting([*strong, *weak], rules_room)
    rules = tuple(rule for rule in words.rules if rule in chosen)
    room = room_tokens - sum(map(_cost, rules))
    said, _ = _fitting([*words.said[:1], *reversed(words.said[1:])], room)
    quoted = tuple(dict.fromkeys(text for text in words.said if text in said))
    return UserMessages(rules, quoted, words.unsaid + len(words.said) - len(quoted))


def as_sections(words: UserMessages, extras: Mapping[str, str] | None = None) -> str:
    """Rules and quotes as sections of the replacing message."""
    blocks = []
    if words.rules:
        blocks.append("## Standing rules of the user\n" + "\n".join(f"- {rule}" for rule in words.rules))
    if words.said or words.unsaid:
        lines = [f"- {text}" for text in words.said]
        if words.unsaid:
            lines.append(f"({words.unsaid} more messages of the user are not quoted here)")
        blocks.append("## What the user said\n" + "\n".join(lines))
    blocks += [f"## {title}\n{text.strip()}" for title, text in (extras or {}).items() if text.strip()]
    return "\n\n".join(blocks)


def quoted_tokens(words: UserMessages) -> int:
    return sum(map(_cost, (*words.rules, *words.said)))


def clipped(text: str) -> str:
    """A user message on one line, clipped with the number of omitted characters."""
    flat = " ".join(text.split())
    if len(flat) <= QUOTE_CHARS:
        return flat
    return f"{flat[:QUOTE_CHARS]} […{len(flat) - QUOTE_CHARS:,} more characters]"


def _rules_in(text: str) -> list[str]:
    """The rules in one message, limited so that a pasted document full of "must" does not crowd out others."""
    found = [line for line in _sentences(text) if _RULE.search(line)]
    found.sort(key=lambda line: not _STRONG.search(line))
    return found[:RULES_A_MESSAGE]


def _sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line of bounded length."""
    return [_line(piece) for piece in re.split(r"(?<=[.!?。！？])\s+|\n+", text[:20_000]) if piece.strip()]


def _line(text: str) -> str:
    flat = " ".join(text[: LINE_CHARS * 4].split())
    return flat if len(flat) <= LINE_CHARS else flat[: LINE_CHARS - 1] + "…"


def _texts(message: ModelRequest) -> list[str]:
    texts = (typed_text(part.content) for part in message.parts if isinstance(part, UserPromptPart))
    return [text for text in texts if not text.startswith(EARLIER)]


def _fitting(lines: Sequence[str], room: float) -> tuple[set[str], float]:
    chosen: set[str] = set()
    for line in lines:
        if (cost := _cost(line)) <= room:
            chosen.add(line)
            room -= cost
    return chosen, room


def _cost(line: str) -> int:
    return estimate_text(line) + 3
