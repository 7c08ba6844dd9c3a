"""What refusals and answers revealed about each model's window, stored by model and endpoint."""

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from co_tui.inert import one_line
from co_tui.kept_file import kept_table
from co_tui.store.sync.files.synced_file import OnChange, not_synced

if TYPE_CHECKING:
    from co_tui.agent.wire.request_failures import RequestTarget

LIMITS_FILE = "learnt-limits.json"
MOST_MODELS = 200
REPLY_CHARS = 200
SMALLEST_TOKENS = 256
"""No window is smaller: a lower limit is not stored."""
LARGEST_TOKENS = 1_000_000_000
CLOSE = 0.9
"""If a request of this share of a refused size was answered, nothing longer than that is tried."""
NOTICEABLE = 1.02
"""Growth of the longest answered request that is worth a write."""
REFUSED_FOR_S = 7 * 24 * 3600.0
"""How long a refused size is remembered: it may have been refused for another reason than its length."""


class Learned(NamedTuple):
    """What one model's provider revealed. Sizes in tokens; 0 if unknown."""

    limit_tokens: int = 0
    """Named in a refusal."""
    reply: str = ""
    """The start of that refusal, without keys."""
    refused_tokens: int = 0
    """The shortest request that was refused without a named limit."""
    refused_at: float = 0.0
    answered_tokens: int = 0
    """The longest request that was answered, as its provider counted it."""
    estimated_tokens: int = 0
    """The same by our own estimate, for requests whose provider gave no credible count. Refused sizes are estimates,
    too, so it bounds them; it is too inexact to contradict a limit that a refusal named."""

    @property
    def longest_tokens(self) -> int:
        """The longest request that was answered, counted or estimated."""
        return max(self.answered_tokens, self.estimated_tokens)

    @property
    def most_tokens(self) -> int | None:
        """The longest request to try after a refusal that named no limit: halfway to the refused size."""
        if not self.refused_tokens:
            return None
        longest = self.longest_tokens
        is_close = longest >= CLOSE * self.refused_tokens
        return max(SMALLEST_TOKENS, longest if is_close else (longest + self.refused_tokens) // 2)


UNKNOWN = Learned()


class Limits:
    """Reads the file each time, since other processes write it, too. What cannot be written is kept in memory."""

    def __init__(self, file: Path, *, writes: bool = True, on_change: OnChange = not_synced) -> None:
        self._file = kept_table(file)
        self._on_change = on_change
        self._writes = writes
        self._unwritten: dict[str, Learned] = {}
        self._unconfirmed: dict[str, int] = {}
        """Refused sizes, until a shorter request is answered, which confirms that length was the reason."""

    def known(self, asked: "RequestTarget") -> Learned:
        return self._of(_name(asked))

    def longest_to_send(self, asked: "RequestTarget") -> int | None:
        """The longest request that past refusals allow, including this turn's; None without refusals."""
        name, known = _name(asked), self.known(asked)
        refused = min(filter(None, (known.refused_tokens, self._unconfirmed.get(name))), default=0)
        bounds = (known.limit_tokens, known._replace(refused_tokens=refused).most_tokens)
        return min(filter(None, bounds), default=None)

    def all(self) -> dict[str, Learned]:
        """By model and endpoint."""
        found = {name: _learned(entry) for name, entry in self._file.read_or_empty().items()}
        return {name: each for name, each in (found | self._unwritten).items() if each != UNKNOWN}

    def learn(self, asked: "RequestTarget", tokens: int, reply: str = "") -> bool:
        """Store a limit that a refusal named, unless the model answered longer requests; whether it applies."""
        name, known = _name(asked), self.known(asked)
        if not max(SMALLEST_TOKENS, known.answered_tokens) <= tokens <= LARGEST_TOKENS:
            return False
        if not known.limit_tokens or tokens < known.limit_tokens:
            said = one_line(reply, REPLY_CHARS)
            self._put(name, lambda known: known._replace(limit_tokens=tokens, reply=said))
        return True

    def refused(self, asked: "RequestTarget", tokens: int) -> int | None:
        """A request was refused without a named limit. Returns the longest to try next; None if longer ones were
        answered, so that the refusal says nothing about the window. Stored once a shorter request is answered."""
        name, known = _name(asked), self.known(asked)
        if tokens <= max(SMALLEST_TOKENS, known.longest_tokens):
            return None
        shortest = min(filter(None, (tokens, known.refused_tokens, self._unconfirmed.get(name))))
        self._unconfirmed[name] = shortest
        return known._replace(refused_tokens=shortest).most_tokens

    def answered(self, asked: "RequestTarget", tokens: int, counted: bool = True) -> None:
        """A request of this length was answered: drop refused sizes up to it, and named limits below it if its provider
        `counted` it."""
        name, tokens = _name(asked), min(tokens, LARGEST_TOKENS)
        refused = self._unconfirmed.pop(name, 0)

        def changed(known: Learned) -> Learned:
            now = known
            if counted and tokens > known.limit_tokens:
                now = now._replace(limit_tokens=0, reply="")
            if tokens >= known.refused_tokens:
                now = now._replace(refused_tokens=0, refused_at=0.0)
            if refused > tokens:
                now = now._replace(refused_tokens=refused, refused_at=time.time())
            before = known.answered_tokens if counted else known.estimated_tokens
            if now == known and tokens <= before * NOTICEABLE:
                return known
            longest = max(before, tokens)
            return now._replace(answered_tokens=longest) if counted else now._replace(estimated_tokens=longest)

        if changed(known := self.known(asked)) != known:
            self._put(name, changed)

    def forget(self) -> None:
        """Forget everything. Raises OSError if the file cannot be removed."""
        self.forget_unwritten()
        self._file.change(lambda known: {})
        self._on_change()

    def forget_unwritten(self) -> None:
        """Forget what is only in memory."""
        self._unwritten.clear()
        self._unconfirmed.clear()

    def _of(self, name: str) -> Learned:
        return self._unwritten.get(name) or _learned(self._file.read_or_empty().get(name))

    def _put(self, name: str, change: Callable[[Learned], Learned]) -> None:
        def changed(table: dict[str, Any]) -> dict[str, Any]:
            learned = change(self._unwritten.get(name) or _learned(table.get(name)))
            others = [(key, entry) for key, entry in table.items() if key != name]
            return dict([*others, (name, learned._asdict())][-MOST_MODELS:])

        if self._writes:
            with contextlib.suppress(OSError):
                self._file.change(changed)
                self._unwritten.pop(name, None)
                self._on_change()
                return
        self._unwritten[name] = change(self._of(name))


def forget_limits(state: Path, on_change: OnChange = not_synced) -> str:
    """Forget what was learned about all models' windows; returns a sentence about it."""
    limits = Limits(state / LIMITS_FILE, on_change=on_change)
    if not limits.all():
        return ""
    try:
        limits.forget()
    except OSError as error:
        return f" Cannot remove learned limits from {error.filename} ({error.strerror})."
    return " Learned limits were removed."


def _learned(entry: object) -> Learned:
    """Parse an entry of the file. Plain numbers, from versions that stored no reply, are not trusted."""
    if not isinstance(entry, Mapping):
        return UNKNOWN
    values: dict[str, Any] = {}
    for name, default in UNKNOWN._asdict().items():
        value = entry.get(name)
        is_valid = isinstance(value, str) if default == "" else _is_count(value)
        values[name] = type(default)(value) if is_valid else default
    learned = Learned(**values)
    if learned.limit_tokens < max(SMALLEST_TOKENS, learned.answered_tokens):
        learned = learned._replace(limit_tokens=0, reply="")
    if learned.refused_tokens <= learned.longest_tokens or _is_past(learned.refused_at):
        learned = learned._replace(refused_tokens=0, refused_at=0.0)
    return learned


def _is_count(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= 1e11  # type: ignore[operator]


def _is_past(refused_at: float) -> bool:
    return not 0 <= time.time() - refused_at <= REFUSED_FOR_S


def _name(asked: "RequestTarget") -> str:
    return f"{asked.model} at {asked.address}" if asked.address else asked.model
