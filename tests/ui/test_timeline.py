"""Every event has its words on the timeline, or none on purpose."""

import pytest
from hypothesis import given

from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    DelegationEnd,
    DelegationStart,
    Event,
    Fact,
    PlanChanged,
    UsageInfo,
    is_durable,
)
from co_tui.ui.widgets.timeline import timeline_entry
from tests.support.events import any_fact


def entry(fact: Fact) -> tuple[str, str] | None:
    return timeline_entry(Event(session_id="s", seq=1, timestamp="t", fact=fact))


@given(any_fact)
def test_whatever_is_logged_shows_but_for_measurements(fact: Fact) -> None:
    assert (entry(fact) is not None) is (is_durable(fact) and not isinstance(fact, UsageInfo))


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (ApprovalRequested(call_id="c", tool="shell", what="git push"), "asks to run shell\ngit push"),
        (ApprovalDecided(call_id="c", approved=True, by="user"), "allowed\nonce, by user"),
        (ApprovalDecided(call_id="c", approved=True, scope="session"), "allowed\nfor this session"),
        (ApprovalDecided(call_id="c", approved=True, scope="pattern", pattern="git *"), "allowed\nalways: git *"),
        (ApprovalDecided(call_id="c", approved=False, reason="not now"), "refused\nnot now"),
        (ApprovalDecided(call_id="c", approved=False, by="user"), "refused\nby user"),
        (DelegationStart(agent="reader-1", name="reader", task="read it all"), "reader was asked\nread it all"),
        (DelegationEnd(agent="reader-1", outcome="whales"), "reader-1 ended\nwhales"),
        (DelegationEnd(agent="reader-1", error="lost"), "reader-1 ended\nlost"),
        (PlanChanged(steps=({"text": "a", "state": "done"}, {"text": "b"})), "plan changed\n1 of 2 steps done"),
    ],
)
def test_the_words_of_approvals_delegations_and_plans(fact: Fact, words: str) -> None:
    found = entry(fact)
    assert found is not None and found[1] == words
