"""Check a key with a request that costs nothing, and keep it."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from co_tui.agent.keys.kept_keys import FILE, KeptKeys
from co_tui.agent.keys.key_servers import KeyOwner, set_aside
from co_tui.agent.redact import redact, remember_secret
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.inert import one_line

CHECK_S: Final = 15.0
SHORTEST, LONGEST = 8, 4096
_REFUSED: Final = (400, 401, 403)
"""Google answers 400 to a wrong key."""
_VERSION: Final = {"anthropic-version": "2023-06-01"}


class LoginResult(NamedTuple):
    """What became of a key, in a sentence that does not contain it."""

    kept: bool
    sentence: str


async def log_in(
    kept: KeptKeys, owner: KeyOwner, key: str, environ: Mapping[str, str], *, replaces: bool = False
) -> LoginResult:
    """Keep the key unless its server refuses it. One that cannot be checked now is kept, and the sentence says so.

    With `replaces`, this process uses it instead of one in the environment.
    """
    key = key.strip()
    if problem := _problem(key):
        return LoginResult(False, problem)
    remember_secret(key)
    unchecked = ""
    try:
        await ask(_check_address(owner), timeout_s=CHECK_S, headers=_headers(owner, key))
    except NoAnswer as why:
        if why.status in _REFUSED:
            return LoginResult(False, f"{owner.host} refused the key ({why}). It was not saved.")
        unchecked = one_line(redact(str(why), (key,)), 200)
    try:
        place = await asyncio.to_thread(kept.keep, owner, key)
    except OSError as error:
        return LoginResult(False, f"Cannot save the key in {kept.file}: {error.strerror or type(error).__name__}.")
    where = f"{kept.place_of(place)}{', which only you can read' if place == FILE else ''}"
    done = (
        f"Saved in {where}. It could not be checked with {owner.host}: {unchecked.removesuffix('.')}."
        if unchecked
        else f"{owner.host} accepted the key. Saved in {where}."
    )
    stronger = next((name for name in owner.variables if environ.get(name, "") not in ("", key)), "")
    if stronger and replaces:
        set_aside(owner.address, *(value for name in owner.variables if (value := environ.get(name, "")) != key))
        return LoginResult(True, f"{done} It is used now instead of {stronger}. At the next start {stronger} counts.")
    return LoginResult(True, f"{done} {stronger} is set and is used instead." if stronger else done)


def _problem(key: str) -> str:
    """Why this cannot be a key; empty when it can."""
    if not key:
        return "No key was given."
    if not SHORTEST <= len(key) <= LONGEST:
        return f"A key has {SHORTEST} to {LONGEST:,} characters; this has {len(key):,}."
    if not key.isascii() or not key.isprintable() or " " in key:
        return "A key has no spaces, line breaks or special characters. Copy it again."
    return ""


def _check_address(owner: KeyOwner) -> str:
    return f"{owner.address.rstrip('/')}{owner.server.check}"


def _headers(owner: KeyOwner, key: str) -> dict[str, str]:
    name = owner.server.header
    return {name: f"Bearer {key}" if name == "Authorization" else key, **_VERSION}
