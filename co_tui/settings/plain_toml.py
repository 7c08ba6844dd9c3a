"""Reads the TOML that most settings files are written in, without the parser, which is slow to import."""

from typing import Any, Final

_MOST_DIGITS: Final = 15
_WORDS: Final = {"true": True, "false": False}


def plain_table(text: str) -> dict[str, Any] | None:
    """The table, if every line is empty, a comment, a `[name]`, or `name = value` with a text without escapes, a
    whole number, a decimal number, or true or false. None leaves everything else, mistakes included, to the parser."""
    table: dict[str, Any] = {}
    current = table
    value: Any
    for line in text.split("\n"):
        line = line.strip(" ")
        if not line.isprintable():
            return None
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name, current = line[1:-1], {}
            into, value = table, current
            if not line.endswith("]"):
                return None
        else:
            name, _, written = line.partition("=")
            name, into, value = name.rstrip(" "), current, _value(written.lstrip(" "))
        if value is None or name in into or not _is_name(name):
            return None
        into[name] = value
    return table


def _is_name(name: str) -> bool:
    return name.isascii() and name.replace("_", "").replace("-", "").isalnum()


def _value(written: str) -> str | float | None:
    if len(written) >= 2 and written[0] == written[-1] == '"':
        inner = written[1:-1]
        return None if '"' in inner or "\\" in inner else inner
    whole, dot, part = written.partition(".")
    if _is_number(whole) and (not dot or _is_number(f"1{part}")):
        return float(written) if dot and part else None if dot else int(whole)
    return _WORDS.get(written)


def _is_number(digits: str) -> bool:
    is_short = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    return is_short and (digits == "0" or not digits.startswith("0"))
