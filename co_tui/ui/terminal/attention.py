"""Calling somebody back who looks elsewhere, in the way their terminal has for it."""

from collections.abc import Mapping
from typing import Final

LONG_TURN_S: Final = 20.0
"""Whoever waits so long may have gone elsewhere."""
BELL: Final = "\a"
_BY_OSC_9: Final = ("iterm", "wezterm", "ghostty", "kitty")
_BY_OSC_777: Final = ("foot", "rxvt")


def call_back(words: str, environ: Mapping[str, str], setting: str) -> str:
    """What has to be written to the terminal; `words` are ours, never a model's. Nothing when it is switched off.

    A multiplexer shows its own sign at the bell, and would not pass on the rest.
    """
    if setting == "off":
        return ""
    if setting == "bell" or environ.get("TMUX") or environ.get("STY"):
        return BELL
    names = f"{environ.get('TERM_PROGRAM', '')} {environ.get('TERM', '')}".lower()
    if any(name in names for name in _BY_OSC_9):
        return f"\x1b]9;co-tui: {words}{BELL}"
    if any(name in names for name in _BY_OSC_777):
        return f"\x1b]777;notify;co-tui;{words}{BELL}"
    return BELL
