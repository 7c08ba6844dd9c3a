"""Recorded times are shown whatever they say, in every time zone."""

from collections.abc import Iterator

import pytest

from co_tui.events.wording import local_text, local_time
from tests.support.time_zones import time_zone

ODD = ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    with time_zone(request.param):
        yield request.param


@pytest.mark.parametrize("odd", [*ODD, "", "soon", "2026-13-45"])
def test_no_time_is_too_odd_to_be_shown(zone: str, odd: str) -> None:
    assert local_time(odd).utcoffset() is not None
    assert bool(local_text(odd, "%Y-%m-%d %H:%M")) == (odd in ODD)


def test_a_time_is_local_and_one_without_a_zone_is_of_utc(zone: str) -> None:
    hours = {"UTC": "12", "Asia/Tokyo": "21", "America/Los_Angeles": "04"}
    texts = [f"2026-01-02T12:00:00{end}" for end in ("Z", "+00:00", "")]
    assert {local_text(text, "%H") for text in texts} == {hours[zone]}
