"""Write settings to the user's own file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from co_tui.inert import one_line
from co_tui.paths import Paths, link_target, write_atomically
from co_tui.settings.all_settings import Settings, about, check
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import parsed, read_text
from co_tui.settings.hook_entries import hooks_as_table
from co_tui.settings.key_choices import NO_KEY
from co_tui.settings.layers import SOURCE_SEPARATOR, Loaded
from co_tui.settings.mcp_servers import McpServer
from co_tui.settings.permission_rules import (
    EFFECTS,
    FORMS,
    Effect,
    Rule,
    RuleInForce,
    as_table,
    read_permissions,
    rule_for,
    split_rules,
)
from co_tui.settings.policies.policy_files import read_policy
from co_tui.settings.rules import ByWindow, SettingsError, quoted, table_in

KEY_PREFIX: Final = "keys."
"""Prefix of an action whose key is set by itself."""
RULES_PREFIX: Final = "permissions."
"""Prefix of `allow`, `ask` and `deny`, to which rules are added."""
HOW_TO_ADD: Final = 'To add a rule: permissions.allow "Bash(git log:*)", or permissions.ask, or permissions.deny.'
DEFAULT: Final = "default"
"""The value that restores the default."""


def setting_of(key: str) -> str:
    """The setting a name belongs to; `keys.compact` is part of `keys`."""
    return key.partition(".")[0] if key.startswith((KEY_PREFIX, RULES_PREFIX)) else key


def setting_label(key: str) -> str:
    """The name of a setting, or of one action's key, for people."""
    if key.startswith(KEY_PREFIX):
        return f"Key for {one_line(key.removeprefix(KEY_PREFIX), 40)}"
    return about(setting_of(key)).label


def resets(key: str, value: str) -> bool:
    """Whether the value means the default, so that the key is removed; `write` resets a part of a setting."""
    return value == DEFAULT and setting_of(key) == key


def write(key: str, value: str, paths: Paths, current: Settings | None = None) -> object:
    """Set a key in the user's file and return the converted value; the rest of the file is unchanged.

    Raises `SettingsError` for a bad value, or one that contradicts the `current` settings.
    """
    if key.startswith(KEY_PREFIX):
        return _write_key(key.removeprefix(KEY_PREFIX), value, paths)
    if key.startswith(RULES_PREFIX):
        return _write_rules(key.removeprefix(RULES_PREFIX), value, paths)
    try:
        kept = check(key, value)
    except SettingsError as error:
        raise SettingsError(f"{error} {HOW_TO_ADD}" if key == "permissions" else str(error)) from None
    if key == "permissions" and isinstance(kept, tuple):
        _require_rules(kept)
    if current is not None and (wrong := contradictions(current.but(**{key: kept}))):
        raise SettingsError(f"{wrong[0]} Nothing was saved.")
    if key == "policy":
        read_policy(str(kept), paths)
    _put(key, _spelled(key, kept), kept, paths.config_file)
    return kept


def _spelled(key: str, kept: object) -> object:
    """A value as people write it in the file."""
    if key == "keys" and isinstance(kept, Mapping):
        return {name: each or NO_KEY for name, each in kept.items()}
    if key == "permissions" and isinstance(kept, tuple):
        return as_table(kept)
    if key == "hooks" and isinstance(kept, Mapping):
        return hooks_as_table(kept)
    return str(kept) if isinstance(kept, ByWindow) else kept


def _write_key(action: str, key: str, paths: Paths) -> object:
    """Set one action's key; the others keep theirs."""
    _, before = _file(paths.config_file)
    table = before.get("keys", {})
    others = {name: each for name, each in table.items() if name != action} if isinstance(table, Mapping) else {}
    kept = check("keys", others if key == DEFAULT else {**others, action: key})
    assert isinstance(kept, Mapping)
    _put("keys", _spelled("keys", kept), kept, paths.config_file)
    return kept.get(action, DEFAULT) or NO_KEY


def _write_rules(name: str, value: str, paths: Paths) -> object:
    """Add rules, or remove all with that effect; returns those that the user's file has then."""
    effect = next((each for each in EFFECTS if each == name), None)
    if effect is None:
        raise SettingsError(f"permissions has no {quoted(name)}. {HOW_TO_ADD}")
    if value == DEFAULT:
        table = {each: texts for each, texts in _own_permissions(paths).items() if each != effect}
        _put("permissions", table, read_permissions(table), paths.config_file)
    elif rules := [RuleInForce(effect, _rule(effect, text)) for text in split_rules(value)]:
        add_permissions(rules, paths)
    else:
        raise SettingsError(_not_a_rule(value))
    return tuple(each for each in read_permissions(_own_permissions(paths)) if each.effect == effect)


def add_permission(effect: Effect, text: str, paths: Paths) -> RuleInForce:
    """Add a permission rule to the user's file. Raises `SettingsError`."""
    rule = RuleInForce(effect, _rule(effect, text))
    add_permissions([rule], paths)
    return rule


def _rule(effect: Effect, text: str) -> Rule:
    try:
        return rule_for(effect, text)
    except ValueError:
        raise SettingsError(_not_a_rule(text)) from None


def _require_rules(rules: Sequence[RuleInForce]) -> None:
    """Raises `SettingsError` for a text that is not a rule."""
    for each in rules:
        if not each.rule.tool:
            raise SettingsError(f"{_not_a_rule(str(each.rule))} Nothing was saved.")


def _not_a_rule(text: str) -> str:
    return f"{quoted(text)} is not a rule. Examples: {FORMS}."


