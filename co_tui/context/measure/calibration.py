"""How a model's tokens relate to our estimates: a line fitted to the counts its provider reports. Pure.

    tokens = ratio · estimate + overhead

Two reports at different levels determine both. The lowest report and the one farthest above it are kept: the
overhead shows best in a short request, the ratio over the longest span.

Instructions and tools are learned from the first report alone, so that their count does not change with the
conversation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

RATIO_RANGE = (0.2, 6.0)
LIKELY_RATIO = 3.0
"""A single report cannot separate ratio from overhead: up to this value it is read as the ratio."""
TINY_TOKENS = 64
"""Requests this small are mostly provider overhead and say nothing about the ratio."""
SMALLEST_SPAN_TOKENS = 8
"""Levels closer than this count as one, since counts are rounded to integers."""
SOUND_SPAN_TOKENS = 400
"""A ratio learned over at least this span is kept for later sessions."""
VARIATION = 0.02
"""Texts with the same estimate differ by this share; differences within it do not count as overhead."""
LEVERAGE = 0.1
"""Extra variation for requests that do not continue each other, since their texts differ."""
UNLEARNT_MARGIN, LEARNT_MARGIN, REPORTED_MARGIN = 1.3, 1.1, 1.03
"""Upper bound over the likely count: nothing known, ratio of earlier sessions, reports of this session."""
JUMP = 10.0
"""A report this many times larger or smaller than expected is ignored."""
HIDDEN_TOKENS = 16_000
"""No provider adds more than this to a request, beyond the highest ratio."""
SMALL_TOKENS = 1_000
"""Below this `JUMP` does not apply: a hidden system prompt may be many times a short conversation."""


PRIOR_DIGITS, CONSTANT_DIGITS = 4, 1
"""Precision in storage; used in memory too, so that a resumed session counts the same."""


class Point(NamedTuple):
    """Our estimate of a request, and its provider's count."""

    estimate: int
    tokens: int


class Line(NamedTuple):
    """The line fitted to the reports so far."""

    ratio: float
    """For the whole request: with the overhead it reproduces the last report exactly."""
    slope: float
    """For what is added after a report."""
    slope_at_most: float
    overhead: float
    """Added to every request, as far as certain; negative if we overestimate the fixed part."""


