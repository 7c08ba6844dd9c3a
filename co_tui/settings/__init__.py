"""Settings: what can be set, where each value came from, and setting it."""

from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import policy_names, read_text
from co_tui.settings.layers import COMMAND_LINE, DEBUG_VARIABLE, Loaded, Origin, load, project_wish, told_wish
from co_tui.settings.rules import shown, told
from co_tui.settings.values import Governing, Settings, SettingsError, check, rules, unknown_key
from co_tui.settings.writing import caveat, write

__all__ = [
    "COMMAND_LINE",
    "DEBUG_VARIABLE",
    "Governing",
    "Loaded",
    "Origin",
    "Settings",
    "SettingsError",
    "caveat",
    "check",
    "contradictions",
    "load",
    "policy_names",
    "project_wish",
    "read_text",
    "rules",
    "shown",
    "told",
    "told_wish",
    "unknown_key",
    "unused",
    "write",
]