def add_permissions(rules: Sequence[RuleInForce], paths: Paths) -> list[RuleInForce]:
    """Add several rules; returns the new ones."""
    table = _own_permissions(paths)
    known = read_permissions(table)
    added = [each for each in rules if each not in known]
    for each in added:
        table.setdefault(each.effect, []).append(str(each.rule))
    if added:
        _put("permissions", table, read_permissions(table), paths.config_file)
    return added


def remove_permission(rule: RuleInForce, paths: Paths) -> None:
    """Remove a permission rule from the user's file. Raises `SettingsError`."""
    removed = (rule._replace(source=""),)
    table = {
        effect: [each for each in texts if read_permissions({effect: [each]}) != removed]
        for effect, texts in _own_permissions(paths).items()
    }
    _put("permissions", table, read_permissions(table), paths.config_file)


def _own_permissions(paths: Paths) -> dict[str, list[object]]:
    """The user's rules as the file spells them."""
    _, settings = _file(paths.config_file)
    table = table_in(settings.get("permissions", {}))
    check("permissions", table)
    assert isinstance(table, Mapping)
    return {effect: list(texts) for effect, texts in table.items()}


def add_server(name: str, started: str, paths: Paths) -> McpServer:
    """Add an MCP server to the user's file. Raises `SettingsError`."""
    servers = _own_servers(paths)
    if name in servers:
        raise SettingsError(f"There is an MCP server {quoted(name)} already. Choose another name.")
    table = {**servers, name: server_table(started)}
    kept = check("mcp_servers", table)
    _put("mcp_servers", table, kept, paths.config_file)
    assert isinstance(kept, Mapping)
    server = kept[name]
    assert isinstance(server, McpServer)
    return server


def server_table(started: str) -> dict[str, object]:
    """The entry of an MCP server that is reached at an address, or started by a command line. Raises
    `SettingsError`."""
    scheme, separator, rest = started.partition("://")
    if separator and scheme.lower() in ("http", "https"):
        return {"url": f"{scheme.lower()}://{rest}"}
    import shlex

    try:
        words = shlex.split(started)
    except ValueError:
        raise SettingsError("The command has an open quote.") from None
    if not words:
        raise SettingsError("Write a command, or an address that starts with https://.")
    if _is_variable(words[0]):
        raise SettingsError(f"{quoted(words[0])} is not a program. Set variables with `env` in config.toml.")
    if words[0].startswith("~"):
        raise SettingsError(f"Write the whole path instead of {quoted(words[0])}.")
    return {"command": words[0], **({"args": words[1:]} if words[1:] else {})}


def _is_variable(word: str) -> bool:
    """Whether a shell would take the word as a variable that is set for the command after it."""
    name, separator, _ = word.partition("=")
    return bool(separator) and name.isidentifier()


def _own_servers(paths: Paths) -> dict[str, object]:
    """The user's MCP servers as the file spells them."""
    _, settings = _file(paths.config_file)
    table = table_in(settings.get("mcp_servers", {}))
    check("mcp_servers", table)
    assert isinstance(table, Mapping)
    return dict(table)


def remove(key: str, paths: Paths) -> None:
    """Remove a key from the user's file, so that weaker layers apply. Raises `SettingsError`."""
    file = paths.config_file
    text, before = _file(file)
    if key in before:
        from co_tui.settings.toml_text import without_key

        try:
            changed = without_key(text, key)
            after = parsed(changed, file)
        except (ValueError, SettingsError):
            after = before
        if after != {name: each for name, each in before.items() if name != key}:
            raise SettingsError(f"Cannot change {key} in {file} automatically. Edit the file.")
        _save(file, changed)


def _file(file: Path) -> tuple[str, dict[str, Any]]:
    """The user's file as text and as a table. Raises `SettingsError`."""
    try:
        text = read_text(file) if file.exists() else ""
        return text, parsed(text, file)
    except SettingsError as error:
        raise SettingsError(f"{error} Fix it first; nothing was saved.") from None


def _put(key: str, written: object, kept: object, file: Path) -> None:
    """Write a value so that it reads back as `kept`. Raises `SettingsError`."""
    text, before = _file(file)
    if not _says(before, key, kept):
        text = _changed(text, before, key, written, kept, file)
    _save(file, text)


def _save(file: Path, text: str) -> None:
    try:
        write_atomically(link_target(file), text)
    except OSError as error:
        raise SettingsError(f"Cannot write {file}: {error.strerror or error}.") from None


def _changed(text: str, before: dict[str, Any], key: str, written: object, kept: object, file: Path) -> str:
    """The file's text with only the key changed. Raises `SettingsError`."""
    from co_tui.settings.toml_text import with_key  # slow to import, and most runs write nothing

    try:
        changed = with_key(text, key, written)
        after = parsed(changed, file)
        if _says(after, key, kept) and before | {key: None} == after | {key: None}:
            return changed
    except (ValueError, SettingsError):
        pass
    raise SettingsError(f"Cannot change {key} in {file} automatically. Edit the file.")


def _says(table: Mapping[str, object], key: str, kept: object) -> bool:
    """Whether the table sets the key to that value, however spelled."""
    try:
        return key in table and check(key, table[key]) == kept
    except SettingsError:
        return False


def caveat(key: str, loaded: Loaded, paths: Paths) -> str:
    """Why a value just written to the user's file has no effect; empty when it has."""
    source = loaded.origins[setting_of(key)].source
    weaker = (str(paths.config_file), "default", f"policy {loaded.settings.policy}")
    if source not in weaker and str(paths.config_file) not in source.split(SOURCE_SEPARATOR):
        return f" It has no effect while {source} says {quoted(loaded.origins[setting_of(key)].value)}."
    idle = unused(loaded.settings).get(key)
    return f" It is {idle}." if idle else ""
