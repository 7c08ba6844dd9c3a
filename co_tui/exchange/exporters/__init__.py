"""A session for others: Markdown and one HTML page for people, JSONL for `co-tui import`.

The user's own keys never leave with it. For people, what only looks like a key is hidden, too; JSONL has it, since it
has to come back as it was.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from co_tui.events import Event, event_json
from co_tui.exchange.exporters.hiding import without_keys
from co_tui.exchange.exporters.html_page import as_page
from co_tui.exchange.exporters.markdown import as_markdown
from co_tui.inert import inert_json, one_line


def as_jsonl(events: Iterable[Event]) -> Iterator[str]:
    """The log itself, one event per line; `co-tui import` restores an equal session from it."""
    for event in events:
        yield f"{inert_json(event_json(event))}\n"


EXPORTERS: Final[Mapping[str, Callable[[Iterable[Event]], Iterator[str]]]] = {
    "markdown": as_markdown,
    "jsonl": as_jsonl,
    "html": as_page,
}
SUFFIXES: Final = {"markdown": ".md", "jsonl": ".jsonl", "html": ".html"}


def exported(events: Iterable[Event], form: str, keys: Iterable[str] = ()) -> Iterator[str]:
    """The pieces of the text that a session is in one of the formats; `keys` are the user's own."""
    keys = tuple(keys)
    if form == "jsonl":
        return _without_keys(events, keys)
    return EXPORTERS[form](without_keys(events, keys, and_lookalikes=True))


def _without_keys(events: Iterable[Event], keys: Sequence[str]) -> Iterator[str]:
    """The log; only events that hold a key are taken apart, since most hold none."""
    written = [json.dumps(key, ensure_ascii=escaped)[1:-1] for key in keys for escaped in (False, True)]
    for event in events:
        text = event_json(event)
        if any(key in text for key in written):
            yield from as_jsonl(without_keys([event], keys, and_lookalikes=False))
        else:
            yield f"{inert_json(text)}\n"


class UnknownEnding(Exception):
    """No format has the ending of this file; a sentence."""


def format_of(name: str) -> str:
    """The format of a file with this name, Markdown if it has no ending. Raises `UnknownEnding`."""
    ending = PurePath(name).suffix.lower()
    forms = {suffix: form for form, suffix in SUFFIXES.items()} | {".htm": "html", ".json": "jsonl", "": "markdown"}
    if ending not in forms:
        raise UnknownEnding(f"{one_line(ending, 20)} is not a format. End the name in .md, .jsonl or .html.")
    return forms[ending]
