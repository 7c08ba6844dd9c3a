"""Write settings to the user's own file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from co_tui.inert import one_line
from co_tui.kept_file import KeptFile, lock_of
from co_tui.paths import Paths, link_target
from co_tui.settings.all_settings import Settings, about, check
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import LIMIT_BYTES, parsed
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
    _put(key, paths, lambda _: (_spelled(key, kept), kept))
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

    def changed(keys: object) -> tuple[object, object]:
        others = {name: each for name, each in keys.items() if name != action} if isinstance(keys, Mapping) else {}
        kept = check("keys", others if key == DEFAULT else {**others, action: key})
        return _spelled("keys", kept), kept

    kept = _put("keys", paths, changed)
    assert isinstance(kept, Mapping)
    return kept.get(action, DEFAULT) or NO_KEY


def _write_rules(name: str, value: str, paths: Paths) -> object:
    """Add rules, or remove all with that effect; returns those that the user's file has then."""
    effect = next((each for each in EFFECTS if each == name), None)
    if effect is None:
        raise SettingsError(f"permissions has no {quoted(name)}. {HOW_TO_ADD}")
    if value == DEFAULT:
        rules = _put_rules(paths, lambda table: {each: table[each] for each in table if each != effect})
    elif added := [RuleInForce(effect, _rule(effect, text)) for text in split_rules(value)]:
        rules = _put_rules(paths, lambda table: _with_rules(table, added))
    else:
        raise SettingsError(_not_a_rule(value))
    return tuple(each for each in rules if each.effect == effect)


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
    known: Sequence[RuleInForce] = ()

    def added(table: _Rules) -> _Rules:
        nonlocal known
        known = read_permissions(table)
        return _with_rules(table, rules)

    _put_rules(paths, added)
    return [each for each in rules if each not in known]


def remove_permission(rule: RuleInForce, paths: Paths) -> None:
    """Remove a permission rule from the user's file. Raises `SettingsError`."""
    removed = (rule._replace(source=""),)
    _put_rules(
        paths,
        lambda table: {
            effect: [each for each in texts if read_permissions({effect: [each]}) != removed]
            for effect, texts in table.items()
        },
    )


_Rules: TypeAlias = dict[str, list[object]]
"""The user's rules as the file spells them."""


def _with_rules(table: _Rules, rules: Sequence[RuleInForce]) -> _Rules:
    changed = {effect: [*texts] for effect, texts in table.items()}
    for each in rules:
        if each not in read_permissions(changed):
            changed.setdefault(each.effect, []).append(str(each.rule))
    return changed


def _put_rules(paths: Paths, change: Callable[[_Rules], _Rules]) -> Sequence[RuleInForce]:
    """Change the user's rules; returns those that the file has then."""

    def changed(given: object) -> tuple[object, object]:
        table = table_in(given)
        check("permissions", table)
        assert isinstance(table, Mapping)
        after = change({effect: list(texts) for effect, texts in table.items()})
        return after, read_permissions(after)

    rules = _put("permissions", paths, changed)
    assert isinstance(rules, tuple)
    return rules


def add_server(name: str, started: str, paths: Paths) -> McpServer:
    """Add an MCP server to the user's file. Raises `SettingsError`."""

    def added(given: object) -> tuple[object, object]:
        servers = table_in(given)
        check("mcp_servers", servers)
        assert isinstance(servers, Mapping)
        if name in servers:
            raise SettingsError(f"There is an MCP server {quoted(name)} already. Choose another name.")
        table = {**servers, name: server_table(started)}
        return table, check("mcp_servers", table)

    kept = _put("mcp_servers", paths, added)
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


def remove(key: str, paths: Paths) -> None:
    """Remove a key from the user's file, so that weaker layers apply. Raises `SettingsError`."""
    _put(key, paths, lambda _: None)


def _put(key: str, paths: Paths, change: Callable[[object], tuple[object, object] | None]) -> object:
    """Change one key in the text of the user's file, and return its value. Raises `SettingsError`.

    `change` gets what the file sets it to, an empty table if nothing. It returns what is written, and the value that is
    read back from it; None removes the key.
    """
    file, kept = paths.config_file, None

    def read(text: str) -> tuple[str, dict[str, Any]]:
        try:
            text = text.removeprefix("\ufeff")  # as editors on Windows write it
            return text, parsed(text, file)
        except SettingsError as error:
            raise SettingsError(f"{error} Fix it first; nothing was saved.") from None

    def changed(before: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        nonlocal kept
        text, table = before
        if (decided := change(table.get(key, {}))) is not None:
            written, kept = decided
        if _says(table, key, kept) if decided is not None else key not in table:
            return before
        from co_tui.settings.toml_text import with_key, without_key  # slow to import, and most runs write nothing

        after = table
        try:
            text = with_key(text, key, written) if decided is not None else without_key(text, key)
            after = parsed(text, file)
        except ValueError:
            pass  # only the user can make that change
        except SettingsError as error:
            why = str(error).removeprefix(f"Cannot read {file}: ")
            raise SettingsError(f"{key} was not saved, because {file} could not be read again: {why}") from None
        is_done = _says(after, key, kept) if decided is not None else key not in after
        if not is_done or table | {key: None} != after | {key: None}:
            raise SettingsError(f"Cannot change {key} in {file} automatically. Edit the file.")
        return text, after

    lock = lock_of(file)  # of the name that every process knows, wherever a link leads
    kept_file = KeptFile(
        link_target(file), parse=read, written=lambda found: found[0], limit_bytes=LIMIT_BYTES, lock=lock
    )
    try:
        kept_file.change(changed)
    except OSError as error:
        raise SettingsError(f"Cannot write {file}: {error.strerror or error}; nothing was saved.") from None
    return kept


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
