"""`.claude/settings.json` and `.claude/settings.local.json`: permissions, hooks and variables under our names."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from co_tui.settings.all_settings import check
from co_tui.settings.claude_code.json_files import shown_key
from co_tui.settings.hook_entries import HookEntry, hooks_as_table, mode_of, supported_hooks
from co_tui.settings.permission_rules import EFFECTS
from co_tui.settings.rules import SettingsError, quoted
from co_tui.trust import ProgramFile

SILENT: Final = frozenset(("$schema", "disabledMcpjsonServers", "disableAllHooks"))
"""Keys that need no word: used elsewhere, or without a meaning."""
HOOK_TIMEOUT_S: Final = 600
"""For a hook that names none, as in Claude Code."""
PROMPT_HOOK_TIMEOUT_S: Final = 30
OF_THE_PROGRAM: Final = ("ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_BASH_", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR")
"""Begin the names of variables about Claude Code itself, such as its key. Other programs use `CLAUDE_`, too."""
REASONS: Final = {
    "enableAllProjectMcpServers": "trust covers the servers of .mcp.json",
    "enabledMcpjsonServers": "trust covers the servers of .mcp.json",
}


def from_settings_json(name: str, found: Mapping[str, Any], *, hooks_off: bool = False) -> ProgramFile:
    """What a settings file of Claude Code sets here, and what has no effect. `hooks_off`: the project's files switch
    all of their hooks off."""
    reader = _Reader()
    for key, value in found.items():
        reader.take(key, value)
    if hooks_off and reader.settings.pop("hooks", None) is not None:
        reader.unused.append("hooks: disableAllHooks is on")
    return ProgramFile(name=name, settings=reader.settings, unused=tuple(dict.fromkeys(reader.unused)))


class _Reader:
    """Collects what is used and what is not."""

    def __init__(self) -> None:
        self.settings: dict[str, object] = {}
        self.unused: list[str] = []

    def take(self, key: str, value: object) -> None:
        match key, value:
            case "permissions", _:
                self._permissions(value)
            case "hooks", Mapping():
                self._hooks(value)
            case "env", Mapping():
                self._variables(value)
            case _ if key not in SILENT:
                reason = REASONS.get(key, "")
                self.unused.append(f"{shown_key(key)}{': ' if reason else ''}{reason}")

    def _permissions(self, value: object) -> None:
        if not isinstance(value, Mapping):
            self.settings["permissions"] = value  # refused later: it may deny something
            return
        if rules := {effect: value[effect] for effect in reversed(EFFECTS) if effect in value}:
            self.settings["permissions"] = rules
        for key in [key for key in value if key not in EFFECTS]:
            mode = mode_of(value[key]) if key == "defaultMode" and isinstance(value[key], str) else None
            if mode is not None:
                self.settings["mode"] = mode
            elif key == "additionalDirectories":
                self._folders(value[key])
            else:
                shown = f" = {quoted(value[key])}: there is no such mode" if key == "defaultMode" else ""
                self.unused.append(f"{shown_key('permissions', key)}{shown}")

    def _folders(self, value: object) -> None:
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            self.unused.append(f"{shown_key('permissions', 'additionalDirectories')}: it is not a list of folders")
        elif value:
            self.settings["add_dirs"] = value

    def _hooks(self, value: Mapping[object, object]) -> None:
        supported = supported_hooks(value)
        self.unused += [f"hooks.{each}" for each in supported.unused]
        kept: dict[str, tuple[HookEntry, ...]] = {}
        for event, entry in _single_hooks(supported.table):
            try:
                read = check("hooks", {event: entry})
            except SettingsError as error:
                self.unused.append(str(error))
                continue
            assert isinstance(read, Mapping)
            for name, entries in read.items():
                kept[name] = (*kept.get(name, ()), *(_with_limit(name, each) for each in entries))
        if kept:
            self.settings["hooks"] = {event: list(each) for event, each in hooks_as_table(kept).items()}

    def _variables(self, value: Mapping[str, object]) -> None:
        kept: dict[str, str] = {}
        for name, text in value.items():
            if name.upper().startswith(OF_THE_PROGRAM):
                self.unused.append(f"{shown_key('env', name)}: it is about Claude Code itself")
                continue
            try:
                read = check("env", {name: text})
            except SettingsError as error:
                self.unused.append(str(error))
                continue
            assert isinstance(read, Mapping)
            kept |= read
        if kept:
            self.settings["env"] = kept


def _single_hooks(table: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Each hook by itself, so that a bad one does not affect the others."""
    for event, entries in table.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, Mapping) and isinstance(nested := entry.get("hooks"), list):
                yield from ((event, {**entry, "hooks": [each]}) for each in nested)
            else:
                yield event, entry


def _with_limit(event: str, entry: HookEntry) -> HookEntry:
    default_s = PROMPT_HOOK_TIMEOUT_S if event == "userPromptSubmit" else HOOK_TIMEOUT_S
    return entry._replace(timeout_s=entry.timeout_s or default_s)
