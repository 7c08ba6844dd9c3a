"""Alerts the user through the terminal, by notification or bell."""

from collections.abc import Mapping
from typing import Final

from co_tui.inert import one_line

LONG_TURN_S: Final = 20.0
"""After a turn this long the user is alerted."""
LIMIT_ALERTS: Final = {
    "steps": "stopped at the step limit",
    "spending": "stopped at the spending limit",
    "repeated_call": "stopped: it repeated the same call",
}
"""By the kind of error that ends a turn."""
BELL: Final = "\a"
NAME_CHARS: Final = 60
_BY_OSC_9: Final = ("iterm", "wezterm", "ghostty", "kitty")
_BY_OSC_777: Final = ("foot", "rxvt")
_NAMED_BY: Final = ("TERM_PROGRAM", "LC_TERMINAL", "TERM")
_MARKS: Final = {
    "KITTY_WINDOW_ID": "kitty",
    "WEZTERM_PANE": "wezterm",
    "ITERM_SESSION_ID": "iterm",
    "GHOSTTY_RESOURCES_DIR": "ghostty",
}
"""Variables of a terminal that are still set inside of tmux, which replaces its name."""


def alert_sequence(text: str, environ: Mapping[str, str], setting: str, session: str = "") -> str:
    """The escape sequence of an alert; empty when switched off.

    `text` must be ours; `session` is the session's title, which a model may have written: it is made inert. Inside of
    tmux the notification is wrapped, which passes it on if `allow-passthrough` is set; the bell marks the window.
    """
    if setting == "off":
        return ""
    kind = _kind(environ) if setting == "on" else setting
    if kind == "bell" or environ.get("STY"):  # screen does not pass on the rest
        return BELL
    # A semicolon would end the field.
    words = f"{one_line(session, NAME_CHARS)}: {text}".removeprefix(": ").replace(";", ",")
    notice = f"\x1b]9;co-tui: {words}{BELL}" if kind == "osc9" else f"\x1b]777;notify;co-tui;{words}{BELL}"
    if not environ.get("TMUX"):
        return notice
    return f"\x1bPtmux;{notice.replace(chr(27), chr(27) * 2)}\x1b\\{BELL}"


def _kind(environ: Mapping[str, str]) -> str:
    """What the terminal understands, as far as its variables tell."""
    marks = [name for variable, name in _MARKS.items() if environ.get(variable)]
    names = " ".join((*(environ.get(name, "") for name in _NAMED_BY), *marks)).lower()
    if any(name in names for name in _BY_OSC_9):
        return "osc9"
    return "osc777" if any(name in names for name in _BY_OSC_777) else "bell"