class Calibration(NamedTuple):
    """The relevant reports of one model. Immutable: each report gives a new one."""

    prior: float = 1.0
    """The ratio before the first report."""
    known: bool = False
    """Whether the prior was learned, in earlier sessions or before the tools changed."""
    weight_tokens: int = 0
    """The span over which the prior was learned in this session."""
    constant: float = 0.0
    """The overhead until reports clearly differ."""
    margin: float = UNLEARNT_MARGIN
    """Upper bound over the likely count, before the first report."""
    lowest: Point | None = None
    farthest: Point | None = None
    last: Point | None = None
    fixed: int = 0
    """Our estimate of the instructions and tools in each of these requests."""
    grown: bool = True
    """Whether each request only extended the one before."""
    fixed_part: tuple[float, float] | None = None
    """Ratio and overhead of instructions and tools; None until a report."""

    def is_credible(self, report: Point, counted: int = 0) -> bool:
        """Whether a report is plausible, given `counted` tokens known exactly; providers may report anything."""
        ours, theirs = report.estimate + counted, report.tokens + counted
        if not RATIO_RANGE[0] * ours <= theirs <= RATIO_RANGE[1] * ours + HIDDEN_TOKENS:
            return ours < TINY_TOKENS and 0 < theirs <= HIDDEN_TOKENS
        if self.last is None or max(ours, theirs) < SMALL_TOKENS:
            return True
        line = self.line()
        expected = max(1.0, line.ratio * report.estimate + line.overhead + counted)
        return expected / JUMP <= theirs <= max(expected * JUMP, SMALL_TOKENS * JUMP)

    def with_report(self, report: Point, fixed: int = 0, *, continues: bool = True) -> "Calibration":
        """With one more credible report. `continues`: its request extended the one before."""
        if self.lowest is None or self.farthest is None:
            first = self._replace(lowest=report, farthest=report, last=report, fixed=fixed)
            return first._with_fixed_part(report)
        if fixed != self.fixed:
            # The overhead has changed; only the ratio still applies.
            line, weight = self.line(), min(SOUND_SPAN_TOKENS, self.learned_span_tokens)
            prior, constant = round(line.slope, PRIOR_DIGITS), round(line.overhead, CONSTANT_DIGITS)
            changed = Calibration(prior, True, weight, constant, self.margin, fixed_part=self.fixed_part)
            return changed.with_report(report, fixed)
        lowest, farthest = self.lowest, self.farthest
        if report.estimate < lowest.estimate:
            lowest = report
        # Prefer the newer of two similar spans: the kind of text changes over time.
        elif report.estimate - lowest.estimate >= (farthest.estimate - lowest.estimate) / 2:
            farthest = report
        further = self._replace(lowest=lowest, farthest=farthest, last=report, grown=self.grown and continues)
        return further._with_fixed_part(report)

    def _with_fixed_part(self, report: Point) -> "Calibration":
        """Learn how instructions and tools are counted, once; again only from a report of fewer tokens than that."""
        known = self.fixed_part
        if known is not None and report.tokens >= known[0] * self.fixed + known[1]:
            return self
        line = self._from_one(report) if known is None else self.line()
        return self._replace(fixed_part=(round(line.ratio, PRIOR_DIGITS), round(line.overhead, CONSTANT_DIGITS)))

    def refused(self, report: Point, fixed: int = 0) -> "Calibration":
        """With the count of a refused request, which may include room for the reply: used until the next report."""
        if self.lowest is not None:
            return self._replace(last=report)
        return self.with_report(report, fixed)._replace(fixed_part=self.fixed_part)

    @property
    def span_tokens(self) -> int:
        """The distance between the reported levels."""
        if self.lowest is None or self.farthest is None:
            return 0
        return self.farthest.estimate - self.lowest.estimate

    @property
    def learned_span_tokens(self) -> int:
        """The total span over which the ratio was learned."""
        return self.span_tokens + self.weight_tokens

    def line(self) -> Line:
        if self.last is None or self.lowest is None or self.farthest is None:
            return Line(self.prior, self.prior, self.margin * self.prior, 0.0)
        span = self.span_tokens
        if span < SMALLEST_SPAN_TOKENS:
            return self._from_one(self.last)
        grown = self.farthest.tokens - self.lowest.tokens
        slope = _within_range((grown + self.weight_tokens * self.prior) / self.learned_span_tokens)
        overhead = self._overhead(slope, self.lowest, span)
        ratio = _within_range((self.last.tokens - overhead) / max(1, self.last.estimate))
        return Line(ratio, slope, REPORTED_MARGIN * slope + 1 / span, overhead)

    def _from_one(self, report: Point) -> Line:
        """One equation, two unknowns: use a learned ratio if there is one, otherwise attribute it all to the ratio."""
        estimate, tokens = report
        if estimate < TINY_TOKENS:
            return Line(self.prior, self.prior, self.margin * self.prior, tokens - self.prior * estimate)
        is_ratio = not self.known and tokens <= LIKELY_RATIO * estimate
        overhead = 0.0 if is_ratio else self._overhead(self.prior, report)
        ratio = _within_range((tokens - overhead) / estimate)
        return Line(ratio, ratio, max(REPORTED_MARGIN * ratio, _within_range(tokens / estimate)), overhead)

    def _overhead(self, ratio: float, report: Point, span: int | None = None) -> float:
        """What the ratio does not explain, minus the ratio's uncertainty.

        Rounding weighs more over a short span; variation weighs more if the texts differ.
        """
        rest = report.tokens - ratio * report.estimate - self.constant
        leverage = LEVERAGE * report.estimate / span if span and not self.grown else 0.0
        doubt = (1 / span if span else 0.0) + VARIATION * ratio * (1 + leverage)
        certain = max(0.0, abs(rest) - doubt * report.estimate)
        return max(-ratio * self.fixed, self.constant + (certain if rest > 0 else -certain))

    def as_json(self) -> dict[str, Any]:
        """What the next process needs to continue; empty if there are no reports."""
        if self.lowest is None or self.farthest is None or self.last is None:
            return {}
        prior = (
            {"prior": [round(self.prior, PRIOR_DIGITS), self.weight_tokens, round(self.constant, CONSTANT_DIGITS)]}
            if self.known
            else {}
        )
        points = {"lowest": list(self.lowest), "farthest": list(self.farthest), "last": list(self.last)}
        part = {"fixed_part": list(self.fixed_part)} if self.fixed_part is not None else {}
        return {**points, "fixed": self.fixed, "grown": self.grown, **prior, **part}

    def restored(self, stored: Mapping[str, Any]) -> "Calibration":
        """Continue from the output of `as_json`; invalid data is ignored."""
        lowest, farthest, last = (_point(stored.get(name)) for name in ("lowest", "farthest", "last"))
        fixed, prior = stored.get("fixed"), _prior(stored.get("prior"))
        if lowest is None or farthest is None or last is None or not isinstance(fixed, int):
            return self
        # As stored: a ratio learned elsewhere since then would change the counts.
        learnt = self._replace(prior=1.0, known=False)
        if prior is not None:
            learnt = self._replace(prior=prior[0], known=True, weight_tokens=int(prior[1]), constant=prior[2])
        grown = stored.get("grown") is True
        part = _fixed_part(stored.get("fixed_part"))
        return learnt._replace(lowest=lowest, farthest=farthest, last=last, fixed=fixed, grown=grown, fixed_part=part)


def _point(stored: object) -> Point | None:
    if isinstance(stored, Sequence) and len(stored) == 2 and all(type(each) is int and each >= 0 for each in stored):
        return Point(*stored)
    return None


def _prior(stored: object) -> tuple[float, float, float] | None:
    if _are_numbers(stored, 3):
        return _within_range(stored[0]), min(SOUND_SPAN_TOKENS, max(0, stored[1])), stored[2]
    return None


def _fixed_part(stored: object) -> tuple[float, float] | None:
    return (_within_range(stored[0]), float(stored[1])) if _are_numbers(stored, 2) else None


def _are_numbers(stored: object, count: int) -> TypeGuard[Sequence[float]]:
    return isinstance(stored, Sequence) and len(stored) == count and all(type(each) in (int, float) for each in stored)


def _within_range(ratio: float) -> float:
    low, high = RATIO_RANGE
    return min(high, max(low, ratio))
