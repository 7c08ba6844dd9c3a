"""Means over conversations with their interval."""

from co_tui.lab.tally import Tally, mean_of, means, summed


def test_no_values_have_no_mean_and_equal_values_no_spread() -> None:
    assert mean_of([]) is None
    assert mean_of([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5, 3)


def test_the_interval_holds_the_mean_narrows_with_more_values_and_is_always_the_same() -> None:
    few, many = mean_of([0.0, 1.0] * 5), mean_of([0.0, 1.0] * 50)
    assert few and many and few.mean == many.mean == 0.5
    assert 0 <= few.low < many.low < 0.5 < many.high < few.high <= 1
    assert few == mean_of([0.0, 1.0] * 5)


def test_every_conversation_weighs_the_same_in_the_mean_and_by_its_details_in_the_share() -> None:
    large = Tally("p", details_needed=90, details_kept=0, peak_tokens=7, state_requests=2, state_sum=1.0)
    small = Tally("p", details_needed=10, details_kept=10, peak_tokens=5)
    total = summed("p", [large, small])
    assert total.shares()["details_kept_share"] == 0.1 and total.peak_tokens == 7
    found = means([large, small])
    assert found["details_kept"].mean == 0.5 and found["details_kept"].conversations == 2
    assert found["state"].mean == 0.5 and found["state"].conversations == 1, "the other has no state"
    assert "prefix_reused" not in found
