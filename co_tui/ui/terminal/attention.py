"""Alerts the user through the terminal, by notification or bell."""

from collections.abc import Mapping
from typing import Final

LONG_TURN_S: Final = 20.0
"""After a turn this long the user is alerted."""
BELL: Final = "\a"
_BY_OSC_9: Final = ("iterm", "wezterm", "ghostty", "kitty")
_BY_OSC_777: Final = ("foot", "rxvt")


def alert_sequence(text: str, environ: Mapping[str, str], setting: str) -> str:
    """The escape sequence of an alert; `text` must be ours, never a model's. Empty when switched off.

    Multiplexers get the bell: they do not pass on the rest.
    """
    if setting == "off":
        return ""
    if setting == "bell" or environ.get("TMUX") or environ.get("STY"):
        return BELL
    names = f"{environ.get('TERM_PROGRAM', '')} {environ.get('TERM', '')}".lower()
    if any(name in names for name in _BY_OSC_9):
        return f"\x1b]9;co-tui: {text}{BELL}"
    if any(name in names for name in _BY_OSC_777):
        return f"\x1b]777;notify;co-tui;{text}{BELL}"
    return BELL
