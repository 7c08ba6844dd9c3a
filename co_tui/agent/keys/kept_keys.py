"""The keys kept by `co-tui login`: in the system's keyring, else in a file that only its owner can read."""

import contextlib
import stat
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from co_tui.agent.keys import system_keyring
from co_tui.agent.keys.key_servers import KeyOwner, key_owner, key_owners
from co_tui.agent.keys.system_keyring import KeyringFailed
from co_tui.agent.models.catalogue import PROVIDERS
from co_tui.agent.redact import remember_secret
from co_tui.kept_file import KeptFile, parse_table, table_text
from co_tui.paths import Paths, path_text

KEYRING, FILE = "keyring", "file"


class KeyUnavailable(Exception):
    """A kept key cannot be read; the text is a sentence."""


class KeptKey(NamedTuple):
    """A key and where it is; not the key itself."""

    provider: str
    host: str
    place: str
    """`KEYRING` or `FILE`."""


class KeptKeys:
    """An index in the state folder says which keys are kept where. Only reading or writing a key opens the keyring."""

    def __init__(self, paths: Paths) -> None:
        self.file = paths.keys_file
        self._kept = KeptFile(self.file, parse=_accounts, written=lambda keys: table_text({"version": 1, "keys": keys}))

    def all(self) -> list[KeptKey]:
        """Every kept key. Quick."""
        return [
            KeptKey(account.partition("@")[0], account.partition("@")[2], KEYRING if entry == KEYRING else FILE)
            for account, entry in self._kept.read_or_empty().items()
            if "@" in account
        ]

    def find(self, owner: KeyOwner) -> KeptKey | None:
        """Where an owner's key is kept; None when none is. Quick."""
        return next((each for each in self.all() if each[:2] == (owner.provider, owner.host)), None)

    def providers(self, environ: Mapping[str, str], base_url: str = "") -> frozenset[str]:
        """The prefixes of the providers that have a kept key for the server they use now. Quick."""
        kept = {each[:2] for each in self.all()}
        if not kept:
            return frozenset()
        owners = {each.prefix: key_owner(each.prefix, environ, base_url) for each in PROVIDERS}
        return frozenset(prefix for prefix, owner in owners.items() if owner and (owner.provider, owner.host) in kept)

    def read(self, owner: KeyOwner) -> str:
        """An owner's key; empty when none is kept. Slow: call it in a thread. Raises `KeyUnavailable`."""
        entry = self._kept.read_or_empty().get(_account(owner), "")
        if entry != KEYRING:
            key = str(entry.get("key", "")) if isinstance(entry, dict) else ""
        else:
            key = self._from_keyring(owner)
        return remember_secret(key, owner_text(owner.provider))

    def hide_soon(self) -> None:
        """Hide the keys of the file from now on, and those of the keyring once it has answered: it may ask its user."""
        kept = self.all()
        for each in kept:
            if each.place == FILE:
                self.read(KeyOwner(each.provider, f"https://{each.host}"))
        if any(each.place == KEYRING for each in kept):
            threading.Thread(target=self.hide_all, daemon=True, name="kept keys").start()

    def hide_all(self) -> None:
        """Read every key, so that it is hidden in what leaves the app. Slow: call it in a thread."""
        for kept in self.all():
            with contextlib.suppress(KeyUnavailable):
                self.read(KeyOwner(kept.provider, f"https://{kept.host}"))

    def keep(self, owner: KeyOwner, key: str) -> str:
        """Keep a key; returns `KEYRING` or `FILE`. Slow: call it in a thread. Raises OSError."""
        remember_secret(key, owner_text(owner.provider))
        account, entry = _account(owner), {"key": key}
        keyring = system_keyring.find_keyring()
        try:
            if keyring is not None:
                self._kept.read()  # raises before the keyring has a key that no index names
                keyring.write(account, key)
                self._kept.change(lambda index: {**index, account: KEYRING})
                return KEYRING
        except KeyringFailed:
            pass  # locked, or full: the file takes it
        self._kept.change(lambda index: {**index, account: entry})
        return FILE

    def remove(self, kept: KeptKey) -> None:
        """Forget a key. Slow: call it in a thread. Raises OSError, or `KeyUnavailable` when the keyring refuses."""
        account = f"{kept.provider}@{kept.host}"
        if kept.place == KEYRING:
            try:
                keyring = system_keyring.find_keyring()
                if keyring is None:
                    raise KeyringFailed("there is none here")
                if keyring.read(account):
                    keyring.delete(account)
            except KeyringFailed as why:
                raise KeyUnavailable(f"The keyring did not remove the key of {kept.provider}: {why}.") from None
        self._kept.change(lambda index: {name: entry for name, entry in index.items() if name != account})

    def place_of(self, place: str) -> str:
        """Where a key is, in words."""
        return "the system's keyring" if place == KEYRING else path_text(self.file)

    @property
    def is_open_to_others(self) -> bool:
        try:
            return bool(stat.S_IMODE(self.file.stat().st_mode) & 0o077)
        except OSError:
            return False

    def _from_keyring(self, owner: KeyOwner) -> str:
        login = f"run `co-tui login {owner.provider}`, or set {next(iter(owner.variables), 'its variable')}"
        try:
            keyring = system_keyring.find_keyring()
            key = keyring.read(_account(owner)) if keyring is not None else ""
        except KeyringFailed as why:
            raise KeyUnavailable(
                f"Cannot read the key of {owner.provider} from the keyring: {why}. Unlock it, {login}."
            ) from None
        if not key:
            raise KeyUnavailable(f"The keyring no longer has the key of {owner.provider}: {login}.")
        return key


def _accounts(text: str) -> dict[str, Any]:
    """By account: `KEYRING`, or a table with the key. Raises ValueError."""
    table = parse_table(text)
    keys = table.get("keys", {}) if table else {}
    if not isinstance(keys, dict):
        raise ValueError("it has no table `keys`")
    return keys


def key_sources(kept: KeptKeys, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each provider that has a key, and where the key comes from; the environment wins. Never the key itself."""
    rows = []
    for owner in key_owners(environ):
        variable, found = owner.variable_in(environ), kept.find(owner)
        if variable:
            rows.append((owner.provider, variable))
        elif found is not None:
            rows.append((owner.provider, kept.place_of(found.place)))
    return rows


def owner_text(provider: str) -> str:
    """Whose key it is, for people."""
    return f"key of {provider}"


def _account(owner: KeyOwner) -> str:
    return f"{owner.provider}@{owner.host}"
