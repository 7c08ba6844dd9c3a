"""The plots of the lab's report."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from co_tui.events.wording import percent
from co_tui.lab.details import AGES
from co_tui.lab.report import svg
from co_tui.lab.results import ConversationResult, PolicyResult

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 18, 46
STRIP = 62
"""Height of one policy in the plot of a conversation."""
MOST_CONVERSATIONS = 3
LABEL_CHARS = 16
FEWEST_DETAILS = 20
"""A share of fewer is not drawn."""


class _Scale(NamedTuple):
    """Values to positions."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        span = self.high - self.low or 1
        return self.start + (value - self.low) / span * (self.end - self.start)


def kept_against_tokens(results: Sequence[PolicyResult], window: int) -> str:
    """Details kept against mean tokens sent: one point a policy, a filled one in context, a hollow one at all.

    Requests over the window are drawn at its right end: they would leave no room for the others."""
    rows = [(result.policy, result.total.shares()) for result in results]
    most = max((row["mean_tokens"] for _, row in rows if row["mean_tokens"] <= window), default=window)
    least = min(row["details_in_context_share"] for _, row in rows)
    x = _Scale(0, most * 1.08 or 1, LEFT, WIDTH - RIGHT)
    y = _Scale(max(0.0, least - 0.05), 1, HEIGHT - BOTTOM, TOP)
    parts = [*_y_axis(y, lambda value: percent(value)), *_x_axis(x, _thousands, "mean tokens of a request")]
    labels = svg.spread([y.at(row["details_in_context_share"]) for _, row in rows], 14)
    for number, ((policy, row), label) in enumerate(zip(rows, labels, strict=True)):
        tokens, strict, loose = row["mean_tokens"], row["details_in_context_share"], row["details_kept_share"]
        at = x.at(min(tokens, x.high))
        style = svg.series(number)
        words = f"{policy}: {percent(loose, 1)} kept, {percent(strict, 1)} in context, {tokens:,} tokens"
        parts += [
            svg.line(at, y.at(loose), at, y.at(strict), f"series {style}"),
            svg.dot(at, y.at(loose), f"hollow {style}", words),
            svg.dot(at, y.at(strict), f"point {style}", words),
            svg.line(at + 6, y.at(strict), at + 12, label, "grid"),
            svg.text(
                at + 14,
                label + 4,
                _short(policy) if tokens <= x.high else f"{_short(policy)}, {_thousands(tokens)} →",
                style=style,
            ),
        ]
    return svg.figure(WIDTH, HEIGHT, "Details kept against mean tokens sent, by policy", parts)


def kept_by_age(results: Sequence[PolicyResult]) -> str:
    """The share of needed details that was kept, by how many messages ago they were last said; a line a policy."""
    names = [f"≤ {age}" for age in AGES] + [f"> {AGES[-1]}"]
    x = _Scale(0, len(names) - 1, LEFT + 10, WIDTH - RIGHT)
    y = _Scale(0, 1, HEIGHT - BOTTOM, TOP)
    parts = _y_axis(y, lambda value: percent(value))
    parts += [svg.text(x.at(number), HEIGHT - BOTTOM + 18, name, anchor="middle") for number, name in enumerate(names)]
    parts.append(svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "messages since it was last said", anchor="middle"))
    ends: list[tuple[float, float]] = []
    for number, result in enumerate(results):
        total = result.total
        pairs = zip(total.details_kept_by_age, total.details_needed_by_age, strict=True)
        points = [
            (x.at(at), y.at(kept / needed)) for at, (kept, needed) in enumerate(pairs) if needed >= FEWEST_DETAILS
        ]
        parts.append(svg.path(points, f"series {svg.series(number)}"))
        parts += [svg.dot(*point, f"point small {svg.series(number)}", result.policy) for point in points]
        ends.append(points[-1] if points else (x.end, y.start))
    for number, (at, label) in enumerate(zip(ends, svg.spread([end for _, end in ends], 14), strict=True)):
        name = svg.text(x.end + 14, label + 4, _short(results[number].policy), style=svg.series(number))
        parts += [svg.line(at[0] + 6, at[1], x.end + 12, label, "grid"), name]
    return svg.figure(WIDTH, max(HEIGHT, _lowest(ends)), "Details kept by age, by policy", parts)


