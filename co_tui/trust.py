"""Which folders the user trusts, and with which settings.

A project's file may set more than how the context is managed: which model answers, where data goes, what runs. That
needs the user's trust, and again whenever the file requests something else.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from co_tui.kept_file import kept_table
from co_tui.paths import path_text
from co_tui.record import Record

AGENTS = "agents"
"""Key under which a request lists the agents of a folder."""
COMMANDS = "commands"
"""Key under which a request lists the slash commands of a folder."""
INSTRUCTIONS = "instructions"
"""Key under which a request lists the instruction files of a folder."""


class ProgramFile(Record):
    """A settings file that a folder has for another program."""

    name: str
    """Relative to the folder."""
    settings: Mapping[str, object] = {}
    """What it sets here, under our names."""
    unused: tuple[str, ...] = ()
    """Each key that has no effect here, if need be with the reason."""


class TrustRequest(Record):
    """What a folder requests that needs trust: settings of its files, and use of the agents, slash commands and
    instructions it defines."""

    file: Path
    requested: Mapping[str, object]
    """Settings of our file by key, those of other programs' files by the file's name, and the lists of the rest."""
    files: tuple[ProgramFile, ...] = ()
    """The settings files for other programs, also those that request nothing."""
    instructions: tuple[str, ...] = ()
    """Its instruction files that need trust."""
    agents: tuple[str, ...] = ()
    """The agents it defines, each with its model if it names one."""
    agent_files: tuple[Path, ...] = ()
    commands: tuple[str, ...] = ()
    """The slash commands it defines, those first that allow something for their turn."""
    command_files: tuple[Path, ...] = ()
    exact: Mapping[str, object] = {}
    """What the agents, slash commands and instructions may do, part by part, by the key of their list: two that differ
    may read the same on one line."""
    is_added: bool = False
    """Whether it is about a folder that is added to a session: then only instructions are requested."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings its own file requests."""
        others = (AGENTS, COMMANDS, INSTRUCTIONS, *(each.name for each in self.files))
        return {key: value for key, value in self.requested.items() if key not in others}

    @property
    def lists(self) -> list[str]:
        """The kinds of further files it requests to use."""
        return [key for key in (AGENTS, COMMANDS, INSTRUCTIONS) if key in self.requested]

    @property
    def by_file(self) -> Mapping[Path, Mapping[str, object]]:
        """The settings that each file requests."""
        tables = {self.file: self.settings}
        for each in self.files:
            table = self.requested.get(each.name)
            tables[self.file.parent / each.name] = table if isinstance(table, Mapping) else {}
        return {file: table for file, table in tables.items() if table}

    def values(self, key: str) -> Mapping[Path, object]:
        """The values of a setting, by the file that requests it."""
        return {file: table[key] for file, table in self.by_file.items() if key in table}

    @property
    def folder(self) -> str:
        return path_text(self.file.parent.resolve())

    @property
    def digest(self) -> str:
        """Hash of what is requested; independent of the rest of the file."""
        import hashlib  # most first paints do not need it

        return hashlib.sha256(_canonical({**self.requested, **self.exact}).encode()).hexdigest()


class Trust:
    """The user's answers, in a small file. When it cannot be read, nothing is trusted."""

    def __init__(self, file: Path) -> None:
        self._file = kept_table(file)

    def has(self, request: TrustRequest) -> bool:
        """Whether the user granted exactly this request."""
        return self.answer(request) is True

    def was_asked(self, request: TrustRequest) -> bool:
        """Whether the user already answered, with yes or no."""
        return self.answer(request) is not None

    def remember(self, request: TrustRequest, *, trusted: bool) -> None:
        """Store the user's answer. Raises OSError."""
        answer = {"digest": request.digest, "trusted": trusted}
        self._file.change(lambda known: {**known, request.folder: answer})

    def revoke(self, folder: Path) -> bool:
        """Forget a folder; False when it was not trusted. Raises OSError."""
        name = path_text(folder.resolve())
        known, _ = self._file.change(lambda known: {other: known[other] for other in known if other != name})
        return name in (answers := _answers(known)) and answers[name]["trusted"]

    def folders(self) -> list[str]:
        return sorted(folder for folder, answer in self._read().items() if answer["trusted"])

    def answer(self, request: TrustRequest) -> bool | None:
        """The user's answer to exactly this request; None without one."""
        answer = self._read().get(request.folder)
        return answer["trusted"] if answer is not None and answer["digest"] == request.digest else None

    def _read(self) -> dict[str, dict[str, Any]]:
        return _answers(self._file.read_or_empty())


def _answers(known: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: answer for name, answer in known.items() if _is_answer(answer)}


def _is_answer(answer: object) -> bool:
    return (
        isinstance(answer, dict) and isinstance(answer.get("digest"), str) and isinstance(answer.get("trusted"), bool)
    )


def _canonical(value: object) -> str:
    """The same text for equal values, independent of key order; any length of number works."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key!r}:{_canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
