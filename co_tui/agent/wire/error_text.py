"""Turn a provider's error into one line of text, and build patterns to search it. Pure, and fast for any body."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from co_tui.late_pattern import late_pattern

HEAD_CHARS: Final = 16_000
TAIL_CHARS: Final = 4_000
"""A longer reply is cut in the middle, which is an echo of the request."""
TEXT_CHARS: Final = 2_000
"""No single text needs more to say what is wrong."""
DEEPEST: Final = 16
MOST_EMBEDDED: Final = 4
"""How many possible starts of JSON are tried in a text."""
_ECHOES: Final = frozenset({"content", "reasoning_content", "input", "prompt"})
"""Keys under which a reply repeats the request, whose text may be about anything."""
_USAGE: Final = "usage"
"""Token counts of a successful reply."""

WORD_REST: Final = r"\w{0,20}"
"""Bounded, like every repetition in these patterns: a reply may be one word of a megabyte."""
_SPACE: Final = re.compile(r"[\s\"{}\\]+")
_ESCAPE: Final = re.compile(r"\\u00([0-9a-f]{2})", re.I)
_THOUSANDS: Final = re.compile(r"(?<=\d)[,_\u00a0\u202f'](?=\d{3}(?!\d))")
_FRACTION: Final = re.compile(r"(?<![\w/.-])(\d{2,12})\s?/\s?(\d{2,12})(?![\w/-])")
_SHORT: Final = re.compile(r"(?<![\w.,-])(\d{1,4}(?:\.\d{1,3})?)\s?([km])(?=[\s-]?(?:tokens?\b|context)|\s?[),.;]|$)")
_SCALE: Final = {"k": 1_000, "m": 1_000_000}


def flat(body: str) -> str:
    """All texts of a reply on one line in lower case, each as a sentence; numbers in plain digits."""
    if len(body) > HEAD_CHARS + TAIL_CHARS:
        body = f"{body[:HEAD_CHARS]} … {body[-TAIL_CHARS:]}"
    text = " . ".join(_texts(body)).lower()
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    text = _THOUSANDS.sub("", _SPACE.sub(" ", text.replace("\\n", " ")))
    text = _SHORT.sub(lambda found: str(round(float(found[1]) * _SCALE[found[2]])), text)
    return _FRACTION.sub(r"\1 of \2", text).strip()


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts in a value, including those in JSON inside a text; numbers with their key."""
    if depth > DEEPEST:
        return
    if isinstance(value, str):
        yield from _in_text(value, depth)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, int | float) and not isinstance(item, bool):
                yield f"{name}: {item}"
            elif name != _USAGE and not (isinstance(item, str) and name in _ECHOES):
                yield from _texts(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, depth + 1)


def _in_text(text: str, depth: int) -> Iterator[str]:
    """The text itself; if it contains JSON, the text around it and the texts in it."""
    start = -1
    for _ in range(MOST_EMBEDDED):
        start = min((found for each in "{[" if (found := text.find(each, start + 1)) >= 0), default=-1)
        if start < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or any(isinstance(item, dict | str) for item in value):
            yield text[:start][-TEXT_CHARS:]
            yield from _texts(value, depth + 1)
            yield from _in_text(text[end:], depth + 1) if depth < DEEPEST else ()
            return
    yield text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]} … {text[-TEXT_CHARS:]}"


def _whole(digits: str) -> int | float:
    """Python refuses integers of thousands of digits; none of ours has that many."""
    return int(digits) if len(digits) < 20 else float("inf")


_DECODER: Final = json.JSONDecoder(parse_int=_whole)


def phrase(text: str) -> str:
    """A pattern from a phrase: a blank is one space, `~` the rest of a word, `#` a number, `…` more of the sentence."""
    return (
        text.replace(" ", r"\s")
        .replace("~", WORD_REST)
        .replace("#", r"\d{1,12}")
        .replace("…", r"(?:[^.]|\.(?=\d)){0,120}?")  # a dot in a number or a name ends no sentence
    )


def any_of(*phrases: str) -> str:
    """A pattern for any of the phrases."""
    return "(?:" + "|".join(map(phrase, phrases)) + ")"


def pattern(*phrases: str) -> re.Pattern[str]:
    """Any of the phrases; compiled when an error is first read."""
    return late_pattern(any_of(*phrases))
