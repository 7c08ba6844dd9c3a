"""Merge what two machines made of one text. Each function takes the text both started from, this machine's and the
other's; nothing that either added is lost, and what either removed stays removed."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from co_tui.kept_file import table_text
from co_tui.store.notes.board_text import Board, BoardChange, BoardEntry, board_text, own_lines, read_board
from co_tui.store.notes.memory_text import Section, sections


def other(base: str, mine: str, theirs: str) -> str:
    """The other machine's: its session went on there."""
    return theirs


def both(base: str, mine: str, theirs: str) -> str:
    """A prompt that was typed on two machines: first the other's, then this one's."""
    if mine in theirs:
        return theirs
    return mine if not theirs or theirs in mine else f"{theirs.rstrip()}\n\n{mine}"


def merge_memory(base: str, mine: str, theirs: str) -> str:
    """A day of memory, entry by entry; those of one minute in the other machine's order first."""
    found = sections("", theirs)
    before, here = _texts(sections("", base)), sections("", mine)
    removed = before - _texts(here)
    merged = [each for each in found if each.entry.written.rstrip() not in removed]
    known = _texts(found) | before
    for each in here:
        if each.entry.written.rstrip() not in known:
            later = (n for n, placed in enumerate(merged) if placed.entry.time > each.entry.time)
            merged.insert(next(later, len(merged)), each)
    head = _one_of(*(_head(text) for text in (base, mine, theirs)))
    blocks = [head, *(each.entry.written.rstrip() for each in merged)]
    return "".join(f"{block}\n\n" for block in blocks if block)


def _texts(found: Iterable[Section]) -> set[str]:
    return {each.entry.written.rstrip() for each in found}


def _head(text: str) -> str:
    """What a person wrote above the first entry."""
    first = next(iter(sections("", text)), None)
    return text[: first.start if first else len(text)].rstrip()


def _one_of(base: str, mine: str, theirs: str) -> str:
    """The one that was changed; both if both were."""
    if mine in (base, theirs):
        return theirs
    return mine if theirs == base else both(base, mine, theirs)


def merge_board(base: str, mine: str, theirs: str) -> str:
    """A context board, note by note, and a person's lines; the latest change is this machine's."""
    if not theirs.strip():
        return mine
    before, here, there = (read_board(text) for text in (base, mine, theirs))
    entries = _merged(before.entries, here.entries, there.entries, key=lambda entry: (entry.id, entry.text))
    ids = {entry.id for entry in entries}
    added = tuple(entry for entry in here.latest.added if entry.id in ids)
    pruned = tuple(entry for entry in here.latest.pruned if entry.id not in ids)
    lines = _merged(own_lines(base), own_lines(mine), own_lines(theirs), key=str)
    missing = [line for line in lines if line not in own_lines(theirs)]
    gone = set(own_lines(theirs)) - set(lines)
    text = "\n".join(line for line in theirs.split("\n") if line not in gone)
    text = "\n".join([text.rstrip(), "", *missing, ""]) if missing else text
    return board_text(_board(entries, BoardChange(added, pruned)), "", "", text)


def _board(entries: Iterable[BoardEntry], latest: BoardChange) -> Board:
    by_id: dict[str, BoardEntry] = {}
    for entry in entries:
        by_id.setdefault(entry.id, entry)
    return Board(tuple(by_id.values()), latest)


def _merged(base: Sequence[Any], mine: Sequence[Any], theirs: Sequence[Any], key: Callable[[Any], object]) -> list[Any]:
    """The other's items without those removed here, then those added here."""
    before, here, there = ({key(item) for item in items} for items in (base, mine, theirs))
    kept = [item for item in theirs if key(item) in here or key(item) not in before]
    return [*kept, *(item for item in mine if key(item) not in before and key(item) not in there)]


def merge_rules(base: str, mine: str, theirs: str) -> str:
    """Approved rules, as a JSON list of texts. One that was revoked on either machine is gone."""
    return list_text(_merged(_list(base), _list(mine), _list(theirs), key=str))


def list_text(items: Sequence[str]) -> str:
    """A list as it is stored; empty without items."""
    return json.dumps(items) if items else ""


def _list(text: str) -> list[str]:
    found = read_json(text)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def merge_numbers(base: str, mine: str, theirs: str) -> str:
    """Numbers by name: of two that changed, this machine's."""
    return _merged_table(base, mine, theirs, lambda here, there: here)


def merge_limits(base: str, mine: str, theirs: str) -> str:
    """What providers revealed about models' windows: of two that changed, the narrowest limits and the longest
    answers."""
    return _merged_table(base, mine, theirs, _both_learned)


SMALLEST_KNOWN: Final = ("limit_tokens", "refused_tokens")
LARGEST_KNOWN: Final = ("answered_tokens", "estimated_tokens", "refused_at")


def _both_learned(here: Any, there: Any) -> Any:
    if not (isinstance(here, dict) and isinstance(there, dict)):
        return here
    merged = {**there, **here}
    for name in SMALLEST_KNOWN:
        merged[name] = min(filter(None, (_number(here, name), _number(there, name))), default=0)
    for name in LARGEST_KNOWN:
        merged[name] = max(_number(here, name), _number(there, name))
    source = here if _number(here, "limit_tokens") == merged["limit_tokens"] else there
    return {**merged, "reply": source.get("reply", "")}


def _number(entry: dict[str, Any], name: str) -> float:
    value = entry.get(name)
    return value if isinstance(value, int | float) else 0


def _merged_table(base: str, mine: str, theirs: str, resolve: Callable[[Any, Any], Any]) -> str:
    before, here, there = (read_table(text) for text in (base, mine, theirs))
    merged: dict[str, Any] = {}
    for name in [*there, *(name for name in here if name not in there)]:
        old, own, others = before.get(name), here.get(name), there.get(name)
        if own in (old, others):
            chosen = others
        else:
            chosen = own if others == old or own is None or others is None else resolve(own, others)
        if chosen is not None:
            merged[name] = chosen
    return table_text(merged)


def read_table(text: str) -> dict[str, Any]:
    """Empty for what is none."""
    found = read_json(text)
    return found if isinstance(found, dict) else {}


def read_json(text: str) -> Any:
    """None for what is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
