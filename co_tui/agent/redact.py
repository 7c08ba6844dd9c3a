"""Keep keys and tokens out of everything that is shown or stored."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from co_tui.agent.models.catalogue import PROVIDERS

HIDDEN = "[hidden]"

KEY_VARIABLES: Final = tuple(sorted({variable for provider in PROVIDERS for variable in provider.key_variables}))
"""The environment variables that hold providers' keys."""
SHORTEST_KEY_CHARS: Final = 8
"""Shorter values are never hidden: they would match inside ordinary words."""

_remembered: Final[set[str]] = set()
"""Keys that were read or typed in this process."""
_owners: Final[dict[str, str]] = {}
"""What each of them belongs to, as far as it is known."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEYS?|KEYS?|TOKENS?|AUTH|AUTH_CONFIG|PAT|DSN|PASS|JWT|COOKIES?|CREDS?|PIN|OTP|SALT|SIGNATURE"
    r"|WEBHOOK(?:_URL)?|CONN(?:ECTION)?_?STR(?:ING)?)$|_PWD$|DB_?PASS|APIKEY|PRIVATE_?KEY|SECRET|PASSW(?:OR)?D"
    r"|PASSPHRASE|CREDENTIAL|ACCESS_?KEY|_TOKEN_|BEARER",
    re.IGNORECASE,
)

_SECRETS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # Provider keys, also half-masked.
        r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|glpat|r8)[-_][A-Za-z0-9_\-*.]{6,}",
        r"AIza(?<!\wAIza)[0-9A-Za-z_\-]{10,}",
        r"AKIA(?<!\wAKIA)[0-9A-Z]{12,}",
        r"ASIA(?<!\wASIA)[0-9A-Z]{12,}",
        r"xox(?<!\wxox)[abeoprs]-[A-Za-z0-9-]{10,}",
        r"github_pat_\w{20,}",
        r"hooks\.slack\.com/services/[\w/]+",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        # JSON web tokens.
        r"eyJ(?<!\weyJ)[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    )
)
_AFTER: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(Bearer\s)(?:[^\s\"',;]*Bearer\s)*[^\s\"',;]+",
        # user:password@host
        r"(://)[^/\s:@]+:[^/\s@]+(?=@)",
        r"(api[_-]key=)[^\s&\"']+",
        r"(key=)[^\s&\"']{8,}",
    )
)
"""Each with what comes before the secret and stays. Patterns that begin with a text are found quickly."""


def remember_secret(key: str, owner: str = "") -> str:
    """Hide a key from now on, wherever text is redacted in this process; returns it. `owner` is what it belongs to."""
    if len(key) >= SHORTEST_KEY_CHARS:
        _remembered.add(key)
        _owners[key] = owner or _owners.get(key, "")
    return key


def remembered_secrets() -> dict[str, str]:
    """The keys that were read or typed in this process, each with what it belongs to, or nothing."""
    return {key: _owners.get(key, "") for key in list(_remembered)}


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name usually holds a key."""
    return _SECRET_NAME.search(name) is not None


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without anything that looks like a key, for the processes we start."""
    return {
        name: value
        for name, value in environ.items()
        if name not in KEY_VARIABLES and not is_secret_name(name) and redact(value) == value
    }


def keys_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The user's own keys, longest first, so that replacing one never leaves part of a longer one."""
    harmless = without_secrets(environ)
    keys = {value for name, value in environ.items() if name not in harmless and len(value) >= SHORTEST_KEY_CHARS}
    return tuple(sorted(keys | _remembered, key=len, reverse=True))


def keys_of_ours(environ: Mapping[str, str]) -> frozenset[str]:
    """The keys that co-tui itself uses: of providers, of its database, and those read or typed in this process."""
    values = {environ.get(name, "") for name in (*KEY_VARIABLES, "PGPASSWORD")}
    return frozenset(value for value in values | _remembered if len(value) >= SHORTEST_KEY_CHARS)


def redact_values(value: Any, secrets: Collection[str] = ()) -> Any:
    """JSON-ready data with secrets in its texts and names hidden."""
    match value:
        case str():
            return redact(value, secrets)
        case Mapping():
            return {redact(str(key), secrets): redact_values(item, secrets) for key, item in value.items()}
        case list() | tuple():
            return [redact_values(item, secrets) for item in value]
        case _:
            return value


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with the given secrets, and anything that looks like one, hidden."""
    for secret in sorted({*secrets, *_remembered}, key=len, reverse=True):
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    for pattern in _AFTER:
        text = pattern.sub(rf"\1{HIDDEN}", text)
    for pattern in _SECRETS:
        text = pattern.sub(HIDDEN, text)
    return text
