"""Writing a setting into the user's own file."""

from collections.abc import Mapping

from co_tui.paths import Paths, write_atomically
from co_tui.settings.consistency import contradictions, unused
from co_tui.settings.files import parsed, policy_file, policy_names, read_text
from co_tui.settings.layers import Loaded
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
        parsed(text, file)
    except SettingsError as error:
        raise SettingsError(f"{error} Mend it first; nothing was written.") from None
    changed = _with_key(text, key, kept)
    try:
        if check(key, parsed(changed, file).get(key)) != kept:
            raise SettingsError
    except SettingsError:
        raise SettingsError(f"{file} sets {key} in a way only you can change; edit it by hand.") from None
    try:
        write_atomically(file, changed)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror or error}.") from None
    return kept


def caveat(key: str, loaded: Loaded, paths: Paths) -> str:
    """Why a value that was just written to the user's file may not count; empty when it does."""
    source = loaded.origins[key].source
    weaker = (str(paths.config_file), "default", f"policy {loaded.settings.policy}")
    if source not in weaker:
        return f" It does not count as long as {source} says {shown(loaded.origins[key].value)}."
    idle = unused(loaded.settings).get(key)
    return f" It is {idle}." if idle else ""


def _with_key(text: str, key: str, value: object) -> str:
    """The TOML text with a top-level key set; comments and other keys stay where they are."""
    line = f"{key} = {_toml(value)}"
    lines = text.splitlines()
    for index, present in enumerate(lines):
        if present.lstrip().startswith("["):
            break
        if present.split("=", 1)[0].strip() == key and "=" in present:
            lines[index] = line
            return "\n".join(lines) + "\n"
    else:
        index = len(lines)
    lines.insert(index, line)
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    text = "".join(f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else "\\" + c if c in '"\\' else c for c in str(value))
    return f'"{text}"'
