"""The log itself, one event a line: `co-tui import` makes an equal session of it."""

from collections.abc import Iterable, Iterator

from co_tui.events import Event, event_json
from co_tui.inert import inert_json


def as_jsonl(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        yield f"{inert_json(event_json(event))}\n"
