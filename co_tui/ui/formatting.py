"""Numbers, durations and folders formatted for people."""

from co_tui.events.wording import counted, money, tokens
from co_tui.inert import one_line
from co_tui.paths import home_text

__all__ = ["counted", "money", "tokens"]

KEY_STYLE = "bold $footer-key-foreground"
"""Of a key in a line of hints."""
CHARS_PER_TOKEN = 4
"""An estimate while a reply streams; the provider's count comes at its end."""
IN_SECONDS_S = 100
"""Shorter times are shown in seconds only."""


def elapsed(seconds: float) -> str:
    """14 s, 3 min 20 s, 5 min, 2 h 5 min."""
    whole = round(seconds)
    if whole < IN_SECONDS_S:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def folder(path: str, limit: int = 60) -> str:
    """A folder on one line, with `~` for the home folder; a long one keeps its end."""
    shown = one_line(home_text(path), len(path) + 1)
    return shown if len(shown) <= limit else f"…{shown[1 - limit :]}"
