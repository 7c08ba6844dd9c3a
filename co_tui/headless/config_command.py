"""`co-tui config`: show settings with their sources, or set one."""

from co_tui import settings
from co_tui.headless.output import DONE, WRONG_USAGE, CommandContext, put, say, table
from co_tui.session.history.learned_limits import forget_limits
from co_tui.session.synced_files import SyncedFiles
from co_tui.settings import Loaded, SettingsError, writing
from co_tui.settings.trust_texts import requested_value_text


def config(context: CommandContext, key: str | None, value: str | None) -> int:
    """Without a key, all settings; with one, its value; with a value, write the user's file."""
    origins = context.loaded.origins
    if key is not None and writing.setting_of(key) not in origins:
        say(settings.unknown_key(key))
        return WRONG_USAGE
    if key is None or value is None:
        names = origins if key is None else [writing.setting_of(key)]
        for sentence in (*context.loaded.warnings, *context.loaded.problems):
            say(sentence)
        put(table(("SETTING", "VALUE", "FROM"), (_row(name, context.loaded) for name in names)))
        return DONE
    try:
        done = _changed(context, key, value)
    except SettingsError as error:
        say(str(error))
        return WRONG_USAGE
    caveat = writing.caveat(key, context.loaded, context.paths)
    if key == "context_window":
        changed = SyncedFiles(context.paths, context.store.sync.files).limits_changed
        caveat += forget_limits(context.paths.state, changed)
    say(f"{done}{caveat}")
    return DONE


def _changed(context: CommandContext, key: str, value: str) -> str:
    """Change the user's file; returns a sentence. Raises `SettingsError`."""
    if writing.resets(key, value):
        writing.remove(key, context.paths)
        return f"{key} removed from {context.paths.config_file}."
    kept = writing.write(key, value, context.paths, context.loaded.settings)
    return f"{key} = {settings.value_text(kept)} saved to {context.paths.config_file}."


def _row(key: str, loaded: Loaded) -> tuple[str, str, str]:
    origin, wish = loaded.origins[key], loaded.withheld
    withheld = "".join(
        f"; {file} requests {requested_value_text(key, value)} (not trusted)"
        for file, value in (wish.values(key).items() if wish else ())
    )
    idle = settings.unused(loaded.settings).get(key)
    return key, settings.value_text(origin.value), origin.source + withheld + (f"; {idle}" if idle else "")
