"""Anything can be stored: what could not is replaced, the rest stays as it is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from co_tui.events.storable import DEEPEST, TOO_DEEP, storable, storable_text, whole_number
from tests.support.events import json_values


@given(json_values)
def test_what_is_good_stays_as_it_is(value) -> None:
    assert storable(value) == value


@given(st.text(st.sampled_from("aé漢🙂\ud800\udbff\udc00\udfff"), max_size=20))
def test_any_text_can_be_encoded_and_is_changed_once(text: str) -> None:
    stored = storable_text(text)
    stored.encode()
    assert storable_text(stored) == stored


def test_two_halves_make_a_whole() -> None:
    assert storable_text("a\ud83d\ude00b\ud83dc") == "a😀b\ufffdc"


def test_numbers_and_depth_are_bounded() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    stored = storable(
        {"deep": deep, "large": 10**5_000, "no": float("nan"), "much": float("inf"), "set": {1}, 5: "\ud800"}
    )
    assert TOO_DEEP in json.dumps(stored) and json.dumps(stored).count("[") <= DEEPEST + 1
    assert (stored["large"], stored["no"], stored["much"], stored["set"], stored["5"]) == (
        None,
        None,
        None,
        "{1}",
        "\ufffd",
    )


def test_a_count_is_whole_or_none() -> None:
    assert [whole_number(value) for value in (0, 12, 1.9, 10**12)] == [0, 12, 1, 10**12]
    odd = (-1, -0.5, True, None, "12", [1], {}, float("nan"), float("inf"), 1e300, 10**30)
    assert [whole_number(value) for value in odd] == [None] * len(odd)
