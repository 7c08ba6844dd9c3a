"""A fact is one class and its name in the list; everything else follows from that."""

import importlib
import pkgutil
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import co_tui.events
from co_tui.events import Event, Fact, Unknown, decode, encode, facts, is_durable
from co_tui.events.facts.base import Announced, DeclaredFact, Logged
from tests.support.events import fact_of
from tests.support.long_run import drawn


def _declared(kind: type[DeclaredFact] = DeclaredFact) -> set[type[DeclaredFact]]:
    """Every class with a type of its own, wherever it is defined."""
    for module in pkgutil.iter_modules(facts.__path__):
        importlib.import_module(f"{facts.__name__}.{module.name}")
    below = set().union(*(_declared(each) for each in kind.__subclasses__()))
    return below | ({kind} if "TYPE" in vars(kind) and kind.TYPE else set())


DECLARED = sorted(_declared(), key=lambda kind: kind.TYPE)


def test_the_list_of_facts_is_complete() -> None:
    assert set(get_args(Fact)) == {*DECLARED, Unknown}


def test_no_two_facts_share_a_type() -> None:
    assert len({kind.TYPE for kind in DECLARED}) == len(DECLARED)


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.TYPE)
def test_a_declared_fact_is_known_everywhere(kind: type[Any]) -> None:
    assert getattr(co_tui.events, kind.__name__) is kind
    assert issubclass(kind, Logged) is not issubclass(kind, Announced)
    assert set(kind.UPGRADES) == set(range(1, kind.VERSION))


@pytest.mark.parametrize("kind", [kind for kind in DECLARED if issubclass(kind, Logged)], ids=lambda kind: kind.TYPE)
def test_a_logged_fact_declares_what_people_read_about_it(kind: type[Any]) -> None:
    own = {name for each in kind.__mro__[: kind.__mro__.index(Logged)] for name in vars(each)}
    assert own & {"ENTRY", "entry"}, "its symbol, kind and weight, or None"
    assert "timeline_text" in own and "export_entry" in own, "its words, or why it has none"


@settings(max_examples=drawn(3))
@given(st.data())
@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.TYPE)
def test_a_declared_fact_is_written_and_read_and_an_entry_has_words(kind: type[Any], data: st.DataObject) -> None:
    fact = data.draw(fact_of(kind))
    event = Event(session_id="s", seq=1, timestamp="t", fact=fact)
    assert decode(encode(event)) == event
    assert is_durable(fact) is issubclass(kind, Logged)
    assert bool(fact.entry()) is bool(fact.timeline_text()) is bool(fact.symbol)
    if not fact.entry():
        assert fact.export_entry() is None
