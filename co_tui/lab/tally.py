"""The figures of the requests of a replay, and their sums over conversations."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

from co_tui.context.request.pipeline import Prepared
from co_tui.lab.costs import Reuse, SummaryBill
from co_tui.lab.details import Kept
from co_tui.lab.readability import Readability
from co_tui.lab.state.work_state import Stated

RESAMPLES: Final = 1000
SEED: Final = 26
"""Fixed, so that the same replay gives the same figures."""

_NO_AGES: Final = Kept().needed_by_age


class ReplayedRequest(NamedTuple):
    """One request of the replay with its figures."""

    number: int
    input_messages: int
    prepared: Prepared
    compactions: int
    """In total so far."""
    new_compactions: int
    waits: int
    is_long: bool
    """Whether the conversation before it exceeds the window; the same for every policy."""
    details: Kept
    """Details used by the next messages; counted for long requests only."""
    reuse: Reuse
    breaches: list[str]
    bill: SummaryBill = SummaryBill()
    """Summaries since the last request."""
    stated: Stated = Stated()
    """The state of the work; for long requests only, like readability."""
    readability: Readability = Readability()


@dataclass(slots=True)
class Tally:
    """The figures of a policy over a set of conversations."""

    policy: str
    conversations: int = 0
    requests: int = 0
    peak_tokens: int = 0
    total_tokens: int = 0
    compactions: int = 0
    truncations: int = 0
    waits: int = 0
    too_long: int = 0
    breaches: int = 0
    long_requests: int = 0
    """Requests after conversations longer than the window; the figures below are of these."""
    long_tokens: int = 0
    uncached_tokens: int = 0
    """Tokens beyond the prefix shared with the last request."""
    block_uncached_tokens: int = 0
    """Tokens beyond the shared content blocks."""
    rewrites: int = 0
    """Requests that change part of the last one."""
    details_needed: int = 0
    details_kept: int = 0
    details_in_context: int = 0
    details_needed_by_age: tuple[int, ...] = _NO_AGES
    """By how many messages ago each was last said: up to 5, 10, 20, 50, 100, 200, and more."""
    details_kept_by_age: tuple[int, ...] = _NO_AGES
    files_changed: int = 0
    """Facts about the state of the work, summed over the requests that should state them."""
    files_stated: int = 0
    failing_commands: int = 0
    failing_stated: int = 0
    conclusions: int = 0
    conclusions_stated: int = 0
    state_requests: int = 0
    """Requests that should state something."""
    state_sum: float = 0.0
    """Their shares, added."""
    replaced_requests: int = 0
    """Requests with text that replaces earlier messages."""
    lines: int = 0
    line_pairs: int = 0
    joined_pairs: int = 0
    lone_words: int = 0
    repeated_lines: int = 0
    headers: int = 0
    replacement_characters: int = 0
    list_characters: int = 0
    heads: int = 0
    bare_heads: int = 0
    passages: int = 0
    short_passages: int = 0
    summaries: int = 0
    """Including those that were not used."""
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    summary_cost: float = 0.0
    """In US dollars, at an assumed price if none is known."""

    def add(self, request: ReplayedRequest) -> None:
        prepared = request.prepared
        tokens = prepared.reading.current_tokens
        self.requests += 1
        self.peak_tokens = max(self.peak_tokens, tokens)
        self.total_tokens += tokens
        self.compactions += request.new_compactions
        self.waits += request.waits
        self.truncations += prepared.truncation is not None
        self.too_long += prepared.overshoot_tokens > 0
        self.breaches += len(request.breaches)
        self.summaries += request.bill.summaries
        self.summary_input_tokens += request.bill.input_tokens
        self.summary_output_tokens += request.bill.output_tokens
        self.summary_cost += request.bill.cost
        if request.is_long:
            self._add_long(request, tokens)

    def _add_long(self, request: ReplayedRequest, tokens: int) -> None:
        self.long_requests += 1
        self.long_tokens += tokens
        self.uncached_tokens += max(0, tokens - round(request.reuse.tokens))
        self.block_uncached_tokens += max(0, tokens - round(request.reuse.block_tokens))
        self.rewrites += request.reuse.is_rewrite
        self.details_needed += request.details.needed
        self.details_kept += request.details.kept
        self.details_in_context += request.details.in_context
        self.details_needed_by_age = _added(self.details_needed_by_age, request.details.needed_by_age)
        self.details_kept_by_age = _added(self.details_kept_by_age, request.details.kept_by_age)
        self._add_stated(request.stated)
        self._add_readability(request.readability)

    def _add_stated(self, stated: Stated) -> None:
        self.files_changed += stated.files
        self.files_stated += stated.files_stated
        self.failing_commands += stated.failing
        self.failing_stated += stated.failing_stated
        self.conclusions += stated.conclusions
        self.conclusions_stated += stated.conclusions_stated
        if (share := stated.share) is not None:
            self.state_requests += 1
            self.state_sum += share

    def _add_readability(self, read: Readability) -> None:
        self.replaced_requests += read.lines > 0
        self.lines += read.lines
        self.line_pairs += read.pairs
        self.joined_pairs += read.joined
        self.lone_words += read.lone_words
        self.repeated_lines += read.repeated
        self.headers += read.headers
        self.replacement_characters += read.characters
        self.list_characters += read.list_characters
        self.heads += read.heads
        self.bare_heads += read.bare_heads
        self.passages += read.passages
        self.short_passages += read.short_passages

    def shares(self) -> dict[str, float]:
        """The figures that can be compared between sets of conversations."""
        needed, requests = self.details_needed, self.long_requests
        return {
            "details_kept_share": _share(self.details_kept, needed),
            "details_in_context_share": _share(self.details_in_context, needed),
            "mean_tokens": round(self.total_tokens / self.requests) if self.requests else 0,
            "mean_long_tokens": round(self.long_tokens / requests) if requests else 0,
            "prefix_reused_share": _share(self.long_tokens - self.uncached_tokens, self.long_tokens),
            "block_reused_share": _share(self.long_tokens - self.block_uncached_tokens, self.long_tokens),
            "rewrites_per_hundred": round(100 * self.rewrites / requests, 1) if requests else 0.0,
            "state_share": _share(self.state_sum, self.state_requests),
            "files_stated_share": _share(self.files_stated, self.files_changed),
            "failing_stated_share": _share(self.failing_stated, self.failing_commands),
            "conclusions_stated_share": _share(self.conclusions_stated, self.conclusions),
            "joined_share": _share(self.joined_pairs, self.line_pairs),
            "lone_words_share": _share(self.lone_words, self.lines, 0.0),
            "repeated_share": _share(self.repeated_lines, self.lines, 0.0),
            "headers_per_request": _share(self.headers, self.replaced_requests, 0.0),
            "lists_share": _share(self.list_characters, self.replacement_characters, 0.0),
            "bare_heads_share": _share(self.bare_heads, self.heads, 0.0),
            "short_passages_share": _share(self.short_passages, self.passages, 0.0),
        }


def _share(part: float, whole: float, if_none: float = 1.0) -> float:
    return round(part / whole, 4) if whole else if_none


def _added(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(sum, zip(first, second, strict=True)))


def summed(policy: str, tallies: Iterable[Tally]) -> Tally:
    """The figures of several tallies together."""
    total = Tally(policy)
    for tally in tallies:
        for field in fields(Tally)[1:]:
            one, two = getattr(total, field.name), getattr(tally, field.name)
            setattr(total, field.name, _combined(field.name, one, two))
    return total


def _combined(name: str, one: Any, two: Any) -> Any:
    if name == "peak_tokens":
        return max(one, two)
    return _added(one, two) if isinstance(one, tuple) else one + two


_PER_CONVERSATION: Final[dict[str, Callable[[Tally], tuple[float, float]]]] = {
    "details_kept": lambda tally: (tally.details_kept, tally.details_needed),
    "details_in_context": lambda tally: (tally.details_in_context, tally.details_needed),
    "state": lambda tally: (tally.state_sum, tally.state_requests),
    "prefix_reused": lambda tally: (tally.long_tokens - tally.uncached_tokens, tally.long_tokens),
}
"""Figures with a mean over conversations: its parts in one conversation."""


class Mean(NamedTuple):
    """A mean with the interval that holds 95 % of the means of resampled conversations."""

    mean: float
    low: float
    high: float
    conversations: int


def mean_of(values: Sequence[float]) -> Mean | None:
    """The mean and its percentile bootstrap interval; None without values."""
    if not values:
        return None
    count = len(values)
    draw = random.Random(SEED)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(RESAMPLES))
    cut = RESAMPLES // 40
    return Mean(sum(values) / count, means[cut], means[-cut - 1], count)


def means(tallies: Sequence[Tally]) -> dict[str, Mean]:
    """Means over conversations, each with the same weight; those without such a figure are left out."""
    found = {
        name: mean_of([part / whole for part, whole in map(parts, tallies) if whole])
        for name, parts in _PER_CONVERSATION.items()
    }
    return {name: mean for name, mean in found.items() if mean is not None}
