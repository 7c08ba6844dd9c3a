"""The lab's report as a page."""

import re
from xml.etree import ElementTree

import pytest

from co_tui.lab.report.page import Replayed, report_page
from co_tui.lab.report.plots import telling_conversations
from co_tui.lab.report.svg import spread, ticks
from co_tui.lab.results import ConversationResult, PolicyResult
from co_tui.lab.tally import Tally
from tests.support.cases import each_case

HOSTILE = '<script>alert("x")</script>&'


def result(
    policy: str, *, fill: tuple[int, ...] = (), compacted: tuple[int, ...] = (), name: str = "talk"
) -> PolicyResult:
    tally = Tally(
        policy,
        conversations=1,
        requests=4,
        total_tokens=12_000,
        long_requests=2,
        long_tokens=8_000,
        uncached_tokens=2_000,
        details_needed=100,
        details_kept=90,
        details_in_context=80,
        details_needed_by_age=(40, 30, 30, 0, 0, 0, 0),
        details_kept_by_age=(40, 30, 20, 0, 0, 0, 0),
        state_requests=2,
        state_sum=1.0,
    )
    return PolicyResult(policy, [ConversationResult(name, tally, fill, compacted)])


def page(*results: PolicyResult, source: str = "talks.jsonl") -> str:
    return report_page(results, Replayed(source, 8_000, 1.0, "the offline summariser"))


def test_the_page_needs_no_network_and_no_scripts() -> None:
    text = page(result("balanced", fill=(1, 2), compacted=(1,)))
    assert not re.search(r"<script|<link|<img|src=|href=|@import|url\(|https?://", text)
    assert "prefers-color-scheme: dark" in text


def test_everything_from_the_data_is_escaped() -> None:
    text = page(result(HOSTILE, fill=(1, 2), compacted=(1,), name=HOSTILE), source=HOSTILE)
    assert "<script" not in text and "&lt;script&gt;" in text
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(drawing)


def test_the_page_says_what_was_replayed_and_shows_each_policy() -> None:
    text = page(result("balanced"), result("co-cli"))
    assert "1 recorded conversations from talks.jsonl" in text and "8,000 tokens" in text
    for words in ("balanced", "co-cli", "90.0 %", "80.0 %", "50.0 %", "state stated", "joined or marked"):
        assert words in text, words


def test_each_compaction_is_a_diamond() -> None:
    text = page(result("a", fill=(1, 2, 3, 4), compacted=(1, 3)), result("b", fill=(1, 2, 3, 4), compacted=(2,)))
    assert text.count("<polygon") == 3 and "◆ 2" in text
    assert "Fill over a conversation" not in page(result("a", fill=(1, 2)))


def test_the_conversations_with_the_most_compactions_are_drawn() -> None:
    many = [result("a", fill=(1,) * 9, compacted=tuple(range(n))).conversations[0] for n in (0, 2, 5, 1, 3)]
    assert telling_conversations([PolicyResult("a", many)]) == [2, 4, 1]


def test_sixteen_policies_can_be_told_apart() -> None:
    text = page(*[result(f"policy {n}", fill=(5, 9, 4), compacted=(2,)) for n in range(16)])
    styles = set(re.findall(r'<polyline points="[^"]*" class="(series s\d(?: dashed)?)"', text))
    assert len(styles) == 16


@each_case(
    ("low", "high", "found"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0.83, 1, [0.85, 0.9, 0.95, 1.0]), (0, 0, [0]), (5, 4, [5])],
)
def test_ticks_are_round_numbers(low: float, high: float, found: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(found)


def test_labels_do_not_overlap() -> None:
    assert spread([10, 11, 50, 9], 5) == [14, 19, 50, 9]
