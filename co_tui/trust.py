"""Which folders the user trusts, and with which settings.

A project's file may set more than how the context is managed: which model answers, where data goes, what runs. That
needs the user's trust, and again whenever the file requests something else.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from co_tui.paths import path_text, read_small_text, write_atomically
from co_tui.record import Record

LIMIT_BYTES = 1_000_000
AGENTS = "agents"
"""Key under which a request lists the agents of a folder."""
COMMANDS = "commands"
"""Key under which a request lists the slash commands of a folder."""


INSTRUCTIONS = "instructions"
"""Key under which a request lists the instruction files of an added folder."""


class TrustRequest(Record):
    """What a folder requests that needs trust: settings of its file, and use of the agents and slash commands it
    defines."""

    file: Path
    requested: Mapping[str, object]
    agents: tuple[str, ...] = ()
    """The agents it defines, each with its model if it names one."""
    agent_files: tuple[Path, ...] = ()
    commands: tuple[str, ...] = ()
    """The slash commands it defines."""
    command_files: tuple[Path, ...] = ()
    instruction_files: tuple[Path, ...] = ()
    """Of a folder that is added to a session."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that say what is requested."""
        own = (self.file,) if self.settings else ()
        return (*own, *self.agent_files, *self.command_files, *self.instruction_files)

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings its file requests."""
        return {key: value for key, value in self.requested.items() if key not in (AGENTS, COMMANDS, INSTRUCTIONS)}

    @property
    def folder(self) -> str:
        return path_text(self.file.parent.resolve())

    @property
    def digest(self) -> str:
        """Hash of what is requested; independent of the rest of the file."""
        import hashlib  # most first paints do not need it

        return hashlib.sha256(_canonical(self.requested).encode()).hexdigest()


class Trust:
    """The user's answers, in a small file. When it cannot be read, nothing is trusted."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def has(self, request: TrustRequest) -> bool:
        """Whether the user granted exactly this request."""
        return self._answer(request) is True

    def was_asked(self, request: TrustRequest) -> bool:
        """Whether the user already answered, with yes or no."""
        return self._answer(request) is not None

    def answer_about(self, folder: Path) -> bool | None:
        """The user's latest answer about a folder, whatever it requested then; None without one."""
        answer = self._read().get(path_text(folder.resolve()))
        return answer["trusted"] if answer is not None else None

    def remember(self, request: TrustRequest, *, trusted: bool) -> None:
        """Store the user's answer. Raises OSError."""
        self._write({**self._read(), request.folder: {"digest": request.digest, "trusted": trusted}})

    def revoke(self, folder: Path) -> bool:
        """Forget a folder; False when it was not trusted. Raises OSError."""
        known = self._read()
        answer = known.pop(path_text(folder.resolve()), None)
        if answer is not None:
            self._write(known)
        return bool(answer and answer["trusted"])

    def folders(self) -> list[str]:
        return sorted(folder for folder, answer in self._read().items() if answer["trusted"])

    def _answer(self, request: TrustRequest) -> bool | None:
        answer = self._read().get(request.folder)
        return answer["trusted"] if answer is not None and answer["digest"] == request.digest else None

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
    """The same text for equal values, independent of key order; any length of number works."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key!r}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
