"""Make untrusted data storable: providers, tools and servers may send anything.

Everything logged passes through here, so that no value can prevent a session from being written, read or sent.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from co_tui.late_pattern import late_pattern

Json: TypeAlias = Mapping[str, Any]

DEEPEST: Final = 64
"""Nesting levels; deeper data is dropped. Python's JSON reader fails at about a thousand."""
LARGEST_DIGITS: Final = 300
"""Python refuses to parse integers of several thousand digits; floats have at most 309."""
MOST_TOKENS: Final = 10**12
TOO_DEEP: Final = "[nested too deeply]"

_SURROGATE: Final = late_pattern("[\ud800-\udfff]")
_LARGEST: Final = 10**LARGEST_DIGITS


def storable_text(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates, which cannot be encoded, replaced."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def storable(value: Any, depth: int = 0) -> Any:
    """JSON-ready data that can be written, read and sent; equal to the input if that was valid."""
    match value:
        case str():
            return storable_text(value)
        case bool() | None:
            return value
        case int():
            return value if -_LARGEST < value < _LARGEST else None
        case float():
            return value if math.isfinite(value) else None
        case _ if depth >= DEEPEST:
            return TOO_DEEP
        case Mapping():
            return {storable_text(str(key)): storable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [storable(item, depth + 1) for item in value]
        case _:
            return storable_text(str(value))


def storable_arguments(arguments: Any) -> Any:
    """A tool call's arguments, as JSON text or as data, without values that strict JSON does not allow.

    Equal to the input if that was valid. Text that is not JSON is kept and sent back as it is.
    """
    if not isinstance(arguments, str):
        return storable(arguments)
    repeated = False

    def one_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        read = dict(pairs)  # the last duplicate wins, as it does for the tool
        repeated = repeated or len(read) < len(pairs)
        return read

    try:
        read = json.loads(arguments, object_pairs_hook=one_of_each)
        kept = storable(read)
        if kept == read and not repeated:
            return storable_text(arguments)
    except (ValueError, RecursionError):
        return storable_text(arguments)
    return json.dumps(kept, ensure_ascii=False)


def whole_number(value: object, most: int = MOST_TOKENS) -> int | None:
    """An untrusted count as an integer; None if it is not a valid one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= most else None


def dump(value: object) -> str:
    """JSON on one line, not escaped to ASCII unless it contains lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text
