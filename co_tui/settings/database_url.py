"""The address of the database that keeps the sessions."""

from typing import Final

from co_tui.settings.rules import PartRefused, Rule, quoted

_SCHEMES: Final = ("postgresql", "postgres")
ALLOWED: Final = "empty (SQLite in your data folder), or postgresql://USER@HOST:PORT/DATABASE without a password"


def database_url() -> Rule:
    return Rule(ALLOWED, _read)


def _read(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError
    value = value.strip()
    if not value:
        return value
    from urllib.parse import parse_qs, urlsplit  # slow to import, and rarely needed

    try:
        parts = urlsplit(value)
    except ValueError:  # odd brackets
        raise PartRefused("", "a URL that cannot be read", ALLOWED) from None
    if parts.password or "password" in parse_qs(parts.query):
        # Not shown: settings are printed, logged and exported.
        raise PartRefused("", "a URL with a password", f"{ALLOWED}: set PGPASSWORD, or run `co-tui login postgresql`")
    if parts.scheme not in _SCHEMES:
        raise PartRefused("", quoted(value) if "@" not in value else "a URL of another kind", ALLOWED)
    return value
