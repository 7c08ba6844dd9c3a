"""Settings: what can be set, where each value came from, and how to change it.

May import `trust`, `paths`, `record` and the modules below; nothing heavy, since the first paint needs it.
"""

from co_tui.paths import DEBUG_VARIABLE
from co_tui.settings.all_settings import Settings, about, check, rules, unknown_key
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.context_settings import ContextSettings
from co_tui.settings.files import read_text
from co_tui.settings.layers import ABOVE_RESUMED, COMMAND_LINE, RESUMED, Loaded, Origin, load, load_resumed
from co_tui.settings.markdown.agent_files import AgentFile, AgentFiles
from co_tui.settings.markdown.command_files import CommandFile, CommandFiles
from co_tui.settings.policies.policy_files import (
    PolicyGroup,
    is_policy_path,
    policy_description,
    policy_groups,
    policy_label,
    policy_names,
    read_policy,
)
from co_tui.settings.rules import GROUPS, About, SettingGroup, SettingsError, quoted, value_text
from co_tui.settings.trust_requests import (
    agents_in_force,
    commands_in_force,
    found_own_files,
    instructions_in_force,
    own_skill_folders,
    project_trust_request,
)

__all__ = [
    "ABOVE_RESUMED",
    "COMMAND_LINE",
    "DEBUG_VARIABLE",
    "GROUPS",
    "RESUMED",
    "About",
    "AgentFile",
    "AgentFiles",
    "CommandFile",
    "CommandFiles",
    "ContextSettings",
    "Loaded",
    "Origin",
    "PolicyGroup",
    "SettingGroup",
    "Settings",
    "SettingsError",
    "about",
    "agents_in_force",
    "check",
    "commands_in_force",
    "contradictions",
    "found_own_files",
    "instructions_in_force",
    "is_policy_path",
    "load",
    "load_resumed",
    "own_skill_folders",
    "policy_description",
    "policy_groups",
    "policy_label",
    "policy_names",
    "project_trust_request",
    "quoted",
    "read_policy",
    "read_text",
    "rules",
    "unknown_key",
    "unused",
    "value_text",
]
