"""A keyring for tests, in place of the system's."""

from typing import Any

import pytest

from co_tui.agent.keys import system_keyring
from co_tui.agent.keys.system_keyring import SystemKeyring


class InMemoryKeyring:
    """Keeps passwords as a keyring does; `failure` makes it fail."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.failure: Exception | None = None

    def get_password(self, service: str, account: str) -> str | None:
        self._fail()
        return self.kept.get((service, account))

    def set_password(self, service: str, account: str, password: str) -> None:
        self._fail()
        self.kept[service, account] = password

    def delete_password(self, service: str, account: str) -> None:
        self._fail()
        del self.kept[service, account]

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure


def use_keyring_in_memory(monkeypatch: pytest.MonkeyPatch) -> InMemoryKeyring:
    """Let co-tui find this keyring, in this process."""
    backend = InMemoryKeyring()
    as_backend: Any = backend
    monkeypatch.setattr(system_keyring, "find_keyring", lambda: SystemKeyring(as_backend))
    return backend
