"""The names used in a conversation: who used each, how often, and where last. Updated message by message."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from sys import intern
from threading import RLock
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.memory.names import Kind, names_by_line, parts_of
from co_tui.context.memory.transcript_lines import (
    USER,
    Excerpt,
    TranscriptPart,
    lines_of,
    transcript_parts,
)

LINES: Final = 2
"""How many of the latest lines are kept for each name."""
CHARS_A_TOKEN: Final = 4
MOST_DETAILS: Final = 9_000
OVERFULL: Final = 1.25
"""Factor above `MOST_DETAILS` at which the lightest are dropped."""
FADING_TOKENS: Final = 20_000
"""A name last used this long ago weighs half."""
BY_USES: Final = (1.0, 3.0, 4.0, 6.0, 8.0)
"""Weight of a name by how often the model used it; the last value applies from there on."""
BY_USER: Final = 1.5
BY_KIND: Final = {Kind.NUMBER: 0.3, Kind.PATH: 0.7, Kind.OTHER: 1.0, Kind.DOTTED: 1.0, Kind.SNAKE: 1.0}


@dataclass(slots=True)
class Detail:
    """One name."""

    name: str
    by_kind: float
    """Factor of its kind."""
    uses: int = 0
    """Number of model messages with this name."""
    by_user: bool = False
    last: int = 0
    """Length of the conversation, in tokens, when it was last used."""
    lines: tuple[Excerpt, ...] = ()
    """Its latest lines."""

    @property
    def latest(self) -> tuple[Excerpt, ...]:
        """The candidate lines; only the last one for a name that neither the model nor the user used."""
        return self.lines if self.uses or self.by_user else self.lines[-1:]

    def weight(self, now: int) -> float:
        """Its importance `now` tokens into the conversation."""
        uses = self.uses
        weight = BY_USES[uses] if uses < len(BY_USES) else BY_USES[-1]
        if self.by_user:
            weight = max(weight, BY_USES[1]) * BY_USER
        return weight * self.by_kind / (1 + (now - self.last) / FADING_TOKENS)


class Ledger:
    """The names of one conversation."""

    def __init__(self) -> None:
        self.lock = RLock()
        """Lines are chosen in a thread while messages are added."""
        self.details: dict[str, Detail] = {}
        self.by_part: dict[str, list[str]] = {}
        """Word → names that contain it."""
        self.names: list[tuple[str, ...] | None] = []
        """The names in each message; None once they are released."""
        self.tokens = 0
        """Approximate length of the conversation."""

    def add(self, message: ModelMessage) -> None:
        """Add the next message of the conversation."""
        with self.lock:
            self._add(message)

    def _add(self, message: ModelMessage) -> None:
        number = len(self.names)
        used: dict[str, None] = {}
        for part, said in enumerate(transcript_parts(message)):
            self.tokens += len(said.text) // CHARS_A_TOKEN
            for line, name, kind in _named(number, part, said):
                detail = self.details.get(name)
                if detail is None:
                    detail = self.details[name] = Detail(name, BY_KIND[kind])
                    for word in parts_of(name):
                        self.by_part.setdefault(word, []).append(name)
                detail.last = self.tokens
                detail.by_user |= said.by == USER
                detail.lines = (*detail.lines, line)[-LINES:]
                used[detail.name] = None  # one string for all messages, not one each
        self.names.append(tuple(used))
        for name in used:
            detail = self.details[name]
            detail.uses += isinstance(message, ModelResponse)
            detail.lines = detail.latest
        if len(self.details) > MOST_DETAILS * OVERFULL:
            self._drop_lightest()

    def release(self, kept: Collection[int]) -> None:
        """Drop the lists of names in all messages but these; one that returns to the context is read again."""
        with self.lock:
            for number in range(len(self.names) - 1, -1, -1):
                if self.names[number] is None:
                    break  # the earlier ones are released already
                if number not in kept:
                    self.names[number] = None

    def _drop_lightest(self) -> None:
        """Keep the heaviest, so that long sessions use bounded memory."""
        kept = sorted(self.details, key=self.weight, reverse=True)[:MOST_DETAILS]
        self.details = {name: self.details[name] for name in sorted(kept, key=self._order)}
        by_part = {word: [name for name in names if name in self.details] for word, names in self.by_part.items()}
        self.by_part = {word: names for word, names in by_part.items() if names}

    def _order(self, name: str) -> int:
        return self.details[name].last

    def heaviest(self, most: int) -> dict[str, float]:
        """The most important names with their weights, heaviest first."""
        weighed = ((detail.weight(self.tokens), name) for name, detail in self.details.items())
        return {name: weight for weight, name in sorted(weighed, reverse=True)[:most]}

    def weight(self, name: str) -> float:
        detail = self.details.get(name)
        return detail.weight(self.tokens) if detail is not None else 0.0


def names_of(message: ModelMessage) -> tuple[str, ...]:
    """The names in a message, each once."""
    parts = enumerate(transcript_parts(message))
    return tuple({name: None for part, said in parts for _, name, _ in _named(0, part, said)})


def _named(message: int, part: int, said: TranscriptPart) -> Iterator[tuple[Excerpt, str, Kind]]:
    """Each name of a part once, with the first line that holds it."""
    lines, by = lines_of(said.text), intern(said.by)
    excerpt: Excerpt | None = None
    for name, (kind, number) in names_by_line(lines).items():
        if excerpt is None or excerpt.line != number:
            excerpt = Excerpt(message, part, number, by, lines[number])
        yield excerpt, name, kind