def _lowest(ends: Sequence[tuple[float, float]]) -> int:
    """The height that all labels need."""
    return round(max(svg.spread([end for _, end in ends], 14), default=0)) + 20


def telling_conversations(results: Sequence[PolicyResult]) -> list[int]:
    """The conversations that most differ in size after the most compactions, the most telling first."""

    def weight(number: int) -> tuple[int, int]:
        of_all = [result.conversations[number] for result in results]
        return sum(len(each.compacted) for each in of_all), len(of_all[0].fill)

    numbers = sorted(range(len(results[0].conversations)), key=weight, reverse=True)
    return [number for number in numbers if weight(number)[0]][:MOST_CONVERSATIONS]


def fill_of(results: Sequence[PolicyResult], conversation: int, window: int) -> str:
    """The size of each request of one conversation, a line a policy, with ◆ where it was compacted."""
    runs = [(result.policy, result.conversations[conversation]) for result in results]
    requests = max(len(run.fill) for _, run in runs)
    height = TOP + STRIP * len(runs) + BOTTOM
    x = _Scale(0, max(1, requests - 1), LEFT, WIDTH - RIGHT)
    parts = []
    for number, (policy, run) in enumerate(runs):
        top = TOP + STRIP * number
        parts += _strip(policy, run, x, _Scale(0, max(window, 1), top + STRIP - 8, top), svg.series(number))
    bottom = height - BOTTOM
    parts += [svg.text(x.at(tick), bottom + 14, f"{tick:,.0f}", anchor="middle") for tick in svg.ticks(0, requests - 1)]
    parts.append(svg.text((x.start + x.end) / 2, height - 8, "request", anchor="middle"))
    return svg.figure(WIDTH, height, f"Size of each request of {runs[0][1].id}, by policy", parts)


def _strip(policy: str, run: ConversationResult, x: _Scale, y: _Scale, style: str) -> list[str]:
    # What does not fit the window is cut off at its top.
    points = [(x.at(at), y.at(min(tokens, y.high))) for at, tokens in enumerate(run.fill)]
    marks = [svg.diamond(*points[at], f"point {style}", f"compacted before request {at + 1:,}") for at in run.compacted]
    return [
        svg.line(x.start, y.start, x.end, y.start, "axis"),
        svg.line(x.start, y.end, x.end, y.end, "grid"),
        svg.text(x.start - 6, y.end + 8, _thousands(y.high), anchor="end"),
        svg.text(x.start - 6, y.start, "0", anchor="end"),
        svg.path(points, f"series {style}"),
        *marks,
        svg.text(x.end + 14, (y.start + y.end) / 2, _short(policy), style=style),
        svg.text(x.end + 14, (y.start + y.end) / 2 + 15, f"◆ {len(run.compacted):,}", style="quiet"),
    ]


def _y_axis(y: _Scale, name: Callable[[float], str]) -> list[str]:
    parts = []
    for tick in svg.ticks(y.low, y.high):
        parts += [
            svg.line(LEFT, y.at(tick), WIDTH - RIGHT, y.at(tick), "grid"),
            svg.text(LEFT - 8, y.at(tick) + 4, name(tick), anchor="end"),
        ]
    return parts


def _x_axis(x: _Scale, name: Callable[[float], str], label: str) -> list[str]:
    bottom = HEIGHT - BOTTOM
    marks = [svg.text(x.at(tick), bottom + 18, name(tick), anchor="middle") for tick in svg.ticks(x.low, x.high)]
    words = svg.text((x.start + x.end) / 2, HEIGHT - 6, label, anchor="middle")
    return [svg.line(x.start, bottom, x.end, bottom, "axis"), *marks, words]


def _short(policy: str) -> str:
    """A name that fits next to the plot."""
    return policy if len(policy) <= LABEL_CHARS else policy[: LABEL_CHARS - 1] + "…"


def _thousands(value: float) -> str:
    return f"{value / 1000:.3g}k" if value >= 1000 else f"{value:g}"
