"""Which files of a backup decide what runs, who gets the conversation, or what is allowed without a question.

They are the user's own only if the backup is: they are restored when the user says so.
"""

from pathlib import Path
from typing import Final

from co_tui.events.decisions import PUBLIC_MODEL
from co_tui.exchange.backup.names import APPROVALS, SETTINGS
from co_tui.settings.context_settings import ContextSettings
from co_tui.settings.files import LIMIT_BYTES, parsed
from co_tui.settings.policy_files import built_in_names
from co_tui.settings.rules import SettingsError

_FOLDERS: Final = ("config/skills/", "config/agents/", "config/commands/")
_HARMLESS: Final = frozenset(
    (
        *ContextSettings.FIELDS,
        *("reasoning_effort", "theme", "reduced_motion", "images", "notifications", "keys", "compaction_timeout_s"),
        *("memory_limit_mb", "agent_max_steps", "max_session_cost", "max_daily_cost", "command_timeout_s"),
        *("retention_days", "daily_memory", "memory_search", "board_tokens", "board_updates", "request_timeout_s"),
        *("max_retries", "hook_timeout_s"),
    )
)
"""Settings that run nothing, allow nothing and send nothing elsewhere."""


def is_running_part(name: str) -> bool:
    """Whether a file has to be looked at, or needs a yes by its name alone."""
    is_policy = name.startswith("config/policies/") and not name.endswith(".toml")
    return is_policy or name in (SETTINGS, APPROVALS) or name.startswith(_FOLDERS)


def reason_to_ask(name: str, content: bytes) -> str:
    """Why a file needs a yes, for people; empty when it needs none."""
    if name == SETTINGS:
        settings = _deciding_settings(content)
        return f"sets {', '.join(settings)}" if settings else ""
    if name == APPROVALS:
        return "allows tools without a question"
    return "can decide what runs" if is_running_part(name) else ""


def _deciding_settings(content: bytes) -> list[str]:
    try:
        table = parsed(content[: LIMIT_BYTES + 1].decode(), Path(SETTINGS))
    except (SettingsError, UnicodeDecodeError):
        return ["what cannot be read"]
    if len(content) > LIMIT_BYTES:
        return ["too much"]
    return sorted(key[:40] for key, value in table.items() if not _is_harmless(key, value))


def _is_harmless(key: str, value: object) -> bool:
    match key, value:
        case (("model" | "summarization_model"), str(name)):
            return PUBLIC_MODEL.fullmatch(name) is not None
        case "policy", str(name):  # a policy of one's own may be withheld, and nothing starts without it
            return name in built_in_names()
        case "mode", ("ask" | "plan"):
            return True
        case "permissions", dict(table):
            return not table.get("allow")
        case _:
            return key in _HARMLESS
