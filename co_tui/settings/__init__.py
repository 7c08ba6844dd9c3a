"""Settings: what can be set, where each value came from, and how to change it.

May import `trust`, `paths`, `record` and the modules below; nothing heavy, since the first paint needs it.
"""

from co_tui.settings.agent_files import AgentFile, AgentFiles
from co_tui.settings.all_settings import Settings, SettingsError, about, check, rules, unknown_key
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import policy_description, policy_names, read_text
from co_tui.settings.governing import Governing
from co_tui.settings.layers import (
    COMMAND_LINE,
    DEBUG_VARIABLE,
    RESUMED,
    Loaded,
    Origin,
    agents_in_force,
    load,
    project_wish,
    told_agents,
    told_waiting,
    told_wish,
    wished,
)
from co_tui.settings.rules import GROUPS, About, SettingGroup, shown, told
from co_tui.settings.writing import caveat, remove, setting_of, write

__all__ = [
    "COMMAND_LINE",
    "DEBUG_VARIABLE",
    "GROUPS",
    "RESUMED",
    "About",
    "AgentFile",
    "AgentFiles",
    "Governing",
    "Loaded",
    "Origin",
    "SettingGroup",
    "Settings",
    "SettingsError",
    "about",
    "agents_in_force",
    "caveat",
    "check",
    "contradictions",
    "load",
    "policy_description",
    "policy_names",
    "project_wish",
    "read_text",
    "remove",
    "rules",
    "setting_of",
    "shown",
    "told",
    "told_agents",
    "told_waiting",
    "told_wish",
    "unknown_key",
    "unused",
    "wished",
    "write",
]
