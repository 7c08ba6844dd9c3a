"""Writing a setting into the user's own file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from co_tui.paths import Paths, write_atomically
from co_tui.settings.all_settings import Settings, SettingsError, check
from co_tui.settings.by_window import ByWindow
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import parsed, policy_file, policy_names, read_text
from co_tui.settings.key_choices import NO_KEY
from co_tui.settings.layers import BOTH, Loaded
from co_tui.settings.permission_rules import FORMS, Effect, RuleInForce, as_table, parse_rule, read_permissions
from co_tui.settings.rules import shown

KEY_PREFIX: Final = "keys."
"""Before the name of an action whose key is set alone."""
DEFAULT: Final = "default"
"""The value that takes the key of an action back."""


def setting_of(key: str) -> str:
    """The setting that a key belongs to; `keys.compact` is a part of `keys`."""
    return "keys" if key.startswith(KEY_PREFIX) else key


def write(key: str, value: str, paths: Paths, present: Settings | None = None) -> object:
    """Set a key in the user's file, leaving the rest of it as it is. Returns the value as kept.

    Raises `SettingsError` for a value that is bad, also beside those in force, if they are given.
    """
    if key.startswith(KEY_PREFIX):
        return _write_key(key.removeprefix(KEY_PREFIX), value, paths)
    kept = check(key, value)
    if present is not None and (wrong := contradictions(present.but(**{key: kept}))):
        raise SettingsError(f"{wrong[0]} Nothing was written.")
    if key == "policy" and policy_file(str(kept), paths) is None:
        raise SettingsError(f"policy = {shown(value)} is not allowed: one of {', '.join(policy_names(paths))}.")
    _put(key, _spelled(key, kept), kept, paths.config_file)
    return kept


def _spelled(key: str, kept: object) -> object:
    """A value as people write it into the file."""
    if key == "keys" and isinstance(kept, Mapping):
        return {name: each or NO_KEY for name, each in kept.items()}
    if key == "permissions" and isinstance(kept, tuple):
        return as_table(kept)
    return str(kept) if isinstance(kept, ByWindow) else kept


def _write_key(action: str, key: str, paths: Paths) -> object:
    """The key of one action beside those of the others."""
    _, before = _file(paths.config_file)
    table = before.get("keys", {})
    others = {name: each for name, each in table.items() if name != action} if isinstance(table, Mapping) else {}
    kept = check("keys", others if key == DEFAULT else {**others, action: key})
    assert isinstance(kept, Mapping)
    _put("keys", _spelled("keys", kept), kept, paths.config_file)
    return kept.get(action, DEFAULT) or NO_KEY


def add_permission(effect: Effect, text: str, paths: Paths) -> RuleInForce:
    """Write a permission rule into the user's file. Raises `SettingsError`."""
    try:
        rule = RuleInForce(effect, parse_rule(text))
    except ValueError:
        raise SettingsError(f"{shown(text)} is no rule. For example: {FORMS}.") from None
    add_permissions([rule], paths)
    return rule


def add_permissions(rules: Sequence[RuleInForce], paths: Paths) -> list[RuleInForce]:
    """The same for several. Returns those that were not there yet."""
    present = _own_permissions(paths)
    added = [each for each in rules if each not in present]
    if added:
        _write_permissions((*present, *added), paths)
    return added


def remove_permission(rule: RuleInForce, paths: Paths) -> None:
    """Take a permission rule out of the user's file. Raises `SettingsError`."""
    gone = rule._replace(source="")
    _write_permissions(tuple(each for each in _own_permissions(paths) if each != gone), paths)


def _own_permissions(paths: Paths) -> tuple[RuleInForce, ...]:
    _, table = _file(paths.config_file)
    kept = check("permissions", table.get("permissions", {}))
    assert isinstance(kept, tuple)
    return kept


def _write_permissions(rules: tuple[RuleInForce, ...], paths: Paths) -> None:
    if rules:
        table = as_table(rules)
        _put("permissions", table, read_permissions(table), paths.config_file)
    else:
        remove("permissions", paths)


def remove(key: str, paths: Paths) -> None:
    """Take a key out of the user's file, so that what is below it counts. Raises `SettingsError`."""
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
            raise SettingsError(f"{file} sets {key} in a way only you can change; edit it by hand.")
        _save(file, changed)


def _file(file: Path) -> tuple[str, dict[str, Any]]:
    """The text of the user's file, and what it says. Raises `SettingsError`."""
    try:
        text = read_text(file) if file.exists() else ""
        return text, parsed(text, file)
    except SettingsError as error:
        raise SettingsError(f"{error} Mend it first; nothing was written.") from None


def _put(key: str, written: object, kept: object, file: Path) -> None:
    """Write a value so that it is read as `kept`. Raises `SettingsError`."""
    text, before = _file(file)
    if not _says(before, key, kept):
        text = _changed(text, before, key, written, kept, file)
    _save(file, text)


def _save(file: Path, text: str) -> None:
    try:
        write_atomically(file, text)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or error}.") from None


def _changed(text: str, before: dict[str, Any], key: str, written: object, kept: object, file: Path) -> str:
    """The file's text with the key set and all else the same. Raises `SettingsError`."""
    from co_tui.settings.toml_text import with_key  # takes long to load, and most runs write nothing

    try:
        changed = with_key(text, key, written)
        after = parsed(changed, file)
        if _says(after, key, kept) and before | {key: None} == after | {key: None}:
            return changed
    except (ValueError, SettingsError):
        pass
    raise SettingsError(f"{file} sets {key} in a way only you can change; edit it by hand.")


def _says(table: Mapping[str, object], key: str, kept: object) -> bool:
    """Whether the table gives the key that value, however it is spelled."""
    try:
        return key in table and check(key, table[key]) == kept
    except SettingsError:
        return False


def caveat(key: str, loaded: Loaded, paths: Paths) -> str:
    """Why a value that was just written to the user's file may not count; empty when it does."""
    source = loaded.origins[setting_of(key)].source
    weaker = (str(paths.config_file), "default", f"policy {loaded.settings.policy}")
    if source not in weaker and str(paths.config_file) not in source.split(BOTH):
        return f" It does not count as long as {source} says {shown(loaded.origins[setting_of(key)].value)}."
    idle = unused(loaded.settings).get(key)
    return f" It is {idle}." if idle else ""
