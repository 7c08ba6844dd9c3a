"""Hypothesis strategies for facts: any log a session could have, and some it could not."""

from typing import Any, get_args, get_origin

from hypothesis import strategies as st

from co_tui.events import Fact, Json, Ref, Unknown, is_durable
from co_tui.events.facts import BY_TYPE

texts = st.text(max_size=20)
numbers = st.integers(min_value=0, max_value=1_000_000)
refs = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=6).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
user_messages = texts.map(lambda text: {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})
replies = texts.map(lambda text: {"kind": "response", "parts": [{"part_kind": "text", "content": text}]})
messages = user_messages | replies
objects = st.dictionaries(texts, json_values, max_size=2)
NAMED = {
    "message": messages,
    "replacement": st.lists(messages, max_size=3).map(tuple),
    "agent": st.sampled_from(["", "", "reader", "writer"]),
    "call_id": st.sampled_from(["c1", "c2", "c3"]),
}
"""Fields whose values have to meet those of other facts, or be messages."""


def _value(name: str, hint: Any) -> st.SearchStrategy[Any]:
    if hint == tuple[str, ...]:
        return st.lists(st.text(max_size=20), max_size=3).map(tuple)
    if hint == tuple[Ref, ...]:
        return refs
    if name in NAMED:
        return NAMED[name]
    if hint == tuple[Json, ...]:
        return st.lists(objects, max_size=3).map(tuple)
    if hint is bool:
        return st.booleans()
    if hint is int:
        return numbers
    if hint is float:
        return st.floats(0, 1)
    if hint is str:
        return texts
    if get_origin(hint) is not None and type(None) in get_args(hint):
        return st.none() | (numbers if int in get_args(hint) else st.floats(0, 100))
    if get_args(hint) and all(isinstance(item, str) for item in get_args(hint)):
        return st.sampled_from(get_args(hint))
    return objects


def fact_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any fact of one kind."""
    values = {name: _value(name, hint) for name, hint in kind.FIELDS.items()}
    return st.builds(kind, **values)


unknown_facts = st.builds(
    Unknown,
    type=st.sampled_from(["session.dreamt", "message.v9", "x"]),
    version=st.integers(1, 9),
    payload=st.dictionaries(texts, json_values, max_size=3),
)
any_fact: st.SearchStrategy[Fact] = st.one_of(*(fact_of(kind) for kind in BY_TYPE.values()), unknown_facts)
durable_facts: st.SearchStrategy[Fact] = any_fact.filter(is_durable)
