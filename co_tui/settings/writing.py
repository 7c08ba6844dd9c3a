"""Writing a setting into the user's own file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from co_tui.paths import Paths, write_atomically
from co_tui.settings.by_window import ByWindow
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import parsed, policy_file, policy_names, read_text
from co_tui.settings.layers import BOTH, Loaded
from co_tui.settings.rules import shown
from co_tui.settings.values import Settings, SettingsError, check


def write(key: str, value: str, paths: Paths, present: Settings | None = None) -> object:
    """Set a key in the user's file, leaving the rest of it as it is. Returns the value as kept.

    Raises `SettingsError` for a value that is bad, also beside those in force, if they are given.
    """
    kept = check(key, value)
    if present is not None and (wrong := contradictions(present.but(**{key: kept}))):
        raise SettingsError(f"{wrong[0]} Nothing was written.")
    if key == "policy" and policy_file(str(kept), paths) is None:
        raise SettingsError(f"policy = {shown(value)} is not allowed: one of {', '.join(policy_names(paths))}.")
    file = paths.config_file
    try:
        text = read_text(file) if file.exists() else ""
        before = parsed(text, file)
    except SettingsError as error:
        raise SettingsError(f"{error} Mend it first; nothing was written.") from None
    try:
        write_atomically(file, text if _says(before, key, kept) else _changed(text, before, key, kept, file))
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or error}.") from None
    return kept


def _changed(text: str, before: dict[str, Any], key: str, kept: object, file: Path) -> str:
    """The file's text with the key set and all else the same. Raises `SettingsError`."""
    from co_tui.settings.toml_text import with_key  # takes long to load, and most runs write nothing

    try:
        changed = with_key(text, key, str(kept) if isinstance(kept, ByWindow) else kept)
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
    source = loaded.origins[key].source
    weaker = (str(paths.config_file), "default", f"policy {loaded.settings.policy}")
    if source not in weaker and str(paths.config_file) not in source.split(BOTH):
        return f" It does not count as long as {source} says {shown(loaded.origins[key].value)}."
    idle = unused(loaded.settings).get(key)
    return f" It is {idle}." if idle else ""
