"""`co-tui login`: keep a provider's key, or forget it."""

import asyncio
import sys
from collections.abc import Mapping
from getpass import getpass
from typing import Final

from co_tui.agent.keys.kept_keys import KeptKeys, KeyUnavailable, key_sources
from co_tui.agent.keys.key_servers import DATABASE, KeyOwner, key_owner, key_owners, unknown_provider
from co_tui.headless.output import DONE, FAILED, WRONG_USAGE, CommandContext, say, table
from co_tui.inert import one_line

MOST_KEY_BYTES: Final = 16_384
"""Read from standard input; a key is far shorter."""


def login(context: CommandContext, environ: Mapping[str, str], provider: str, *, remove: bool) -> int:
    """Keep the key of a provider, or remove it. Without a provider, ask which one."""
    kept = KeptKeys(context.paths)
    provider = provider or _asked_provider(kept, environ)
    if not provider:
        say(f"Name a provider: {', '.join(each.provider for each in key_owners(environ))}.")
        return WRONG_USAGE
    if provider == DATABASE:
        return _database(kept, context.loaded.settings.database, environ, remove=remove)
    owner = key_owner(provider, environ, context.loaded.settings.base_url)
    if owner is None:
        say(unknown_provider(one_line(provider, 60)))
        return WRONG_USAGE
    return _remove(kept, owner, environ) if remove else _keep(kept, owner, environ)


def _database(kept: KeptKeys, url: str, environ: Mapping[str, str], *, remove: bool) -> int:
    """Keep or remove the password of the server in setting `database`. It is not checked here."""
    if not url:
        say("Setting database is empty. Set it first: `co-tui config database URL`.")
        return WRONG_USAGE
    owner = KeyOwner(DATABASE, url)
    if remove:
        return _remove(kept, owner, environ)
    password = _given_key(owner).strip("\r\n")
    if not password:
        say(f"No password was given. Type it here, or pipe it in: `co-tui login {DATABASE} < FILE`.")
        return WRONG_USAGE
    place = kept.keep(owner, password)
    say(f"Saved in {kept.place_of(place)}. The next start uses it for {owner.host or 'this machine'}.")
    return DONE


def _asked_provider(kept: KeptKeys, environ: Mapping[str, str]) -> str:
    """The provider that the user names, shown where each key comes from; empty without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    sources = dict(key_sources(kept, environ))
    rows = [(each.provider, sources.get(each.provider, "none")) for each in key_owners(environ)]
    print(table(("PROVIDER", "KEY"), rows), file=sys.stderr)
    print("Provider: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _keep(kept: KeptKeys, owner: KeyOwner, environ: Mapping[str, str]) -> int:
    key = _given_key(owner)
    if not key.strip():
        say(f"No key was given. Type it here, or pipe it in: `co-tui login {owner.provider} < FILE`.")
        return WRONG_USAGE
    from co_tui.agent.keys.login import log_in

    result = asyncio.run(log_in(kept, owner, key, environ))
    say(result.sentence)
    return DONE if result.kept else FAILED


def _given_key(owner: KeyOwner) -> str:
    """The key, from the terminal without echo, or all of standard input. Never an argument: others can see those."""
    if sys.stdin.isatty():
        try:
            return getpass(f"Key for {owner.provider} ({owner.host}), not shown: ")
        except EOFError:
            return ""
    given = sys.stdin.buffer.read(MOST_KEY_BYTES)
    return given.decode(errors="replace")


def _remove(kept: KeptKeys, owner: KeyOwner, environ: Mapping[str, str]) -> int:
    found = kept.find(owner)
    variable = next((name for name in owner.variables if environ.get(name)), "")
    still = f" {variable} is still set." if variable else ""
    if found is None:
        say(f"No key of {owner.provider} is saved.{still}")
        return FAILED
    try:
        kept.remove(found)
    except KeyUnavailable as why:
        say(str(why))
        return FAILED
    say(f"The key of {owner.provider} is removed.{still}")
    return DONE
