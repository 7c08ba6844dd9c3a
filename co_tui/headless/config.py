"""`co-tui config`: what is set, by whom, and setting it."""

from co_tui import settings
from co_tui.headless.output import DONE, WRONG_USAGE, Ground, say, table
from co_tui.settings import SettingsError


def config(ground: Ground, key: str | None, value: str | None) -> int:
    """Without a key, all settings; with one, its value; with a value, write the user's file."""
    origins = ground.loaded.origins
    if key is None:
        rows = ((name, _shown(origin.value), origin.source) for name, origin in origins.items())
        print(table(("SETTING", "VALUE", "FROM"), rows))
        return DONE
    if key not in origins:
        say(settings.unknown_key(key))
        return WRONG_USAGE
    if value is None:
        print(table(("SETTING", "VALUE", "FROM"), [(key, _shown(origins[key].value), origins[key].source)]))
        return DONE
    try:
        kept = settings.write(key, value, ground.paths)
    except SettingsError as error:
        say(str(error))
        return WRONG_USAGE
    say(f"{key} = {_shown(kept)} written to {ground.paths.config_file}")
    return DONE


def _shown(value: object) -> str:
    return str(value) if value != "" else "(empty)"
