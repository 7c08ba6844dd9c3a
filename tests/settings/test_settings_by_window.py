"""Numbers that depend on the window."""

import pytest

from co_tui.settings import Settings, SettingsError
from co_tui.settings.all_settings import check
from co_tui.settings.consistency import contradictions
from co_tui.settings.rules import ByWindow, in_window
from tests.support.cases import each_case
from tests.support.here import Here


def test_between_two_sizes_a_number_moves_evenly_with_each_doubling() -> None:
    numbers = ByWindow.parse("0.2 at 8000, 0.4 at 32000")
    assert [round(numbers.at(window), 3) for window in (1, 8_000, 16_000, 32_000, 1_000_000)] == [
        0.2,
        0.2,
        0.3,
        0.4,
        0.4,
    ]
    assert str(numbers) == "0.2 at 8000, 0.4 at 32000" and in_window(0.5, 8_000) == 0.5


@each_case("bad", ["0.2 at", "at 8000", "0.2 at 0", "0.2 at 8000, 0.3 at 8000", "9 at 8000", "x at 8000"])
def test_a_bad_number_by_window_is_refused_with_what_is_allowed(bad: str) -> None:
    with pytest.raises(SettingsError, match=r"summary_share.*0.2 at 8000"):
        check("summary_share", bad)


def test_a_contradiction_in_one_window_is_reported() -> None:
    clash = Settings(background_compaction_threshold=ByWindow.parse("0.5 at 8000, 0.99 at 128000"))
    (sentence,) = contradictions(clash)
    assert "background_compaction_threshold = 0.99" in sentence


def test_such_a_number_is_shown_and_can_be_set(here: Here) -> None:
    assert " at 8000, " in here("config", "summary_share").out
    assert here("config", "summary_share", "0.3 at 8000, 0.1 at 64000").code == 0
    assert "0.3 at 8000, 0.1 at 64000" in here("config", "summary_share").out
