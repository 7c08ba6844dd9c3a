"""How keys are written, everywhere: `Ctrl+P`, `Shift+Tab`, `F5`, `Esc`. Imports nothing."""

from typing import Final

_NAMES: Final = {
    "ctrl": "Ctrl",
    "alt": "Alt",
    "shift": "Shift",
    "escape": "Esc",
    "esc": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Del",
    "insert": "Ins",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "slash": "/",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}
_MODIFIERS: Final = ("ctrl", "alt", "shift")
_KEYS: Final = {"esc": "escape", "/": "slash", "?": "question_mark"}


def key_name(key: str) -> str:
    """A key as people write it; alternatives, separated by commas or spaces, are joined by a space."""
    return " ".join(_one(each) for each in key.replace(",", " ").split())


def _one(key: str) -> str:
    *modifiers, last = key.split("+") if len(key) > 1 and not key.endswith("+") else [key]
    if modifiers and all(each in _MODIFIERS for each in modifiers):
        return "+".join(
            [*(_NAMES[each] for each in modifiers), _NAMES.get(last, last.upper() if len(last) < 4 else last)]
        )
    return key.upper() if _is_function_key(key) else _NAMES.get(key, key)


def key_pressed(key: str) -> str:
    """The name of a key in bindings; empty for several keys, or for a symbol that is not a key."""
    if " " in key or "," in key or not key:
        return ""
    if "+" in key:
        return key
    is_letter = len(key) == 1 and key.isascii() and key.isalnum()
    return _KEYS.get(key, key if key in _NAMES or is_letter or _is_function_key(key) else "")


def _is_function_key(key: str) -> bool:
    return key[:1] == "f" and key[1:].isdigit()
