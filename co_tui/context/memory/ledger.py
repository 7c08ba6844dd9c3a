"""What a conversation has named: by whom how often, and where last. Grows with what is said, at the cost of that."""

import heapq
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from threading import RLock
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.memory.names import Kind, names_in_line, parts_of
from co_tui.context.memory.transcript_lines import (
    MODEL,
    USER,
    Excerpt,
    LinePosition,
    TranscriptPart,
    lines_of,
    transcript_parts,
)

LINES: Final = 2
"""So many of the latest lines with each name are remembered."""
CHARS_A_TOKEN: Final = 4
MOST_NOTABLE, NOTABLE_A_PART = 300, 6
NOTABLE_LINE: Final = re.compile(
    r"\b(decided|decision|instead|root cause|confirmed|fixed|resolved|agreed|the plan|todo|next step|remaining"
    r"|still need|pending|not yet|\w*error\b|exception|traceback|failed|fatal|denied|not found)\b"
    r"|决定|因此|错误|失败|待办|下一步|決定|エラー|次に|未完",
    re.I,
)
MOST_DETAILS: Final = 12_000
OVERFULL: Final = 1.25
"""So many times as many may be there until the lightest go."""
FADING_TOKENS: Final = 20_000
"""A name that was last said so long ago weighs half."""
BY_USES: Final = (1.0, 3.0, 4.0, 6.0, 8.0)
"""What a name weighs by how often the model itself has used it; from the last on, the same."""
BY_USER: Final = 1.5
BY_KIND: Final = {Kind.NUMBER: 0.3, Kind.PATH: 0.7, Kind.OTHER: 1.0, Kind.DOTTED: 1.0, Kind.SNAKE: 1.0}


@dataclass(slots=True)
class Detail:
    """One name."""

    by_kind: float
    """What its kind counts."""
    uses: int = 0
    """Messages of the model that hold it."""
    by_user: bool = False
    last: int = 0
    """How far the conversation had come, in tokens, when it was last said."""
    lines: deque[Excerpt] = field(default_factory=lambda: deque(maxlen=LINES))
    """Where it was said last."""

    @property
    def latest(self) -> Iterable[Excerpt]:
        """The lines to choose from; the very last is enough of a name that the model never took up."""
        return self.lines if self.uses or self.by_user else (self.lines[-1],)

    def weight(self, now: int) -> float:
        """How much it would be missed, `now` tokens into the conversation."""
        uses = self.uses
        weight = BY_USES[uses] if uses < len(BY_USES) else BY_USES[-1]
        if self.by_user:
            weight = max(weight, BY_USES[1]) * BY_USER
        return weight * self.by_kind / (1 + (now - self.last) / FADING_TOKENS)


class Ledger:
    """The names of one conversation."""

    def __init__(self) -> None:
        self.lock = RLock()
        """Lines are chosen beside the conversation, which goes on: nobody reads while something is heard."""
        self.details: dict[str, Detail] = {}
        self.by_part: dict[str, list[str]] = {}
        """The names that have a word in them."""
        self.notable: deque[Excerpt] = deque(maxlen=MOST_NOTABLE)
        """Lines that tell of decisions, errors and open tasks, whatever they name."""
        self.names: list[tuple[str, ...]] = []
        """Of each message."""
        self.tokens = 0
        """How long the conversation is, roughly."""

    def add(self, message: ModelMessage) -> None:
        """The next message."""
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
                    detail = self.details[name] = Detail(BY_KIND[kind])
                    for word in parts_of(name):
                        self.by_part.setdefault(word, []).append(name)
                detail.last = self.tokens
                detail.by_user |= said.by == USER
                detail.lines.append(line)
                used[name] = None
            self._note_notable(number, part, said)
        self.names.append(tuple(used))
        if isinstance(message, ModelResponse):
            for name in used:
                self.details[name].uses += 1
        if len(self.details) > MOST_DETAILS * OVERFULL:
            self._drop_lightest()

    def _note_notable(self, number: int, part: int, said: TranscriptPart) -> None:
        """What the model says first, and what it decides or leaves open, tells something without any name."""
        if said.by != MODEL:
            return
        lines = [(place, line) for place, line in enumerate(lines_of(said.text)) if line.strip()]
        notable = [pair for pair in lines if pair == lines[0] or NOTABLE_LINE.search(pair[1])]
        for place, line in notable[:NOTABLE_A_PART]:
            self.notable.append(Excerpt(LinePosition(number, part, place), said.by, line))

    def _drop_lightest(self) -> None:
        """Keep the weightiest: a session of any length costs no more than this."""
        kept = heapq.nlargest(MOST_DETAILS, self.details, key=lambda name: self.details[name].weight(self.tokens))
        self.details = {name: self.details[name] for name in sorted(kept, key=self._order)}
        by_part = {word: [name for name in names if name in self.details] for word, names in self.by_part.items()}
        self.by_part = {word: names for word, names in by_part.items() if names}

    def _order(self, name: str) -> int:
        return self.details[name].last

    def weight(self, name: str) -> float:
        detail = self.details.get(name)
        return detail.weight(self.tokens) if detail is not None else 0.0


def _named(message: int, part: int, said: TranscriptPart) -> Iterator[tuple[Excerpt, str, Kind]]:
    """Each name of a part once, with the first line that holds it."""
    seen: set[str] = set()
    for number, line in enumerate(lines_of(said.text)):
        new = {name: kind for name, kind in names_in_line(line).items() if name not in seen}
        excerpt = Excerpt(LinePosition(message, part, number), said.by, line) if new else None
        for name, kind in new.items():
            assert excerpt is not None
            seen.add(name)
            yield excerpt, name, kind
