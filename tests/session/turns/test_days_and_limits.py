"""When the day's sum is read, and which limits are warned about; without a session."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from co_tui.events import Fact, SessionError, SpentToday
from co_tui.session.turns import spending
from co_tui.session.turns.spending import Spending, SpendingLimitReached
from co_tui.settings import Settings


class Books:
    """What was spent: by this session, and by all since the beginning of a day."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.today, self.all, self.own = 1_000.0, "monday", {"monday": 0.0, "tuesday": 0.0}, 0.0
        self.reads = 0
        self.billed: Any = None
        self.facts: list[Fact] = []
        monkeypatch.setattr(spending, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        monkeypatch.setattr(spending, "start_of_today", lambda: self.today)
        self.spending = Spending(self, self)  # type: ignore[arg-type]

    @property
    def state(self) -> Any:
        return SimpleNamespace(total_cost=self.own, assumed_cost=0.0, billed=self.billed)

    @contextmanager
    def reading(self) -> "Iterator[Books]":
        yield self

    def spent_since(self, time: str) -> float:
        self.reads += 1
        return self.all[time]

    def announce(self, fact: Fact) -> None:
        self.facts.append(fact)

    async def record(self, fact: Fact) -> None:
        self.facts.append(fact)

    def warned(self) -> list[str]:
        return [fact.what.rpartition("(")[2].rstrip(").") for fact in self.facts if isinstance(fact, SessionError)]

    def announced(self) -> list[float]:
        return [fact.dollars for fact in self.facts if isinstance(fact, SpentToday)]


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Books:
    return Books(monkeypatch)


async def test_what_others_spend_counts_within_a_minute(books: Books) -> None:
    limit = Settings(max_daily_cost=1.0)
    await books.spending.check(limit)
    books.all["monday"] = 2.0
    books.now_s += 59
    await books.spending.check(limit)
    assert books.reads == 1, "not at each request"
    books.now_s += 2
    with pytest.raises(SpendingLimitReached, match=r"today's sessions have cost \$2.00 of \$1.00"):
        await books.spending.check(limit)


async def test_a_new_day_begins_at_nothing_though_the_session_goes_on(books: Books) -> None:
    limit = Settings(max_daily_cost=1.0)
    books.own = books.all["monday"] = 0.9
    await books.spending.check(limit)
    books.today, books.own = "tuesday", 0.95
    await books.spending.check(limit)
    books.own = 1.15
    await books.spending.check(limit)
    assert books.announced() == pytest.approx([0.9, 0.0, 0.2])


async def test_each_limit_is_warned_about_once_also_if_two_are_equal(books: Books) -> None:
    limits = Settings(max_session_cost=1.0, max_daily_cost=1.0)
    books.own = books.all["monday"] = 0.8
    for _ in range(3):
        await books.spending.check(limits)
    assert books.warned() == ["max_session_cost", "max_daily_cost"]
    await books.spending.check(Settings(max_session_cost=0.9, max_daily_cost=1.0))
    assert books.warned()[2:] == ["max_session_cost"], "another limit"
    books.today, books.all["tuesday"] = "tuesday", 0.9
    for _ in range(2):
        await books.spending.check(limits)
    assert books.warned()[3:] == ["max_daily_cost"], "the limit of another day"


async def test_a_limit_that_is_reached_exactly_stops(books: Books) -> None:
    books.own = 1.0
    with pytest.raises(SpendingLimitReached, match="/config max_session_cost"):
        await books.spending.check(Settings(max_session_cost=1.0))


@pytest.mark.parametrize(("model", "warns"), [("openai:unheard-of", True), ("embedded", False)])
async def test_a_price_that_is_unknown_is_said_for_the_first_limit_unless_the_model_costs_nothing(
    books: Books, model: str, warns: bool
) -> None:
    books.billed = SimpleNamespace(model=model, cost=None, assumed_cost=None)
    for _ in range(2):
        await books.spending.check(Settings(max_session_cost=1.0, max_daily_cost=1.0))
    said = [fact.what for fact in books.facts if isinstance(fact, SessionError)]
    assert said == ["max_session_cost does not count openai:unheard-of: its price is unknown."] * warns
