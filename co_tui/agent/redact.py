"""Keeps keys and tokens out of everything that is shown or stored."""

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

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


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with the given secrets, and whatever looks like one, hidden."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    return _SECRET.sub(HIDDEN, text)
