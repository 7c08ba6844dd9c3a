"""Parses the usual starts of the app without argparse, which is slow to import."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Final

from co_tui.inert import shell_text

_FLAGS: Final = {"--continue": "resume_latest", "--private": "private"}
_VALUES: Final = {"--model": "model", "--policy": "policy", "--mode": "mode", "--resume": "resume"}


def plain_start(arguments: Sequence[str]) -> SimpleNamespace | None:
    """The options of a start without a command, each written in full and once; None leaves the rest to the parser."""
    found: dict[str, str | bool] = {}
    words = list(arguments)
    while words:
        name = words.pop(0)
        field = _FLAGS.get(name) or _VALUES.get(name)
        if field is None or field in found:
            return None
        if name in _FLAGS:
            found[field] = True
        elif words and words[0] and not words[0].startswith("-"):
            found[field] = shell_text(words.pop(0))
        elif name == "--resume" and not words:
            found[field] = ""
        else:
            return None
    if len(found.keys() & {"resume", "resume_latest", "private"}) > 1:
        return None
    return SimpleNamespace(**{"command": None, "resume": None, "resume_latest": False, **found})
