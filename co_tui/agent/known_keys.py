"""Take known keys out of what tools return, on its way into the log and the next request (X2).

Known are the keys in the environment, those kept by `co-tui login`, and those typed in this process. What is replaced
says which key it was, so that the model does not take it for the content.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from co_tui.agent.redact import KEY_VARIABLES, SHORTEST_KEY_CHARS, is_secret_name, remembered_secrets

_WORD: Final = re.compile(r"\d+|[/~.].*|\w+://[^@]*", re.DOTALL)
"""Values of other variables than the providers' that also are ordinary numbers, paths or addresses."""
_NAME: Final = re.compile(r"(?:[A-Za-z]+\d{0,4}|\d{1,4})(?:[-_.:+ ](?:[A-Za-z]+\d{0,4}|\d{1,4}))*")
"""Those that are made of ordinary words and short numbers, such as `shop-dev-1`: files hold them for other reasons."""
LONG_KEY_CHARS: Final = 20
"""From here on, such a name is a key."""
_PLACEHOLDER: Final = re.compile(r"\[(?P<name>[A-Z][A-Z0-9_]*|(?P<of>key of [^\]\n]{1,100})) removed\]")
"""What may have been put in place of a key that is no longer known here."""


class KeyNotThere(Exception):
    """A text names a removed key that cannot be put back; the text says why."""


class KnownKeys:
    """The keys that no result may hold, each with the name of what it belongs to."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        self.add(environ or {})

    def add(self, environ: Mapping[str, str]) -> None:
        """Count the keys among these variables as known."""
        for name, value in environ.items():
            is_key = name in KEY_VARIABLES or (is_secret_name(name) and _is_random(value))
            if is_key and len(value) >= SHORTEST_KEY_CHARS:
                self._names.setdefault(value, name)

    @property
    def replacements(self) -> dict[str, str]:
        """What is put in place of each key, in every form in which programs write it; longest first, so that replacing
        one never leaves part of a longer one."""
        named = {**{key: name or "key" for key, name in remembered_secrets().items()}, **self._names}
        found: dict[str, str] = {}
        for key, name in named.items():
            for form in (key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1], quote(key, safe="")):
                found.setdefault(form, f"[{name} removed]")
        return dict(sorted(found.items(), key=lambda each: len(each[0]), reverse=True))

    def removed_from(self, text: str) -> str:
        """The text without known keys."""
        for key, replacement in self.replacements.items():
            text = text.replace(key, replacement)
        return text

    def removed_from_all(self, value: Any) -> Any:
        """JSON-ready data without known keys in its texts and names; equal to the input if there were none."""
        replacements = self.replacements
        return _removed(value, replacements) if replacements else value

    def put_back(self, text: str, there: str) -> str:
        """A text for a file that holds `there`, with the file's own keys in place of what was put there for the model.

        Raises `KeyNotThere` if the file holds no such key, or several.
        """
        forms: dict[str, list[str]] = {
            found[0]: []
            for found in _PLACEHOLDER.finditer(text)
            if found["name"] in KEY_VARIABLES or found["of"] or is_secret_name(found["name"])
        }
        rest = there
        for form, placeholder in self.replacements.items():
            if placeholder in text:
                forms.setdefault(placeholder, [])
            if form in rest:
                forms.get(placeholder, []).append(form)
                rest = rest.replace(form, "\0")  # a shorter key may be part of a longer one
        for placeholder, found in forms.items():
            found += [placeholder] if placeholder in there else []
            if len(found) != 1:
                why = "several texts of this file are shown so" if found else "this file does not hold that key"
                raise KeyNotThere(
                    f"{placeholder} is in place of a key that is not shown to you, and {why}; change only other lines, "
                    "and write it nowhere else."
                )
        if not forms:
            return text
        return re.sub("|".join(map(re.escape, forms)), lambda each: forms[each[0]][0], text)

    def filter(self) -> "KeyFilter":
        """For output that comes in pieces."""
        return KeyFilter(self)


class KeyFilter:
    """Takes keys out of a stream of bytes, also where one is split between pieces."""

    def __init__(self, keys: KnownKeys) -> None:
        self._keys = keys
        self._held = b""
        """The end of the stream that may be the beginning of a key."""

    def take(self, piece: bytes) -> bytes:
        """What can be passed on after the next piece."""
        data, held = self._held + piece, 0
        for key, replacement in self._keys.replacements.items():
            data = data.replace(key.encode(), replacement.encode())
        for key in self._keys.replacements:
            begins = key.encode()
            longest = min(len(begins) - 1, len(data))
            held = max(held, next((n for n in range(longest, held, -1) if data.endswith(begins[:n])), 0))
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def end(self) -> bytes:
        """What was held back, once nothing more comes."""
        held, self._held = self._held, b""
        return held


def _is_random(value: str) -> bool:
    """Whether a value is no ordinary text: it is random, or long."""
    return not _WORD.fullmatch(value) and (len(value) >= LONG_KEY_CHARS or not _NAME.fullmatch(value))


def _removed(value: Any, replacements: Mapping[str, str]) -> Any:
    match value:
        case str():
            for key, replacement in replacements.items():
                value = value.replace(key, replacement)
            return value
        case {"kind": "binary"}:
            return value  # images: no text, and long
        case Mapping():
            return {_removed(str(key), replacements): _removed(each, replacements) for key, each in value.items()}
        case list() | tuple():
            return [_removed(each, replacements) for each in value]
        case _:
            return value
