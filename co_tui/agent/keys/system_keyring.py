"""The system's keyring, where there is one that encrypts what it keeps."""

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")
SERVICE: Final = "co-tui"
ANSWER_S: Final = 30.0
"""A locked keyring asks its user first."""
_ENCRYPTING: Final = (
    "keyring.backends.SecretService",
    "keyring.backends.libsecret",
    "keyring.backends.kwallet",
    "keyring.backends.macOS",
)
"""Modules of the keyrings that are used; all others keep nothing, or keep it in plain text."""


class KeyringFailed(Exception):
    """The keyring did not do what was asked; the text says why and holds no key."""


class SystemKeyring:
    """Reads, writes and deletes keys. Slow: call it in a thread. Raises `KeyringFailed`."""

    def __init__(self, backend: "KeyringBackend") -> None:
        self._backend = backend

    def read(self, account: str) -> str:
        """The key; empty when the keyring has none."""
        return within_limit(lambda: self._backend.get_password(SERVICE, account) or "")

    def write(self, account: str, key: str) -> None:
        within_limit(lambda: self._backend.set_password(SERVICE, account, key))

    def delete(self, account: str) -> None:
        within_limit(lambda: self._backend.delete_password(SERVICE, account))


def find_keyring() -> SystemKeyring | None:
    """The system's keyring; None where there is none to trust. Slow: call it in a thread."""
    try:
        backend = within_limit(_find_backend)
    except KeyringFailed:
        return None
    return SystemKeyring(backend) if backend is not None else None


def _find_backend() -> "KeyringBackend | None":
    from keyring import get_keyring
    from keyring.backends.chainer import ChainerBackend

    found = get_keyring()
    every = found.backends if isinstance(found, ChainerBackend) else [found]
    return next((each for each in every if type(each).__module__ in _ENCRYPTING), None)


def within_limit(call: Callable[[], T], seconds: float = ANSWER_S) -> T:
    """Call the keyring, but do not wait for it forever. Raises `KeyringFailed` for any error.

    The thread is a daemon: a keyring that never answers must not keep the process from ending.
    """
    answers: queue.SimpleQueue[tuple[bool, T | str]] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((True, call()))
        except Exception as error:  # each keyring raises its own; its text may quote what it was given
            answers.put((False, type(error).__name__))

    threading.Thread(target=run, daemon=True, name="keyring").start()
    try:
        succeeded, answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise KeyringFailed(f"it did not answer in {seconds:g} s") from None
    if not succeeded:
        raise KeyringFailed(str(answer))
    return answer  # type: ignore[return-value] # only a failure is a text instead
