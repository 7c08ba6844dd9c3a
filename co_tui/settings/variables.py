"""The setting `env`: variables for commands, hooks and MCP servers."""

import re
from collections.abc import Mapping
from typing import Final

from co_tui.settings.rules import NamesOnly, PartRefused, Rule, table_in

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
OURS: Final = "CO_TUI_"
"""Begins the names of variables that are about co-tui itself."""
PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"
"""Where scripts for Claude Code look for the project they run in."""
LONGEST_CHARS: Final = 10_000
MOST_VARIABLES: Final = 200
_ALLOWED: Final = "a table of names and texts"
HIDDEN: Final = "[hidden]"
"""Replaces a bad value, which may be a key."""
NO_VARIABLES: Final = NamesOnly()


def variable_table() -> Rule:
    """Variables that reach commands, hooks and servers, and nothing of co-tui itself."""
    return Rule(f"{_ALLOWED}; or none", _read)


def _read(value: object) -> object:
    try:
        value = table_in(value)
    except (ValueError, RecursionError):
        raise PartRefused("", HIDDEN, _ALLOWED) from None
    if not isinstance(value, Mapping) or len(value) > MOST_VARIABLES:
        raise PartRefused("", HIDDEN, f"{_ALLOWED}, at most {MOST_VARIABLES}")
    return NamesOnly({name: _text(name, each) for name, each in value.items()})


def _text(name: str, value: object) -> str:
    if not re.fullmatch(_NAME, name) or name.upper().startswith(OURS):
        raise PartRefused(name[:40], HIDDEN, f"letters, digits and _ for its name, and none that begins with {OURS}")
    if isinstance(value, bool):
        value = "true" if value else "false"
    text = str(value) if isinstance(value, int | float) else value
    if not isinstance(text, str) or "\0" in text or len(text) > LONGEST_CHARS:
        raise PartRefused(name, HIDDEN, f"a text of at most {LONGEST_CHARS:,} characters")
    return text
