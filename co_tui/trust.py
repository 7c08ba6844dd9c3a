"""Which folders the user trusts, and with what.

A folder's own file may ask for more than how the context is governed: who answers, where data goes, what runs. It
gets that once its user said so, and again when the file asks for something else.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from co_tui.paths import path_text, read_small_text, write_atomically
from co_tui.record import Record

LIMIT_BYTES = 1_000_000
AGENTS = "agents"
"""Among what is wanted: that work is given to the agents of a folder."""


class Wish(Record):
    """What a folder wants that needs trust: settings of its file, and that work is given to agents it defines."""

    file: Path
    wanted: Mapping[str, object]
    agents: tuple[str, ...] = ()
    """Whom it defines, and on which model they shall work."""
    agent_files: tuple[Path, ...] = ()

    @property
    def settings(self) -> Mapping[str, object]:
        """What its file wants to set."""
        return {key: value for key, value in self.wanted.items() if key != AGENTS}

    @property
    def folder(self) -> str:
        return path_text(self.file.parent.resolve())

    @property
    def digest(self) -> str:
        """Changes with what is wanted, not with the rest of the file."""
        import hashlib  # the first paint of a folder without wishes does without it

        return hashlib.sha256(_canonical(self.wanted).encode()).hexdigest()


class Trust:
    """The user's answers, in a small file of their own. One that cannot be read trusts nobody."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def has(self, wish: Wish) -> bool:
        """Whether the user trusted this folder with exactly this."""
        return self._answer(wish) is True

    def was_asked(self, wish: Wish) -> bool:
        """Whether the user already answered, one way or the other."""
        return self._answer(wish) is not None

    def remember(self, wish: Wish, *, trusted: bool) -> None:
        """Raises OSError."""
        self._write({**self._read(), wish.folder: {"digest": wish.digest, "trusted": trusted}})

    def revoke(self, folder: Path) -> bool:
        """Forget a folder; False when it was not trusted. Raises OSError."""
        known = self._read()
        answer = known.pop(path_text(folder.resolve()), None)
        if answer is not None:
            self._write(known)
        return bool(answer and answer["trusted"])

    def folders(self) -> list[str]:
        return sorted(folder for folder, answer in self._read().items() if answer["trusted"])

    def _answer(self, wish: Wish) -> bool | None:
        answer = self._read().get(wish.folder)
        return answer["trusted"] if answer is not None and answer["digest"] == wish.digest else None

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            known = json.loads(read_small_text(self._file, LIMIT_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return {name: answer for name, answer in known.items() if _is_answer(answer)} if isinstance(known, dict) else {}

    def _write(self, known: Mapping[str, object]) -> None:
        write_atomically(self._file, json.dumps(known, indent=1, sort_keys=True))


def _is_answer(answer: object) -> bool:
    return (
        isinstance(answer, dict) and isinstance(answer.get("digest"), str) and isinstance(answer.get("trusted"), bool)
    )


def _canonical(value: object) -> str:
    """The same text for the same value, whatever the order of keys or the length of a number."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key!r}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
