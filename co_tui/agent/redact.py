"""Keeps keys and tokens out of everything that is shown or stored."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from co_tui.agent.models.catalogue import PROVIDERS

HIDDEN = "[hidden]"

KEY_VARIABLES: Final = tuple(sorted({variable for provider in PROVIDERS for variable in provider.key_variables}))
"""Where the keys of providers are kept."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEYS?|KEYS?|TOKENS?|AUTH|PAT|DSN)$|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|ACCESS_KEY",
    re.IGNORECASE,
)

_SECRET = re.compile(
    r"""
      \b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|glpat|r8)[-_][A-Za-z0-9_\-*.]{6,}   # provider keys, also half-masked
    | \bAIza[0-9A-Za-z_\-]{10,}
    | \b(?:AKIA|ASIA)[0-9A-Z]{12,}
    | \beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?        # JSON web tokens
    | (?<=Bearer\s)[^\s"',;]+
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)                                          # user:password@host
    | (?<=api_key=)[^\s&"']+ | (?<=api-key=)[^\s&"']+ | (?<=key=)[^\s&"']{8,}
    """,
    re.VERBOSE,
)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command of the user's or a process of ours: none of them is who a key is meant for."""
    return {
        name: value
        for name, value in environ.items()
        if name not in KEY_VARIABLES and not _SECRET_NAME.search(name) and redact(value) == value
    }


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with the given secrets, and whatever looks like one, hidden."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    return _SECRET.sub(HIDDEN, text)
