"""How a model's tokens follow from our estimates: a line through what its provider reported. Pure, knows no message.

    tokens = ratio · estimate + overhead

Two reports at different levels give both. The lowest level ever reported and the one farthest above it are kept:
what is constant shows best where little else was sent, the ratio over the longest way.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

RATIO_RANGE = (0.2, 6.0)
LIKELY_RATIO = 3.0
"""One report alone does not tell a high ratio from much overhead: up to here it is taken for the ratio."""
TINY_TOKENS = 64
"""Of so small a request most is what the provider adds: alone it says nothing about the ratio."""
SMALLEST_SPAN_TOKENS = 8
"""Two levels nearer to each other than this are one: counts are whole numbers."""
SOUND_SPAN_TOKENS = 400
"""From two levels so far apart on, the ratio is worth keeping for later sessions."""
VARIATION = 0.02
"""Texts of the same estimate differ by so much: as far as that may explain it, nothing is taken for overhead."""
LEVERAGE = 0.1
"""Two requests that do not continue each other need not have much in common: so much of that is uneven, too."""
UNLEARNT_MARGIN, LEARNT_MARGIN, REPORTED_MARGIN = 1.3, 1.1, 1.03
"""How much more than the likely figure it may be: nothing known, a ratio from earlier sessions, reports of this one."""
JUMP = 10.0
"""A report that is so many times what was to be expected, or so small a part of it, is not believed."""
HIDDEN_TOKENS = 16_000
"""More than this, beyond the highest ratio, no provider adds to a request."""
SMALL_TOKENS = 1_000
"""Below this the factor says nothing: a hidden system prompt may be many times a short conversation."""


PRIOR_DIGITS, CONSTANT_DIGITS = 4, 1
"""As exact as it is kept: whoever goes on from that counts as before."""


class Point(NamedTuple):
    """A request as we estimated it, and what its provider counted for that part of it."""

    estimate: int
    tokens: int


class Line(NamedTuple):
    """What the reports so far add up to."""

    ratio: float
    """For all that stands: with the overhead it gives the last report exactly."""
    slope: float
    """For what is added to what was reported."""
    slope_at_most: float
    overhead: float
    """What is added to every request, as far as that is certain; below 0 when we estimate the fixed part too high."""


class Calibration(NamedTuple):
    """The reports of one model that matter. Immutable: a report gives a new one."""

    prior: float = 1.0
    """The ratio until something was reported."""
    known: bool = False
    """Whether the prior was learnt: in earlier sessions, or before the tools changed."""
    weight_tokens: int = 0
    """Over how long a way it was learnt in this session."""
    constant: float = 0.0
    """The overhead until reports say otherwise, beyond doubt."""
    margin: float = UNLEARNT_MARGIN
    """How many times the likely figure it may be, until something was reported."""
    lowest: Point | None = None
    farthest: Point | None = None
    last: Point | None = None
    fixed: int = 0
    """Our estimate of what goes with every one of these requests: instructions and tools."""
    grown: bool = True
    """Whether each of these requests only continued the one before."""

    def is_credible(self, report: Point, counted: int = 0) -> bool:
        """Whether the report can be true, beside what was counted exactly; a provider may say anything."""
        ours, theirs = report.estimate + counted, report.tokens + counted
        if not RATIO_RANGE[0] * ours <= theirs <= RATIO_RANGE[1] * ours + HIDDEN_TOKENS:
            return ours < TINY_TOKENS and 0 < theirs <= HIDDEN_TOKENS
        if self.last is None or max(ours, theirs) < SMALL_TOKENS:
            return True
        line = self.line()
        expected = max(1.0, line.ratio * report.estimate + line.overhead + counted)
        return expected / JUMP <= theirs <= max(expected * JUMP, SMALL_TOKENS * JUMP)

    def with_report(self, report: Point, fixed: int = 0, *, continues: bool = True) -> "Calibration":
        """With one more report, which is believed. `continues`: its request was the one before, and more."""
        if self.lowest is None or self.farthest is None:
            return self._replace(lowest=report, farthest=report, last=report, fixed=fixed)
        if fixed != self.fixed:
            # What was constant is another now; only the ratio goes on.
            line, weight = self.line(), min(SOUND_SPAN_TOKENS, self.learned_span_tokens)
            prior, constant = round(line.slope, PRIOR_DIGITS), round(line.overhead, CONSTANT_DIGITS)
            return Calibration(prior, True, weight, constant, self.margin).with_report(report, fixed)
        lowest, farthest = self.lowest, self.farthest
        if report.estimate < lowest.estimate:
            lowest = report
        # The newer of two that are about as far away: what is being said changes its nature with time.
        elif report.estimate - lowest.estimate >= (farthest.estimate - lowest.estimate) / 2:
            farthest = report
        return self._replace(lowest=lowest, farthest=farthest, last=report, grown=self.grown and continues)

    def refused(self, report: Point, fixed: int = 0) -> "Calibration":
        """A provider that refuses a request may count the reply's room in: it holds only until the next report."""
        return self._replace(last=report) if self.lowest is not None else self.with_report(report, fixed)

    @property
    def span_tokens(self) -> int:
        """How far apart the levels are that were reported."""
        if self.lowest is None or self.farthest is None:
            return 0
        return self.farthest.estimate - self.lowest.estimate

    @property
    def learned_span_tokens(self) -> int:
        """Over how long a way the ratio was learnt in all."""
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
        """One equation for two unknowns: a ratio learnt before is believed; else the ratio explains what it can."""
        estimate, tokens = report
        if estimate < TINY_TOKENS:
            return Line(self.prior, self.prior, self.margin * self.prior, tokens - self.prior * estimate)
        is_ratio = not self.known and tokens <= LIKELY_RATIO * estimate
        overhead = 0.0 if is_ratio else self._overhead(self.prior, report)
        ratio = _within_range((tokens - overhead) / estimate)
        return Line(ratio, ratio, max(REPORTED_MARGIN * ratio, _within_range(tokens / estimate)), overhead)

    def _overhead(self, ratio: float, report: Point, span: int | None = None) -> float:
        """What that ratio leaves unexplained, as far as it is more than may be wrong with the ratio.

        Over a short way high up, what was rounded weighs more; so does what is uneven, when the texts are others.
        """
        rest = report.tokens - ratio * report.estimate - self.constant
        leverage = LEVERAGE * report.estimate / span if span and not self.grown else 0.0
        doubt = (1 / span if span else 0.0) + VARIATION * ratio * (1 + leverage)
        certain = max(0.0, abs(rest) - doubt * report.estimate)
        return max(-ratio * self.fixed, self.constant + (certain if rest > 0 else -certain))

    def as_json(self) -> dict[str, Any]:
        """What the next process needs to go on from here; empty when there is nothing."""
        if self.lowest is None or self.farthest is None or self.last is None:
            return {}
        prior = (
            {"prior": [round(self.prior, PRIOR_DIGITS), self.weight_tokens, round(self.constant, CONSTANT_DIGITS)]}
            if self.known
            else {}
        )
        points = {"lowest": list(self.lowest), "farthest": list(self.farthest), "last": list(self.last)}
        return {**points, "fixed": self.fixed, "grown": self.grown, **prior}

    def restored(self, stored: Mapping[str, Any]) -> "Calibration":
        """With what `as_json` once gave; anything else counts for nothing."""
        lowest, farthest, last = (_point(stored.get(name)) for name in ("lowest", "farthest", "last"))
        fixed, prior = stored.get("fixed"), _prior(stored.get("prior"))
        if lowest is None or farthest is None or last is None or not isinstance(fixed, int):
            return self
        # As it was there: what was learnt elsewhere since then would count otherwise.
        learnt = self._replace(prior=1.0, known=False)
        if prior is not None:
            learnt = self._replace(prior=prior[0], known=True, weight_tokens=int(prior[1]), constant=prior[2])
        grown = stored.get("grown") is True
        return learnt._replace(lowest=lowest, farthest=farthest, last=last, fixed=fixed, grown=grown)


def _point(stored: object) -> Point | None:
    if isinstance(stored, Sequence) and len(stored) == 2 and all(type(each) is int and each >= 0 for each in stored):
        return Point(*stored)
    return None


def _prior(stored: object) -> tuple[float, float, float] | None:
    if isinstance(stored, Sequence) and len(stored) == 3 and all(type(each) in (int, float) for each in stored):
        return _within_range(stored[0]), min(SOUND_SPAN_TOKENS, max(0, stored[1])), stored[2]
    return None


def _within_range(ratio: float) -> float:
    low, high = RATIO_RANGE
    return min(high, max(low, ratio))
