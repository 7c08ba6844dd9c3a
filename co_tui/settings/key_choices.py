"""Validate the setting `keys`: which keys each action may have."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from co_tui.actions import COMMANDS, KEYS, KeyScope
from co_tui.key_names import key_name
from co_tui.nearest import nearest
from co_tui.settings.rules import PartRefused, Rule, quoted, table_in

NO_KEY: Final = "none"
_NAMED: Final = "up|down|left|right|home|end|pageup|pagedown|insert|delete|enter|space|backspace|tab|escape"
_KEY: Final = rf"(?:(?:ctrl|alt|shift)\+){{0,3}}(?:f(?:[1-9]|1\d|2[0-4])|{_NAMED}|[a-z0-9]|[^\w\s])"
_SAME_BYTE: Final = {"ctrl+m": "enter", "ctrl+i": "tab", "ctrl+h": "backspace", "ctrl+[": "escape"}
_TAKEN: Final = {"ctrl+c": "copying and stopping", "ctrl+p": "the palette", "escape": "stopping and going back"}
_TYPING_KEYS: Final = ("enter", "tab", "shift+tab", "space", "backspace", "delete", "up", "down", "left", "right")
"""Keys needed for typing, in lists and for moving the focus."""
_LETTER: Final = "[a-z0-9]"
_GIVING_WAY: Final = ("background",)
"""Actions that leave their default key to another one for which the user chose it."""
_NO_LETTERS: Final[tuple[KeyScope, ...]] = ("anywhere", "prompt")
ALLOWED: Final = "keys by action, such as compact=F12, compact_letter=j, folds=none; or none"


def default_keys() -> dict[str, str]:
    """Each action's default key; empty for none."""
    return {row.name: row.key for row in (*COMMANDS, *KEYS)}


def default_letters() -> dict[str, str]:
    """Each command's letter after the leader key, by its name in the setting; empty for none."""
    return {command.letter_name: command.letter for command in COMMANDS}


def scope_of(name: str) -> KeyScope:
    return next((row.where for row in KEYS if row.name == name), "anywhere")


def key_table() -> Rule:
    def read(value: object) -> object:
        if isinstance(value, str):
            value = _pairs(value) if "=" in value.partition("{")[0] else table_in(value)
        if not isinstance(value, Mapping):
            raise ValueError
        chosen = {str(name): _read_key(str(name), key) for name, key in value.items()}
        keys = default_keys()
        given_up = {name: "" for name in _GIVING_WAY if name not in chosen and keys[name] in chosen.values()}
        chosen |= given_up
        for name, advice in _clashes(chosen):
            raise PartRefused(name, quoted(key_name(chosen[name])), advice)
        return chosen

    return Rule(ALLOWED, read)


def _pairs(text: str) -> dict[str, str]:
    """Parse `compact=f7, new=f5`. Raises ValueError."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(equals for _, equals, _ in parts):
        raise ValueError
    return {name.strip(): key.strip().strip("'\"") for name, _, key in parts}


def _read_key(name: str, key: object) -> str:
    """The key, empty when switched off. Raises `PartRefused`."""
    known = default_keys()
    if name in default_letters():
        return _read_letter(name, key)
    if name not in known:
        close = nearest(name, (*known, *default_letters()))
        hint = f" (did you mean {close}?)" if close else "; /help lists them"
        raise PartRefused(name, quoted(key), f"the key of an action that exists{hint}")
    text = key.strip().lower() if isinstance(key, str) else ""
    if text == NO_KEY:
        return ""
    problem = _problem(text, scope_of(name)) if text not in known[name].split(",") else ""
    if problem:
        raise PartRefused(name, quoted(key), problem)
    return text


def _read_letter(name: str, key: object) -> str:
    """The letter after the leader key, empty when switched off. Raises `PartRefused`."""
    text = key.strip().lower() if isinstance(key, str) else ""
    if text != NO_KEY and not re.fullmatch(_LETTER, text):
        raise PartRefused(name, quoted(key), "a letter or a digit, or none")
    return "" if text == NO_KEY else text


def _problem(key: str, scope: KeyScope) -> str:
    """What the key must be instead; empty when it is fine."""
    if not re.fullmatch(_KEY, key):
        return "a key such as F7, Ctrl+G or Alt+X, or none"
    if key in _SAME_BYTE:
        return f"another key: terminals send {key_name(key)} as {key_name(_SAME_BYTE[key])}"
    if key in _TAKEN:
        return f"another key: {key_name(key)} is for {_TAKEN[key]}"
    if scope in _NO_LETTERS and (len(key.removeprefix("shift+")) == 1 or key in _TYPING_KEYS):
        return f"a key that is not needed for writing: {key_name(key)} is"
    return ""


def _clashes(chosen: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Choices whose key another action already has in the same scope, each with advice."""
    for defaults in (default_keys(), default_letters()):
        keys = {name: chosen.get(name, key) for name, key in defaults.items()}
        for name, key in chosen.items():
            for other, its_key in keys.items() if name in keys else ():
                if other != name and key in its_key.split(",") and key and _overlap(scope_of(name), scope_of(other)):
                    yield name, f"another key: {key_name(key)} already runs {other}"


def _overlap(one: KeyScope, other: KeyScope) -> bool:
    return one == other or "anywhere" in (one, other)
